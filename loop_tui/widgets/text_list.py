"""A list of ready-made lines, for help, palette, details and choices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from loop_tui import text
from loop_tui.text import cell_width, clip
from loop_tui.widgets.line_list import LineList, Span


class TextLine(NamedTuple):
    """Spans at the left, one at the right edge; `value` None: the cursor passes over it."""

    left: tuple[Span, ...]
    right: Span = ("", "muted")
    value: Hashable = None


class TextList(LineList[TextLine]):
    """Lines with or without a cursor; without one, movement scrolls."""

    plain_ground = "surface"

    def __init__(self, *, id: str, ascii_only: bool = False, reading: bool = False) -> None:  # noqa: A002
        super().__init__(id=id, ascii_only=ascii_only)
        self.reading = reading  # no cursor: a text to read
        self.glyphs = text.glyphs(ascii_only)

    def selectable(self, index: int) -> bool:
        return self.reading or (super().selectable(index) and self.items[index].value is not None)

    def ground(self, index: int) -> str:
        return "cursor" if index == self.cursor and not self.reading else self.plain_ground

    def spans(self, index: int, line: int, width: int) -> list[Span]:  # noqa: ARG002 - one line
        item = self.items[index]
        bar = self.glyphs.cursor if index == self.cursor and not self.reading else " "
        right_width = cell_width(item.right[0])
        room = width - 2 - right_width - (1 if right_width else 0)
        spans: list[Span] = [(bar, "bar")]
        used = 0
        for piece, role in item.left:
            shown = clip(piece, room - used, self.glyphs.ellipsis)
            spans.append((shown, role))
            used += cell_width(shown)
            if shown != piece:
                break
        spans.append((" " * max(0, width - 2 - used - right_width), "text"))
        spans += [item.right, (" ", "text")]
        return spans

    def set_lines(self, lines: Sequence[TextLine], cursor: int | None = None) -> None:
        """Show `lines` from the top, the cursor on the first that takes one."""
        if cursor is None:
            cursor = next((i for i, line in enumerate(lines) if line.value is not None), -1)
        self.set_rows(lines, -1 if self.reading else cursor, keep_line=False, top=True)

    @property
    def value(self) -> Hashable:
        """The value of the line under the cursor."""
        return self.items[self.cursor].value if 0 <= self.cursor < len(self.items) else None

    def scroll_lines(self, lines: float) -> None:
        """Move the text (reading) or the cursor by lines."""
        if self.reading:
            self.scroll_to(y=self.scroll_offset.y + lines, animate=False)
        else:
            self.move_by(int(lines))
