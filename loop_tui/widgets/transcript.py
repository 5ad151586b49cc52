"""The lines of a conversation: drawn one by one, however many there are.

The widget holds rounds already laid out (`loop_tui.layout`), finds a line by prefix sums and
keeps the strips it drew. It knows nothing of sessions: its owner decides which rounds are
here. Whatever changes, the reader's line stays on the screen row where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from loop_tui.layout import LaidRound, Line, Part, line_text
from loop_tui.layout.lines import clean, wrap_text
from loop_tui.roles import Roles, roles_of
from loop_tui.widgets.lines import Lines
from loop_tui.widgets.strips import draw, find_spans, selected, selection_span

__all__ = ["Transcript"]

_STRIPS = 512


class Transcript(ScrollView, can_focus=True, inherit_bindings=False):
    """A line-API view of laid-out rounds with a cursor line, find marks and selection."""

    ALLOW_SELECT = True

    cursor: var[int] = var(0, init=False)

    class Edge(Message):
        """The reader is at the first or the last line that is here."""

        def __init__(self, *, top: bool) -> None:
            self.top = top
            super().__init__()

    class Opened(Message):
        """A line was double-clicked."""

    class Scrolled(Message):
        """The reader moved the view (a change of the lines does not count)."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Transcript.Scrolled)

    class Resized(Message):
        """The room for lines has another size; `width`: they have to be broken anew."""

        def __init__(self, *, width: bool) -> None:
            self.width = width
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.lines = Lines()
        self._strips: LRUCache[tuple[int, str, int], Strip] = LRUCache(_STRIPS)
        self._roles: Roles | None = None
        self._needle = ""
        self._width = 0
        self._showing = False
        self._words = ("", "muted")

    # --- what is here

    @property
    def rounds(self) -> tuple[LaidRound, ...]:
        return self.lines.rounds

    @property
    def height(self) -> int:
        """Lines in all."""
        return self.lines.height

    @property
    def line_room(self) -> int:
        """Cells a line may take, one short of the scrollbar; 0 while the pane is hidden."""
        return max(self.scrollable_content_region.width - 1, 0)

    @property
    def at_end(self) -> bool:
        """The last line is on the screen."""
        return self.scroll_offset.y >= self.max_scroll_y

    @property
    def round_here(self) -> LaidRound | None:
        """The round under the cursor."""
        return self.lines.round_at(self.cursor)

    @property
    def part_here(self) -> Part | None:
        """The block under the cursor."""
        return self.lines.part_at(self.cursor)

    def to_end(self) -> None:
        """Scroll to the end, whatever the cursor is on."""
        self._go(self.max_scroll_y)

    # --- changing it

    def show(
        self,
        rounds: Sequence[LaidRound],
        *,
        follow: bool = False,
        exact: bool = True,
        keep_cursor: bool = True,
    ) -> None:
        """Replace the rounds in one step.

        `follow` goes to the last line; otherwise the line under the cursor keeps its screen
        row (or the top line does, when the cursor is not on the screen). `exact` is False
        when the lines were broken anew for another width.
        """
        self._showing = True
        try:
            self._show(rounds, follow=follow, exact=exact, keep_cursor=keep_cursor)
        finally:
            self._showing = False
        self.refresh()

    def _show(
        self, rounds: Sequence[LaidRound], *, follow: bool, exact: bool, keep_cursor: bool
    ) -> None:
        top = self.scroll_offset.y
        on_screen = keep_cursor and top <= self.cursor < top + max(self.size.height, 1)
        here = self.cursor if on_screen else top
        place, cursor = self.lines.place_of(here), self.lines.place_of(self.cursor)
        before = self.height
        self.lines = Lines(rounds)
        self._strips.clear()
        self._grow(before)
        now = None if place is None else self.lines.line_of(place, exact=exact)
        kept = None if cursor is None else self.lines.line_of(cursor, exact=exact)
        if now is not None:
            self._shift_selection(now - here)
        if follow:
            self._go(self.max_scroll_y)
            last = kept is None or not keep_cursor or self.cursor >= before - 2
            self.cursor = self.lines.last_line if last or kept is None else kept
            self.cursor = max(self.cursor, self.scroll_offset.y)
        elif now is None:
            self._go(0)
            self.cursor = 0
        else:
            self._go(top + now - here)
            self.cursor = now if kept is None else kept
            self._cursor_on_screen()

    def _cursor_on_screen(self) -> None:
        y, room = self.scroll_offset.y, max(self.size.height, 1)
        self.cursor = min(max(self.cursor, y), y + room - 1)

    def clear(self) -> None:
        self.show((), keep_cursor=False)

    def _grow(self, before: int) -> None:
        """Take the new height without a layout of the entire screen.

        The scrollbar always has its column, so only its numbers change.
        """
        size = Size(self.line_room, self.height)
        if size == self.virtual_size and before == self.height:
            return
        self.set_reactive(Transcript.virtual_size, size)
        if self.is_mounted and self.show_vertical_scrollbar:
            bar = self.vertical_scrollbar
            bar.window_virtual_size = size.height
            bar.window_size = self.container_size.height
            bar.refresh()

    def _go(self, y: int) -> None:
        self.scroll_to(y=min(max(y, 0), self.max_scroll_y), animate=False, force=True)

    def _shift_selection(self, lines: int) -> None:
        """Selected text moves with its lines."""
        if not lines or not self.is_attached:
            return
        selection = self.text_selection
        if selection is None:
            return
        moved = Selection(
            *(None if end is None else Offset(end.x, max(end.y + lines, 0)) for end in selection)
        )
        self.screen.selections = {**self.screen.selections, self: moved}

    # --- the cursor

    def validate_cursor(self, line: int) -> int:
        return min(max(line, 0), max(self.height - 1, 0))

    def watch_cursor(self, before: int, after: int) -> None:
        for line in (before, after):
            self.refresh_lines(line)

    def move_to(self, line: int, *, top: bool = False) -> None:
        """Put the cursor on a line and bring it on the screen (`top`: as its first line)."""
        self.cursor = line
        y, room = self.scroll_offset.y, max(self.size.height, 1)
        if top or self.cursor < y:
            self._go(self.cursor)
        elif self.cursor >= y + room:
            self._go(self.cursor - room + 1)

    def center(self, line: int) -> None:
        """Bring a line to the middle, unless it is well inside the screen already."""
        y, room = self.scroll_offset.y, max(self.size.height, 1)
        if not y + room // 6 <= line < y + room - room // 6:
            self._go(line - room // 2)

    def move_by(self, lines: int) -> None:
        """Move the cursor; at the end of what is here, say so (`Edge`)."""
        wanted = self.cursor + lines
        self.move_to(wanted)
        if wanted < 0:
            self._go(0)
            self.post_message(self.Edge(top=True))
        elif wanted >= self.height:
            self.post_message(self.Edge(top=False))

    def page_by(self, screens: float) -> None:
        """Move view and cursor by screens: one, or half a one."""
        room = max(self.size.height, 1)
        lines = int(room * screens) or (1 if screens > 0 else -1)
        y = self.scroll_offset.y
        row = self.cursor - y
        self._go(y + lines)
        if self.scroll_offset.y == y:
            self.move_by(lines)
        else:
            self.cursor = self.scroll_offset.y + min(max(row, 0), room - 1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) == round(new_value):
            return
        # "Here" is always on the screen: the wheel takes the cursor along.
        y = round(new_value)
        if self._showing:
            return
        self._cursor_on_screen()
        self.post_message(self.Scrolled())
        if y <= 0:
            self.post_message(self.Edge(top=True))
        elif y >= self.max_scroll_y:
            self.post_message(self.Edge(top=False))

    # --- events

    def on_resize(self) -> None:
        width, before = self.line_room, self._width
        self._grow(-1)
        if width:
            self._width = width
            self.post_message(self.Resized(width=width != before))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = offset.y + self.scroll_offset.y
        if line < self.height:
            self.cursor = line
            if event.chain == 2:
                self.post_message(self.Opened())

    def on_mouse_scroll_up(self) -> None:
        if self.scroll_offset.y <= 0:
            self.post_message(self.Edge(top=True))

    def on_mouse_scroll_down(self) -> None:
        if self.at_end:
            self.post_message(self.Edge(top=False))

    def on_focus(self) -> None:
        self.refresh_lines(self.cursor)

    def on_blur(self) -> None:
        self.refresh_lines(self.cursor)

    # --- marks and selection

    def say(self, text: str, role: str = "muted") -> None:
        """Words to show as long as there are no lines."""
        self._words = (text, role)
        self._strips.clear()
        self.refresh()

    def mark(self, needle: str) -> None:
        """Show where `needle` stands ("" nowhere); case is ignored."""
        self._needle = needle.casefold()
        self._strips.clear()
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, for the clipboard."""
        text = selected(selection, self.height, self.lines.line_at)
        return None if text is None else (text, "\n")

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        self._strips.clear()
        self.refresh()

    # --- drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._roles = None
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        if self._roles is None:
            self._roles = roles_of(self.app)
        line = y + self.scroll_offset.y
        ground = "cursor" if line == self.cursor and self.has_focus else ""
        width = self.size.width
        selection = self.text_selection
        key = (line, ground, width)
        strip = None if selection is not None else self._strips.get(key)
        if strip is None:
            strip = self._draw(line, ground, width, selection).apply_offsets(0, line)
            if selection is None:
                self._strips[key] = strip
        return strip

    def _spoken(self, y: int, width: int) -> Line:
        words, role = self._words
        lines = wrap_text(clean(words), max(width - 2, 1), role) if words else []
        return ((" ", "text"), *lines[y - 1]) if 0 < y <= len(lines) else ()

    def _draw(self, y: int, ground: str, width: int, selection: Selection | None) -> Strip:
        line = self.lines.line_at(y) if self.rounds else self._spoken(y, width)
        text = line_text(line)
        spans = find_spans(text, self._needle, "find.here" if ground else "find")
        spans += selection_span(selection, y, len(text))
        return draw(line, width, self._roles or roles_of(self.app), ground, spans)
