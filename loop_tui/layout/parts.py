"""Blocks of a round as parts: text, thinking, files, notes, unknown records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from loop_core.model import (
    AttachmentBlock,
    Block,
    ImageBlock,
    NoteBlock,
    Round,
    TextBlock,
    ThinkingBlock,
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
from loop_tui.layout.model import BlockId, Options, Part
from loop_tui.layout.tools import byte_size, output_lines
from loop_tui.text import cell_width, clip, human_size

__all__ = ["MAX_BODY", "Enter", "Parts"]

MAX_BODY = 108
_MAX_LINES = 1_000  # of a message
_NARROW = 30  # below, fixed words may not fit and are cut
_NOTE = {
    "error": ("failed", "note.error"),
    "stop": ("damaged", "note"),
    "warning": ("damaged", "note"),
    "plan": ("open", "note"),
}
Enter = Literal["", "fold", "view"]


class Parts:
    """Collects the lines of one round and whose they are.

    Each method appends one block; `depth` is how far inside other calls it lies.
    """

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

    def line(self, line: Line, depth: int = 0) -> None:
        """One line, indented; cut where the pane is too narrow for fixed words."""
        pad = self.indent + 2 * depth
        if self.body < _NARROW:
            line = _fit(line, max(self.width - pad, 1))
        self.lines.append(((" " * pad, "text"), *line) if line else ())

    def space(self) -> None:
        """A blank line, unless there is one."""
        if self.lines and self.lines[-1]:
            self.lines.append(())

    def begin(self, *, tight: bool = False) -> None:
        """A blank line between blocks, none inside a run of one-line blocks."""
        if not (tight and self.tight):
            self.space()
        self.tight = tight

    def part(
        self,
        key: BlockId,
        block: Block | None,
        lines: Sequence[Line],
        *,
        enter: Enter = "",
        body: Enter = "",
        depth: int = 0,
    ) -> None:
        """The lines of a block, and what Enter does on the first and on the others."""
        first = len(self.lines)
        for line in lines:
            self.line(line, depth)
        self.parts.append(Part(key, block, first, len(lines), enter, body))

    def open(self, key: BlockId, *, default: bool) -> bool:
        """Whether a block is unfolded: its default, unless the reader flipped it."""
        return default != (key in self.options.flipped)

    # --- blocks

    def text(self, key: BlockId, block: TextBlock, width: int, depth: int) -> None:
        """A message: the user's as typed, the assistant's as Markdown."""
        text, hidden = _clipped(block.text)
        self.begin()
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
            self.part(key, block, lines, enter="", body="view" if hidden else "", depth=depth)

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

    def thinking(self, key: BlockId, block: ThinkingBlock, width: int, depth: int) -> None:
        """One line, or all of it behind a bar."""
        unfolded = self.open(key, default=self.options.thinking) and bool(block.text.strip())
        self.begin(tight=not unfolded)
        glyph = self.glyphs.open if unfolded else self.glyphs.folded
        head: Line = ((f"{glyph} ", "tool.fold"), ("thought", "thinking"), (" ", "text"))
        if not unfolded:
            room = max(width - line_width(head), 0)
            words = block.text[:2_000] or ("kept by the provider" if block.redacted else "nothing")
            peek = plain(clean(words), room, "thinking.text")
            self.part(key, block, [(*head, *peek)], enter="fold", body="", depth=depth)
            return
        bar: Line = ((f"{self.glyphs.bar} ", "quote.bar"),)
        text, hidden = _clipped(block.text)
        lines = [head, *wrap(((clean(text.strip("\n")), "thinking.text"),), width, bar, bar)]
        if hidden:
            lines.append((*bar, *self._more(block.text, width - 2)))
        self.part(key, block, lines, enter="fold", body="view" if hidden else "fold", depth=depth)

    def file(
        self, key: BlockId, block: ImageBlock | AttachmentBlock, width: int, depth: int
    ) -> None:
        """An image or a file: type, name and size; its data stays on disk."""
        if isinstance(block, ImageBlock):
            word, kind = "image", block.mime.removeprefix("image/")
        else:
            word, kind = "file", block.kind if block.kind != "file" else ""
        self.begin(tight=True)
        details = f" {self.glyphs.separator} ".join(filter(None, (kind, human_size(block.size))))
        head: Line = ((f"{self.glyphs.folded} ", "tool.fold"), (word, "tool"), ("  ", "text"))
        room = width - line_width(head) - cell_width(details) - 2
        name = clip(one_line(block.name), max(room, 0), self.glyphs.ellipsis)
        segments: list[Segment] = [*head]
        if name:
            segments += [(name, "tool.target"), ("  ", "text")]
        room = max(width - line_width(tuple(segments)), 0)
        segments.append((clip(one_line(details), room, self.glyphs.ellipsis), "muted"))
        self.part(key, block, [tuple(segments)], enter="view", body="", depth=depth)

    def note(self, key: BlockId, block: NoteBlock, width: int, depth: int) -> None:
        """Something that happened; a compaction folds, a plan is Markdown."""
        title = clip(one_line(block.title), max(width - 2, 1), self.glyphs.ellipsis)
        text, hidden = _clipped(block.text)
        lines: list[Line]
        self.begin()
        if block.kind == "compaction":
            unfolded = self.open(key, default=False) and bool(text)
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
        self.part(key, block, lines, enter=enter, body=body_enter, depth=depth)

    def unknown(self, key: BlockId, block: UnknownBlock, width: int, depth: int) -> None:
        """A record of a type nobody knows here: one line, JSON when unfolded."""
        unfolded = self.open(key, default=False)
        self.begin(tight=not unfolded)
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
        self.part(key, block, lines, enter="fold", body="view" if clipped else "fold", depth=depth)


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
