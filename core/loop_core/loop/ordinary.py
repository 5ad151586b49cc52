"""The ordinary sessions of a folder, brought up to date many at a time.

Of ten thousand sessions nearly all are directories as Loop writes them, new to us or as they
were. These two loops do for them what `Sessions.look_published` does for any, in as few steps
as can be; what they do not take is left to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from loop_core.loop.known import RECENT_MS, Known, Sessions
from loop_core.loop.paths import MESSAGES_FILE, META_FILE
from loop_core.loop.probe import OPEN_FLAGS
from loop_core.loop.quick import quick_row, read_quickly
from loop_core.loop.rows import TOO_SHORT
from loop_core.model import SessionKey, Stamp

__all__ = ["take_new", "unchanged"]

#: A named tuple without its keyword handling: half the cost.
_new = tuple.__new__
_META, _MESSAGES = f"/{META_FILE}", f"/{MESSAGES_FILE}"


def unchanged(sessions: Sessions, stems: Iterable[str], folder: int) -> list[str]:
    """Look whether known sessions are as they were; gives those that may not be.

    `folder` is the descriptor of the collection.
    """
    known, members, traced = sessions.known, sessions.members, sessions.traced
    look, recent, ours = os.stat, sessions.now_ms - RECENT_MS, sessions.ours.writes
    missing: dict[str | None, bool] = {None: False}
    rest = []
    for stem in stems:
        one = known[stem]
        row = one.row
        try:
            now = look(stem + _META, dir_fd=folder)
            same = one.stamp == (now.st_mtime_ns, now.st_size, now.st_ino)
            # The message file of a session at rest is taken to be as it was.
            if same and row.changed_ms >= recent:
                now = look(stem + _MESSAGES, dir_fd=folder)
                same = one.messages == (now.st_mtime_ns, now.st_size, now.st_ino)
        except OSError:
            same = False
        if not same:
            rest.append(stem)
            continue
        cwd = row.cwd
        if cwd not in missing:
            missing[cwd] = sessions.folders.folder(cwd).missing  # type: ignore[arg-type]
        if (
            missing[cwd] is not row.folder_missing
            or (row.id in members) is not row.archived
            or row.id in traced
            or row.owner_live
            or row.path in ours
        ):
            sessions.touch(one)
    return rest


def take_new(sessions: Sessions, stems: Iterable[str], folder: int) -> list[str]:
    """Take in sessions that are not known yet; gives those that could not be read.

    `folder` is the descriptor of the collection.
    """
    known, place, ours = sessions.known, sessions.place, sessions.ours
    members, traced, places = sessions.members, sessions.traced, sessions.places
    recent = sessions.now_ms - RECENT_MS
    store, start_of_ref, start_of_path = place.store, place.ref, place.path + "/"
    opened, status_of, read, close, look = os.open, os.fstat, os.read, os.close, os.stat
    rest = []
    for stem in stems:
        name = stem + _META
        try:
            fd = opened(name, OPEN_FLAGS, dir_fd=folder)
            try:
                now = status_of(fd)
                raw = read(fd, now.st_size + 1) if stat.S_ISREG(now.st_mode) else b""
            finally:
                close(fd)
            stamp = _new(Stamp, (now.st_mtime_ns, now.st_size, now.st_ino))
            if not raw or len(raw) != stamp.size:
                rest.append(stem)
                continue
            file = read_quickly(raw)
            if file is None or file.header.id != stem:
                sessions.take(stem, raw, stamp, folder, linked=False)
                continue
            now = look(stem + _MESSAGES, dir_fd=folder)
        except OSError:
            rest.append(stem)
            continue
        path = start_of_path + name
        changed = max(stamp.mtime_ns, now.st_mtime_ns) // 1_000_000
        messages = None
        if changed >= recent:
            messages = _new(Stamp, (now.st_mtime_ns, now.st_size, now.st_ino))
        if path in ours.writes:
            changed = ours.changed_ms(path, stamp, messages)
        header, end = file.header, file.start + file.bytes
        # One text for all that are equal: a list holds thousands.
        header.id = stem
        project, missing, header.cwd = places.get(header.cwd) or sessions.find_place(header.cwd)
        row = quick_row(
            file,
            _new(SessionKey, (store, start_of_ref + stem)),
            path,
            project,
            stamp,
            stem in members,
            missing,
            False,  # linked  # noqa: FBT003
            changed,
            stem in traced and sessions.owned(stem, changed),
            None if now.st_size >= end else TOO_SHORT,
        )
        titled = row.title is not None or row.empty
        known[stem] = Known(row, stamp, messages, file.start, titled)
    return rest
