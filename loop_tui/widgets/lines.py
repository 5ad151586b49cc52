"""Laid-out rounds as one run of numbered lines, found by prefix sums. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from loop_tui.layout import BlockId, LaidRound, Line, Part

__all__ = ["Lines", "Place"]


class Place(NamedTuple):
    """A line by what it shows, so that it can be found again after a change."""

    round: int
    part: BlockId | None
    offset: int  # lines from the start of the part, else of the round
    share: float  # the same as a share of its height


class Lines:
    """Rounds in order; line 0 is the first line of the first one. Immutable."""

    def __init__(self, rounds: Sequence[LaidRound] = ()) -> None:
        self.rounds = tuple(rounds)
        self._starts = [0, *accumulate(len(laid.lines) for laid in self.rounds)]

    @property
    def height(self) -> int:
        """Lines in all."""
        return self._starts[-1]

    @property
    def last_line(self) -> int:
        """The last line with anything on it."""
        line = self.height - 1
        while line > 0 and not self.line_at(line):
            line -= 1
        return max(line, 0)

    def find_round(self, line: int) -> tuple[int, int]:
        """(position of the round, offset in it) of a line."""
        at = min(max(bisect_right(self._starts, line) - 1, 0), max(len(self.rounds) - 1, 0))
        return at, line - self._starts[at]

    def round_at(self, line: int) -> LaidRound | None:
        return self.rounds[self.find_round(line)[0]] if self.rounds else None

    def part_at(self, line: int) -> Part | None:
        at, offset = self.find_round(line)
        return self.rounds[at].part_at(offset) if self.rounds else None

    def start_of(self, number: int) -> int | None:
        """The first line of round `number`, or None when it is not here."""
        for start, laid in zip(self._starts, self.rounds, strict=False):
            if laid.number == number:
                return start
        return None

    def line_at(self, line: int) -> Line:
        if not 0 <= line < self.height:
            return ()
        at, offset = self.find_round(line)
        return self.rounds[at].lines[offset]

    def place_of(self, line: int) -> Place | None:
        if not self.rounds:
            return None
        at, offset = self.find_round(line)
        laid = self.rounds[at]
        part = laid.part_at(offset)
        if part is None:
            return Place(laid.number, None, offset, offset / max(len(laid.lines), 1))
        inside = offset - part.first
        return Place(laid.number, part.id, inside, inside / max(part.height, 1))

    def line_of(self, place: Place, *, exact: bool = True) -> int | None:
        """Where a place is now; `exact` trusts its offset, else its share of the height."""
        start = self.start_of(place.round)
        if start is None:
            return None
        laid = self.rounds[bisect_right(self._starts, start) - 1]
        first, height = 0, len(laid.lines)
        for part in laid.parts:
            if part.id == place.part:
                first, height = part.first, part.height
                break
        inside = place.offset if exact else round(place.share * height)
        return start + first + min(inside, max(height - 1, 0))
