"""The list of what a search found: sessions, and their matching rounds below them."""

from __future__ import annotations

from collections.abc import Sequence

from loop_tui import text
from loop_tui.state.found import HELP, FoundLine, hit_spans
from loop_tui.text import cell_width, clip, pad
from loop_tui.widgets.line_list import LineList, Span

__all__ = ["FoundList"]


class FoundList(LineList[FoundLine]):
    """Typing goes on in the field above; the list never takes the focus."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(id="found", ascii_only=ascii_only)
        self.can_focus = False
        self.glyphs = text.glyphs(ascii_only)

    def selectable(self, index: int) -> bool:
        return super().selectable(index) and self.items[index].key is not None

    def ground(self, index: int) -> str:
        return "cursor" if index == self.cursor else self.plain_ground

    def spans(self, index: int, line: int, width: int) -> list[Span]:  # noqa: ARG002 - one line
        item = self.items[index]
        bar: Span = (self.glyphs.cursor if index == self.cursor else " ", "bar")
        if item.hit is not None:
            return [bar, *hit_spans(item.hit, width - 2, self.glyphs)]
        right = next((r for r in item.right if cell_width(r) <= (width - 4) // 2), "")
        room = width - 3 - cell_width(right)
        spans, used = [bar], 0
        for piece, role in item.left:
            shown = clip(piece, room - used, self.glyphs.ellipsis)
            spans.append((shown, role))
            used += cell_width(shown)
        return [*spans, (" " * (room + 1 - used), "text"), (right, "muted"), (" ", "text")]

    def show_found(self, lines: Sequence[FoundLine], cursor: int = -1) -> None:
        """Show `lines`, the cursor on line `cursor`, else on the first that takes it."""
        top = cursor < 0
        if top:
            cursor = next((i for i, line in enumerate(lines) if line.key is not None), -1)
        self.set_rows(lines, cursor, keep_line=False, top=top)

    def show_help(self) -> None:
        """What can be typed, while nothing is."""
        width = max(cell_width(example) for example, _ in HELP)
        lines = [FoundLine(None, None, ((" ", "text"),))]
        for example, meaning in HELP:
            head = f"   {pad(example, width)}  "
            lines.append(FoundLine(None, None, ((head, "accent"), (meaning, "muted"))))
        self.set_rows(lines, -1, keep_line=False, top=True)
