"""Where a searched text stands in a laid-out line: character offsets, case ignored."""

from __future__ import annotations

from loop_tui.layout.lines import Line, line_text

__all__ = ["find_in", "find_line"]


def find_in(text: str, needle: str) -> list[tuple[int, int]]:
    """(start, end) of every match in `text`; `needle` must be casefolded and not empty.

    Case is ignored only where folding keeps the length, so that offsets stay true.
    """
    folded = text.casefold()
    if len(folded) != len(text):
        folded = "".join(low if len(low := char.casefold()) == 1 else char for char in text)
    found: list[tuple[int, int]] = []
    at = folded.find(needle)
    while at >= 0:
        found.append((at, at + len(needle)))
        at = folded.find(needle, at + len(needle))
    return found


def find_line(lines: tuple[Line, ...], first: int, count: int, needle: str) -> int | None:
    """The first of `count` lines from `first` that holds `needle` (casefolded), or None."""
    for index in range(first, min(first + count, len(lines))):
        if find_in(line_text(lines[index]), needle):
            return index
    return None
