"""Metadata files, read in as few system calls as can be and never more than needed."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import NamedTuple

from loop_core import fsio
from loop_core.errors import StorageFailed
from loop_core.model import Stamp

__all__ = [
    "FIRST",
    "OPEN_FLAGS",
    "FirstLine",
    "end_of_text",
    "is_gone",
    "open_folder",
    "read_at",
    "read_first_line",
    "stat_at",
]

#: Bytes read of a version-2 file for its header and the head of its messages.
FIRST = 64 << 10
#: Bytes. A longer first line is not metadata.
_LONGEST = 64 << 20
#: A named tuple without its keyword handling: half the cost, thousands of times a scan.
_new = tuple.__new__
OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
#: What JavaScript's trim removes, as UTF-8 (loop-format section 2).
_SPACE = re.compile(
    rb"(?:[\t-\r ]|\xc2\xa0|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f"
    rb"|\xe3\x80\x80|\xef\xbb\xbf)*+"
)


class FirstLine(NamedTuple):
    """The header line of a version-2 file, and what was read after it.

    `start` and `end` are its bytes; `number` its 1-based line; `rest` begins after its line
    feed and may be cut anywhere.
    """

    raw: bytes
    start: int
    end: int
    number: int
    rest: bytes
    stamp: Stamp


def is_gone(error: StorageFailed) -> bool:
    return error.errno in (errno.ENOENT, errno.ENOTDIR)


def open_folder(path: str) -> int:
    """A descriptor to look names up in; OSError when that is not possible."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def stat_at(name: str, folder: int) -> Stamp | None:
    """The stamp of `name` in an open folder; None when it cannot be had."""
    try:
        found = os.stat(name, dir_fd=folder)
    except OSError:
        return None
    return _new(Stamp, (found.st_mtime_ns, found.st_size, found.st_ino))


def read_at(name: str, folder: int, path: str) -> tuple[bytes, Stamp]:
    """The content of a small regular file and its stamp; StorageFailed names `path`."""
    try:
        fd = os.open(name, OPEN_FLAGS, dir_fd=folder)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            raw = os.read(fd, found.st_size + 1)
            # It grew: another program writes in place.
            while len(raw) > found.st_size and (more := os.read(fd, 1 << 20)):
                raw += more
        finally:
            os.close(fd)
    except OSError as error:
        raise StorageFailed(error, path) from error
    return raw, _new(Stamp, (found.st_mtime_ns, found.st_size, found.st_ino))


def read_first_line(path: str) -> FirstLine:
    """The first line of a version-2 file after leading white space. Raises StorageFailed."""
    fd = fsio.open_regular(path)
    try:
        stamp = fsio.stamp_from(os.fstat(fd))
        data, size, start = b"", FIRST, 0
        while True:
            data = os.pread(fd, size, 0)
            found = _SPACE.match(data)
            start = found.end() if found is not None else 0
            end = data.find(b"\n", start)
            if end >= 0 or len(data) < size or size >= _LONGEST:
                break
            size *= 16
    except OSError as error:
        raise StorageFailed(error, path) from error
    finally:
        os.close(fd)
    end = len(data) if end < 0 else end
    number = data.count(b"\n", 0, start) + 1
    return FirstLine(data[start:end].rstrip(), start, end, number, data[end + 1 :], stamp)


def end_of_text(fd: int, start: int, size: int) -> int:
    """Where the text of a version-2 file ends: white space behind it does not count.

    A line feed directly after the last line belongs to the text.
    """
    end = size
    while end > start:
        at = max(start, end - 4096)
        data = os.pread(fd, end - at, at)
        kept = len(_without_space_behind(data))
        if kept:
            stop = at + kept
            return stop + 1 if os.pread(fd, 1, stop) == b"\n" else stop
        end = at
    return start


def _without_space_behind(data: bytes) -> bytes:
    """`data` without white space at its end, where only whole characters count."""
    at = len(data)
    while at:
        for width in (1, 2, 3):
            found = _SPACE.fullmatch(data, at - width, at) if at >= width else None
            if found is not None:
                at -= width
                break
        else:
            return data[:at]
    return b""
