"""The one door between the front ends and the sessions: the browser and the commands call it.

Synchronous and free of Textual; the browser calls it from worker threads. It opens the
stores it is told of or finds, keeps one `Library` and one `Actions` over them, and routes by
`SessionKey`. Nothing here opens a session's file itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from loop_core.actions import Actions
from loop_core.errors import LoopError, ReadOnly, Refused
from loop_core.journal import Journal
from loop_core.library import Library
from loop_core.model import SessionKey, SessionRow, Snapshot, WatchRoot
from loop_core.outcome import Done, Failed, Outcome, Pending, Progress, Reverted
from loop_core.plans import Intent
from loop_core.store import Cancelled, SessionStore, never_cancelled
from loop_tui import places
from loop_tui.resolve import resolve
from loop_tui.service_reading import SessionReading

if TYPE_CHECKING:
    from loop_core.loop.reclaim import Reclaimable
    from loop_core.loop.store import LoopStore
    from loop_core.search.engine import SearchEngine
    from loop_core.search.result import SearchResult
    from loop_core.watch import Changes

__all__ = ["Done", "Failed", "Options", "Outcome", "Pending", "Progress", "Reverted", "Service"]

APART = 1_000  # with more sessions than these, watching has a process of its own

OnStep = Callable[[Snapshot], None]
OnProgress = Callable[[Progress], None]


class Options(Struct, frozen=True, kw_only=True):
    """Where to look and how. Paths are raw; relative ones are against the process's folder.

    `agent_dir` None: Loop's own rule. `sessions` are more Loop collections. `craft_dirs`
    empty: the configuration directories Craft-Agents itself would use. `base` holds this
    instance's own settings, journal and cache instead of the XDG directories. With `titles`
    False a scan leaves out the titles that only a history tells; `refresh` brings them.
    """

    agent_dir: str | None = None
    sessions: tuple[str, ...] = ()
    trace_dir: str | None = None
    craft_dirs: tuple[str, ...] = ()
    no_loop: bool = False
    no_craft: bool = False
    read_only: bool = False
    poll: bool = False
    base: str | None = None
    titles: bool = True


class Service(SessionReading):
    """Use `Service.open(options)`, then `scan()`; close it at the end (or use `with`)."""

    def __init__(self, options: Options, stores: list[SessionStore], own: places.OwnPlaces) -> None:
        self.options = options
        self.own = own
        self.stores = tuple(stores)
        self.library = Library(stores)
        self.actions = Actions(
            self.library,
            Journal(own.journal, writable=not options.read_only),
            read_only=options.read_only,
            trusted=places.trace_roots(options),
            changed=self.library.refresh,
        )
        self.recovered: tuple[str, ...] = ()
        self._recovered = False
        self._scanned = False
        self._scanning = threading.Lock()

    @classmethod
    def open(cls, options: Options, *, recover: bool = True) -> Service:
        """Open every store, and finish what a killed process of ours left unfinished.

        A missing directory is an empty store. `recovered` says what was finished, and what
        could not be. With `recover` False that is left to a later call of `recover()`, so
        that a browser shows its first rows sooner.
        """
        own = places.own_places(options.base)
        service = cls(options, places.open_stores(options, own), own)
        if recover:
            service.recover()
        return service

    def recover(self) -> tuple[str, ...]:
        """Finish what was left unfinished, once; nothing is touched in read-only mode.

        Rows that changed by it are in the next `scan`.
        """
        if not self._recovered:
            self._recovered = True
            self.recovered = self.actions.recover()
        return self.recovered

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop what is held in memory; the service is not used afterwards."""
        self.actions.close()

    # --- the list

    @property
    def read_only(self) -> bool:
        return self.options.read_only

    @property
    def snapshot(self) -> Snapshot:
        return self.library.snapshot

    def scan(self, on_step: OnStep | None = None) -> Snapshot:
        """Scan every store; `on_step` gets each growing snapshot, in the calling thread."""
        with self._scanning:
            snapshot = self.library.scan(on_step)
            self._scanned = True
        return snapshot

    def refresh(self, paths: Iterable[str]) -> Snapshot:
        """The snapshot after changes at `paths` (raw, absolute); reads only those."""
        return self.library.refresh(set(paths))

    def watch_roots(self) -> tuple[WatchRoot, ...]:
        return tuple(root for store in self.stores for root in store.watch_roots())

    def watch(self, stop: threading.Event) -> Iterator[Changes]:
        """Changes on disk until `stop` is set; blocks between them. Hand paths to `refresh`."""
        from loop_core.watch import watch, watch_natively

        native = watch_natively
        if len(self.snapshot.rows) > APART:
            from loop_core.watch_apart import watch_apart

            native = watch_apart
        return watch(
            self.watch_roots(),
            stop,
            poll=self.options.poll,
            native=native,
            unsettled=lambda: self.library.unsettled,
        )

    def row(self, key: SessionKey) -> SessionRow | None:
        """The row of the current snapshot."""
        return self.library.row(key)

    def empty_reason(self) -> str | None:
        """Where it looked and why nothing is there; None when there is something to show."""
        snapshot = self.library.snapshot
        if snapshot.rows or snapshot.problems or snapshot.unsupported:
            return None
        return places.why_empty(self.stores)

    def paths(self) -> list[tuple[str, str]]:
        """Every directory the program reads or writes, as (name, path), in a fixed order."""
        return [*places.store_paths(self.options, self.stores), *self.own.listed()]

    # --- all sessions

    def search(
        self,
        text: str,
        *,
        exact: bool = False,
        limit: int = 50,
        typing: bool = False,
        budget: float | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> SearchResult:
        """Full text over the current snapshot; see `loop_core.search.engine`."""
        snapshot = self.library.snapshot
        names = {project.key: project.name for project in snapshot.projects}
        return self.engine.search(
            text,
            snapshot.rows,
            project_of=lambda row: names.get(row.project, ""),
            exact=exact,
            limit=limit,
            typing=typing,
            budget=budget,
            cancelled=cancelled,
        )

    @cached_property
    def engine(self) -> SearchEngine:
        from loop_core.search.engine import SearchEngine

        return SearchEngine(self.own.search, self.library.store_of)

    def export(self, key: SessionKey, path: str, *, force: bool = False) -> str:
        """Write the whole session to `path` in the format its ending names; see `exporting`."""
        from loop_tui import exporting

        return exporting.write(self, key, path, exporting.form_of(path), force=force)

    def plan_reclaim(self, key: SessionKey) -> Reclaimable:
        """What a Loop session would give back; see `loop_core.loop.reclaim`."""
        return self._loop_store(key).plan_reclaim(key)

    def reclaim(
        self, key: SessionKey, plan: Reclaimable, *, in_place: bool = False
    ) -> tuple[int, int]:
        """Carry out a plan; bytes before and after. Raises Refused, Conflict, StorageFailed."""
        return self._loop_store(key).reclaim(key, plan, in_place=in_place)

    def _loop_store(self, key: SessionKey) -> LoopStore:
        from loop_core.loop.store import LoopStore

        store = self._store(key)
        if isinstance(store, LoopStore):
            return store
        raise Refused("only Loop leaves space to reclaim")

    # --- actions: see `loop_core.actions`

    def act(
        self,
        keys: Iterable[SessionKey],
        intent: Intent,
        progress: OnProgress | None = None,
        *,
        force: bool = False,
        step: bool = True,
    ) -> Outcome:
        """Do `intent` to every session as one undo step.

        `step` False is for the automatic read mark: recorded, but no step of undo.
        """
        return self.actions.perform(keys, intent, progress, force=force, step=step)

    def trash(
        self,
        keys: Iterable[SessionKey],
        progress: OnProgress | None = None,
        *,
        force: bool = False,
    ) -> Outcome:
        """Move the sessions to our trash."""
        return self.actions.trash(keys, progress, force=force)

    def restore(self, keys: Iterable[SessionKey], progress: OnProgress | None = None) -> Outcome:
        """Bring sessions back: those in the trash from there, the others from the archive."""
        return self.actions.restore(keys, progress)

    def purge(
        self,
        keys: Iterable[SessionKey],
        progress: OnProgress | None = None,
        *,
        force: bool = False,
    ) -> Outcome:
        """Remove for good what is in the trash or archived; anything else only by `force`."""
        return self.actions.purge(keys, progress, force=force)

    def purge_leftover(self, path: str) -> None:
        """Remove what a killed deletion of ours left, once it had taken effect.

        Raises ReadOnly, Refused for anything else, StorageFailed.
        """
        from loop_core.loop.recovery import purge_leftover

        if self.read_only:
            raise ReadOnly("nothing is removed with --read-only", path)
        purge_leftover(path)

    def undo(self) -> Outcome:
        """Take the last action on the stores now open back."""
        return self.actions.undo()

    def redo(self) -> Outcome:
        """Do again what the last undo took back."""
        return self.actions.redo()

    def peek_undo(self) -> Pending | None:
        """What `undo` would take back, or None."""
        return self.actions.peek_undo()

    def peek_redo(self) -> Pending | None:
        return self.actions.peek_redo()

    def trash_warnings(self, keys: Iterable[SessionKey]) -> list[str]:
        """What moving these sessions to the trash cannot undo, a line each: a public copy."""
        found: list[str] = []
        for key in keys:
            try:
                text = self._store(key).plan_trash(key).row.get("warning")
            except LoopError:
                continue  # the move itself will say why it is impossible
            if isinstance(text, str):
                found.append(text)
        return found

    def look(self, keys: Iterable[SessionKey]) -> list[Reverted]:
        """Which of our last writes to these sessions their owner has undone since."""
        return self.actions.look(keys)

    # --- naming a session

    def resolve(self, text: str, *, put_away: bool = False) -> SessionKey:
        """The session meant by an id, an unambiguous id prefix, or a path.

        Sessions in the trash answer only when no other session does; with `put_away` those
        in the archive or the trash come first. Raises SessionNotFound, or InvalidArgument
        that names the candidates. Scans when nothing was scanned yet.
        """
        if not self._scanned:
            self.scan()
        return resolve(self.library.snapshot.rows, text, put_away=put_away)
