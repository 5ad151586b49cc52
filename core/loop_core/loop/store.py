"""Loop's sessions as a store of the browser (`SessionStore`).

One store is an agent directory with all its collections, or one collection the user named.
The work is elsewhere: `scan` finds, `store_reading` and `reader` read, `changes` plans and writes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from loop_core.errors import (
    LoopError,
    ReadOnly,
    Refused,
    SessionNotFound,
    reason_of,
)
from loop_core.loop import changes, location
from loop_core.loop.abilities import Away, capabilities, resume_command
from loop_core.loop.membership import set_members
from loop_core.loop.paths import ARCHIVE_FILE
from loop_core.loop.reader import Reader
from loop_core.loop.reclaim import Reclaimable, plan_reclaim, reclaim, recover_reclaim
from loop_core.loop.recovery import recover_collection
from loop_core.loop.scan import Scanner
from loop_core.loop.store_reading import LoopReading
from loop_core.loop.trashing import plan_trash
from loop_core.model import SessionKey, SessionRow, Source, StoreScan, WatchRoot
from loop_core.plans import Capabilities, Change, Intent, TrashPlan
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled, never_cancelled

__all__ = ["LoopStore"]

_StrPath = str | os.PathLike[str]
_TRASH = "trash:"


class LoopStore(LoopReading):
    """Sessions below `root`: an agent directory, or a collection with `collection` True.

    With `collection` None a directory that holds sessions itself, and no ``sessions`` folder,
    is a collection. `trace_root` is the folder of trace directories (default: ``traces`` in
    the agent directory); `cache_dir` holds rebuilt round indexes. With `titles` False a scan
    reads metadata only; fallback titles come with `rescan` and `look`, of what these look at.
    """

    def __init__(
        self,
        root: _StrPath,
        *,
        collection: bool | None = None,
        trace_root: _StrPath | None = None,
        read_only: bool = False,
        cache_dir: _StrPath | None = None,
        titles: bool = True,
    ) -> None:
        self._root = os.path.abspath(os.fspath(root))
        self.read_only = read_only
        named = location.holds_sessions(self._root) if collection is None else collection
        traces = None if trace_root is None else os.path.abspath(os.fspath(trace_root))
        if traces is None:
            traces = location.default_traces(self._root, agent=not named)
        kind = "loop-collection" if named else "loop"
        self._id = f"{kind}:{self._root}"
        if cache_dir is None:
            cache_dir = platformdirs.user_cache_path("loop-tui", appauthor=False) / "rounds"
        self._scanner = Scanner(self._id, self._root, agent=not named, traces=traces, titles=titles)
        self._reader = Reader(os.fspath(cache_dir))
        self._lock = threading.RLock()

    @property
    def id(self) -> str:
        return self._id

    @property
    def source(self) -> Source:
        return "loop"

    @property
    def label(self) -> str:
        return location.label_of(self._root)

    @property
    def root(self) -> Path:
        return Path(self._root)

    # --- finding

    def scan(self, *, cancelled: Cancelled = never_cancelled) -> Iterator[StoreScan]:
        with self._lock:
            yield from self._scanner.scan(cancelled)

    def rescan(self, paths: set[str]) -> StoreScan:
        with self._lock:
            return self._scanner.rescan(paths, never_cancelled)

    def watch_roots(self) -> tuple[WatchRoot, ...]:
        scanner = self._scanner
        return location.watch_roots(
            self._root, scanner.sessions, scanner.trash_dir, agent=scanner.agent
        )

    def trash_dirs(self) -> tuple[str, ...]:
        return (self._scanner.trash_dir,)

    # --- what can be done

    def capabilities(self, row: SessionRow) -> Capabilities:
        away = Away(None, None) if row.trashed_ms is not None else self._away(row)
        return capabilities(row, self._scanner.traces_of(row), away, read_only=self.read_only)

    def _away(self, row: SessionRow) -> Away:
        """Whether links lead out of the store, to where the session or its collection is."""
        folder = os.path.dirname(row.path)
        collection = self._scanner.collection_of(row)
        whole = self._away_from(collection)
        return Away(whole if folder == collection else self._away_from(folder), whole)

    def _away_from(self, folder: str) -> str | None:
        return location.away(folder, self._root, self._scanner.sessions)

    def resume_command(self, row: SessionRow) -> tuple[list[str], str]:
        return resume_command(row)

    # --- changing

    def plan(self, key: SessionKey, intent: Intent) -> Change:
        row = self._now(key)
        change = changes.plan(row, intent, self._scanner.collection_of(row))
        self._require_inside(row, change)
        return change

    def perform(self, change: Change) -> SessionRow:
        self._require_writable()
        row = self._now(change.key)
        if row.id != change.id:
            raise Refused("another session is stored there now", row.path)
        self._require_inside(row, change)
        written = changes.perform(change, row, self._scanner.collection_of(row))
        if written is not None:
            self._scanner.ours.note(row, written)
        return self._now(change.key)

    def plan_trash(self, key: SessionKey, *, force: bool = False) -> TrashPlan:  # noqa: ARG002
        """What moves. A trace lock cannot be forced (loop-format, "Our decisions" 10)."""
        self._require_writable()
        row = self._now(key)
        collection = self._scanner.collection_of(row)
        if reason := self._away_from(collection):
            raise Refused(reason, row.path)
        project = self._scanner.folders.projects.get(row.project)
        return plan_trash(
            row,
            trash_dir=self._scanner.trash_dir,
            collection=collection,
            traces=self._scanner.traces_of(row),
            project="" if project is None else project.name,
        )

    def set_membership(self, collection: str, ids: list[str], *, archived: bool) -> None:
        self._require_writable()
        set_members(collection, ids, archived=archived)

    def plan_reclaim(self, key: SessionKey) -> Reclaimable:
        """What the session would give back. Writes nothing; see `reclaim`."""
        row = self._now(key)
        if row.form != "loop3":
            raise Refused("only a published session holds space to reclaim", row.path)
        return plan_reclaim(row.path, traces=self._scanner.traces_of(row))

    def reclaim(
        self, key: SessionKey, plan: Reclaimable, *, in_place: bool = False
    ) -> tuple[int, int]:
        """Carry out a plan; bytes before and after. Raises Refused, Conflict, StorageFailed."""
        self._require_writable()
        return reclaim(plan, in_place=in_place, traces=self._scanner.traces_of(self._now(key)))

    def recover(self) -> tuple[str, ...]:
        self._require_writable()
        said: list[str] = []
        for collection in self._scanner.collection_paths():
            if self._away_from(collection) or not os.path.isdir(collection):
                continue
            try:
                found = recover_collection(collection, self._scanner.traces_in(collection))
                said += [safe_line(f"{left.path}: {left.text}") for left in found]
                said += map(safe_line, recover_reclaim(collection))
            except LoopError as error:
                said.append(safe_line(f"{collection}: {reason_of(error)}"))
        return tuple(said)

    def _now(self, key: SessionKey) -> SessionRow:
        row = self.look(key)
        if row is None:
            raise SessionNotFound("the session is not there any more")
        if row.trashed_ms is not None:
            raise Refused("it is in the trash", row.path)
        return row

    def _require_inside(self, row: SessionRow, change: Change) -> None:
        """Nothing outside the store is written (loop-format "Our decisions" 12)."""
        if not change.edits:
            return
        away = self._away(row)
        for edit in change.edits:
            reason = away.collection if edit.field == ARCHIVE_FILE else away.session
            if reason is not None:
                raise Refused(reason, row.path)

    def _require_writable(self) -> None:
        if self.read_only:
            raise ReadOnly("the program runs read-only")
