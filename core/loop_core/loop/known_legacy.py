"""How a version-2 file among the known sessions is brought up to date.

Its metadata is line 1 and its messages follow, so one read gives the row and the title.
"""

from __future__ import annotations

import msgspec

from loop_core.errors import StorageFailed, UnsupportedSession
from loop_core.loop.heads import head_of
from loop_core.loop.known import Sessions, entitle
from loop_core.loop.probe import is_gone, read_first_line, stat_at
from loop_core.loop.rows import seen_legacy, unreadable

__all__ = ["look_legacy"]


def look_legacy(sessions: Sessions, stem: str, folder: int, *, linked: bool) -> bool:
    """Bring a version-2 file up to date; False: it is not there.

    `folder` is the descriptor of the collection.
    """
    path = f"{sessions.place.path}/{stem}.jsonl"
    known = sessions.known.get(stem)
    stamp = stat_at(f"{stem}.jsonl", folder)
    if stamp is not None:
        if sessions.unsupported.get(stem) == stamp:
            return True
        if known is not None and known.row.form == "loop2" and known.stamp == stamp:
            sessions.touch(known)
            return True
    head = None
    try:
        first = read_first_line(path)
        stamp = first.stamp
        size = max(0, stamp.size - first.end - 1)
        seen = seen_legacy(first.raw, path)
        seen = seen._replace(peek=msgspec.structs.replace(seen.peek, size=size))
        head = head_of(first.rest, whole=len(first.rest) == size)
    except UnsupportedSession:
        sessions.count_unsupported(stem, stamp)
        return True
    except StorageFailed as error:
        if is_gone(error):
            return False
        seen = unreadable(error)
    known = sessions.keep(stem, seen, "loop2", path, (stamp, None), linked=linked)
    if head is not None:
        entitle(known, head)
    return True
