"""Rounds as lines: the rule, what the user wrote, what the agent did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from loop_core.model import (
    AttachmentBlock,
    Block,
    ImageBlock,
    NoteBlock,
    Round,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
)
from loop_tui.layout.lines import (
    Line,
    Segment,
    clean,
    fill,
    line_width,
    one_line,
    plain,
    wrap,
    wrap_text,
)
from loop_tui.layout.markdown import CLIP, markdown_lines
from loop_tui.layout.model import BlockId, Laid, LaidRound, Options, Part
from loop_tui.layout.tools import (
    Columns,
    byte_size,
    columns_for,
    output_lines,
    summary,
    tool_body,
    tool_line,
)
from loop_tui.text import cell_width, clip, clock_time, duration, human_size

__all__ = ["MAX_BODY", "layout", "layout_round"]

MAX_BODY = 108
_MAX_LINES = 1_000  # of a message
_NARROW = 30  # below, fixed words may not fit and are cut
_MAX_DEPTH = 6  # of calls inside calls that are indented
_NOTE = {
    "error": ("failed", "note.error"),
    "stop": ("damaged", "note"),
    "warning": ("damaged", "note"),
    "plan": ("open", "note"),
}
Enter = Literal["", "fold", "view"]


def layout(rounds: Iterable[Round], width: int, options: Options) -> Laid:
    """Lay out consecutive rounds for `width` cells. Never raises for any text."""
    return Laid(width, tuple(layout_round(one, width, options) for one in rounds))


def layout_round(one: Round, width: int, options: Options) -> LaidRound:
    """Lay out one round; the widget keeps the result until round, width or options change."""
    return _Round(one, max(width, 4), options).run()


class _Round:
    def __init__(self, one: Round, width: int, options: Options) -> None:
        self.round = one
        self.options = options
        self.glyphs = options.glyphs
        self.indent = 2 if width >= 16 else 1
        self.body = min(width - self.indent, MAX_BODY)
        self.width = self.body + self.indent
        self.lines: list[Line] = []
        self.parts: list[Part] = []
        self.tight = False  # the last block was one line of a run without blank lines

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
            self._space()
            self._line((("nothing to show", "faint"),))
        self.lines.append(())
        return LaidRound(self.round.index, self.round, tuple(self.lines), tuple(self.parts))

    # --- lines

    def _line(self, line: Line, depth: int = 0) -> None:
        pad = self.indent + 2 * depth
        if self.body < _NARROW:
            line = _fit(line, max(self.width - pad, 1))
        self.lines.append(((" " * pad, "text"), *line) if line else ())

    def _space(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append(())

    def _begin(self, *, tight: bool = False) -> None:
        """A blank line between blocks, none inside a run of one-line blocks."""
        if not (tight and self.tight):
            self._space()
        self.tight = tight

    def _part(
        self,
        key: BlockId,
        block: Block | None,
        lines: Sequence[Line],
        *,
        enter: Enter = "",
        body: Enter = "",
        depth: int = 0,
    ) -> None:
        first = len(self.lines)
        for line in lines:
            self._line(line, depth)
        self.parts.append(Part(key, block, first, len(lines), enter, body))

    def _open(self, key: BlockId, *, default: bool) -> bool:
        return default != (key in self.options.flipped)

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
        unfolded = self._open(key, default=False)
        self._begin(tight=True)
        glyph = self.glyphs.open if unfolded else self.glyphs.folded
        words = clip(summary(tools), self.body - 2, self.glyphs.ellipsis)
        role = "tool.failed" if words.endswith("failed") else "muted"
        self._part(key, None, [((f"{glyph} ", "tool.fold"), (words, role))], enter="fold")
        if unfolded:
            for inner, block in blocks:
                self._block(inner, block, columns, 1)

    def _block(self, key: BlockId, block: Block, columns: Columns, depth: int) -> None:
        width = max(self.body - 2 * depth, 4)
        if isinstance(block, ToolBlock):
            self._tool(key, block, columns, depth)
        elif isinstance(block, TextBlock):
            self._text(key, block, width, depth)
        elif isinstance(block, ThinkingBlock):
            self._thinking(key, block, width, depth)
        elif isinstance(block, NoteBlock):
            self._note(key, block, width, depth)
        elif isinstance(block, UnknownBlock):
            self._unknown(key, block, width, depth)
        else:
            self._file(key, block, width, depth)

    def _text(self, key: BlockId, block: TextBlock, width: int, depth: int) -> None:
        text, hidden = _clipped(block.text)
        self._begin()
        if block.role == "user" and not depth:
            self._user(key, block, text, hidden=hidden)
            return
        if block.role == "user":
            lines = wrap_text(clean(text), width, "user")
        else:
            base = "commentary" if block.commentary else "text"
            lines = list(markdown_lines(text, width, ascii=self.options.ascii, base=base))
        if hidden:
            lines.append(self._more(block.text, width))
        if lines:
            self._part(key, block, lines, enter="", body="view" if hidden else "", depth=depth)

    def _user(self, key: BlockId, block: TextBlock, text: str, *, hidden: bool) -> None:
        """The user's words as typed, on the panel colour behind an accent bar."""
        bar: Segment = (f"{self.glyphs.gutter}{' ' * (self.indent - 1)}", "user.bar@user")
        room = max(self.body - 1, 1)
        lines = wrap_text(clean(text.strip("\n")), room, "user@user")
        if hidden:
            more = self._more(block.text, room)
            lines.append(tuple((part, f"{role}@user") for part, role in more))
        first = len(self.lines)
        for line in lines:
            self.lines.append(fill((bar, *line), self.width, "user@user"))
        body: Enter = "view" if hidden else ""
        self.parts.append(Part(key, block, first, len(lines), "", body))

    def _more(self, text: str, width: int) -> Line:
        glyphs = self.glyphs
        shown = human_size(byte_size(_clipped(text)[0]))
        total = human_size(byte_size(text))
        note = f"{glyphs.ellipsis} {shown} of {total} shown {glyphs.separator} Enter opens it whole"
        return ((clip(note, width, glyphs.ellipsis), "more"),)

    def _thinking(self, key: BlockId, block: ThinkingBlock, width: int, depth: int) -> None:
        unfolded = self._open(key, default=self.options.thinking) and bool(block.text.strip())
        self._begin(tight=not unfolded)
        glyph = self.glyphs.open if unfolded else self.glyphs.folded
        head: Line = ((f"{glyph} ", "tool.fold"), ("thought", "thinking"), (" ", "text"))
        if not unfolded:
            room = max(width - line_width(head), 0)
            words = block.text[:2_000] or ("kept by the provider" if block.redacted else "nothing")
            peek = plain(clean(words), room, "thinking.text")
            self._part(key, block, [(*head, *peek)], enter="fold", body="", depth=depth)
            return
        bar: Line = ((f"{self.glyphs.bar} ", "quote.bar"),)
        text, hidden = _clipped(block.text)
        lines = [head, *wrap(((clean(text.strip("\n")), "thinking.text"),), width, bar, bar)]
        if hidden:
            lines.append((*bar, *self._more(block.text, width - 2)))
        self._part(key, block, lines, enter="fold", body="view" if hidden else "fold", depth=depth)

    def _tool(self, key: BlockId, block: ToolBlock, columns: Columns, depth: int) -> None:
        level = self.options.tools
        unfolded = self._open(key, default=level in ("clipped", "full"))
        width = max(self.body - 2 * min(depth, _MAX_DEPTH), 12)
        self._begin(tight=not unfolded)
        lines = [tool_line(block, width, columns, self.glyphs, unfolded=unfolded)]
        body: Enter = "fold"
        if unfolded:
            inner, clipped = tool_body(block, width - 2, self.glyphs, full=level == "full")
            lines += [((" " * 2, "text"), *line) for line in inner]
            body = "view" if clipped else "fold"
        self._part(key, block, lines, enter="fold", body=body, depth=min(depth, _MAX_DEPTH))
        if unfolded and block.children:
            inside = [tool for tool in block.children if isinstance(tool, ToolBlock)]
            children = [((*key, number), child) for number, child in enumerate(block.children)]
            if depth < _MAX_DEPTH:
                self.tight = True
                self._blocks(
                    children, columns_for(inside, max(self.body - 2 * depth - 2, 8)), depth + 1
                )
        self.tight = not unfolded

    def _file(
        self, key: BlockId, block: ImageBlock | AttachmentBlock, width: int, depth: int
    ) -> None:
        if isinstance(block, ImageBlock):
            word, kind = "image", block.mime.removeprefix("image/")
        else:
            word, kind = "file", block.kind if block.kind != "file" else ""
        self._begin(tight=True)
        details = f" {self.glyphs.separator} ".join(filter(None, (kind, human_size(block.size))))
        head: Line = ((f"{self.glyphs.folded} ", "tool.fold"), (word, "tool"), ("  ", "text"))
        room = width - line_width(head) - cell_width(details) - 2
        name = clip(one_line(block.name), max(room, 0), self.glyphs.ellipsis)
        segments: list[Segment] = [*head]
        if name:
            segments += [(name, "tool.target"), ("  ", "text")]
        room = max(width - line_width(tuple(segments)), 0)
        segments.append((clip(one_line(details), room, self.glyphs.ellipsis), "muted"))
        self._part(key, block, [tuple(segments)], enter="view", body="", depth=depth)

    def _note(self, key: BlockId, block: NoteBlock, width: int, depth: int) -> None:
        title = clip(one_line(block.title), max(width - 2, 1), self.glyphs.ellipsis)
        text, hidden = _clipped(block.text)
        lines: list[Line]
        self._begin()
        if block.kind == "compaction":
            unfolded = self._open(key, default=False) and bool(text)
            glyph = self.glyphs.open if unfolded else self.glyphs.folded
            mark = f"{glyph} " if text else f"{self.glyphs.rule * 2} "
            line: list[Segment] = [(mark, "note"), (title, "note")]
            room = width - line_width(tuple(line)) - 1
            line.append((f" {self.glyphs.rule * room}" if room > 0 else "", "line"))
            lines = [tuple(line)]
        else:
            name, role = _NOTE.get(block.kind, ("separator", "muted"))
            lines = [((f"{getattr(self.glyphs, name)} ", role), (title, role))]
            unfolded = True
        if unfolded and text.strip():
            inner = max(width - 2, 4)
            if block.kind in ("plan", "compaction"):
                body = list(markdown_lines(text, inner, ascii=self.options.ascii, base="text"))
            else:
                body = wrap_text(clean(text.strip("\n")), inner, "note.text")
            if hidden:
                body.append(self._more(block.text, inner))
            lines += [(("  ", "text"), *part) if part else () for part in body]
        enter: Enter = "fold" if block.kind == "compaction" and text else ""
        body_enter: Enter = "view" if hidden else enter
        self._part(key, block, lines, enter=enter, body=body_enter, depth=depth)

    def _unknown(self, key: BlockId, block: UnknownBlock, width: int, depth: int) -> None:
        unfolded = self._open(key, default=False)
        self._begin(tight=not unfolded)
        glyph = self.glyphs.open if unfolded else self.glyphs.folded
        name = one_line(block.type) or "no type"
        size = human_size(byte_size(block.text))
        words = clip(f"{name} {self.glyphs.separator} {size}", max(width - 17, 0))
        head: Line = ((f"{glyph} ", "tool.fold"), ("unknown record", "note"), (" ", "text"))
        lines: list[Line] = [_fit((*head, (words, "muted")), width)]
        clipped = False
        if unfolded:
            body, clipped = output_lines(
                block.text, max(width - 2, 4), self.glyphs, full=False, language="json"
            )
            lines += [(("  ", "text"), *line) for line in body]
        self._part(key, block, lines, enter="fold", body="view" if clipped else "fold", depth=depth)


def _clipped(text: str) -> tuple[str, bool]:
    """What of a message is laid out, and whether that is not all of it."""
    shown = text[:CLIP]
    if shown.count("\n") > _MAX_LINES:
        shown = "\n".join(shown.split("\n", _MAX_LINES)[:_MAX_LINES])
    return shown, len(shown) < len(text)


def _fit(line: Line, width: int) -> Line:
    """A line cut to `width` cells, for the narrowest panes."""
    found: list[Segment] = []
    for text, role in line:
        shown = clip(text, width, "")
        if shown:
            found.append((shown, role))
        width -= cell_width(shown)
    return tuple(found)
