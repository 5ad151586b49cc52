"""Craft-Agents as a store of the browser: one per configuration directory.

A store has all workspaces its configuration knows, wherever they are on disk. The work is
elsewhere: `scans` finds, `places` says what a path belongs to, `history` and `texts` read,
`writes` plans and writes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from loop_core.craft import abilities, details, places, planning, writes
from loop_core.craft.history import HistoryReader
from loop_core.craft.images import image_of
from loop_core.craft.running import Owner
from loop_core.craft.scan import WorkspaceScanner
from loop_core.craft.scans import Scans
from loop_core.craft.statuses import load_labels, load_statuses
from loop_core.craft.texts import CraftTexts, text_mark
from loop_core.craft.workspaces import (
    Workspace,
    all_workspaces,
    listed_workspaces,
    workspace_name,
)
from loop_core.errors import LoopError, ReadOnly, Refused, SessionNotFound, reason_of
from loop_core.model import (
    Detail,
    Hit,
    ImageBlock,
    Page,
    RawPage,
    Round,
    SessionKey,
    SessionRow,
    Source,
    StoreScan,
    TextMark,
    WatchRoot,
)
from loop_core.plans import Capabilities, Change, Intent, TrashPlan
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled, Choices, never_cancelled

__all__ = ["CraftStore", "stores_in"]

_PATIENCE = 3.0  # seconds after which a silent workspace is reported and left behind
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
        self._listed: list[Workspace] = []
        self._scans = Scans(self.id, self.workspaces, self._is_owned, patience)

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
        listed = listed_workspaces(self._root)
        if listed is not None:
            self._listed = listed
        # A list that cannot be read now is being rewritten, or damaged: what it held stays.
        if not self._listed and os.path.isdir(os.path.join(self._root, "sessions")):
            return [Workspace(self._root, workspace_name(self._root))]
        taken = {os.path.realpath(w.root) for other in self._others for w in other.workspaces()}
        found = all_workspaces(self._root, self._listed)
        return [w for w in found if os.path.realpath(w.root) not in taken]

    def owner(self, workspace_root: str) -> Owner | None:
        """The application that has this workspace open, or None."""
        return places.owner_of_workspace(self._root, workspace_root)

    def _is_owned(self, workspace_root: str) -> bool:
        return self.owner(workspace_root) is not None

    def trash_dirs(self) -> tuple[str, ...]:
        """Every workspace's trash, beside its `sessions` folder."""
        return tuple(scanner.trash for scanner in self._scans.prepare())

    def watch_roots(self) -> tuple[WatchRoot, ...]:
        return places.watch_roots(self._root, self._scans.prepare())

    # --- scanning

    def scan(self, *, cancelled: Cancelled = never_cancelled) -> Iterator[StoreScan]:
        """See `SessionStore.scan`; a workspace that does not answer in time is a `Problem`."""
        return self._scans.scan(cancelled=cancelled)

    def rescan(self, paths: set[str]) -> StoreScan:
        """The store again after changes at `paths`, reading only the sessions they name."""
        changed = places.changed_sessions(self._scans.known(), paths)
        if changed is None:
            return deque(self.scan(), maxlen=1).pop()
        return self._scans.refresh(changed)

    # --- one session

    def _place(self, key: SessionKey) -> tuple[WorkspaceScanner, str]:
        """The workspace and the folder of a session. Raises SessionNotFound."""
        if key.store != self.id:
            raise SessionNotFound("the session belongs to another store", key.ref)
        for scanner in self._scans.known():
            if key.ref.startswith(_TRASH):
                folder = scanner.trashed.folders.get(key.ref)
                if folder is None:
                    self._scans.refresh({scanner.root: set()})
                    folder = scanner.trashed.folders.get(key.ref)
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
        # First the page: it also tells whether a message is queued.
        page: Page | str
        try:
            page = self.history.page(key, folder, rounds=1)
        except LoopError as error:
            page = reason_of(error)
        owner, queued = self.owner(scanner.root), self.history.known_queued(folder)
        return details.details_of(folder, scanner.workspace, owner, queued, page)

    def capabilities(self, row: SessionRow) -> Capabilities:
        """What can be done now; decided by the lock file and the queued mark (section 8)."""
        owner = self.owner(row.project)
        queued = owner is not None and self.history.known_queued(row.key.ref)
        return abilities.capabilities_of(row, owner, queued=queued, read_only=self.read_only)

    def choices(self, key: SessionKey) -> Choices:
        """The statuses and labels the session's workspace knows; names are sanitized."""
        root = self._place(key)[0].root
        return Choices(
            tuple((status.id, safe_line(status.label)) for status in load_statuses(root)),
            tuple((label, safe_line(name)) for label, name in load_labels(root).items()),
        )

    def resume_command(self, row: SessionRow) -> tuple[list[str], str]:
        raise Refused(
            "Craft-Agents has no command that resumes a session; open it in the application",
            row.path,
        )

    # --- changing

    def plan(self, key: SessionKey, intent: Intent) -> Change:
        """See `SessionStore.plan`. Raises Refused by the rules of the running application."""
        return planning.plan(self._live_place(key), intent, self.history)

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
        return abilities.plan_trash(place, row)

    def set_membership(self, collection: str, ids: list[str], *, archived: bool) -> None:
        """Nothing: the archive mark is inside the session and moves with it."""

    def look(self, key: SessionKey) -> SessionRow | None:
        """See `SessionStore.look`."""
        try:
            scanner, folder = self._place(key)
        except SessionNotFound:
            return None
        if key.ref.startswith(_TRASH):
            rows = self._scans.refresh({scanner.root: set()}).rows
            return next((row for row in rows if row.key == key), None)
        return self._scans.look(scanner, os.path.basename(folder))

    def recover(self) -> tuple[str, ...]:
        """Act on temporaries a killed process of ours left in session folders."""
        if self.read_only:
            return ()
        done: list[str] = []
        for scanner in self._scans.prepare():
            done += writes.recover(scanner.sessions)
        return tuple(done)


def stores_in(
    config_dirs: Iterable[str | os.PathLike[str]], *, read_only: bool = False
) -> list[CraftStore]:
    """One store a configuration directory; a workspace known to several is in the first."""
    stores: list[CraftStore] = []
    for root in dict.fromkeys(os.path.abspath(os.fspath(one)) for one in config_dirs):
        stores.append(CraftStore(root, read_only=read_only, others=tuple(stores)))
    return stores
