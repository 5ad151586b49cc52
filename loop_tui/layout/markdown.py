"""Markdown as lines: markdown-it-py's tokens written straight into segments.

Only what an agent's text uses is drawn, everything else stays as typed: HTML is text, links
show where they lead and lead nowhere. Input is clipped and the rules that cost more than
linear time are left out where their characters are too many, so that no text takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from loop_tui.layout.code import code_lines
from loop_tui.layout.lines import Line, Segment, clean, line_width, wrap
from loop_tui.layout.tables import Cell, table_lines
from loop_tui.text import ASCII, UNICODE, Glyphs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["CLIP", "markdown_lines"]

CLIP = 16 * 1024  # characters of a message that are parsed
_MAX_PREFIX = 0.6  # share of the width that quotes and lists may take
_MANY_BRACKETS = 300  # links: the bracket search is quadratic
_MANY_MARKS = 2_500  # emphasis, strike
_MANY_BARS = 3_000  # table cells


@lru_cache(maxsize=8)
def _parser(*disabled: str) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False})
    parser.enable(["table", "strikethrough"])
    return parser.disable(list(disabled)) if disabled else parser


def _parse(text: str) -> list[Token]:
    disabled: list[str] = []
    if text.count("[") > _MANY_BRACKETS:
        disabled += ["link", "image", "reference"]
    if text.count("*") + text.count("_") + text.count("~") > _MANY_MARKS:
        disabled += ["emphasis", "strikethrough"]
    if text.count("|") > _MANY_BARS:
        disabled.append("table")
    return _parser(*disabled).parse(text)


@lru_cache(maxsize=256)
def markdown_lines(text: str, width: int, *, ascii: bool, base: str = "text") -> tuple[Line, ...]:  # noqa: A002
    """`text` (already clipped to `CLIP`) as lines of at most `width` cells.

    `base` is the role of ordinary text. Remembered: a page is laid out again at every
    growth and every unfolding.
    """
    writer = _Writer(width, ASCII if ascii else UNICODE, base)
    writer.blocks(_parse(text))
    lines = writer.lines
    while lines and not lines[-1]:
        lines.pop()
    return tuple(lines)


class _Writer:
    """Walks block tokens; `head` and `rest` are what the next and later lines begin with."""

    def __init__(self, width: int, glyphs: Glyphs, base: str) -> None:
        self.lines: list[Line] = []
        self.width = width
        self.glyphs = glyphs
        self.base = base
        self.head: Line = ()
        self.rest: Line = ()
        self.tight = False
        self.stack: list[tuple[Line, str, bool, int | None]] = []
        self.number: int | None = None
        self.drop = 0  # characters of a task's box, drawn as the item's mark

    # --- prefixes

    def _push(self, head: Line, rest: Line, base: str) -> None:
        self.stack.append((self.rest, self.base, self.tight, self.number))
        if line_width(self.rest) + line_width(rest) <= self.width * _MAX_PREFIX:
            self.head, self.rest = (*self.head, *head), (*self.rest, *rest)
        self.base = base

    def _pop(self) -> None:
        self.rest, self.base, self.tight, self.number = self.stack.pop()
        self.head = self.rest

    def _emit(self, lines: Sequence[Line]) -> None:
        for line in lines:
            self.lines.append((*self.head, *line) if self.head else line)
            self.head = self.rest

    def _space(self) -> None:
        """One blank line between blocks, none at the start or inside a tight list."""
        blank = self.rest if self._is_quoted() else ()
        if self.lines and self.lines[-1] not in ((), blank) and not self.tight:
            self.lines.append(blank)

    def _is_quoted(self) -> bool:
        return any(role.startswith("quote.bar") for _, role in self.rest)

    @property
    def _room(self) -> int:
        return max(self.width - line_width(self.rest), 1)

    # --- blocks

    def blocks(self, tokens: Sequence[Token]) -> None:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.type == "table_open":
                end = at
                while tokens[end].type != "table_close":
                    end += 1
                self._table(tokens[at:end])
                at = end
            else:
                self._block(token, tokens[at + 1 : at + 3])
            at += 1

    def _block(self, token: Token, following: Sequence[Token]) -> None:
        kind = token.type
        if kind == "inline":
            return
        if kind == "paragraph_open":
            self._paragraph(following[0], hidden=token.hidden)
        elif kind == "heading_open":
            self._space_before()
            role = "heading" if token.tag in ("h1", "h2") else "heading.minor"
            self._emit(wrap(self._inline(following[0], role), self._room))
            self._space()
        elif kind in ("fence", "code_block"):
            self._space_before()
            language = token.info.split(maxsplit=1)[0].lower() if token.info.strip() else ""
            text = clean(token.content.rstrip("\n"))
            self._emit(code_lines(text, self._room, self.glyphs, language))
            self._space()
        elif kind == "hr":
            self._space_before()
            self._emit([((self.glyphs.rule * min(self._room, 24), "line"),)])
            self._space()
        else:
            self._container(token, following)

    def _container(self, token: Token, following: Sequence[Token]) -> None:
        kind = token.type
        if kind == "blockquote_open":
            self._space_before()
            bar: Line = ((f"{self.glyphs.bar} ", "quote.bar"),)
            self._push(bar, bar, "quote")
            self.tight = False
        elif kind in ("bullet_list_open", "ordered_list_open"):
            self._space_before()
            start = token.attrGet("start")
            number = None if kind == "bullet_list_open" else int(start if start else 1)
            self.stack.append((self.rest, self.base, self.tight, self.number))
            self.number = number
            self.tight = False
        elif kind == "list_item_open":
            mark = f"{self.glyphs.bullet} "
            if self.number is not None:
                mark = f"{self.number}. "
                self.number += 1
            elif task := _task(following):
                mark, self.drop = task, len(task)
            number = self.number
            self._push(((mark, "marker"),), ((" " * len(mark), self.base),), self.base)
            self.number = number
            opened = following[0]
            self.tight = opened.type == "paragraph_open" and opened.hidden
        elif kind == "list_item_close":
            number, tight = self.number, self.tight
            if self.head != self.rest:  # an empty item still shows its mark
                self._emit([()])
            self._pop()
            self.number = number
            self.tight = tight
        elif kind in ("blockquote_close", "bullet_list_close", "ordered_list_close"):
            self._trim_quote()
            self._pop()
            self._space()

    def _trim_quote(self) -> None:
        """No empty line with a bar at the end of a quote."""
        while self.lines and self.lines[-1] == self.rest and self._is_quoted():
            self.lines.pop()

    def _space_before(self) -> None:
        if self.head == self.rest:
            self._space()

    def _paragraph(self, inline: Token, *, hidden: bool) -> None:
        segments = self._inline(inline, self.base)
        if self.drop and segments:
            text, role = segments[0]
            segments[0] = (text[self.drop :], role)
            self.drop = 0
        self._emit(wrap(segments, self._room))
        if not hidden:
            tight, self.tight = self.tight, False
            self._space()
            self.tight = tight

    # --- tables

    def _table(self, tokens: Sequence[Token]) -> None:
        self._space_before()
        rows: list[list[Cell]] = []
        aligns: list[str] = []
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                head = token.type == "th_open"
                rows[-1].append(
                    tuple(self._inline(tokens[index + 1], "table.head" if head else self.base))
                )
                if head:
                    style = str(token.attrGet("style") or "")
                    aligns.append(style.rpartition(":")[2])
        self._emit(table_lines(rows, aligns, self._room, self.glyphs))
        self._space()

    def _inline(self, token: Token, base: str) -> list[Segment]:
        return _Inline(base).run(token)


class _Inline:
    """Inline tokens as segments; emphasis adds attributes to the role around it."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.found: list[Segment] = []
        self.flags: list[str] = []
        self.links: list[tuple[str, int]] = []  # address, index of its first segment

    def run(self, token: Token) -> list[Segment]:
        for child in token.children or ():
            kind = child.type
            if kind == "text":
                self._add(clean(child.content), self._role())
            elif kind == "code_inline":
                self._add(clean(child.content.replace("\n", " ")), "code")
            elif kind == "softbreak":
                self.found.append((" ", self._role()))
            elif kind == "hardbreak":
                self.found.append(("\n", self.base))
            else:
                self._mark(child)
        return self.found

    def _add(self, text: str, role: str) -> None:
        if text:
            self.found.append((text.replace("\n", " "), role))

    def _role(self) -> str:
        role = "link" if self.links else self.base
        return " ".join((role, *dict.fromkeys(self.flags))) if self.flags else role

    def _mark(self, token: Token) -> None:
        kind = token.type
        if kind in _FLAGS:
            self.flags.append(_FLAGS[kind])
        elif kind in _UNFLAGS:
            self.flags.remove(_UNFLAGS[kind])
        elif kind == "link_open":
            self.links.append((_address(token, "href"), len(self.found)))
        elif kind == "link_close":
            address, start = self.links.pop()
            shown = "".join(text for text, _ in self.found[start:])
            if address not in ("", shown, f"mailto:{shown}"):
                self.found.append((f" ({address})", "link.url"))
        elif kind == "image":
            self._add(f"[{clean(token.content) or 'image'}]", "link")
            if address := _address(token, "src"):
                self._add(f" ({address})", "link.url")


def _address(token: Token, name: str) -> str:
    return clean(str(token.attrGet(name) or ""))


def _task(following: Sequence[Token]) -> str:
    """The box of a task list item, or "": ``[x] `` and a text."""
    if len(following) < 2 or following[1].type != "inline":
        return ""
    box = following[1].content[:4].lower()
    return box if box in ("[ ] ", "[x] ") else ""


_FLAGS = {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}
_UNFLAGS = {"strong_close": "bold", "em_close": "italic", "s_close": "strike"}
