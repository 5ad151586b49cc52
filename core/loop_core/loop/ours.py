"""What we wrote ourselves, so that it does not pass for activity of a session's owner.

*Running* (DESIGN "Words") is told by files that changed a moment ago. A pin or a read mark of
ours changes meta.json too, but says nothing about the owner: as long as the file is the one
we wrote, the session's last change stays what it was before.

Known to this process only. Another one of ours (a command beside the browser, a restart) may
show such a session as running, for ten seconds at most: telling it would cost every write a
second synced file, or every start a read of the journal before its first row.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from loop_core.loop.edits import Written
from loop_core.model import SessionRow, Stamp

__all__ = ["Ours"]

#: Sessions remembered. More are not written within the seconds that count.
_MOST = 4096


class _Write(NamedTuple):
    stamp: Stamp
    changed_ms: int


class Ours:
    """The last write of ours to each session's metadata, by the path of that file."""

    def __init__(self) -> None:
        self.writes: OrderedDict[str, _Write] = OrderedDict()

    def note(self, row: SessionRow, written: Written) -> None:
        """Take in a write to the metadata of `row`, which is the row from before it."""
        if not written.changed:
            return
        changed = row.changed_ms
        if written.before != row.stamp:
            # The owner wrote after the row was read: that was the last activity.
            changed = written.before.mtime_ns // 1_000_000
        self.writes[row.path] = _Write(written.stamp, changed)
        self.writes.move_to_end(row.path)
        while len(self.writes) > _MOST:
            self.writes.popitem(last=False)

    def changed_ms(self, path: str, stamp: Stamp | None, messages: Stamp | None) -> int:
        """When the owner last changed a session: `stamp` of its metadata at `path`, `messages`
        of its message file.
        """
        changed = 0 if messages is None else messages.mtime_ns // 1_000_000
        if stamp is None:
            return changed
        write = self.writes.get(path)
        if write is not None and write.stamp == stamp:
            return max(changed, write.changed_ms)
        return max(changed, stamp.mtime_ns // 1_000_000)
