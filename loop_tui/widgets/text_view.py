"""A text of any size, row by row, with a search mark. See `loop_tui.layout.bulk`."""

from __future__ import annotations

from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from loop_tui.layout.bulk import Bulk
from loop_tui.roles import Roles, roles_of
from loop_tui.widgets.strips import draw, find_spans, selection_span

__all__ = ["TextView"]


class TextView(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a `Bulk`; its owner makes one for the width it reports."""

    ALLOW_SELECT = True

    class Resized(Message):
        """The room for text has another width."""

        def __init__(self, width: int) -> None:
            self.width = width
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.bulk: Bulk | None = None
        self._roles: Roles | None = None
        self._needle = ""
        self._here = -1  # offset of the match the reader is at
        self._width = 0

    @property
    def room(self) -> int:
        return max(self.scrollable_content_region.width, 1)

    def show(self, bulk: Bulk) -> None:
        """Show a text; the first row on the screen stays the one of the same offset."""
        top = 0
        if self.bulk is not None and self.bulk.height:
            offset, _ = self.bulk.span(min(self.scroll_offset.y, self.bulk.height - 1))
            top = bulk.row_of(offset)
        self.bulk = bulk
        self.virtual_size = Size(self.room, bulk.height)
        self.go(top)
        self.refresh()

    def go(self, row: int) -> None:
        self.scroll_to(y=min(max(row, 0), self.max_scroll_y), animate=False, force=True)

    def mark(self, needle: str, here: int = -1) -> None:
        """Mark `needle` everywhere; the match at offset `here` stands out and is shown."""
        self._needle, self._here = needle.casefold(), here
        if here >= 0 and self.bulk is not None:
            row, y, room = self.bulk.row_of(here), self.scroll_offset.y, max(self.size.height, 1)
            if not y <= row < y + room:
                self.go(row - room // 2)
        self.refresh()

    def on_resize(self) -> None:
        if self.room != self._width:
            self._width = self.room
            self.post_message(self.Resized(self.room))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._roles = None

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected rows; rows of one logical line are joined again."""
        if self.bulk is None:
            return None
        bulk = self.bulk
        if selection.start is None and selection.end is None:
            return bulk.text, "\n"
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else bulk.height - 1
        parts: list[str] = []
        for row in range(max(first, 0), min(last, bulk.height - 1) + 1):
            span = selection.get_span(row)
            if span is not None:
                text = bulk.row_text(row)
                parts.append(text[span[0] : None if span[1] < 0 else span[1]])
                after = bulk.line_of(row + 1)[1] if row + 1 < bulk.height else 0
                parts.append("" if after else "\n")
        return ("".join(parts).rstrip("\n"), "\n") if parts else None

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if self._roles is None:
            self._roles = roles_of(self.app)
        row, width = y + self.scroll_offset.y, self.size.width
        text = "" if self.bulk is None else self.bulk.row_text(row)
        spans = find_spans(text, self._needle, "find")
        if spans and self._here >= 0 and self.bulk is not None:
            at = self._here - self.bulk.span(row)[0]
            spans = [(low, high, "find.here" if low == at else "find") for low, high, _ in spans]
        spans += selection_span(self.text_selection, row, len(text))
        return draw(((text, "text"),), width, self._roles, "", spans).apply_offsets(0, row)
