"""The rows of all stores in the browser's default order, brought up to date in place."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from operator import is_

from loop_core.model import SessionKey, SessionRow

__all__ = ["Ordered", "in_order"]

#: Up to this part of the rows, changed ones are put in their place one by one.
_FEW = 32


def in_order(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """DESIGN "Words", *Order*: pinned first, then last activity, newest first, then id."""
    return sorted(rows, key=_rank, reverse=True)


def _rank(row: SessionRow) -> tuple[int, int, str, SessionKey]:
    """Ends with the key: copies of one session have an order of their own, always the same."""
    return (-1 if row.pinned_ms is None else row.pinned_ms, row.updated_ms, row.id, row.key)


class Ordered:
    """Rows, their order and their keys. A change of a few among thousands costs no sort."""

    def __init__(self) -> None:
        self.rows: tuple[SessionRow, ...] = ()
        self.by_key: dict[SessionKey, SessionRow] = {}
        self._given: list[SessionRow] = []
        self._rising: list[SessionRow] = []

    def update(self, rows: list[SessionRow]) -> None:
        """Hold these rows instead, which most often are the same values in the same places."""
        gone, new = _difference(self._given, rows)
        self._given = rows
        if not gone and not new:
            return
        if len(gone) + len(new) > len(rows) // _FEW or not self._replace(gone, new):
            self._rising = sorted(rows, key=_rank)
            self.by_key = {row.key: row for row in rows}
        self.rows = tuple(reversed(self._rising))

    def _replace(self, gone: list[SessionRow], new: list[SessionRow]) -> bool:
        """False, with nothing to rely on, where two rows have one key."""
        rising, by_key = self._rising, self.by_key
        for row in gone:
            at = bisect_left(rising, _rank(row), key=_rank)
            if by_key.get(row.key) is not row or rising[at] is not row:
                return False
            del rising[at]
        for row in new:
            insort(rising, row, key=_rank)
            by_key[row.key] = row
        # After the new ones, so that other threads never miss a row that only changed.
        for row in gone:
            if by_key[row.key] is row:
                del by_key[row.key]
        return len(by_key) == len(rising)


def _difference(
    before: list[SessionRow], after: list[SessionRow]
) -> tuple[list[SessionRow], list[SessionRow]]:
    """Rows (by identity) of `before` that are not in `after`, and the other way round."""
    start = _alike(before, after)
    if start == len(before) == len(after):
        return [], []
    end = min(_alike(before[::-1], after[::-1]), len(before) - start, len(after) - start)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    had, has = set(map(id, old)), set(map(id, new))
    return [row for row in old if id(row) not in has], [row for row in new if id(row) not in had]


def _alike(one: list[SessionRow], other: list[SessionRow]) -> int:
    """How many rows are the same from the start."""
    same = map(is_, one, other)
    return next((at for at, alike in enumerate(same) if not alike), min(len(one), len(other)))
