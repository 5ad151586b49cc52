"""Lines of roles drawn as strips, with marks laid over them, and the text of a selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from rich.segment import Segment
from textual.selection import Selection
from textual.strip import Strip

from loop_tui.layout import Line
from loop_tui.layout.marks import find_in
from loop_tui.roles import Roles
from loop_tui.text import cell_width

__all__ = ["Span", "draw", "find_spans", "selected", "selection_span"]

# (start, end, ground): characters of a line that lie on another background.
Span = tuple[int, int, str]
_GUTTERS = ("code.gutter", "user.bar", "quote.bar")


def find_spans(text: str, needle: str, ground: str) -> list[Span]:
    """Where `needle` (casefolded; may be empty) stands in a line."""
    if not needle or not text:
        return []
    return [(start, end, ground) for start, end in find_in(text, needle)]


def selection_span(selection: Selection | None, y: int, length: int) -> list[Span]:
    """What of line `y` is selected."""
    span = None if selection is None else selection.get_span(y)
    if span is None:
        return []
    return [(span[0], length if span[1] < 0 else span[1], "selection")]


def draw(
    line: Line, width: int, roles: Roles, ground: str = "", spans: Sequence[Span] = ()
) -> Strip:
    """A line as a strip of exactly `width` cells, filled with `ground`."""
    segments = [
        Segment(part, roles.rich(role, over or ground)) for part, role, over in _split(line, spans)
    ]
    used = sum(cell_width(part) for part, _ in line)
    if used < width:
        segments.append(Segment(" " * (width - used), roles.rich("text", ground)))
    strip = Strip(segments, max(used, width))
    return strip if used <= width else strip.crop(0, width)


def _split(line: Line, spans: Sequence[Span]) -> list[tuple[str, str, str]]:
    """Cut a line's segments at the edges of spans; a later span covers an earlier one."""
    if not spans:
        return [(part, role, "") for part, role in line]
    found: list[tuple[str, str, str]] = []
    at = 0
    for part, role in line:
        end = at + len(part)
        edges = {at, end}
        for start, stop, _ in spans:
            edges.update(edge for edge in (start, stop) if at < edge < end)
        cuts = sorted(edges)
        for low, high in pairwise(cuts):
            over = ""
            for start, stop, ground in spans:
                if start <= low < stop:
                    over = ground
            found.append((part[low - at : high - at], role, over))
        at = end
    return found


def selected(selection: Selection, height: int, line_at: Callable[[int], Line]) -> str | None:
    """The selected text, without gutters and the filling at the end of lines."""
    first = selection.start.y if selection.start is not None else 0
    last = selection.end.y if selection.end is not None else height - 1
    found: list[str] = []
    for y in range(max(first, 0), min(last, height - 1) + 1):
        span = selection.get_span(y)
        if span is None:
            continue
        low, high = span
        text, at = "", 0
        for part, role in line_at(y):
            if not role.startswith(_GUTTERS):
                end = len(part) if high < 0 else max(high - at, 0)
                text += part[max(low - at, 0) : end]
            at += len(part)
        found.append(text.rstrip())
    return "\n".join(found) if found else None
