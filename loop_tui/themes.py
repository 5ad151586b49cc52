"""Our two themes, night and day, and the scrollbar a terminal without Unicode gets."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style as RichStyle
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.theme import Theme

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["DAY", "DEFAULT", "NIGHT", "NO_COLOR", "AsciiScrollBar", "register", "use_ascii"]

NIGHT = Theme(
    name="night",
    primary="#7aa2f7",
    secondary="#bb9af7",
    accent="#e0af68",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#c8d0e4",
    background="#16181f",
    surface="#1a1d26",
    panel="#232734",
    dark=True,
    variables={
        "border-blurred": "#3a4052",
        "scrollbar": "#3a4158",
        "scrollbar-hover": "#4a5370",
        "scrollbar-active": "#7aa2f7",
        "scrollbar-background": "#16181f",
        "block-cursor-foreground": "#16181f",
        "footer-key-foreground": "#7aa2f7",
        "input-selection-background": "#7aa2f7 35%",
        "screen-selection-background": "#7aa2f7 45%",
    },
)
DAY = Theme(
    name="day",
    primary="#1d4fb8",
    secondary="#6a35b5",
    accent="#855300",
    warning="#855300",
    error="#b3202e",
    success="#2a6a14",
    foreground="#2b303b",
    background="#f7f8fa",
    surface="#eceff6",
    panel="#e4e7ee",
    dark=False,
    variables={
        "border-blurred": "#c3c8d6",
        "scrollbar": "#c3c8d8",
        "scrollbar-hover": "#a9b1c8",
        "scrollbar-active": "#1d4fb8",
        "scrollbar-background": "#f7f8fa",
        "block-cursor-foreground": "#f7f8fa",
        "footer-key-foreground": "#1d4fb8",
        "input-selection-background": "#1d4fb8 25%",
        "screen-selection-background": "#1d4fb8 30%",
    },
)
DEFAULT = NIGHT.name
_BLACK, _WHITE = Color.parse("#000000"), Color.parse("#ffffff")
# With NO_COLOR an app should also be made with ``ansi_color=True``: only then does Textual
# leave every colour out, else it turns them grey.
NO_COLOR = "ansi-dark"


def register(app: App[Any]) -> None:
    """Make night and day available as `app.theme`."""
    app.register_theme(NIGHT)
    app.register_theme(DAY)


class AsciiScrollBar(ScrollBarRender):
    """A scrollbar of ``|`` and ``#`` (``--ascii``)."""

    @classmethod
    def render_bar(  # noqa: PLR0917 - Textual's signature
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,
        back_color: Color = _BLACK,
        bar_color: Color = _WHITE,
    ) -> Segments:
        """The bar as segments; the thumb is at least one cell."""
        width = thickness if vertical else 1
        track, thumb = ("|", "#") if vertical else ("-", "#")

        def segment(glyph: str, action: str) -> Segment:
            meta = {"@mouse.down": action}
            return Segment(glyph * width, RichStyle(color=bar, bgcolor=back, meta=meta))

        back, bar = back_color, bar_color
        start = end = 0
        if window_size and size and virtual_size > window_size:
            length = max(1, ceil(window_size * size / virtual_size))
            start = round((size - length) * position / (virtual_size - window_size))
            end = start + length
        cells = [
            segment(thumb, "grab")
            if start <= at < end
            else segment(track if end else " ", "scroll_up" if at < start else "scroll_down")
            for at in range(int(size))
        ]
        if vertical:
            return Segments(cells, new_lines=True)
        return Segments([*cells, Segment.line()] * thickness, new_lines=False)


def use_ascii(*, enabled: bool) -> None:
    """Draw every scrollbar of the program in ASCII, or as Textual does."""
    ScrollBar.renderer = AsciiScrollBar if enabled else ScrollBarRender
