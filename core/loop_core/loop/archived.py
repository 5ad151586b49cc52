"""Archive membership as a list shows it: what cannot be read is unknown, and said."""

from __future__ import annotations

import os

from loop_core import fsio
from loop_core.errors import LoopError, StorageFailed, reason_of
from loop_core.loop.membership import parse_members
from loop_core.loop.paths import ARCHIVE_FILE
from loop_core.model import Problem, Stamp
from loop_core.sanitize import safe_line

__all__ = ["Archived"]


class Archived:
    """The archive.json of one collection, decoded only when it changed."""

    def __init__(self, store: str, collection: str) -> None:
        self.members: frozenset[str] = frozenset()
        self.problem: Problem | None = None
        self._store = store
        self._path = os.path.join(collection, ARCHIVE_FILE)
        self._stamp: Stamp | None = None

    def refresh(self, folder: int) -> None:
        """Look at the file in the open folder. An invalid one keeps the membership last known."""
        try:
            stamp = self._look(folder)
            if stamp is None:
                self.members, self.problem = frozenset(), None
            elif stamp != self._stamp:
                raw, stamp = fsio.read_file_stamped(self._path)
                self.members = frozenset(parse_members(raw, self._path))
                self.problem = None
            self._stamp = stamp
        except LoopError as error:
            self._stamp = None
            reason = f"archived or not is unknown: {safe_line(reason_of(error))}"
            self.problem = Problem(store=self._store, path=self._path, reason=reason)

    def _look(self, folder: int) -> Stamp | None:
        try:
            return fsio.stamp_from(os.stat(ARCHIVE_FILE, dir_fd=folder))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageFailed(error, self._path) from error
