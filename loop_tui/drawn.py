"""What Textual keeps of widgets that are gone.

It remembers two colours for each of the last thousand widgets, by a key that holds the drawn
lines of the widget. A window that was closed so costs its whole picture, a hundred megabytes
after some hundred windows, until that many others were opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widget import Widget

__all__ = ["forget_drawn"]


def forget_drawn(widget: Widget) -> None:
    """Let the pictures of closed windows go; what is on the screen is asked for again."""
    colours = getattr(type(getattr(widget, "_styles_cache", None)), "get_inner_outer", None)
    clear = getattr(colours, "cache_clear", None)
    if clear is not None:
        clear()
