"""Where the rounds of a history begin (S0 "Commit and index recovery").

A `RoundIndex` holds, for each user message of a range of lines, its message index and the
byte offset of its line. `round_scan` makes one from the messages, `decode_index` from Loop's
index.json.
"""

from __future__ import annotations

import operator
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from loop_core.errors import InvalidArgument

__all__ = ["RoundIndex", "Window", "decode_index", "encode_index", "is_possible", "window"]


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
