"""Bringing back a session whose only copy is `session.jsonl.tmp`.

A crash of the application between unlink and rename leaves it so, and its next listing deletes
the file for good (craft-format rule 2). The user's *restore* gives it its name again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from loop_core import fsio, jsonvalue
from loop_core.craft.opening import session_files
from loop_core.craft.rounds import header_span, is_header
from loop_core.craft.sessions import SESSION_FILE
from loop_core.errors import Conflict, Refused, SessionNotFound, StorageFailed
from loop_core.fsio_base import stamp_from
from loop_core.plans import Edit

__all__ = ["RESCUE", "is_lone", "is_saving", "rescue"]

#: The edit that stands for it: the file gets the name it lost.
RESCUE = Edit(SESSION_FILE, None, '"session.jsonl.tmp"')
_QUIET_NS = 5_000_000_000  # a younger file may be a save under way
_CHUNK = 1 << 20


def is_lone(folder: str) -> bool:
    """Whether the folder holds a `session.jsonl.tmp` and no `session.jsonl`."""
    file, lone = session_files(folder)
    return not os.path.lexists(file) and os.path.isfile(lone)


def is_saving(folder: str) -> bool:
    """Whether the application's temporary file changed so lately that it may be writing it."""
    try:
        changed = os.lstat(session_files(folder)[1]).st_mtime_ns
    except OSError:
        return False
    return time.time_ns() - changed < _QUIET_NS


def rescue(folder: str) -> None:
    """Publish the lone file under its name; nothing to do when the name is taken again.

    Raises Refused while it is being written, or when it is no whole session.
    """
    file, lone = session_files(folder)
    if os.path.lexists(file):
        return
    try:
        fd = fsio.open_regular(lone, follow=False)
    except StorageFailed as error:
        if isinstance(error.error, FileNotFoundError):
            raise SessionNotFound("the session is not there any more", file) from error
        raise
    try:
        status = os.fstat(fd)
        if time.time_ns() - status.st_mtime_ns < _QUIET_NS:
            raise Refused("the file was written a moment ago; wait a few seconds", lone)
        _check_header(fd, status.st_size, lone)
        if not fsio.create_by_link(file, _content(fd, status.st_size)):
            return
        if fsio.stamp_of(lone, follow=False) != stamp_from(status):
            raise Conflict("the file changed while it was brought back; both are kept", lone)
        fsio.remove_file(lone)
    finally:
        os.close(fd)


def _check_header(fd: int, size: int, path: str) -> None:
    line = header_span(fd, size)[0]
    try:
        value = jsonvalue.loads(line.removeprefix(jsonvalue.BOM))
    except jsonvalue.JsonSyntaxError as error:
        raise Refused(f"the header cannot be read: {error}", path) from error
    if not isinstance(value, dict) or not is_header(value):
        raise Refused("the file has no session header", path)


def _content(fd: int, size: int) -> Iterator[bytes]:
    at = 0
    while at < size and (chunk := os.pread(fd, min(_CHUNK, size - at), at)):
        at += len(chunk)
        yield chunk
