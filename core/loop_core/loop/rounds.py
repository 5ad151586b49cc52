"""Where the rounds of a history begin (S0 "Commit and index recovery").

A `RoundIndex` holds, for each user message of a range of lines, its message index and the
byte offset of its line. It is made by one pass that looks at few lines: a user message must
contain the JSON string "user", and inside other text that would be written ``\\"user\\"``.
"""

from __future__ import annotations

import operator
import os
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from loop_core.errors import InvalidArgument, Refused
from loop_core.loop.lines import MAX_LINE, is_user_line
from loop_core.store import Cancelled, never_cancelled

__all__ = ["RoundIndex", "Window", "build", "decode_index", "encode_index", "window"]

CHUNK = 1 << 18
_NEEDLE = b'"user"'
_ROLE_FIRST = b'{"role":'
_WHOLE = 8 << 20
_OVERLAP = len(_NEEDLE) - 1
#: The letters of "user" may be written as escapes; then every line of the chunk is looked at.
_ESCAPE = b"\\u00"
_ESCAPED = (b"\\u007", b"\\u0065")
#: Bytes. Longer lines are counted quicker by jumping from end to end.
_LONG = 2 << 10


class RoundIndex:
    """Rounds of a committed range. Offsets are bytes from the range's first byte.

    `generation` names the content (Loop's generation, or our own identity of a version-2
    file), `length` is the range's bytes, `total` its lines. Never changed once made.
    """

    __slots__ = ("generation", "length", "messages", "offsets", "total")

    def __init__(
        self,
        generation: str,
        length: int,
        total: int,
        messages: array[int] | None = None,
        offsets: array[int] | None = None,
    ) -> None:
        self.generation = generation
        self.length = length
        self.total = total
        self.messages = array("Q") if messages is None else messages
        self.offsets = array("Q") if offsets is None else offsets

    def __len__(self) -> int:
        """Number of rounds."""
        return len(self.messages)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RoundIndex):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def message_at(self, round_: int) -> int:
        """Index of a round's user message; the total for a round past the last."""
        return self.messages[round_] if round_ < len(self) else self.total

    def byte_at(self, round_: int) -> int:
        """Offset of a round's first byte; the length for a round past the last."""
        return self.offsets[round_] if round_ < len(self) else self.length

    def span(self, first: int, last: int) -> tuple[int, int, int, int]:
        """Messages [start, end) and bytes [begin, end) of rounds [first, last).

        What comes before the first round belongs to it.
        """
        start, begin = (self.message_at(first), self.byte_at(first)) if first > 0 else (0, 0)
        return start, self.message_at(last), begin, self.byte_at(last)

    def round_of(self, message: int) -> int:
        """The round a message belongs to; -1 before the first user message."""
        return bisect_left(self.messages, message + 1) - 1

    def named(self, generation: str) -> RoundIndex:
        return RoundIndex(generation, self.length, self.total, self.messages, self.offsets)


class Window(NamedTuple):
    """Rounds [first, last) of a page and its messages [start, end)."""

    first: int
    last: int
    start: int
    end: int


def window(users: Sequence[int], total: int, before: int | None = None, rounds: int = 3) -> Window:
    """The `rounds` rounds before message `before`, else the latest (S0 "History pages").

    `before` must be a user message's index or the total, and more than 0; anything else, or
    `rounds` below 1, raises InvalidArgument. Messages before the first user message belong to
    the first page; without any user message one page holds everything.
    """
    if type(rounds) is not int or rounds < 1:
        raise InvalidArgument("rounds must be a whole number above 0")
    last = len(users)
    if before is not None:
        if type(before) is not int or before < 1:
            raise InvalidArgument("before must be a whole number above 0")
        last = bisect_left(users, before)
        if before != total and (last == len(users) or users[last] != before):
            raise InvalidArgument(f"before {before} is not the start of a round")
    first = max(0, last - rounds)
    start = users[first] if first else 0
    return Window(first, last, start, total if before is None else before)


# --- building


def build(
    fd: int,
    base: int,
    length: int,
    *,
    generation: str = "",
    known: RoundIndex | None = None,
    cancelled: Cancelled = never_cancelled,
) -> RoundIndex:
    """Index the lines of [base, base + length) in one pass with bounded memory.

    `known` is the index of a prefix that ends with a line feed: only what follows is read.
    A file that ends early gives an index of what is there. Raises Refused when cancelled.
    """
    scan = _Scan(fd, base, length, known)
    while scan.at < scan.length:
        if cancelled():
            raise Refused("cancelled")
        scan.step()
    return RoundIndex(generation, scan.length, scan.total, scan.messages, scan.offsets)


