"""What can be known of a snapshot before the screen takes it, worked out in any thread.

At 100,000 rows even one look at every row is felt by somebody who holds a key. Whoever brings
a snapshot from a thread prepares it there, for what is chosen at that moment; if something else
is chosen by then, only that part is done again.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from loop_core.model import SessionKey, SessionRow, Snapshot
from loop_tui.state.tally import Tally
from loop_tui.state.views import Sort, View, members, problem_rows, select

__all__ = ["NOTHING", "Choice", "Prepared", "chosen", "prepare"]

Rows = tuple[SessionRow, ...]


class Choice(NamedTuple):
    """What decides which rows are listed, and in which order, before any filter."""

    view: View
    project: str | None
    sort: Sort
    reverse: bool
    show_hidden: bool


class Prepared(NamedTuple):
    """A snapshot with everything that is asked of it soon."""

    snapshot: Snapshot
    rows: dict[SessionKey, SessionRow]
    tally: Tally
    stand_ins: Rows  # for problems without a session
    lively: Rows  # active rows an agent may be working on
    choice: Choice | None
    base: Rows  # the rows of the choice
    places: dict[SessionKey, int]  # where they are


NOTHING = Prepared(Snapshot(), {}, Tally(), (), (), None, (), {})


def prepare(
    snapshot: Snapshot, choice: Choice, before: Prepared = NOTHING, *, now_ms: int = 0
) -> Prepared:
    """Look at every row once. `now_ms` is the time, or one before it, where it is known."""
    stand_ins = problem_rows(snapshot.problems, snapshot.rows) if snapshot.problems else ()
    rows = {row.key: row for row in snapshot.rows}
    rows.update((row.key, row) for row in stand_ins)
    # Whose agent rests now can only be at work again with another row.
    lively = tuple(
        row
        for row in snapshot.rows
        if row.running(now_ms) and not row.archived and row.trashed_ms is None
    )
    known = choice if choice.view != "unread" else None  # which keeps rows of before
    base = () if known is None else chosen(snapshot, known)
    places = {row.key: at for at, row in enumerate(base)}
    tally = Tally(snapshot.rows, before.tally)
    return Prepared(snapshot, rows, tally, stand_ins, lively, known, base, places)


def chosen(snapshot: Snapshot, choice: Choice, keep: AbstractSet[SessionKey] = frozenset()) -> Rows:
    """The rows of a choice, and those to `keep`, in its order."""
    view, project, sort, reverse, show_hidden = choice
    if sort == "activity" and not reverse and view not in ("trash", "problems"):
        # The snapshot comes in this order already.
        return tuple(
            members(snapshot.rows, view, project=project, show_hidden=show_hidden, keep=set(keep))
        )
    return select(
        snapshot.rows,
        view,
        project=project,
        sort=sort,
        reverse=reverse,
        show_hidden=show_hidden,
        problems=snapshot.problems,
        keep=set(keep),
    )
