"""Version-2 files: a header line and a message on each further line (loop-format A.2).

Loop trims the whole text with JavaScript's white space before it splits it. Here only the two
ends are looked for, so that a file of any size needs little memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from loop_core import fsio
from loop_core.errors import InvalidSession
from loop_core.jsonvalue import JS_SPACE
from loop_core.loop.envelope import parse_header
from loop_core.loop.stream import ReadAt, iter_blocks, reader

__all__ = ["Legacy", "iter_messages", "parse_legacy", "read_legacy", "trim_bytes"]

_BLOCK = 1 << 16
_LONGEST = 3  # bytes of the longest space
_SPACE = b"|".join(re.escape(char.encode()) for char in JS_SPACE)
_SPACES = re.compile(b"(?:" + _SPACE + b")*+")
_ENDINGS = tuple(char.encode() for char in JS_SPACE)


class Legacy(Struct, frozen=True):
    """Where the parts of a version-2 file lie.

    `raw` is the header line without white space around the text, from byte `header_start`, on
    the 1-based physical line `line`. The message lines are the bytes from `start` to `end`,
    the first of them on line `line` + 1; the last lacks its LF. Equal: there is none.
    """

    header: dict[str, Any]
    raw: bytes
    header_start: int
    header_end: int
    line: int
    start: int
    end: int


def trim_bytes(data: bytes) -> bytes:
    """`js_trim` of UTF-8 text (invalid parts included), as bytes."""
    found = _SPACES.match(data)
    data = data[found.end() :] if found else data
    return data[: _trimmed_length(data)]


def _trimmed_length(data: bytes) -> int:
    end = len(data)
    while True:
        for ending in _ENDINGS:
            if data.endswith(ending, 0, end):
                end -= len(ending)
                break
        else:
            return end


def _text_start(read: ReadAt, size: int) -> tuple[int, int]:
    """Offset of the first byte that is no white space, and the line it is on."""
    at, line = 0, 1
    while at < size:
        block = read(at, _BLOCK)
        found = _SPACES.match(block)
        spaces = found.end() if found else 0
        line += block.count(b"\n", 0, spaces)
        at += spaces
        if not block or len(block) - spaces >= _LONGEST or at >= size or not spaces:
            break
    return at, line


def _text_end(read: ReadAt, start: int, size: int) -> int:
    """One past the last byte that is no white space, at least `start`."""
    end = size
    while end > start:
        first = max(start, end - _BLOCK)
        block = read(first, end - first)
        kept = _trimmed_length(block)
        if kept > _LONGEST or first == start:
            return first + kept
        end = first + kept
    return end


def read_legacy(read: ReadAt, size: int, path: str | None = None) -> Legacy:
    """The header of a version-2 file of `size` bytes, and where its messages are.

    Raises `UnsupportedSession` and `InvalidSession`. Messages and the working directory are
    not looked at.
    """
    header_start, line = _text_start(read, size)
    end = _text_end(read, header_start, size)
    if header_start >= end:
        raise InvalidSession(path, "the file holds no session", 1)
    raw = next(iter_blocks(read, header_start, end), b"").partition(b"\n")[0]
    header_end = header_start + len(raw)
    header = parse_header(raw, path, line)
    return Legacy(header, raw, header_start, header_end, line, min(header_end + 1, end), end)


def iter_messages(read: ReadAt, legacy: Legacy) -> Iterator[bytes]:
    """The message lines without their LF, in order; one block in memory at a time."""
    for block in iter_blocks(read, legacy.start, legacy.end):
        yield from block.removesuffix(b"\n").split(b"\n")


def parse_legacy(path: str | os.PathLike[str]) -> Legacy:
    """`read_legacy` of a file. Raises `StorageFailed` as well."""
    name = os.fspath(path)
    fd = fsio.open_regular(name)
    try:
        with fsio.guarded(name):
            return read_legacy(reader(fd), os.fstat(fd).st_size, name)
    finally:
        os.close(fd)
