"""Rounds × width × options → immutable lines of (text, role). Pure: no Textual.

`rounds` puts rounds together, `markdown`, `tables`, `code` and `tools` draw their parts,
`lines` breaks text into cells, `model` is what comes out, `marks` finds text in it.
"""

from __future__ import annotations

from loop_tui.layout.lines import Line, Segment, line_text, line_width
from loop_tui.layout.model import TOOL_LEVELS, BlockId, Laid, LaidRound, Options, Part
from loop_tui.layout.rounds import layout, layout_round

__all__ = [
    "TOOL_LEVELS",
    "BlockId",
    "Laid",
    "LaidRound",
    "Line",
    "Options",
    "Part",
    "Segment",
    "layout",
    "layout_round",
    "line_text",
    "line_width",
]
