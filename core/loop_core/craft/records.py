"""Physical lines of a session file as records, streamed with bounded memory.

The browser shows more than the application's reader keeps: of records glued together on one
line it takes each one that is whole, and counts one damage for the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from loop_core import jsonvalue
from loop_core.craft.messages import syntax_reason

__all__ = ["MAX_LINE", "Line", "Piece", "lines_in", "pieces_of", "value_of"]

#: A longer line is counted and named, never held in memory.
MAX_LINE = 32 << 20
CHUNK = 1 << 20
_TAIL = 256
_USER_AT_END = re.compile(rb'"type"\s*:\s*"user"\s*}\s*$')  # the writer puts it last


class Line(NamedTuple):
    """A non-empty physical line: byte offset, number from 1, bytes without LF, length.

    Of a line over `MAX_LINE`, `data` holds only the last bytes.
    """

    offset: int
    number: int
    data: bytes
    length: int


class Piece(NamedTuple):
    """One record of a line: where it begins in the line, its bytes, and what was decoded."""

    start: int
    data: bytes
    kind: Kind


class Kind(Struct, frozen=True, gc=False, rename="camel"):
    """The few fields that decide where a record belongs."""

    type: Any = None
    is_queued: Any = None


_NO_KIND = Kind()
_decode_kind = msgspec.json.Decoder(Kind).decode


def lines_in(
    fd: int,
    start: int,
    end: int,
    number: int = 1,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> Iterator[Line]:
    """The non-empty lines in the byte range [start, end); `number` is the first one's.

    Reads with `pread`, a chunk at a time. Stops early, silently, when `cancelled` says so.
    """
    held: list[bytes] = []
    length = 0  # bytes of the unfinished line
    at = begin = start
    while at < end:
        if cancelled is not None and cancelled():
            return
        chunk = os.pread(fd, min(CHUNK, end - at), at)
        if not chunk:
            break
        at += len(chunk)
        parts = chunk.split(b"\n")
        for part in parts[:-1]:
            if held or length:
                length += len(part)
                held.append(part)
                data = _joined(held, length)
                held = []
            else:
                length, data = len(part), part
            if length:
                yield Line(begin, number, data, length)
            begin += length + 1
            number += 1
            length = 0
        if parts[-1]:
            held.append(parts[-1])
            length += len(parts[-1])
            if length > MAX_LINE:
                held = [b"".join(held)[-_TAIL:]]
    if length:
        yield Line(begin, number, _joined(held, length), length)


def _joined(held: list[bytes], length: int) -> bytes:
    data = b"".join(held)
    return data[-_TAIL:] if length > MAX_LINE else data


def pieces_of(line: bytes, length: int) -> tuple[list[Piece], str | None]:
    """The records of a line, and the reason when something in it could not be read.

    `length` is the line's true length: over `MAX_LINE` the record is told by its tail alone.
    """
    if length > MAX_LINE:
        kind = Kind("user" if _USER_AT_END.search(line) else "oversized")
        return [Piece(0, b"", kind)], None
    try:
        return [Piece(0, line, _decode_kind(line))], None
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return [Piece(0, line, kind_of(jsonvalue.loads(line)))], None
    except jsonvalue.JsonSyntaxError as error:
        pieces = _glued(line)
        if len(pieces) > 1:
            return pieces, f"{len(pieces)} records on one line; Craft-Agents drops them"
        return pieces, syntax_reason(error, line)


def kind_of(value: Any) -> Kind:
    if isinstance(value, dict):
        return Kind(value.get("type"), value.get("isQueued"))
    return _NO_KIND


def _glued(line: bytes) -> list[Piece]:
    """The whole objects a line begins with, one after the other."""
    found: list[Piece] = []
    at = 0
    while True:
        while at < len(line) and line[at] in b" \t\r":
            at += 1
        end = _object_end(line, at)
        if end is None:
            return found
        data = line[at:end]
        try:
            found.append(Piece(at, data, kind_of(jsonvalue.loads(data))))
        except jsonvalue.JsonSyntaxError:
            return found
        at = end


def _object_end(line: bytes, at: int) -> int | None:
    """One past the object that begins at `at`, by its braces; None when it is not whole."""
    if line[at : at + 1] != b"{":
        return None
    depth = 0
    quoted = False
    size = len(line)
    while at < size:
        code = line[at]
        if quoted:
            if code == 0x5C:
                at += 1
            elif code == 0x22:
                quoted = False
        elif code == 0x22:
            quoted = True
        elif code in (0x7B, 0x5B):
            depth += 1
        elif code in (0x7D, 0x5D):
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def value_of(piece: Piece) -> Any:
    """The record as stored. Raises JsonSyntaxError only for bytes that changed since."""
    return jsonvalue.loads(piece.data)
