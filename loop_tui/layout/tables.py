"""Markdown tables in cells: columns shrink to fit, their text wraps."""

from __future__ import annotations

from collections.abc import Sequence

from loop_tui.layout.lines import Line, Segment, line_width, wrap
from loop_tui.text import Glyphs

__all__ = ["Cell", "table_lines"]

Cell = tuple[Segment, ...]
_LEAST = 4  # cells a column needs to be one
_MAX_ROWS = 500


def _widths(wanted: Sequence[int], room: int) -> list[int]:
    """Widths that sum to at most `room`: the widest columns give way first."""
    widths = [max(width, 1) for width in wanted]
    excess = sum(widths) - room
    while excess > 0:
        widest = max(widths)
        over = [index for index, width in enumerate(widths) if width == widest]
        second = max((width for width in widths if width < widest), default=1)
        step = min(widest - second, max(excess // len(over), 1))
        for index in over:
            cut = min(step, excess)
            widths[index] -= cut
            excess -= cut
        if widest <= 1:
            break
    return widths


def _align(line: Line, width: int, align: str) -> Line:
    room = width - line_width(line)
    if room <= 0:
        return line
    if align == "right":
        return ((" " * room, "text"), *line)
    if align == "center":
        left = room // 2
        return ((" " * left, "text"), *line, (" " * (room - left), "text"))
    return (*line, (" " * room, "text"))


def _stacked(rows: Sequence[Sequence[Cell]], width: int, glyphs: Glyphs) -> list[Line]:
    """More columns than the width can hold: one row a paragraph."""
    lines: list[Line] = []
    for row in rows:
        segments: list[Segment] = []
        for cell in row:
            if segments:
                segments.append((f" {glyphs.bar} ", "line"))
            segments.extend(cell)
        lines.extend(wrap(segments, width))
    return lines


def table_lines(
    rows: Sequence[Sequence[Cell]], aligns: Sequence[str], width: int, glyphs: Glyphs
) -> list[Line]:
    """The table, its first row as the head, in at most `width` cells."""
    rows = rows[:_MAX_ROWS]
    count = max((len(row) for row in rows), default=0)
    if not count:
        return []
    room = width - 3 * (count - 1)
    if room < _LEAST * count:
        return _stacked(rows, width, glyphs)
    wanted = [0] * count
    for row in rows:
        for column, cell in enumerate(row):
            wanted[column] = max(wanted[column], line_width(cell))
    widths = _widths(wanted, room)
    between: Segment = (f" {glyphs.bar} ", "line")
    rule = glyphs.rule
    cross = f"{rule}{glyphs.cross}{rule}"
    lines: list[Line] = []
    for number, row in enumerate(rows):
        cells = [wrap(cell, widths[column]) for column, cell in enumerate(row)]
        for height in range(max(map(len, cells), default=0)):
            line: list[Segment] = []
            for column in range(count):
                if column:
                    line.append(between)
                pieces = cells[column] if column < len(cells) else []
                part = pieces[height] if height < len(pieces) else ()
                align = aligns[column] if column < len(aligns) else ""
                line.extend(_align(part, widths[column], align))
            lines.append(tuple(line))
        if number == 0:
            lines.append(((cross.join(rule * width for width in widths), "line"),))
    return lines
