"""Rounds as lines: the rule, what the user wrote, what the agent did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loop_core.model import (
    Block,
    NoteBlock,
    Round,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
)
from loop_tui.layout.lines import Segment, line_width
from loop_tui.layout.model import BlockId, Laid, LaidRound, Options
from loop_tui.layout.parts import MAX_BODY, Enter, Parts
from loop_tui.layout.tools import Columns, columns_for, summary, tool_body, tool_line
from loop_tui.text import clip, clock_time, duration

__all__ = ["MAX_BODY", "layout", "layout_round"]

_MAX_DEPTH = 6  # of calls inside calls that are indented


def layout(rounds: Iterable[Round], width: int, options: Options) -> Laid:
    """Lay out consecutive rounds for `width` cells. Never raises for any text."""
    return Laid(width, tuple(layout_round(one, width, options) for one in rounds))


def layout_round(one: Round, width: int, options: Options) -> LaidRound:
    """Lay out one round; the widget keeps the result until round, width or options change."""
    return _Round(one, max(width, 4), options).run()


class _Round(Parts):
    def run(self) -> LaidRound:
        self._rule()
        tools = [block for block in self.round.blocks if isinstance(block, ToolBlock)]
        columns = columns_for(tools, self.body)
        numbers: dict[int, int] = {}
        blocks: list[tuple[BlockId, Block]] = []
        for block in self.round.blocks:
            number = numbers.get(block.message, 0)
            numbers[block.message] = number + 1
            blocks.append(((block.message, number), block))
        self._blocks(blocks, columns)
        if not self.parts:
            self.space()
            self.line((("nothing to show", "faint"),))
        self.lines.append(())
        return LaidRound(self.round.index, self.round, tuple(self.lines), tuple(self.parts))

    def _rule(self) -> None:
        one, rule, width = self.round, self.glyphs.rule, self.width
        name = "Before the first message" if one.index < 0 else f"Round {one.index + 1}"
        spent = f"Worked for {duration(sum(one.durations_ms))}" if one.durations_ms else ""
        at = clock_time(one.time_ms, self.options.now_ms or (one.time_ms or 0))
        end = f"{rule * 2}" if width >= 16 else ""
        for extra, when in ((spent, at), (spent, at.rpartition(" ")[2]), ("", at), ("", "")):
            head: list[Segment] = [(f"{rule * 2} " if end else "", "line"), (name, "round")]
            if extra:
                head.append((f" {self.glyphs.separator} {extra}", "round.time"))
            tail: list[Segment] = [(f" {when} " if when else "", "round.time"), (end, "line")]
            room = width - line_width((*head, *tail)) - 1
            if room >= 1:
                middle = (f" {rule * room}", "line")
                self.lines.append(tuple(part for part in (*head, middle, *tail) if part[0]))
                return
        self.lines.append(((clip(name, width, self.glyphs.ellipsis), "round"),))

    # --- blocks

    def _blocks(
        self, blocks: Sequence[tuple[BlockId, Block]], columns: Columns, depth: int = 0
    ) -> None:
        at = 0
        while at < len(blocks):
            key, block = blocks[at]
            if isinstance(block, ToolBlock) and self.options.tools == "off" and not depth:
                end = at
                while end < len(blocks) and isinstance(blocks[end][1], ToolBlock | ThinkingBlock):
                    end += 1
                self._batch(blocks[at:end], columns)
                at = end
                continue
            self._block(key, block, columns, depth)
            at += 1

    def _batch(self, blocks: Sequence[tuple[BlockId, Block]], columns: Columns) -> None:
        """Consecutive calls as one sentence (tool detail "off"); unfolds to their lines."""
        tools = [block for _, block in blocks if isinstance(block, ToolBlock)]
        key = (*blocks[0][0], -1)
        unfolded = self.open(key, default=False)
        self.begin(tight=True)
        glyph = self.glyphs.open if unfolded else self.glyphs.folded
        words = clip(summary(tools), self.body - 2, self.glyphs.ellipsis)
        role = "tool.failed" if words.endswith("failed") else "muted"
        self.part(key, None, [((f"{glyph} ", "tool.fold"), (words, role))], enter="fold")
        if unfolded:
            for inner, block in blocks:
                self._block(inner, block, columns, 1)

    def _block(self, key: BlockId, block: Block, columns: Columns, depth: int) -> None:
        width = max(self.body - 2 * depth, 4)
        if isinstance(block, ToolBlock):
            self._tool(key, block, columns, depth)
        elif isinstance(block, TextBlock):
            self.text(key, block, width, depth)
        elif isinstance(block, ThinkingBlock):
            self.thinking(key, block, width, depth)
        elif isinstance(block, NoteBlock):
            self.note(key, block, width, depth)
        elif isinstance(block, UnknownBlock):
            self.unknown(key, block, width, depth)
        else:
            self.file(key, block, width, depth)

    def _tool(self, key: BlockId, block: ToolBlock, columns: Columns, depth: int) -> None:
        level = self.options.tools
        unfolded = self.open(key, default=level in ("clipped", "full"))
        width = max(self.body - 2 * min(depth, _MAX_DEPTH), 12)
        self.begin(tight=not unfolded)
        lines = [tool_line(block, width, columns, self.glyphs, unfolded=unfolded)]
        body: Enter = "fold"
        if unfolded:
            inner, clipped = tool_body(block, width - 2, self.glyphs, full=level == "full")
            lines += [((" " * 2, "text"), *line) for line in inner]
            body = "view" if clipped else "fold"
        self.part(key, block, lines, enter="fold", body=body, depth=min(depth, _MAX_DEPTH))
        if unfolded and block.children:
            inside = [tool for tool in block.children if isinstance(tool, ToolBlock)]
            children = [((*key, number), child) for number, child in enumerate(block.children)]
            if depth < _MAX_DEPTH:
                self.tight = True
                self._blocks(
                    children, columns_for(inside, max(self.body - 2 * depth - 2, 8)), depth + 1
                )
        self.tight = not unfolded
