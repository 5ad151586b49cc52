"""All workspaces of a store scanned side by side, and merged into one scan.

Each workspace is scanned by a thread of its own. One that does not answer in time (a network
disk that went away) is a `Problem`; its thread stays in the system call it hangs in and is
asked for its result by the next scan, and no second one is started meanwhile.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from loop_core.craft.scan import Found, WorkspaceScanner
from loop_core.craft.workspaces import Workspace
from loop_core.model import Problem, SessionKey, SessionRow, StoreScan
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled, never_cancelled

__all__ = ["Scans", "with_owner"]

_POLL = 0.05


class _News(NamedTuple):
    root: str
    found: Found
    last: bool


_Inbox = queue.SimpleQueue[_News]


class _Running:
    """A scan of one workspace under way, and who waits for its results."""

    def __init__(self, scanner: WorkspaceScanner, inbox: _Inbox) -> None:
        self.scanner = scanner
        self.inboxes = [inbox]
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._work, name="craft-scan", daemon=True)

    def _work(self) -> None:
        scanner = self.scanner
        found: Found | None = None
        try:
            with scanner.lock:
                for step in scanner.scan(cancelled=self.stopped.is_set):
                    if found is not None:
                        self._tell(found, last=False)
                    found = step
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            found = Found((), (scanner.problem(scanner.root, reason),), complete=False)
        self._tell(found or Found(complete=False), last=True)

    def _tell(self, found: Found, *, last: bool) -> None:
        for inbox in list(self.inboxes):
            inbox.put(_News(self.scanner.root, found, last))


class Scans:
    """The scanners of a store's workspaces and what each found last."""

    def __init__(
        self,
        store: str,
        workspaces: Callable[[], list[Workspace]],
        is_owned: Callable[[str], bool],
        patience: float,
    ) -> None:
        self._store = store
        self._workspaces = workspaces
        self._is_owned = is_owned
        self._patience = patience
        self._scanners: dict[str, WorkspaceScanner] = {}
        self._found: dict[str, Found] = {}
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()

    def prepare(self) -> list[WorkspaceScanner]:
        """The scanners of the workspaces known now, in the configuration's order."""
        known = self._workspaces()
        with self._lock:
            kept: dict[str, WorkspaceScanner] = {}
            for workspace in known:
                scanner = self._scanners.get(workspace.root)
                kept[workspace.root] = scanner or WorkspaceScanner(self._store, workspace)
                kept[workspace.root].workspace = workspace
            self._scanners = kept
            self._found = {root: found for root, found in self._found.items() if root in kept}
            return list(kept.values())

    def known(self) -> list[WorkspaceScanner]:
        """The scanners of the last `prepare`; prepares when there was none."""
        with self._lock:
            scanners = list(self._scanners.values())
        return scanners or self.prepare()

    def scan(self, *, cancelled: Cancelled = never_cancelled) -> Iterator[StoreScan]:
        """Everything, in steps; the last one says which workspaces did not answer."""
        scanners = self.prepare()
        inbox: _Inbox = queue.SimpleQueue()
        waiting = {scanner.root for scanner in scanners}
        started = [self._start(scanner, inbox) for scanner in scanners]
        deadline = time.monotonic() + self._patience
        try:
            while waiting and not cancelled():
                try:
                    news = inbox.get(timeout=_POLL)
                except queue.Empty:
                    if time.monotonic() > deadline:
                        break
                    continue
                deadline = time.monotonic() + self._patience
                self._take(news)
                if news.last:
                    waiting.discard(news.root)
                if waiting:
                    yield self.merged(complete=False)
        finally:
            for running in started:
                running.inboxes.remove(inbox)
                if not running.inboxes:
                    running.stopped.set()
        yield self.merged(complete=not waiting, silent=() if cancelled() else waiting)

    def _start(self, scanner: WorkspaceScanner, inbox: _Inbox) -> _Running:
        """A new thread, or the one that still works on the workspace."""
        with self._lock:
            running = self._running.get(scanner.root)
            if running is not None and running.thread.is_alive():
                running.inboxes.append(inbox)
                if running.thread.is_alive():
                    return running
            running = self._running[scanner.root] = _Running(scanner, inbox)
            running.thread.start()
            return running

    def _take(self, news: _News) -> None:
        """A step never shows fewer rows than are known already."""
        with self._lock:
            if news.root not in self._scanners:
                return
            found, old = news.found, self._found.get(news.root)
            # Most often it goes on from the step before.
            if old is not None and not news.last and old.rows != found.rows[: len(old.rows)]:
                fresh = {row.key for row in found.rows}
                found = found._replace(
                    rows=(*found.rows, *(row for row in old.rows if row.key not in fresh))
                )
            self._found[news.root] = found

    def merged(self, *, complete: bool, silent: Iterable[str] = ()) -> StoreScan:
        """What is known of all workspaces, with who is running now."""
        with self._lock:
            scanners = list(self._scanners.values())
            found = dict(self._found)
        rows: list[SessionRow] = []
        problems: list[Problem] = []
        unsettled: list[str] = []
        for scanner in scanners:
            unsettled += scanner.unsettled
            part = found.get(scanner.root)
            if part is not None:
                rows += with_owner(part.rows, live=self._is_owned(scanner.root))
                problems += part.problems
                complete = complete and part.complete
            if scanner.root in silent:
                name = safe_line(scanner.workspace.name, 80)
                reason = f"workspace {name} does not answer; its disk may be away"
                problems.append(
                    Problem(store=self._store, path=scanner.root, reason=reason, kind="store")
                )
        projects = tuple(scanner.project for scanner in scanners)
        return StoreScan(
            store=self._store,
            rows=tuple(rows),
            projects=projects,
            problems=tuple(problems),
            unsettled=tuple(unsettled),
            complete=complete,
        )

    def refresh(self, changed: dict[str, set[str] | None]) -> StoreScan:
        """Again after changes: of the named session folders, or of a whole workspace (None)."""
        complete = True
        for scanner in self.known():
            if scanner.root not in changed:
                continue
            some = changed[scanner.root]
            if not scanner.lock.acquire(timeout=self._patience):
                complete = False  # the scan under way will see the change, or the next one
                continue
            try:
                if some is None:
                    found = deque(scanner.scan(), maxlen=1).pop()
                else:
                    found = scanner.refresh(some)
            finally:
                scanner.lock.release()
            with self._lock:
                self._found[scanner.root] = found
        return self.merged(complete=complete)

    def look(self, scanner: WorkspaceScanner, name: str) -> SessionRow | None:
        """One session's row as the disk has it now, remembered; None when it is gone."""
        key = SessionKey(self._store, os.path.join(scanner.sessions, name))
        if not scanner.lock.acquire(timeout=self._patience):
            return scanner.row_of(name)
        try:
            row = scanner.look(name)
        finally:
            scanner.lock.release()
        with self._lock:
            found = self._found.get(scanner.root)
            if found is not None:
                others = tuple(one for one in found.rows if one.key != key)
                rows = others if row is None else (*others, row)
                self._found[scanner.root] = found._replace(rows=rows)
        if row is None:
            return None
        return with_owner((row,), live=self._is_owned(scanner.root))[0]


def with_owner(rows: tuple[SessionRow, ...], *, live: bool) -> list[SessionRow]:
    """Mark rows as owned; a row in the trash is nobody's."""
    if not live:
        return list(rows)
    return [
        row if row.trashed_ms is not None else msgspec.structs.replace(row, owner_live=True)
        for row in rows
    ]
