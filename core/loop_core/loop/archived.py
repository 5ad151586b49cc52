"""Archive membership as a list shows it: what cannot be read is unknown, and said."""

from __future__ import annotations

import os

from loop_core import fsio
from loop_core.errors import LoopError, reason_of
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

    def refresh(self) -> None:
        """Look at the file. One that is invalid keeps the membership last known."""
        try:
            stamp = fsio.stamp_of(self._path)
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
