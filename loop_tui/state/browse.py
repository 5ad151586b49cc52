"""The browser's state: what is chosen, shown, marked, and how snapshots change it.

The cursor and the marks are on keys, never on row numbers, so rows that come, go or move
under them do no harm (keys.md, rule 6).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from loop_core.model import SessionKey, SessionRow, Snapshot
from loop_tui.state.filtering import Filter
from loop_tui.state.order import around, heir, merged
from loop_tui.state.prepared import NOTHING, Choice, Prepared, chosen, prepare
from loop_tui.state.projects import full_names
from loop_tui.state.tally import Tally
from loop_tui.state.views import (
    SORTS,
    VIEWS,
    Sort,
    View,
    in_view,
    members,
)


class Browse:
    """Pure state of one browser window.

    `shown` is the tuple of rows to draw. Every method that changes what is chosen recomputes
    it; `apply` takes a new snapshot and keeps the order while the user is busy.
    """

    def __init__(
        self, *, sort: Sort = "activity", reverse: bool = False, show_hidden: bool = False
    ) -> None:
        self.snapshot = Snapshot()
        self.view: View = "active"
        self.base_view: View = "active"  # what choosing a project shows
        self.project: str | None = None
        self.text = ""
        self.sort: Sort = sort
        self.reverse = reverse
        self.show_hidden = show_hidden
        self.cursor: SessionKey | None = None
        self.marks: set[SessionKey] = set()
        self.range_start: SessionKey | None = None
        self.sticky: set[SessionKey] = set()  # rows that stay, dimmed, in the Unread view
        self.shown: tuple[SessionRow, ...] = ()
        self.pending = False  # the order on screen is not the order of the snapshot
        self.names: Mapping[str, str] = {}
        self._ready = NOTHING  # what was prepared last, of this snapshot or a newer one
        self._known = NOTHING  # what is known of this snapshot
        self._index: dict[SessionKey, int] = {}
        self._base: tuple[SessionRow, ...] | None = None  # what the filter narrows
        self._filter = Filter()

    # --- reading

    @property
    def rows(self) -> dict[SessionKey, SessionRow]:
        """Every row of the snapshot, and those that stand for problems without a session."""
        return self._known.rows

    @property
    def tally(self) -> Tally:
        """How many rows there are of which kind."""
        return self._known.tally

    @property
    def row(self) -> SessionRow | None:
        """The row under the cursor."""
        at = None if self.cursor is None else self._index.get(self.cursor)
        return None if at is None else self.shown[at]

    @property
    def position(self) -> int:
        """Index of the cursor in `shown`, or -1."""
        return -1 if self.cursor is None else self._index.get(self.cursor, -1)

    def index_of(self, key: SessionKey) -> int:
        """Index of `key` in `shown`, or -1."""
        return self._index.get(key, -1)

    def targets(self) -> tuple[SessionRow, ...]:
        """What an action acts on: the marked rows in list order, else the row of the cursor."""
        if self.marks:
            here = [row for row in self.shown if row.key in self.marks]
            seen = {row.key for row in here}
            rest = [self.rows[k] for k in sorted(self.marks - seen) if k in self.rows]
            return (*here, *rest)
        row = self.row
        return () if row is None else (row,)

    def counts(self, project: str | None = None) -> dict[View, int]:
        """Rows of every view in `project`, or in all."""
        counts = self.tally.counts(project, show_hidden=self.show_hidden)
        if project is None:
            counts["problems"] += len(self._known.stand_ins)
        return counts

    def running(self, now_ms: int) -> int:
        """How many active sessions an agent is working on."""
        return sum(
            row.running(now_ms) for row in self._known.lively if self.show_hidden or not row.hidden
        )

    # --- choosing

    def choose_view(self, view: View, *, keep_project: bool = True) -> None:
        """Show `view`. Rows that stayed only because of the former view are let go."""
        self.view = view
        if not keep_project:
            self.project = None
        self._fresh()

    def commit_view(self) -> None:
        """The view on screen is from now on the one that choosing a project shows."""
        self.base_view = self.view

    def choose_project(self, project: str | None) -> None:
        """Show one project, in the last view that was chosen for good."""
        self.project = project
        self.view = self.base_view
        self._fresh()

    def step_view(self, by: int) -> None:
        """The view `by` places further, around the end."""
        at = VIEWS.index(self.view) if self.view in VIEWS else 0
        self.choose_view(VIEWS[(at + by) % len(VIEWS)])
        self.commit_view()

    def filter(self, text: str) -> None:
        """Keep only rows that hold every word of `text`."""
        self.text = text
        self._show(self._compute())

    def sort_by(self, sort: Sort, *, reverse: bool = False) -> None:
        self.sort, self.reverse = sort, reverse
        self._base = None
        self._show(self._compute())

    def step_sort(self) -> None:
        self.sort_by(SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)])

    def toggle_hidden(self) -> None:
        self.show_hidden = not self.show_hidden
        self._fresh()

    def _fresh(self) -> None:
        self.sticky.clear()
        self.range_start = None
        self._base = None
        self._show(self._compute())

    # --- snapshots

    def apply(self, snapshot: Snapshot, *, settle: bool) -> None:
        """Take a newer snapshot; without `settle` rows that stay keep their order.

        An older generation is ignored. Marks of sessions that are gone go too.
        """
        if snapshot.generation < self.snapshot.generation:
            return
        if self.view == "unread":
            self.sticky.update(row.key for row in self.shown if row.unread)
        if snapshot.projects != self.snapshot.projects:
            self.names = full_names(snapshot.projects)
            self._filter.rename(self.names)
        self._filter.trim(len(snapshot.rows))
        ready = self._ready
        if ready.snapshot is not snapshot:
            ready = self.prepare(snapshot)
        self.snapshot, self._known = snapshot, ready
        if snapshot.complete and self.marks:
            self.marks.intersection_update(self.rows)
        if self.view == "unread":
            self.sticky = {
                k for k in self.sticky if k in self.rows and in_view(self.rows[k], "active")
            }
        self._base = ready.base if ready.choice == self._choice() else None
        fresh_rows = self._compute()
        self._show(fresh_rows if settle else merged(fresh_rows, self.shown))
        self.pending = not settle and self.shown != fresh_rows

    def prepare(self, snapshot: Snapshot, *, now_ms: int = 0) -> Prepared:
        """Do what `apply` would have to do; may run in a thread, where nobody waits for it."""
        self._ready = ready = prepare(snapshot, self._choice(), self._ready, now_ms=now_ms)
        return ready

    def _choice(self) -> Choice:
        return Choice(self.view, self.project, self.sort, self.reverse, self.show_hidden)

    def settle(self) -> None:
        """Put the rows in the order of the snapshot (idle, or asked for)."""
        if self.pending:
            self._show(self._compute())
        self.pending = False

    def _compute(self) -> tuple[SessionRow, ...]:
        if self._base is None:
            self._base = chosen(self.snapshot, self._choice(), self.sticky)
        return self._filter.narrow(self._base, self.text)

    def warm(self) -> None:
        """Make ready for the first keystroke of a filter; may run in a thread."""
        if (base := self._base) is not None:
            self._filter.warm(base)

    def _show(self, rows: tuple[SessionRow, ...]) -> None:
        """Make `rows` the list; a cursor whose row is gone goes to the next one that stayed."""
        if len(rows) == len(self.shown) and all(map(operator.is_, rows, self.shown)):
            self.shown, self.pending = rows, False
            return
        known = self._known
        index = known.places if rows is known.base else {r.key: i for i, r in enumerate(rows)}
        if self.cursor not in index:
            first = rows[0].key if rows else None
            self.cursor = heir(self.shown, self.position, index) or first
        self.shown, self._index = rows, index
        self.pending = False

    # --- cursor and marks

    def move_to(self, index: int) -> None:
        """Put the cursor on a row of `shown`, clamped."""
        if self.shown:
            self.cursor = self.shown[min(max(index, 0), len(self.shown) - 1)].key

    def toggle_mark(self, key: SessionKey) -> None:
        self.marks.symmetric_difference_update((key,))

    @property
    def span(self) -> range:
        """The rows from the start of a range to the cursor, both included, by index."""
        a = -1 if self.range_start is None else self.index_of(self.range_start)
        b = self.position
        return range(min(a, b), max(a, b) + 1) if a >= 0 and b >= 0 else range(0)

    def mark_span(self) -> int:
        """Mark everything in the range; says how many."""
        span = self.span
        self.marks.update(self.shown[at].key for at in span)
        return len(span)

    def mark_all(self) -> int:
        """Mark all shown rows, or take all marks away when they all are marked already."""
        keys = {row.key for row in self.shown}
        if keys and keys <= self.marks:
            self.marks.clear()
            return 0
        self.marks.update(keys)
        return len(keys)

    # --- landmarks

    def next_unread(self, now_ms: int, *, backwards: bool = False) -> SessionKey | None:
        """The next unread session that is not running (keys.md, ``]`` and ``[``).

        First in the list from the cursor on, then in the other projects in default order,
        then from the other end of the list.
        """
        everywhere = members(self.snapshot.rows, "unread", show_hidden=self.show_hidden)
        others = [row for row in everywhere if row.key not in self._index]

        def wanted(row: SessionRow) -> bool:
            return in_view(row, "unread") and not row.running(now_ms)

        return around(self.shown, self.position, others, wanted, backwards=backwards)

    def reveal(self, key: SessionKey) -> bool:
        """Make `key` the cursor, changing filter, project or view only as far as needed."""
        row = self.rows.get(key)
        if row is None:
            return False
        if key not in self._index and self.text:
            self.filter("")
        if key not in self._index and self.project not in (None, row.project):
            self.project = row.project
            self._fresh()
        if key not in self._index and row.hidden and not self.show_hidden:
            self.toggle_hidden()
        if key not in self._index:
            view: View = (
                "trash" if row.trashed_ms is not None else "archived" if row.archived else "active"
            )
            if not in_view(row, view):
                view = "problems"
            self.choose_view(view)
            self.commit_view()
        if key not in self._index:
            return False
        self.cursor = key
        return True
