"""Sessions whose file is missing for a moment, while their folder stays.

The application writes `session.jsonl.tmp`, unlinks the session and renames (craft-format rule
1); a tool that copies may leave a gap without any temporary. Until it is clear whether the
file comes back, the row that was there stays (failures row 55).
"""

from __future__ import annotations

import time
from collections.abc import Container

from loop_core.model import Stamp

__all__ = ["Gaps", "may_be_renamed"]

_GAP_NS = 5_000_000_000  # a lone temporary younger than this may still be renamed
#: Seconds a file may be missing where no temporary tells of its writer.
PATIENCE = 1.2


def may_be_renamed(temporary: Stamp | None) -> bool:
    """Whether a temporary was written so lately that its writer may not be done."""
    return temporary is not None and time.time_ns() - temporary.mtime_ns < _GAP_NS


class Gaps:
    """What is missing in one workspace, and since when."""

    def __init__(self) -> None:
        self.open: set[str] = set()  # names that are to be looked at again soon
        self._since: dict[str, float] = {}

    def holds(self, name: str, temporary: Stamp | None) -> bool:
        """Whether a session that was read, and has no file now, counts as being there."""
        now = time.monotonic()
        since = self._since.setdefault(name, now)
        waits = may_be_renamed(temporary) or (temporary is None and now - since < PATIENCE)
        (self.open.add if waits else self.open.discard)(name)
        return waits

    def close(self, name: str) -> None:
        """The file is there, or the folder is not: nothing to wait for."""
        if name in self._since:
            del self._since[name]
            self.open.discard(name)

    def keep(self, names: Container[str]) -> None:
        """Forget all but `names`."""
        for name in [one for one in self._since if one not in names]:
            self.close(name)
