"""A list that draws only what is visible: 100,000 rows cost what 20 do.

Rows have one uniform height, so a line number is a row number by division. The cursor is an
index here and a key in the state above (`loop_tui.state.Browse`); whoever swaps the rows
says where the cursor's row went, and the list keeps it on the same line of the screen.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from loop_tui.roles import Roles, roles_of

Item = TypeVar("Item")
Span = tuple[str, str]  # text, role

_STRIPS = 512


class LineList(ScrollView, Generic[Item], can_focus=True, inherit_bindings=False):
    """Rows of `row_height` lines with a cursor.

    Subclasses say how a row looks (`spans`) and which rows the cursor may rest on
    (`selectable`). Movement is by method: keys come from the one command table.
    """

    row_height: ClassVar[int] = 1
    plain_ground: ClassVar[str] = ""  # where no row is

    class Highlighted(Message):
        """The cursor came to rest on another row, by key or mouse."""

        def __init__(self, sender: LineList[Any], index: int) -> None:
            self.sender = sender
            self.index = index
            super().__init__()

        @property
        def control(self) -> LineList[Any]:
            return self.sender

    class Chosen(Highlighted):
        """A row was clicked while it had the cursor: the mouse's Enter."""

    def __init__(self, *, id: str | None = None, ascii_only: bool = False) -> None:  # noqa: A002
        super().__init__(id=id)
        self.items: Sequence[Item] = ()
        self.cursor = -1
        self.ascii_only = ascii_only
        self.touched = 0.0  # when the mouse last did something here (monotonic)
        self._hover = -1
        self._roles: Roles | None = None
        # Drawn lines. The item beside its strip is what keeps the item's id its own.
        self._strips: LRUCache[tuple[Hashable, ...], tuple[Strip, Item]] = LRUCache(_STRIPS)

    # --- what subclasses say

    @abstractmethod
    def spans(self, index: int, line: int, width: int) -> list[Span]:
        """Line `line` of row `index` as (text, role), exactly `width` cells wide."""

    def ground(self, index: int) -> str:
        """The background of a row, by the names of `loop_tui.roles`."""
        if index == self.cursor:
            return "cursor" if self.has_focus else "cursor.blurred"
        return self.plain_ground

    def look(self, index: int) -> Hashable:  # noqa: ARG002 - for subclasses
        """Whatever else, besides item, width and ground, decides how row `index` looks.

        Rows with the same look are drawn once; None: drawn each time.
        """
        return None

    def selectable(self, index: int) -> bool:
        """Whether the cursor may rest on row `index`."""
        return 0 <= index < len(self.items)

    # --- rows

    def set_rows(
        self, items: Sequence[Item], cursor: int, *, keep_line: bool = True, top: bool = False
    ) -> None:
        """Show `items` with the cursor on row `cursor` (-1: none).

        `keep_line` scrolls so that the cursor's row stays on the same line of the screen;
        `top` starts at the first row.
        """
        before = self.cursor * self.row_height - self.scroll_offset.y
        self.items = items
        self.cursor = cursor if items else -1
        self._hover = -1
        self._resize_content()
        if top:
            self.scroll_to(y=0, animate=False, force=True)
        elif keep_line and cursor >= 0:
            self.scroll_to(y=max(0, cursor * self.row_height - before), animate=False, force=True)
        self._reveal()
        self.refresh()

    def _resize_content(self) -> None:
        """Tell how many lines there are; only a scrollbar that comes or goes moves anything."""
        size = Size(self._width, len(self.items) * self.row_height)
        if size == self.virtual_size:
            return
        room = self.scrollable_content_region.height
        if not (self.show_vertical_scrollbar and 0 < room < size.height):
            self.virtual_size = size
            return
        # Assigned as usual it would lay out the whole screen, at every key of the filter.
        self.set_reactive(LineList.virtual_size, size)
        self.vertical_scrollbar.window_virtual_size = size.height
        self.scroll_to(y=min(self.scroll_offset.y, self.max_scroll_y), animate=False, force=True)

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def page_rows(self) -> int:
        """Rows that fit the viewport, at least one."""
        return max(1, self.scrollable_content_region.height // self.row_height)

    # --- the cursor

    def move_to(self, index: int, *, step: int = 1) -> bool:
        """Put the cursor on `index`, or on the next row in direction `step` it may rest on."""
        count = len(self.items)
        if not count:
            return False
        index = min(max(index, 0), count - 1)
        while 0 <= index < count and not self.selectable(index):
            index += step
        if not 0 <= index < count or index == self.cursor:
            return False
        old, self.cursor = self.cursor, index
        for row in (old, index):
            if row >= 0:
                self.refresh_lines(row * self.row_height, self.row_height)
        self._reveal()
        self.post_message(self.Highlighted(self, index))
        return True

    def move_by(self, rows: int) -> bool:
        return self.move_to(self.cursor + rows, step=1 if rows > 0 else -1)

    def move_pages(self, pages: float) -> bool:
        """Move by whole or half pages."""
        rows = max(1, int(self.page_rows * abs(pages)))
        return self.move_by(rows if pages > 0 else -rows)

    def move_first(self) -> bool:
        return self.move_to(0)

    def move_last(self) -> bool:
        return self.move_to(len(self.items) - 1, step=-1)

    def _reveal(self) -> None:
        """Scroll as little as needed to show the cursor's whole row."""
        if self.cursor < 0:
            return
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        first = self.cursor * self.row_height
        last = first + self.row_height
        if height <= 0:
            return
        if first < top or height < self.row_height:
            self.scroll_to(y=first, animate=False, force=True)
        elif last > top + height:
            self.scroll_to(y=last - height, animate=False, force=True)

    # --- drawing

    @property
    def roles(self) -> Roles:
        if self._roles is None:
            self._roles = roles_of(self.app)
        return self._roles

    def notify_style_update(self) -> None:
        self._roles = None
        self._strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        width = self._width
        index, line = divmod(y + self.scroll_offset.y, self.row_height)
        if not 0 <= index < len(self.items):
            return Strip.blank(self.size.width, self.roles.rich("text", self.plain_ground))
        ground = self.ground(index)
        look = self.look(index)
        if look is None:
            return self._draw(index, line, width, ground)
        item = self.items[index]
        drawn = (id(item), line, width, ground, look)
        found = self._strips.get(drawn)
        if found is None:
            found = self._strips[drawn] = (self._draw(index, line, width, ground), item)
        return found[0]

    def _draw(self, index: int, line: int, width: int, ground: str) -> Strip:
        rich = self.roles.rich
        segments = [
            Segment(text, rich(role, ground))
            for text, role in self.spans(index, line, width)
            if text
        ]
        strip = Strip(segments)
        return strip.adjust_cell_length(self.size.width, rich("text", ground))

    def refresh_row(self, index: int) -> None:
        """Draw one row again."""
        if 0 <= index < len(self.items):
            self.refresh_lines(index * self.row_height, self.row_height)

    # --- events

    def on_resize(self) -> None:
        self.virtual_size = Size(self._width, len(self.items) * self.row_height)
        self.call_after_refresh(self._reveal)

    def on_focus(self) -> None:
        self.refresh_row(self.cursor)

    def on_blur(self) -> None:
        self.refresh_row(self.cursor)

    def row_at(self, event: events.MouseEvent) -> int:
        """The row under the mouse, or -1."""
        offset = event.get_content_offset(self)
        if offset is None:
            return -1
        index = (offset.y + self.scroll_offset.y) // self.row_height
        return index if 0 <= index < len(self.items) else -1

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a click on the cursor's row, or a double one, opens it."""
        self.touched = time.monotonic()
        index = self.row_at(event)
        if index < 0 or not self.selectable(index):
            return
        if index == self.cursor or event.chain == 2:
            self.post_message(self.Chosen(self, index))
        else:
            self.move_to(index)

    def on_mouse_scroll_down(self) -> None:
        self.touched = time.monotonic()

    def on_mouse_scroll_up(self) -> None:
        self.touched = time.monotonic()

    def visible_rows(self) -> range:
        """The rows on screen."""
        top = self.scroll_offset.y // self.row_height
        return range(top, min(len(self.items), top + self.page_rows + 1))

    def region_of(self, index: int) -> Region:
        """Where a row lies, in the coordinates of the scrolled content."""
        return Region(0, index * self.row_height, self._width, self.row_height)
