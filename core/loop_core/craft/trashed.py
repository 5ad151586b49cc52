"""The sessions in one workspace's trash, as rows; an unchanged one is not read again."""

from __future__ import annotations

import os

import msgspec

from loop_core.craft.rows import Place, bare_row, read_head, row_from
from loop_core.craft.sessions import SESSION_FILE
from loop_core.errors import LoopError
from loop_core.model import Problem, SessionRow, Stamp
from loop_core.trash import TrashEntry, read_entries

__all__ = ["TRASH_NAME", "TrashedSessions", "stamp_at"]

TRASH_NAME = ".loop-tui-trash"


class TrashedSessions:
    """The trash beside a workspace's `sessions`, remembered between scans."""

    def __init__(self, store: str, root: str) -> None:
        self.store = store
        self.root = root
        self.path = os.path.join(root, TRASH_NAME)
        self.folders: dict[str, str] = {}  # of the last scan, by the key's reference
        self._kept: dict[str, tuple[Stamp | None, SessionRow]] = {}

    def scan(self, known: frozenset[str]) -> tuple[list[SessionRow], list[Problem]]:
        """The rows, and what cannot be listed; `known` are the workspace's statuses."""
        listing = read_entries(self.path, self.store)
        self.folders = {entry.key_ref: entry.session_path for entry in listing.entries}
        self._kept = {entry.key_ref: self._look(entry, known) for entry in listing.entries}
        return [self._kept[entry.key_ref][1] for entry in listing.entries], listing.problems

    def _look(self, entry: TrashEntry, known: frozenset[str]) -> tuple[Stamp | None, SessionRow]:
        folder = entry.session_path
        path = os.path.join(folder, SESSION_FILE)
        stamp = stamp_at(path)
        old = self._kept.get(entry.key_ref)
        if old is not None and stamp is not None and old[0] == stamp:
            return old
        name = os.path.basename(folder)
        place = Place(self.store, entry.key_ref, folder, name, path, self.root, known)
        try:
            row = row_from(read_head(path), place)
        except (OSError, LoopError) as error:
            row = bare_row(place, f"cannot be read: {error}", entry.trashed_ms)
        return stamp, msgspec.structs.replace(row, trashed_ms=entry.trashed_ms)


def stamp_at(path: str) -> Stamp | None:
    """The stamp of what a path leads to; None where nothing can be looked at."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)
