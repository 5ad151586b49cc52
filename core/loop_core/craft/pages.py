"""Ranges of an open session file: which rounds a page shows, and reading just those."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from loop_core import jsonvalue
from loop_core.craft.nesting import make_round
from loop_core.craft.records import lines_in, pieces_of
from loop_core.craft.rounds import RoundIndex
from loop_core.craft.tokens import expand_line
from loop_core.errors import InvalidArgument
from loop_core.model import Round
from loop_core.store import Cancelled, never_cancelled

__all__ = ["Opened", "RoundReader", "choose", "nearest", "sieve", "stream"]

_ROUND_WHOLE = 16 << 20  # a longer round is shown by its two ends
_ROUND_TAIL = 6 << 20
_PART = 8 << 20  # bytes of one round that are made blocks at once, for a whole session
_OVERSIZED = {"type": "oversized", "content": "a record too large to show"}


class Opened(NamedTuple):
    fd: int
    path: str
    folder: str
    rounds: RoundIndex


class Range(NamedTuple):
    """Which rounds of an index a page shows: [first, last), -1 for the prelude."""

    first: int
    last: int
    start: int
    end: int


def choose(
    index: RoundIndex, *, before: int | None, before_round: int | None, rounds: int
) -> Range:
    """The rounds before a message index or a round; the latest without either."""
    if rounds < 1:
        raise InvalidArgument("a page has at least one round")
    stop = index.rounds
    if before_round is not None:
        stop = min(max(before_round, 0), index.rounds)
    elif before is not None:
        if before < 0:
            raise InvalidArgument("a message index is not negative")
        # Rounded up: a place inside a round means the end of that round.
        stop = rounds_before(index, before)
    first = max(stop - rounds, 0)
    if first == 0 and index.has_prelude and (before is None or before > 0):
        first = -1
    if first >= stop and not (first == -1 and stop == 0):
        return Range(0, 0, 0, 0)
    return Range(
        first,
        max(stop, 0),
        index.span(first)[2],
        index.span(stop - 1)[3] if stop else index.span(-1)[3],
    )


def rounds_before(index: RoundIndex, before: int) -> int:
    """How many rounds begin before message `before`."""
    low, high = 0, len(index.starts)
    while low < high:
        middle = (low + high) // 2
        if index.starts[middle] < before:
            low = middle + 1
        else:
            high = middle
    return low


def nearest(index: RoundIndex, number: int) -> tuple[int, int]:
    """A byte offset and the message index there, close before message `number`."""
    place = (index.body, 0)
    after = rounds_before(index, number + 1)
    if after:
        place = (index.offsets[after - 1], index.starts[after - 1])
    for offset, message, _ in index.marks:
        if place[1] < message <= number:
            place = (offset, message)
    return place


def stream(
    session: Opened,
    start: int,
    end: int,
    first: int,
    cancelled: Cancelled = never_cancelled,
    *,
    expand: bool = False,
    wanted: Callable[[bytes], bool] | None = None,
) -> Iterator[tuple[int, Any]]:
    """The messages in a byte range with their indexes; `first` is the first one's.

    Those whose bytes are not `wanted` are counted and passed over.
    """
    for line in lines_in(session.fd, start, end, cancelled=cancelled):
        for piece in pieces_of(line.data, line.length)[0]:
            if not piece.data:
                yield first, {**_OVERSIZED, "bytes": line.length}
            elif wanted is None or wanted(piece.data):
                data = expand_line(piece.data, session.folder) if expand else piece.data
                yield first, jsonvalue.loads(data)
            first += 1


def sieve(text: str) -> Callable[[bytes], bool] | None:
    """A quick look at raw bytes that never misses; None: decode every record.

    Plain ASCII stands for itself in JSON unless written as an escape; letters of other
    scripts may fold to it, and the session token stands for a path.
    """
    if not (text.isascii() and all(c.isalnum() or c in " -_.,:;=+*#@!?()[]<>" for c in text)):
        return None
    needle = text.lower().encode()

    def may_hold(data: bytes) -> bool:
        return (
            needle in data.lower()
            or not data.isascii()
            or b"\\u" in data
            or b"{{SESSION_PATH}}" in data
        )

    return may_hold


class RoundReader:
    """Rounds of one open session; counts the bytes it reads."""

    def __init__(self, session: Opened) -> None:
        self.session = session
        self.bytes = 0

    def stored(self, number: int) -> Iterator[tuple[int, Any]]:
        """The messages of a round as stored, however many."""
        start, end, first, _, _ = self.session.rounds.span(number)
        self.bytes += end - start
        return stream(self.session, start, end, first)

    def whole(self, number: int) -> Iterator[Round]:
        """A round with all its messages; a huge one in parts, memory follows a part."""
        start, end, first, last, _ = self.session.rounds.span(number)
        places = [(start, first)]
        for offset, message, _ in self.session.rounds.marks if end - start > _PART else ():
            if places[-1][0] + _PART <= offset < end:
                places.append((offset, message))
        ends = [*places[1:], (end, last)]
        for (begin, at), (stop, after) in zip(places, ends, strict=True):
            messages = stream(self.session, begin, stop, at, expand=True)
            made = make_round(messages, index=number, start=at, end=after, size=stop - begin)
            yield replace(made, time_ms=None, continued=True) if begin > start else made

    def round(self, number: int, *, running: bool) -> Round:
        """One round to show; of a huge one its beginning and its end."""
        start, end, first, last, _ = self.session.rounds.span(number)
        gap: tuple[int, str] | None = None
        parts = [(start, end, first)]
        if end - start > _ROUND_WHOLE:
            inside = [m for m in self.session.rounds.marks if start < m[0] < end]
            tail = [m for m in inside if m[0] >= end - _ROUND_TAIL] or inside[-1:]
            if inside and tail and inside[0][0] < tail[0][0]:
                head, back = inside[0], tail[0]
                parts = [(start, head[0], first), (back[0], end, back[1])]
                gap = (back[1], f"{back[1] - head[1]} messages are not shown here")
        messages: list[tuple[int, Any]] = []
        for begin, stop, at in parts:
            self.bytes += stop - begin
            messages += stream(self.session, begin, stop, at, expand=True)
        return make_round(
            messages,
            index=number,
            start=first,
            end=last,
            size=end - start,
            running=running,
            gap=gap,
        )
