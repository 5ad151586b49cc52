"""The sessions pane: the filter's field above the list of sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from textwrap import wrap

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widgets import Input, Static

from loop_core.model import SessionKey, SessionRow
from loop_tui import text
from loop_tui.keys import bindings_of
from loop_tui.widgets.line_list import LineList, Span
from loop_tui.widgets.session_lines import RowLook, first_line, second_line

_TICK_S = 5.0  # ages and running states grow old without any event


class SessionList(LineList[SessionRow]):
    """Sessions, two lines each. Names, marks and range are the state's own, not copies."""

    row_height = 2

    def __init__(
        self,
        marks: set[SessionKey],
        span: Callable[[], range] = lambda: range(0),
        *,
        ascii_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(id="session-list", ascii_only=ascii_only)
        self.marks = marks
        self.span = span  # rows of a range that is being marked
        self.names: Mapping[str, str] = {}
        self.problems = False
        self.unread_view = False
        self.glyphs = text.glyphs(ascii_only)
        self.empty: tuple[str, ...] = ()  # what to say when there is no row
        self._clock = clock

    def on_mount(self) -> None:
        super().on_mount()  # type: ignore[no-untyped-call]
        self.set_interval(_TICK_S, self.refresh)

    def ground(self, index: int) -> str:
        ground = super().ground(index)
        if not ground and (self.items[index].key in self.marks or index in self.span()):
            return "marked"
        return ground

    def move_to(self, index: int, *, step: int = 1) -> bool:
        moved = super().move_to(index, step=step)
        if moved and self.span():
            self.refresh()  # a range grows or shrinks by more than the two rows
        return moved

    def look(self, index: int) -> Hashable:
        """The row's marks, the name of its project, and the time, as coarse as ages are."""
        row = self.items[index]
        look = self._look(index)._replace(now_ms=self._clock() // _TICK_S)
        return look, self.names.get(row.project, "")

    def _look(self, index: int) -> RowLook:
        row = self.items[index]
        return RowLook(
            now_ms=self._clock() * 1000,
            cursor=index == self.cursor,
            focused=self.has_focus,
            marked=row.key in self.marks,
            dimmed=self.unread_view and not row.unread,
            problems=self.problems,
        )

    def spans(self, index: int, line: int, width: int) -> list[Span]:
        row, look = self.items[index], self._look(index)
        if line == 0:
            return first_line(row, look, width, self.glyphs)
        return second_line(row, look, width, self.glyphs, self.names.get(row.project, ""))

    def render_line(self, y: int) -> Strip:
        """A row's line; without any row, the words that say why."""
        if self.items or not self.empty:
            return super().render_line(y)
        width = max(self.size.width - 4, 1)
        lines = ["", *(part for line in self.empty for part in wrap(line, width) or [""])]
        text = f"  {lines[y]}" if y < len(lines) else ""
        role = "bold" if y == 1 else "muted"
        strip = Strip([Segment(text, self.roles.rich(role))])
        return strip.adjust_cell_length(self.size.width, self.roles.rich("text"))


class FilterInput(Input):
    """The filter: every printable key is text here. Enter keeps it, Esc leaves it.

    Both give the focus away at once, in the handler of the key: what was typed behind them
    is on its way here already, and is a command again, not text.
    """

    # The field is as wide as its pane: the text in it moves nothing, so no key lays out.
    virtual_size = Reactive(Size(0, 0), layout=False)

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id, compact=True, select_on_focus=False)
        self.leave: Callable[[], None] = lambda: None

    def on_key(self, event: events.Key) -> None:
        if self.screen.focused is not self:
            event.prevent_default()
        elif event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            self.leave()


class SessionsPane(Vertical):
    """Filter and list; the keys of the sessions scope are bound here."""

    BINDINGS = bindings_of("sessions", "list")

    def __init__(self, listing: SessionList) -> None:
        super().__init__(id="sessions", classes="pane")
        self.listing = listing
        self.field = FilterInput(id="filter")

    def compose(self) -> ComposeResult:
        with Horizontal(id="filter-line") as line:
            line.display = False
            yield Static("/", id="filter-sign")
            yield self.field
        yield self.listing

    def show_filter(self, *, shown: bool) -> None:
        """Give the filter its line, or take it away."""
        self.query_one("#filter-line").display = shown
