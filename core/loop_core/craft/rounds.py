"""Where the rounds of a session file are, found in one streaming pass.

A user message begins a round. The application rewrites its file whole at every save, so an
index belongs to one stamp; a later index of the same session is told to be a continuation by
a checksum over the bytes before the old last round.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable
from typing import Any

from loop_core import jsonvalue
from loop_core.craft.records import Line, lines_in, pieces_of
from loop_core.model import Damage, Stamp

__all__ = ["DAMAGE_LIMIT", "MARK_BYTES", "RoundIndex", "build_index", "header_span", "is_header"]

DAMAGE_LIMIT = 1000
MARK_BYTES = 1 << 20
HEADER_MAX = 16 << 20


class RoundIndex:
    """Byte offsets of the rounds, message counts, damage; about 40 bytes a round.

    `starts[i]`, `offsets[i]`, `lines[i]`: first message index, byte offset and physical line
    of round i. `marks`: (offset, message, line) about every megabyte, so that a part of a huge
    round can be read alone. Messages before `starts[0]` begin at byte `body`.
    """

    def __init__(self, stamp: Stamp, body: int, body_line: int) -> None:
        self.stamp = stamp
        self.body = body
        self.body_line = body_line
        self.size = stamp.size
        self.total = 0
        self.starts = array("q")
        self.offsets = array("q")
        self.lines = array("q")
        self.sums = array("L")  # checksum of [body, offsets[i])
        self.marks: list[tuple[int, int, int]] = []
        self.damage: list[Damage] = []
        self.damage_count = 0
        self.queued = False
        self.revision = ""

    @property
    def rounds(self) -> int:
        return len(self.starts)

    def span(self, number: int) -> tuple[int, int, int, int, int]:
        """Byte range, message range and first line of round `number`; -1: before the first."""
        if number < 0:
            first = self.starts[0] if self.starts else self.total
            stop = self.offsets[0] if self.starts else self.size
            return self.body, stop, 0, first, self.body_line
        last = number + 1 == len(self.starts)
        return (
            self.offsets[number],
            self.size if last else self.offsets[number + 1],
            self.starts[number],
            self.total if last else self.starts[number + 1],
            self.lines[number],
        )

    @property
    def has_prelude(self) -> bool:
        """Whether messages stand before the first user message."""
        return self.total > 0 and (not self.starts or self.starts[0] > 0)

    def continues(self, old: RoundIndex) -> bool:
        """Whether everything before the old last round is still there, byte for byte."""
        if not old.starts:
            return True
        last = len(old.starts) - 1
        return (
            len(self.starts) > last
            and self.starts[last] == old.starts[last]
            and self.offsets[last] - self.body == old.offsets[last] - old.body
            and self.sums[last] == old.sums[last]
        )


def is_header(value: Any) -> bool:
    """Whether the first line is a header and not a message (craft-format section 13)."""
    return not (isinstance(value, dict) and isinstance(value.get("type"), str))


def header_span(fd: int, size: int) -> tuple[bytes, int, int]:
    """The first non-empty line, the byte after it, and its physical number.

    A line over 16 MiB is cut; the body then still begins behind it.
    """
    for line in lines_in(fd, 0, size):
        return line.data[:HEADER_MAX], min(line.offset + line.length + 1, size), line.number
    return b"", size, 1


def build_index(
    fd: int, stamp: Stamp, *, cancelled: Callable[[], bool] | None = None
) -> RoundIndex:
    """Index an open session file. When cancelled, what was found so far."""
    head, body, number = header_span(fd, stamp.size)
    damage: list[Damage] = []
    try:
        header = jsonvalue.loads(head.removeprefix(jsonvalue.BOM))
    except jsonvalue.JsonSyntaxError:
        if head:
            damage.append(Damage(number, "the header cannot be read"))
        header = None
    if not is_header(header):
        damage.append(Damage(number, "the header is missing; a message stands in its place"))
        body, number = 0, 0
    index = RoundIndex(stamp, body, number + 1)
    for found in damage:
        _damaged(index, found)
    scan = _Pass(fd, index)
    for line in lines_in(fd, body, stamp.size, number + 1, cancelled=cancelled):
        scan.line(line)
    index.revision = f"{zlib.crc32(index.sums.tobytes()):08x}{index.total:x}"
    return index


def _damaged(index: RoundIndex, damage: Damage) -> None:
    index.damage_count += 1
    if len(index.damage) < DAMAGE_LIMIT:
        index.damage.append(damage)


class _Pass:
    """State of one pass: the checksum runs over the body, whatever lines it holds."""

    def __init__(self, fd: int, index: RoundIndex) -> None:
        self.fd = fd
        self.index = index
        self.sum = 0
        self.summed = index.body
        self.next_mark = index.body + MARK_BYTES

    def line(self, line: Line) -> None:
        index = self.index
        pieces, reason = pieces_of(line.data, line.length)
        if reason is not None:
            _damaged(index, Damage(line.number, reason))
        elif line.length > len(line.data):
            _damaged(index, Damage(line.number, f"a line of {line.length} bytes is not shown"))
        if line.offset >= self.next_mark:
            index.marks.append((line.offset, index.total, line.number))
            self.next_mark = line.offset + MARK_BYTES
        for piece in pieces:
            if piece.kind.type == "user":
                index.starts.append(index.total)
                index.offsets.append(line.offset + piece.start)
                index.lines.append(line.number)
                self.advance(line, piece.start)
                index.sums.append(self.sum)
                index.queued = index.queued or piece.kind.is_queued is True
            index.total += 1
        self.advance(line, line.length)

    def advance(self, line: Line, upto: int) -> None:
        """Carry the checksum to byte `upto` of `line`; line ends and blank lines count as LF."""
        begin = self.summed
        if begin < line.offset:
            self.sum = zlib.crc32(b"\n" * min(line.offset - begin, 1 << 16), self.sum)
            begin = line.offset
        data = line.data if len(line.data) == line.length else b"%d" % line.length + line.data
        self.sum = zlib.crc32(memoryview(data)[begin - line.offset : upto], self.sum)
        self.summed = line.offset + upto
