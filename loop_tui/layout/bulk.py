"""Rows of a text of any size, without laying it out: for the viewer of whole blocks.

One pass finds the logical lines; how many screen rows each takes is arithmetic, and a row is
cut out only when it is drawn. A text of 50 MB opens in well under a second and a row costs
the same everywhere. The passes run in a thread, in steps short enough to let others run.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator

from loop_core.sanitize import safe
from loop_tui.layout.lines import clean
from loop_tui.text import cell_width

__all__ = ["Bulk", "matches"]

_STEP = 1 << 20
_MAX_MATCHES = 10_000


def _safe_text(text: str) -> str:
    """`safe` in steps; a step may not fall between CR and LF."""
    if len(text) <= _STEP:
        return safe(text).replace("\t", "    ")
    parts: list[str] = []
    at = 0
    while at < len(text):
        end = at + _STEP
        if text[end - 1 : end] == "\r":
            end += 1
        parts.append(safe(text[at:end]).replace("\t", "    "))
        at = end
    return "".join(parts)


class Bulk:
    """A text as rows of at most `width` cells. Immutable once made."""

    def __init__(self, text: str, width: int) -> None:
        """Index `text` (sanitized here) for `width` cells: one pass, run it in a thread."""
        self.text = _safe_text(text)
        self.width = max(width, 4)
        self.starts = array("Q", [0])
        find, at = self.text.find, -1
        while (at := find("\n", at + 1)) >= 0:
            self.starts.append(at + 1)
        self._index()

    @classmethod
    def resized(cls, other: Bulk, width: int) -> Bulk:
        """The same text for another width; the lines are not looked for again."""
        bulk = cls.__new__(cls)
        bulk.text, bulk.starts, bulk.width = other.text, other.starts, max(width, 4)
        bulk._index()
        return bulk

    def _index(self) -> None:
        text, width, starts = self.text, self.width, self.starts
        plain = text.isascii()
        rows = array("Q", [0])
        total = 0
        count = len(starts)
        for number in range(count):
            start = starts[number]
            end = starts[number + 1] - 1 if number + 1 < count else len(text)
            length = end - start
            if length <= width // 2:
                total += 1
            else:
                piece = width if plain or text[start:end].isascii() else width // 2
                total += max(-(-length // piece), 1)
            rows.append(total)
        self._rows = rows

    @property
    def height(self) -> int:
        """Rows in all."""
        return int(self._rows[-1])

    @property
    def line_count(self) -> int:
        """Logical lines in all."""
        return len(self.starts)

    def _bounds(self, number: int) -> tuple[int, int]:
        start = int(self.starts[number])
        last = number + 1 >= len(self.starts)
        return start, len(self.text) if last else int(self.starts[number + 1]) - 1

    def line_of(self, row: int) -> tuple[int, int]:
        """(logical line, row inside it) of a row."""
        number = min(max(bisect_right(self._rows, row) - 1, 0), len(self.starts) - 1)
        return number, row - int(self._rows[number])

    def _piece(self, number: int) -> int:
        """Characters a row of a line holds: half as many where they may be wide."""
        start, end = self._bounds(number)
        narrow = end - start <= self.width // 2 or self.text[start:end].isascii()
        return self.width if narrow else self.width // 2

    def span(self, row: int) -> tuple[int, int]:
        """Offsets in the text of a row; whole clusters only."""
        number, inside = self.line_of(row)
        start, end = self._bounds(number)
        piece = self._piece(number)
        return (
            self._boundary(start + inside * piece, start, end),
            self._boundary(start + (inside + 1) * piece, start, end),
        )

    def _boundary(self, at: int, start: int, end: int) -> int:
        """The next place at or after `at` that is not inside a cluster."""
        text = self.text
        at = min(at, end)
        while start < at < end and (not cell_width(text[at]) or text[at - 1] == "\u200d"):
            at += 1
        return at

    def row_text(self, row: int) -> str:
        if not 0 <= row < self.height:
            return ""
        start, end = self.span(row)
        return clean(self.text[start:end])

    def row_of(self, offset: int) -> int:
        """The row that shows an offset of the text."""
        number = bisect_right(self.starts, offset) - 1
        start, end = self._bounds(number)
        inside = (min(offset, end) - start) // self._piece(number)
        return int(self._rows[number]) + min(
            inside, int(self._rows[number + 1] - self._rows[number]) - 1
        )


def matches(
    text: str, needle: str, cancelled: Callable[[], bool] = lambda: False
) -> Iterator[list[int]]:
    """Offsets of a text, case ignored, in batches; at most 10,000. Run it in a thread."""
    if not needle:
        return
    pattern = re.compile(re.escape(needle), re.IGNORECASE)
    at = count = 0
    while at < len(text) and count < _MAX_MATCHES and not cancelled():
        found: list[int] = []
        end = at + _STEP
        # A match may begin in this step and end in the next.
        for match in pattern.finditer(text, at, min(end + len(needle), len(text))):
            if match.start() >= end:
                break
            found.append(match.start())
        count += len(found)
        at = max(end, found[-1] + len(needle)) if found else end
        yield found[: _MAX_MATCHES - (count - len(found))]
