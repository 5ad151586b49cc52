"""All stores as one: a snapshot with a generation, kept up to date, and routing by key.

Every store is scanned by a thread of its own, so that one on a mount that does not answer
neither blocks nor empties the rest; it becomes a `Problem` and keeps the rows it had. A scan
that is not complete only adds: nothing is removed because it was not seen yet.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from loop_core.errors import InvalidArgument, LoopError, reason_of
from loop_core.model import Problem, Project, SessionKey, SessionRow, Snapshot, StoreScan
from loop_core.order import Ordered
from loop_core.sanitize import safe_line
from loop_core.store import SessionStore

__all__ = ["Library"]

OnStep = Callable[[Snapshot], None]
#: Seconds a store may stay silent before the others are shown without it.
PATIENCE = 4.0
#: Seconds between two steps handed to the caller.
_STEP = 0.05


class _News(NamedTuple):
    """What a store's thread says: a scan, the error it ended with, or that it is done."""

    store: str
    scan: StoreScan | None = None
    error: BaseException | None = None
    done: bool = False


class Library:
    """The stores now open. Scans and refreshes may come from any thread, one at a time."""

    def __init__(self, stores: Iterable[SessionStore], *, patience: float = PATIENCE) -> None:
        self.stores = tuple(stores)
        self._by_id = {store.id: store for store in self.stores}
        self._patience = patience
        self._scans: dict[str, StoreScan] = {}
        self._silent: dict[str, Problem] = {}
        self._busy: dict[str, threading.Thread] = {}
        self._late: queue.SimpleQueue[_News] = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._snapshot = Snapshot()
        self._ordered = Ordered()

    # --- looking things up

    @property
    def snapshot(self) -> Snapshot:
        """The latest snapshot; never changes once handed out."""
        return self._snapshot

    def row(self, key: SessionKey) -> SessionRow | None:
        return self._ordered.by_key.get(key)

    @property
    def unsettled(self) -> frozenset[str]:
        """Paths to `refresh` again soon: a file is missing there that may come back."""
        scans = list(self._scans.values())
        return frozenset(path for scan in scans for path in scan.unsettled)

    def store_of(self, key: SessionKey) -> SessionStore:
        """The store a key belongs to. Raises InvalidArgument for a store that is not open."""
        store = self._by_id.get(key.store)
        if store is None:
            raise InvalidArgument(f"no open store {key.store!r}")
        return store

    # --- keeping up

    def scan(self, on_step: OnStep | None = None) -> Snapshot:
        """Scan every store; `on_step` gets growing snapshots in the calling thread."""
        return self._update(self.stores, lambda store: store.scan(), on_step)

    def refresh(self, paths: set[str]) -> Snapshot:
        """The snapshot after changes at `paths` (raw, absolute); asks only stores they concern."""
        wanted: dict[str, set[str]] = {}
        for store in self.stores:
            places = _places(store)
            mine = {path for path in paths if _is_inside(path, places)}
            if mine:
                wanted[store.id] = mine
        stores = [store for store in self.stores if store.id in wanted]

        def rescan(store: SessionStore) -> Iterator[StoreScan]:
            yield store.rescan(wanted[store.id])

        return self._update(stores, rescan, None)

    def _update(
        self,
        stores: Iterable[SessionStore],
        work: Callable[[SessionStore], Iterator[StoreScan]],
        on_step: OnStep | None,
    ) -> Snapshot:
        with self._lock:
            self._take_late()
            waiting = {store.id for store in stores if self._start(store, work)}
            deadline = time.monotonic() + self._patience
            shown = 0.0
            while waiting:
                try:
                    news = self._late.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    self._give_up(waiting)
                    break
                self._take(news)
                if news.store in waiting:
                    # Whoever says something may go on; only silence is waited for.
                    deadline = time.monotonic() + self._patience
                    if news.done:
                        waiting.discard(news.store)
                now = time.monotonic()
                if on_step is not None and waiting and now - shown >= _STEP:
                    shown = now
                    on_step(self._publish())
            return self._publish()

    def _start(
        self, store: SessionStore, work: Callable[[SessionStore], Iterator[StoreScan]]
    ) -> bool:
        """Begin `work` in a thread; False while an earlier one has not come back."""
        earlier = self._busy.get(store.id)
        if earlier is not None and earlier.is_alive():
            return False
        news = self._late

        def run() -> None:
            try:
                for scan in work(store):
                    news.put(_News(store.id, scan))
            except Exception as error:  # noqa: BLE001 - a store's fault must not end the others
                news.put(_News(store.id, error=error))
            news.put(_News(store.id, done=True))

        # A daemon: a thread stuck in a dead mount must not hold the program's exit.
        thread = threading.Thread(target=run, name=f"scan {store.id}", daemon=True)
        self._busy[store.id] = thread
        thread.start()
        return True

    def _take_late(self) -> None:
        """What slow stores said since the last update."""
        while True:
            try:
                self._take(self._late.get_nowait())
            except queue.Empty:
                return

    def _take(self, news: _News) -> None:
        if news.error is not None:
            reason = reason_of(news.error)
            if not isinstance(news.error, LoopError):
                reason = f"the scan failed: {reason}"
            self._silent[news.store] = self._store_problem(news.store, safe_line(reason))
        elif news.scan is not None:
            self._silent.pop(news.store, None)
            self._scans[news.store] = _merged(self._scans.get(news.store), news.scan)

    def _give_up(self, waiting: set[str]) -> None:
        for store in waiting:
            self._silent[store] = self._store_problem(store, "does not answer")

    def _store_problem(self, store: str, reason: str) -> Problem:
        root = os.fspath(self._by_id[store].root)
        return Problem(store=store, path=root, reason=reason, kind="store")

    def _publish(self) -> Snapshot:
        """A new snapshot, or the old one when nothing changed."""
        scans = [self._scans[store.id] for store in self.stores if store.id in self._scans]
        problems = [*self._silent.values()]
        projects: list[Project] = []
        rows: list[SessionRow] = []
        for scan in scans:
            rows += scan.rows
            projects += scan.projects
            problems += scan.problems
        old = self._snapshot
        self._ordered.update(rows)
        new = Snapshot(
            generation=old.generation,
            rows=self._ordered.rows,
            projects=tuple(projects),
            problems=tuple(problems),
            unsupported=sum(scan.unsupported for scan in scans),
            complete=len(scans) == len(self.stores)
            and not self._silent
            and all(scan.complete for scan in scans),
        )
        if new == old:
            return old
        self._snapshot = msgspec.structs.replace(new, generation=old.generation + 1)
        return self._snapshot


def _merged(old: StoreScan | None, new: StoreScan) -> StoreScan:
    """A complete scan replaces; any other adds and updates."""
    if new.complete or old is None or not old.rows:
        return new
    seen = {row.key for row in new.rows}
    kept = [row for row in old.rows if row.key not in seen]
    names = {project.key for project in new.projects}
    places = [project for project in old.projects if project.key not in names]
    return msgspec.structs.replace(new, rows=(*new.rows, *kept), projects=(*new.projects, *places))


def _places(store: SessionStore) -> list[str]:
    """Where changes concern a store."""
    found = [os.fspath(store.root), *store.trash_dirs()]
    return found + [watched.path for watched in store.watch_roots()]


def _is_inside(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip(os.sep) + os.sep) for place in places)
