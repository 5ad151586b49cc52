"""What a layout is: immutable lines by round, and whose each line is."""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal, NamedTuple

from loop_core.model import Block, Round
from loop_tui.layout.lines import Line
from loop_tui.text import Glyphs, glyphs

__all__ = ["TOOL_LEVELS", "BlockId", "Laid", "LaidRound", "Options", "Part", "ToolLevel"]

# (message index, position among that message's blocks in the round, positions of children…);
# a batch of tool calls has -1 as its last number. Stays the same when the round grows.
BlockId = tuple[int, ...]
ToolLevel = Literal["off", "line", "clipped", "full"]
TOOL_LEVELS: tuple[ToolLevel, ...] = ("off", "line", "clipped", "full")


class Options(NamedTuple):
    """How much of a block is shown. `flipped` are blocks opened or folded one by one."""

    tools: ToolLevel = "line"
    thinking: bool = False
    flipped: frozenset[BlockId] = frozenset()
    ascii: bool = False
    now_ms: float = 0.0

    @property
    def glyphs(self) -> Glyphs:
        return glyphs(self.ascii)


class Part(NamedTuple):
    """A run of lines that belongs to one block (or, with `block` None, to a batch).

    `enter` is what Enter does on the first line, `enter_body` on the others: "fold" flips
    the block, "view" opens it whole, "" nothing.
    """

    id: BlockId
    block: Block | None
    first: int
    height: int
    enter: Literal["", "fold", "view"] = ""
    enter_body: Literal["", "fold", "view"] = ""


class LaidRound(NamedTuple):
    """One round as lines; `parts` in line order, with gaps where lines are nobody's."""

    number: int  # `Round.index`
    round: Round
    lines: tuple[Line, ...]
    parts: tuple[Part, ...]

    @property
    def visible(self) -> bool:
        """Anything at all to read, beside the rule."""
        return bool(self.parts)

    def part_at(self, line: int) -> Part | None:
        """The innermost part that holds a line, or None."""
        at = bisect_right(self.parts, line, key=lambda part: part.first) - 1
        while at >= 0:
            part = self.parts[at]
            if line < part.first + part.height:
                return part
            at -= 1
        return None


class Laid(NamedTuple):
    """Consecutive rounds laid out for one width."""

    width: int
    rounds: tuple[LaidRound, ...]

    @property
    def height(self) -> int:
        return sum(len(laid.lines) for laid in self.rounds)
