"""How many rows every view holds, by project, kept up to date row by row.

Counting 100,000 rows anew for each of them that changed would be felt; a snapshot mostly
holds the rows of the one before, and only the others are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress, count
from operator import is_not

from loop_core.model import SessionRow
from loop_tui.state.views import VIEWS, View

__all__ = ["Tally"]

_ACTIVE, _UNREAD, _PINNED, _ARCHIVED, _TRASH, _PROBLEMS, _KEPT = range(7)
_AT: dict[View, int] = {
    "active": _ACTIVE,
    "unread": _UNREAD,
    "pinned": _PINNED,
    "archived": _ARCHIVED,
    "trash": _TRASH,
    "problems": _PROBLEMS,
    "all": _KEPT,
}


class Tally:
    """Always what `loop_tui.state.views.members` would give, counted. Not changed afterwards.

    `before` is a tally of mostly the same rows; rows are immutable, so the same are the same.
    """

    def __init__(self, rows: Iterable[SessionRow] = (), before: Tally | None = None) -> None:
        self._rows = tuple(rows)
        self._cells: dict[tuple[str, bool], list[int]] = {}  # by project and hidden
        if before is not None:
            self._cells = {key: cell.copy() for key, cell in before._cells.items()}
        self._replace(() if before is None else before._rows, self._rows)

    def _replace(self, before: Sequence[SessionRow], fresh: Sequence[SessionRow]) -> None:
        start = _alike(before, fresh)
        gone, come = before[start:], fresh[start:]
        if end := _alike(gone[::-1], come[::-1]):
            gone, come = gone[:-end], come[:-end]
        stayed = set(map(id, gone)).intersection(map(id, come))
        self._count((row for row in gone if id(row) not in stayed), -1)
        self._count((row for row in come if id(row) not in stayed), 1)

    def _count(self, rows: Iterable[SessionRow], by: int) -> None:
        cells = self._cells
        for row in rows:
            cell = cells.get((row.project, row.hidden))
            if cell is None:
                cell = cells[row.project, row.hidden] = [0] * len(_AT)
            if row.trashed_ms is not None:
                cell[_TRASH] += by
                continue
            cell[_KEPT] += by
            if row.problem is not None:
                cell[_PROBLEMS] += by
            if row.archived:
                cell[_ARCHIVED] += by
                continue
            cell[_ACTIVE] += by
            if row.unread:
                cell[_UNREAD] += by
            if row.pinned_ms is not None:
                cell[_PINNED] += by

    def number(self, view: View, project: str, *, show_hidden: bool = False) -> int:
        """Rows of `project` in `view`."""
        at = _AT[view]
        return sum(
            self._cells[project, hidden][at]
            for hidden in ((False, True) if show_hidden else (False,))
            if (project, hidden) in self._cells
        )

    def counts(self, project: str | None = None, *, show_hidden: bool = False) -> dict[View, int]:
        """Rows of every view, in `project` or in all."""
        cells = [
            cell
            for (key, hidden), cell in self._cells.items()
            if (project is None or key == project) and (show_hidden or not hidden)
        ]
        return {view: sum(cell[_AT[view]] for cell in cells) for view in VIEWS}


def _alike(one: Sequence[SessionRow], other: Sequence[SessionRow]) -> int:
    """How many rows both begin with."""
    differ = compress(count(), map(is_not, one, other))
    return next(differ, min(len(one), len(other)))
