"""Craft-Agents as a store of the browser: one per configuration directory.

A store has all workspaces its configuration knows, wherever they are on disk. Each workspace
is scanned by a thread of its own, so that one on a slow or missing disk delays nobody.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from loop_core.craft import details, writes
from loop_core.craft.history import HistoryReader
from loop_core.craft.images import image_of
from loop_core.craft.running import LOCK_NAME, Owner, owner_of
from loop_core.craft.scan import Found, WorkspaceScanner
from loop_core.craft.texts import CraftTexts, text_mark
from loop_core.craft.workspaces import (
    Workspace,
    all_workspaces,
    default_config_dir,
    get_config_dir,
    load_workspaces,
    workspace_name,
)
from loop_core.errors import Refused, SessionNotFound
from loop_core.model import (
    Capabilities,
    Change,
    Detail,
    Hit,
    ImageBlock,
    Intent,
    Page,
    Problem,
    Project,
    RawPage,
    Round,
    SessionKey,
    SessionRow,
    Source,
    StoreScan,
    TextMark,
    TrashPlan,
    WatchRoot,
)
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled, never_cancelled

__all__ = ["CraftStore", "stores_in"]

_PATIENCE = 3.0  # seconds after which a silent workspace is reported and left behind
_POLL = 0.05
_TRASH = "trash:"


class CraftStore:
    """The sessions one configuration directory knows; implements `SessionStore`.

    `root` may also be a workspace's own folder. `others` are stores opened before this one:
    a workspace known to one of them belongs to it.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        read_only: bool = False,
        others: Sequence[CraftStore] = (),
        patience: float = _PATIENCE,
    ) -> None:
        self._root = os.path.abspath(os.fspath(root))
        self.read_only = read_only
        self.history = HistoryReader()
        self._others = tuple(others)
        self._patience = patience
        self._scanners: dict[str, WorkspaceScanner] = {}
        self._found: dict[str, Found] = {}
        self._busy: dict[str, threading.Thread] = {}
        self._lock = threading.RLock()

    @property
    def id(self) -> str:
        return f"craft:{self._root}"

    @property
    def source(self) -> Source:
        return "craft"

    @property
    def label(self) -> str:
        home = os.path.expanduser("~")
        path = self._root
        if path.startswith(home + "/"):
            path = "~" + path[len(home) :]
        return safe_line(f"Craft-Agents {path}")

    @property
    def root(self) -> Path:
        return Path(self._root)

    # --- places

    def workspaces(self) -> list[Workspace]:
        """Every workspace of this store, remote ones included."""
        config = os.path.join(self._root, "config.json")
        if os.path.isdir(os.path.join(self._root, "sessions")) and not load_workspaces(self._root):
            return [
                Workspace(self._root, workspace_name(self._root), listed=os.path.isfile(config))
            ]
        taken = {os.path.realpath(w.root) for other in self._others for w in other.workspaces()}
        return [w for w in all_workspaces(self._root) if os.path.realpath(w.root) not in taken]

    def owner(self, workspace_root: str) -> Owner | None:
        """The application that has this workspace open, or None.

        The lock lies beside the configuration; a workspace of the default folder may be open
        by an application with another configuration (craft-format section 1).
        """
        for place in self._owners_of(workspace_root):
            owner = owner_of(place)
            if owner is not None:
                return owner
        return None

    def _owners_of(self, workspace_root: str) -> list[str]:
        places = [self._root]
        default = default_config_dir()
        real = os.path.realpath(workspace_root)
        for other in (get_config_dir(), default):
            if other == self._root:
                continue
            inside = real.startswith(os.path.realpath(os.path.join(default, "workspaces")) + os.sep)
            if inside or any(os.path.realpath(w.root) == real for w in load_workspaces(other)):
                places.append(other)
        return list(dict.fromkeys(places))

    def trash_dirs(self) -> tuple[str, ...]:
        """Every workspace's trash, beside its `sessions` folder."""
        return tuple(scanner.trash for scanner in self._prepare())

    def watch_roots(self) -> tuple[WatchRoot, ...]:
        roots = [WatchRoot(self._root, recursive=False, exists=os.path.isdir(self._root))]
        for scanner in self._prepare():
            if scanner.workspace.remote:
                continue
            for path, recursive in ((scanner.sessions, True), (scanner.trash, False)):
                roots.append(WatchRoot(path, recursive=recursive, exists=os.path.isdir(path)))
            statuses = os.path.join(scanner.root, "statuses")
            if os.path.isdir(statuses):
                roots.append(WatchRoot(statuses, recursive=False))
        return tuple(roots)

    # --- scanning

    def _prepare(self) -> list[WorkspaceScanner]:
        """The scanners of the workspaces known now, in the configuration's order."""
        known = self.workspaces()
        with self._lock:
            kept: dict[str, WorkspaceScanner] = {}
            for workspace in known:
                scanner = self._scanners.get(workspace.root)
                if scanner is None:
                    scanner = WorkspaceScanner(self.id, workspace)
                scanner.workspace = workspace
                kept[workspace.root] = scanner
            self._scanners = kept
            self._found = {root: found for root, found in self._found.items() if root in kept}
            return list(kept.values())

    def scan(self, *, cancelled: Cancelled = never_cancelled) -> Iterator[StoreScan]:
        """See `SessionStore.scan`; a workspace that does not answer in time is a `Problem`."""
        if not os.path.isdir(self._root):
            yield self._merged((), complete=not os.path.lexists(self._root))
            return
        scanners = self._prepare()
        if not scanners:
            yield self._merged((), complete=True)
            return
        results: queue.SimpleQueue[tuple[str, Found, bool]] = queue.SimpleQueue()
        stop = threading.Event()
        waiting = {scanner.root for scanner in scanners}
        for scanner in scanners:
            self._start(scanner, results, stop)
        deadline = time.monotonic() + self._patience
        try:
            while waiting and not cancelled():
                try:
                    root, found, last = results.get(timeout=_POLL)
                except queue.Empty:
                    if time.monotonic() > deadline:
                        break
                    continue
                deadline = time.monotonic() + self._patience
                with self._lock:
                    self._found[root] = found if last else self._growing(root, found)
                if last:
                    waiting.discard(root)
                if waiting:
                    yield self._merged(waiting, complete=False)
        finally:
            stop.set()
        silent = waiting if not cancelled() else set()
        yield self._merged(silent, complete=not waiting, silent=True)

    def _growing(self, root: str, found: Found) -> Found:
        """A step never shows fewer rows than are known already."""
        old = self._found.get(root)
        if old is None:
            return found
        fresh = {row.key for row in found.rows}
        return found._replace(rows=(*found.rows, *(r for r in old.rows if r.key not in fresh)))

    def _start(
        self,
        scanner: WorkspaceScanner,
        results: queue.SimpleQueue[tuple[str, Found, bool]],
        stop: threading.Event,
    ) -> None:
        busy = self._busy.get(scanner.root)
        if busy is not None and busy.is_alive():
            return  # still inside a system call of the scan before

        def work() -> None:
            found: Found | None = None
            try:
                for step in scanner.scan(cancelled=stop.is_set):
                    if found is not None:
                        results.put((scanner.root, found, False))
                    found = step
            except OSError as error:
                reason = f"cannot be read: {error.strerror or error}"
                problem = Problem(
                    store=self.id, path=scanner.root, reason=reason, kind="unreadable"
                )
                found = Found((), (problem,), complete=False)
            results.put((scanner.root, found or Found(complete=False), True))

        thread = threading.Thread(target=work, name="craft-scan", daemon=True)
        self._busy[scanner.root] = thread
        thread.start()

    def _merged(self, waiting: Iterable[str], *, complete: bool, silent: bool = False) -> StoreScan:
        """All workspaces as one scan, with who is running now."""
        with self._lock:
            scanners = list(self._scanners.values())
            found = dict(self._found)
        rows: list[SessionRow] = []
        problems: list[Problem] = []
        for scanner in scanners:
            part = found.get(scanner.root)
            if part is not None:
                live = self.owner(scanner.root) is not None
                rows += _with_owner(part.rows, live=live)
                problems += part.problems
                complete = complete and part.complete
            if silent and scanner.root in waiting:
                reason = f"workspace {safe_line(scanner.workspace.name, 80)} does not answer"
                problems.append(
                    Problem(store=self.id, path=scanner.root, reason=reason, kind="store")
                )
        return StoreScan(
            store=self.id,
            rows=tuple(rows),
            projects=tuple(self._projects(scanners)),
            problems=tuple(problems),
            complete=complete,
        )

    def _projects(self, scanners: list[WorkspaceScanner]) -> Iterator[Project]:
        for scanner in scanners:
            yield scanner.project

    def rescan(self, paths: set[str]) -> StoreScan:
        """The store again after changes at `paths`, reading only the sessions they name."""
        with self._lock:
            scanners = list(self._scanners.values())
            if not scanners or not self._found:
                return self._scan_now()
            changed: dict[str, set[str] | None] = {}
            for path in paths:
                scanner = next((s for s in scanners if path.startswith(s.root + os.sep)), None)
                if scanner is None:
                    if os.path.basename(path) != LOCK_NAME:
                        return self._scan_now()
                    continue
                name = _session_in(scanner, path)
                names = changed.setdefault(scanner.root, set())
                if name is None or names is None:
                    changed[scanner.root] = None
                else:
                    names.add(name)
            for root, some in changed.items():
                scanner = self._scanners[root]
                if some is None:
                    self._found[root] = deque(scanner.scan(), maxlen=1).pop()
                else:
                    self._found[root] = scanner.refresh(some)
            return self._merged((), complete=True)

    def _scan_now(self) -> StoreScan:
        return deque(self.scan(), maxlen=1).pop()

    # --- one session

    def _place(self, key: SessionKey) -> tuple[WorkspaceScanner, str]:
        """The workspace and the folder of a session. Raises SessionNotFound."""
        if key.store != self.id:
            raise SessionNotFound("the session belongs to another store", key.ref)
        if not self._scanners:
            self._prepare()
        for scanner in list(self._scanners.values()):
            if key.ref.startswith(_TRASH):
                folder = scanner.trash_folders.get(key.ref)
                if folder is None:
                    scanner.refresh(())
                    folder = scanner.trash_folders.get(key.ref)
                if folder is not None:
                    return scanner, folder
            elif os.path.dirname(key.ref) == scanner.sessions:
                return scanner, key.ref
        raise SessionNotFound("the session is in no workspace of this store", key.ref)

    def _live_place(self, key: SessionKey) -> writes.Place:
        """A session that can be changed. Raises Refused for one in the trash."""
        scanner, folder = self._place(key)
        if key.ref.startswith(_TRASH):
            raise Refused("the session is in the trash; restore it first", folder)
        if self.read_only:
            from loop_core.errors import ReadOnly

            raise ReadOnly("writing is switched off", folder)
        return writes.Place(key, scanner.root, folder, self.owner(scanner.root))

    def page(
        self,
        key: SessionKey,
        *,
        before: int | None = None,
        before_round: int | None = None,
        rounds: int = 3,
        revision: str | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> Page:
        scanner, folder = self._place(key)
        return self.history.page(
            key,
            folder,
            before=before,
            before_round=before_round,
            rounds=rounds,
            revision=revision,
            running=self.owner(scanner.root) is not None,
            cancelled=cancelled,
        )

    def raw_page(self, key: SessionKey, *, before: int | None = None, rounds: int = 3) -> RawPage:
        return self.history.raw_page(self._place(key)[1], before=before, rounds=rounds)

    def messages(
        self, key: SessionKey, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[tuple[int, Any]]:
        return self.history.messages(self._place(key)[1], cancelled=cancelled)

    def message(self, key: SessionKey, index: int, revision: str | None = None) -> Any:
        return self.history.message(self._place(key)[1], index, revision)

    def find(
        self, key: SessionKey, text: str, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[Hit]:
        return self.history.find(self._place(key)[1], text, cancelled=cancelled)

    def text_mark(self, key: SessionKey) -> TextMark:
        return text_mark(self._place(key)[1])

    def texts(
        self,
        key: SessionKey,
        *,
        since: TextMark | None = None,
        wanted: Callable[[bytes], bool] | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> CraftTexts:
        folder = self._place(key)[1]
        return CraftTexts(folder, since=since, wanted=wanted, cancelled=cancelled)

    def header(self, key: SessionKey) -> Any:
        """The session's header as stored; None when it cannot be read."""
        return details.header_of(self._place(key)[1])

    def rounds(self, key: SessionKey, *, cancelled: Cancelled = never_cancelled) -> Iterator[Round]:
        return self.history.rounds(self._place(key)[1], cancelled=cancelled)

    def image_data(self, key: SessionKey, block: ImageBlock) -> tuple[str, str] | None:
        folder = self._place(key)[1]
        return image_of(self.history.message(folder, block.message), block.block, folder)

    def details(self, key: SessionKey) -> tuple[Detail, ...]:
        scanner, folder = self._place(key)
        return details.details_of(
            folder, scanner.workspace, self.owner(scanner.root), self.history.known_queued(folder)
        )

    def capabilities(self, row: SessionRow) -> Capabilities:
        """What can be done now; decided by the lock file and the queued mark (section 8)."""
        owner = self.owner(row.project)
        queued = owner is not None and self.history.known_queued(row.key.ref)
        return writes.capabilities_of(row, owner, queued=queued, read_only=self.read_only)

    def resume_command(self, row: SessionRow) -> tuple[list[str], str]:
        raise Refused(
            "Craft-Agents has no command that resumes a session; open it in the application",
            row.path,
        )

    # --- changing

    def plan(self, key: SessionKey, intent: Intent) -> Change:
        """See `SessionStore.plan`. Raises Refused by the rules of the running application."""
        return writes.plan(self._live_place(key), intent, self.history)

    def perform(self, change: Change) -> SessionRow:
        """See `SessionStore.perform`; craft-format section 14."""
        place = self._live_place(change.key)
        writes.perform(place, change, self.history)
        row = self.look(change.key)
        if row is None:
            raise SessionNotFound("the session went away meanwhile", place.folder)
        return row

    def plan_trash(self, key: SessionKey, *, force: bool = False) -> TrashPlan:  # noqa: ARG002
        """See `SessionStore.plan_trash`; never while the application runs, forced or not."""
        place = self._live_place(key)
        row = self.look(key)
        if row is None:
            raise SessionNotFound("the session is not there any more", place.folder)
        return writes.plan_trash(place, row)

    def set_membership(self, collection: str, ids: list[str], *, archived: bool) -> None:
        """Nothing: the archive mark is inside the session and moves with it."""

    def look(self, key: SessionKey) -> SessionRow | None:
        """See `SessionStore.look`."""
        try:
            scanner, folder = self._place(key)
        except SessionNotFound:
            return None
        if key.ref.startswith(_TRASH):
            rows = scanner.refresh(()).rows
            return next((row for row in rows if row.key == key), None)
        with self._lock:
            row = scanner.look(os.path.basename(folder))
            found = self._found.get(scanner.root)
            if found is not None:
                others = tuple(r for r in found.rows if r.key != key)
                self._found[scanner.root] = found._replace(
                    rows=others if row is None else (*others, row)
                )
        if row is None:
            return None
        return _with_owner((row,), live=self.owner(scanner.root) is not None)[0]

    def recover(self) -> tuple[str, ...]:
        """Act on temporaries a killed process of ours left in session folders."""
        if self.read_only:
            return ()
        done: list[str] = []
        for scanner in self._prepare():
            done += writes.recover(scanner.sessions)
        return tuple(done)


def _session_in(scanner: WorkspaceScanner, path: str) -> str | None:
    """The session folder a changed path lies in; None when more than one may be concerned."""
    inside = scanner.sessions + os.sep
    if not path.startswith(inside):
        return None
    name = path[len(inside) :].split(os.sep, 1)[0]
    return name or None


def _with_owner(rows: tuple[SessionRow, ...], *, live: bool) -> list[SessionRow]:
    """Mark rows as owned; a row in the trash is nobody's."""
    if not live:
        return list(rows)
    return [
        row if row.trashed_ms is not None else msgspec.structs.replace(row, owner_live=True)
        for row in rows
    ]


def stores_in(
    config_dirs: Iterable[str | os.PathLike[str]], *, read_only: bool = False
) -> list[CraftStore]:
    """One store a configuration directory; a workspace known to several is in the first."""
    stores: list[CraftStore] = []
    for root in dict.fromkeys(os.path.abspath(os.fspath(one)) for one in config_dirs):
        stores.append(CraftStore(root, read_only=read_only, others=tuple(stores)))
    return stores