class _Scan:
    """The state of one pass; `at` is always the first byte of a line."""

    def __init__(self, fd: int, base: int, length: int, known: RoundIndex | None) -> None:
        self.fd = fd
        self.base = base
        self.length = length
        self.at = 0 if known is None else known.length
        self.total = 0 if known is None else known.total
        self.messages = array("Q") if known is None else known.messages[:]
        self.offsets = array("Q") if known is None else known.offsets[:]
        self.buffer = bytearray(CHUNK)
        self.sparse = False  # lines are long here

    def read(self, at: int) -> int:
        """Fill the buffer from range offset `at`; how many bytes count."""
        wanted = min(CHUNK, self.length - at)
        return os.preadv(self.fd, [memoryview(self.buffer)[:wanted]], self.base + at)

    def step(self) -> None:
        """Take in the whole lines of the next chunk."""
        got = self.read(self.at)
        if got == 0:
            self.length = self.at
            return
        cut = self.buffer.rfind(b"\n", 0, got) + 1
        if cut == 0 and self.at + got < self.length:
            self.long_line()
            return
        if cut == 0 or self.at + got == self.length:
            cut = got
        if self.buffer.find(_ESCAPE, 0, cut) >= 0 and self.has(_ESCAPED, cut):
            self.every_line(cut)
        else:
            self.candidates(cut)
        self.at += cut

    def candidates(self, cut: int) -> None:
        buffer, line, counted, before = self.buffer, 0, 0, self.total
        while (hit := buffer.find(_NEEDLE, line, cut)) >= 0:
            start = buffer.rfind(b"\n", line, hit) + 1 or line
            end = buffer.find(b"\n", hit, cut)
            end = cut if end < 0 else end
            self.total += self.ends(counted, start)
            counted = start
            self.consider(bytes(buffer[start:end]), self.at + start)
            line = end + 1
        self.total += self.ends(counted, cut) + (buffer[cut - 1] != 0x0A)
        self.sparse = cut > (self.total - before) * _LONG

    def has(self, needles: tuple[bytes, ...], cut: int) -> bool:
        return any(self.buffer.find(needle, 0, cut) >= 0 for needle in needles)

    def ends(self, start: int, stop: int) -> int:
        """Line feeds in a part of the buffer."""
        find = self.buffer.find
        if not self.sparse:
            return self.buffer.count(b"\n", start, stop)
        count = 0
        while (start := find(b"\n", start, stop) + 1) > 0:
            count += 1
        return count

    def every_line(self, cut: int) -> None:
        chunk = bytes(self.buffer[:cut])
        lines = chunk.split(b"\n")
        if not lines[-1]:
            lines.pop()
        at = self.at
        for line in lines:
            self.consider(line, at)
            self.total += 1
            at += len(line) + 1

    def consider(self, line: bytes, at: int) -> None:
        if is_user_line(line):
            self.messages.append(self.total)
            self.offsets.append(at)

    def long_line(self) -> None:
        """A line longer than the buffer: find its end, then look at it if it may be a user's."""
        start = end = self.at
        maybe = False
        while end < self.length:
            got = self.read(end)
            stop = self.buffer.find(b"\n", 0, got)
            upto = got if stop < 0 else stop
            maybe = maybe or self.has((_NEEDLE, *_ESCAPED), upto)
            if stop >= 0:
                end += stop + 1
                break
            if got < min(CHUNK, self.length - end):
                self.length = end + got  # the file ends here
            # Chunks overlap, so that a needle on their border is found.
            end += got if end + got >= self.length else got - _OVERLAP
        if maybe:
            self.consider_long(start, end)
        self.total += 1
        self.at = end

    def consider_long(self, start: int, end: int) -> None:
        """Loop writes the role first; the many megabytes after it need not be read again."""
        head = os.pread(self.fd, len(_ROLE_FIRST) + 6, self.base + start)
        if end - start > _WHOLE and head.startswith(_ROLE_FIRST):
            if head.endswith(_NEEDLE):
                self.messages.append(self.total)
                self.offsets.append(start)
        elif end - start <= MAX_LINE:
            line = os.pread(self.fd, end - start, self.base + start)
            self.consider(line.rstrip(b"\n"), start)


# --- index.json


class _Entry(Struct, gc=False):
    messageIndex: int  # noqa: N815
    byteOffset: int  # noqa: N815


class _File(Struct, gc=False):
    generation: str
    rounds: list[_Entry]


_decode_file = msgspec.json.Decoder(_File).decode


def decode_index(raw: bytes, generation: str, length: int, total: int) -> RoundIndex | None:
    """Loop's index.json, or None when it is malformed, stale or impossible.

    Whether its offsets are true is checked on the page asked for (loop-format, "Our
    decisions" 9).
    """
    try:
        file = _decode_file(raw)
        messages = array("Q", [entry.messageIndex for entry in file.rounds])
        offsets = array("Q", [entry.byteOffset for entry in file.rounds])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError):
        return None
    if file.generation != generation:
        return None
    index = RoundIndex(generation, length, total, messages, offsets)
    return index if is_possible(index) else None


def is_possible(index: RoundIndex) -> bool:
    """Strictly ascending, inside the range, and the first line is at the range's start."""
    messages, offsets = index.messages, index.offsets
    if len(messages) != len(offsets):
        return False
    if not messages:
        return True
    return (
        all(map(operator.lt, messages, messages[1:]))
        and all(map(operator.lt, offsets, offsets[1:]))
        and messages[-1] < index.total
        and offsets[-1] < index.length
        and (messages[0] == 0) == (offsets[0] == 0)
    )


def encode_index(index: RoundIndex) -> bytes:
    """index.json as we write it (loop-format B, question 7)."""
    rounds: list[dict[str, Any]] = [
        {"messageIndex": message, "byteOffset": offset}
        for message, offset in zip(index.messages, index.offsets, strict=True)
    ]
    return msgspec.json.encode({"generation": index.generation, "rounds": rounds}) + b"\n"
