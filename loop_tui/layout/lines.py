"""Lines of segments, and breaking text into them: exact in cells, linear in time.

A segment is (text, role); a role may carry its own background after an ``@``
(``"code.keyword@code"``, see `roles`). A line is a tuple of segments and never holds a line
feed, a tab or anything else that moves the terminal's cursor.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from loop_core.sanitize import safe
from loop_tui.text import cell_width, clip, spans

__all__ = [
    "Line",
    "Segment",
    "breaks",
    "clean",
    "fill",
    "hard_breaks",
    "line_text",
    "line_width",
    "one_line",
    "plain",
    "settle",
    "slice_segments",
    "wrap",
    "wrap_text",
]

Segment = tuple[str, str]
Line = tuple[Segment, ...]

_TAB = 4
# Wide characters no line begins with: closing marks and what belongs to the one before.
_NO_START = frozenset("、。，．・：；？！」』）】〉》〕］｝ーゝゞ々…")
# A joiner swallows the cell of what follows it; before ASCII it only does harm, and at the
# start of a text it has nothing to join.
_LOOSE = re.compile("^[\u200d\ufe0f]+|\u200d+(?=[\x00-\x7f]|$)")


def clean(text: str) -> str:
    """`text` as cells: safe, tabs expanded, no joiner without anything to join.

    Stores sanitize already; Markdown entities (``&#27;``) and raw messages come later.
    """
    text = safe(text)
    if "\t" in text:
        text = text.expandtabs(_TAB)
    if "\u200d" in text or "\ufe0f" in text:
        text = _LOOSE.sub("", text)
    return text


def one_line(text: str) -> str:
    """`clean`, with line feeds as spaces."""
    return clean(text.replace("\n", " "))


def settle(segments: list[Segment]) -> list[Segment]:
    """Move the ends of segments to ends of clusters: a cluster has one role."""
    text = line_text(tuple(segments))
    ends = [end for _, end, _ in spans(text)]
    settled: list[Segment] = []
    start = at = 0
    for part, role in segments:
        at += len(part)
        end = ends[bisect_left(ends, at)] if ends else at
        if end > start:
            settled.append((text[start:end], role))
            start = end
    return settled


def line_text(line: Line) -> str:
    return "".join(text for text, _ in line)


def line_width(line: Line) -> int:
    """Cells of a line: each segment measured alone, as the screen does."""
    return sum(cell_width(text) for text, _ in line)


def fill(line: Sequence[Segment], width: int, role: str) -> Line:
    """The line, filled with spaces of `role` to `width` cells."""
    room = width - line_width(tuple(line))
    return (*line, (" " * room, role)) if room > 0 else tuple(line)


def _breaks_ascii(text: str, width: int) -> Iterator[tuple[int, int]]:
    start, end = 0, len(text)
    while end - start > width:
        cut = text.rfind(" ", start, start + width + 1)
        if cut <= start or text[start:cut].isspace():
            yield start, start + width
            start += width
        else:
            yield start, cut
            start = cut + 1
            while start < end and text[start] == " ":
                start += 1
    if start < end or not end:
        yield start, end


def _breaks_cells(text: str, width: int) -> Iterator[tuple[int, int]]:
    clusters = spans(text)
    begin = at = used = 0  # cluster indexes; cells of the current line
    stop = after = -1  # clusters where the line may end, and where the next one would begin
    while at < len(clusters):
        start, _, cells = clusters[at]
        blank = text[start] == " "
        if at > begin and (blank or cells == 2) and text[start] not in _NO_START:
            stop, after = at, at + blank
        if used + cells > width and at > begin:
            if after <= begin:
                stop = after = at
            yield clusters[begin][0], clusters[stop][0]
            begin = after
            while begin < len(clusters) and text[clusters[begin][0]] == " ":
                begin += 1
            at, used, stop, after = begin, 0, -1, -1
            continue
        used += cells
        at += 1
        if cells == 2 and (at == len(clusters) or text[clusters[at][0]] not in _NO_START):
            stop = after = at
    if begin < len(clusters) or not clusters:
        yield (clusters[begin][0] if clusters else 0), len(text)


def breaks(text: str, width: int) -> list[tuple[int, int]]:
    """Where to break one logical line: (start, end) of each piece, at most `width` cells.

    Breaks fall on spaces (dropped) and beside wide characters; a longer word is cut between
    clusters. A cluster wider than `width` (two cells in a one-cell column) stands alone.
    """
    width = max(width, 1)
    if text.isascii():
        return list(_breaks_ascii(text, width)) if len(text) > width else [(0, len(text))]
    return list(_breaks_cells(text, width))


def hard_breaks(text: str, width: int) -> list[tuple[int, int]]:
    """Like `breaks`, but only where the line is full: for code, which keeps every space."""
    width = max(width, 1)
    if text.isascii():
        return [(at, min(at + width, len(text))) for at in range(0, len(text), width)] or [(0, 0)]
    found: list[tuple[int, int]] = []
    begin = used = 0
    for start, _, cells in spans(text):
        if used + cells > width and start > begin:
            found.append((begin, start))
            begin, used = start, 0
        used += cells
    return [*found, (begin, len(text))]


def slice_segments(segments: Sequence[Segment], pieces: Iterable[tuple[int, int]]) -> list[Line]:
    """Cut segments at offsets of their joined text; pieces ascend and do not overlap."""
    found: list[Line] = []
    index = offset = 0
    for start, end in pieces:
        line: list[Segment] = []
        while index < len(segments):
            text, role = segments[index]
            low, high = start - offset, end - offset
            if low < len(text):
                part = text[max(low, 0) : high]
                if part:
                    line.append((part, role))
                if high <= len(text):
                    break
            offset += len(text)
            index += 1
        found.append(tuple(line))
    return found


def wrap(segments: Sequence[Segment], width: int, head: Line = (), rest: Line = ()) -> list[Line]:
    """Wrap segments to `width` cells; `head` begins the first line, `rest` the others.

    Line feeds inside the segments end a line. The prefixes count toward the width.
    """
    room = max(width - line_width(head), 1)
    if len(segments) == 1:
        text, role = segments[0]
        if len(text) <= room and text.isascii() and "\n" not in text:
            return [(*head, (text, role))] if text else [head]
    lines: list[Line] = []
    for logical in _logical_lines(segments):
        text = line_text(logical)
        if len(text) <= room and text.isascii():
            pieces = [logical]
        else:
            pieces = slice_segments(logical, breaks(text, room))
        for piece in pieces:
            lines.append((*(rest if lines else head), *piece))
    return lines


def _logical_lines(segments: Sequence[Segment]) -> Iterator[Line]:
    line: list[Segment] = []
    for text, role in segments:
        if "\n" not in text:
            if text:
                line.append((text, role))
            continue
        first, *others = text.split("\n")
        if first:
            line.append((first, role))
        for other in others:
            yield tuple(line)
            line = [(other, role)] if other else []
    yield tuple(line)


def wrap_text(text: str, width: int, role: str) -> list[Line]:
    """Wrap verbatim text: its own line feeds and indents stay."""
    return wrap(((text, role),), width)


def plain(text: str, width: int, role: str) -> Line:
    """One clipped line of the first non-blank line of `text`."""
    first = text.lstrip("\n ").partition("\n")[0]
    return ((clip(first.strip(), width), role),)
