"""Fenced code and other verbatim text: a gutter, wrapped lines, light highlighting.

The highlighter is one regular expression a language family and looks at one line at a time:
enough to read by, never a lexer. Every alternative can also match unterminated, so its cost
is linear in the text whatever the text is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from loop_tui.layout.lines import Line, Segment, fill, hard_breaks, settle, slice_segments
from loop_tui.text import Glyphs, cell_width, clip, human_count

__all__ = ["MAX_LINES", "code_lines", "highlight"]

MAX_LINES = 400
_MAX_HIGHLIGHT = 2_000  # characters of a line; beyond that it is data, not code
_WORDS = {
    "python": "and as assert async await break case class continue def del elif else except "
    "finally for from global if import in is lambda match nonlocal not or pass raise return "
    "try while with yield None True False self",
    "c": "abstract async await auto bool boolean break case catch char class const continue "
    "default defer do double else enum export extends extern false final finally float fn for "
    "from func function go if impl implements import in instanceof int interface let long loop "
    "match mod module mut namespace new nil null of override package private protected pub "
    "public return self short static struct super switch template this throw trait true try "
    "type typeof undefined union unsafe use using val var void volatile when where while yield",
    "shell": "case cd do done echo elif else esac exit export fi for function if in local "
    "return set then trap unset while sudo",
    "sql": "add all alter and as asc begin between by case check commit constraint create "
    "cross default delete desc distinct drop else end exists foreign from group having if in "
    "index inner insert into is join key left like limit not null on or order outer primary "
    "references rollback select set table then transaction union unique update values view "
    "when where with",
    "data": "true false null yes no on off",
}
_NAMES = {
    "python": "python py python3 py3 pyi ruby rb nim",
    "shell": "sh bash zsh fish shell console dockerfile make makefile",
    "sql": "sql sqlite postgres postgresql mysql",
    "data": "json jsonl jsonc json5 yaml yml toml ini",
    "c": "c h cpp c++ cc cs csharp java kotlin kt scala go rust rs swift dart zig php js jsx "
    "mjs ts tsx javascript typescript css scss less proto groovy lua",
}
_FAMILY = {name: family for family, names in _NAMES.items() for name in names.split()}
_COMMENT = {
    "python": r"\#.*",
    "shell": r"(?:(?<=\s)|^)\#.*",
    "data": r"(?:(?<=\s)|^)(?:\#|//).*",
    "sql": r"--.*",
    "c": r"//.*|/\*.*?(?:\*/|$)|(?:^\s*)\*\s.*",
}
_DIFF = frozenset(("diff", "patch", "udiff"))


@lru_cache(maxsize=16)
def _pattern(family: str) -> re.Pattern[str]:
    words = "|".join(_WORDS[family].split())
    quotes = "\"'`" if family == "c" else "\"'"
    strings = "|".join(rf"{quote}(?:[^{quote}\\]|\\.)*{quote}?" for quote in quotes)
    return re.compile(
        rf"(?P<comment>{_COMMENT[family]})|(?P<string>{strings})"
        rf"|(?P<keyword>\b(?:{words})\b)"
        r"|(?P<name>\b[A-Za-z_]\w*(?=\())"
        r"|(?P<number>\b\d[\w.]*\b)|\w+",
        re.IGNORECASE if family == "sql" else 0,
    )


def highlight(line: str, language: str) -> list[Segment]:
    """One line of code as segments; an unknown language is plain text."""
    if language in _DIFF:
        role = {"+": "code.added", "-": "code.removed", "@": "code.keyword"}.get(line[:1])
        return [(line, role or "code.text")]
    family = _FAMILY.get(language)
    if family is None or len(line) > _MAX_HIGHLIGHT:
        return [(line, "code.text")]
    found: list[Segment] = []
    at = 0
    for match in _pattern(family).finditer(line):
        kind = match.lastgroup
        if kind is None:
            continue
        start, end = match.span()
        if kind == "string" and family == "data" and line[end : end + 2].lstrip()[:1] == ":":
            kind = "name"
        if start > at:
            found.append((line[at:start], "code.text"))
        found.append((line[start:end], f"code.{kind}"))
        at = end
    if at < len(line):
        found.append((line[at:], "code.text"))
    return found if line.isascii() else settle(found)


def code_lines(
    text: str, width: int, glyphs: Glyphs, language: str = "", role: str = ""
) -> list[Line]:
    """Verbatim text on the code background, `width` cells wide, gutter included.

    `role` replaces highlighting by one role (tool output). A wrapped line shows the wrap
    sign instead of the gutter. After `MAX_LINES` lines the rest is only counted.
    """
    gutter = ((f"{glyphs.bar} ", "code.gutter@code"),)
    wrapped = ((f"{glyphs.wrapped} ", "code.gutter@code"),)
    if width < 8:
        gutter = wrapped = ((glyphs.bar, "code.gutter@code"),)
    room = max(width - cell_width(gutter[0][0]), 1)
    lines: list[Line] = []
    logicals = text.split("\n", MAX_LINES)
    more = logicals.pop().count("\n") + 1 if len(logicals) > MAX_LINES else 0
    for logical in logicals:
        segments = [(logical, role)] if role else highlight(logical, language)
        segments = [(part, f"{name}@code") for part, name in segments]
        if len(logical) <= room and logical.isascii():
            pieces: list[Line] = [tuple(segments)]
        else:
            pieces = slice_segments(segments, hard_breaks(logical, room))
        for number, piece in enumerate(pieces):
            line = (*(wrapped if number else gutter), *piece)
            lines.append(fill(line, width, "code.text@code"))
    if more:
        note = clip(f"{glyphs.ellipsis} {human_count(more)} more lines", room, glyphs.ellipsis)
        lines.append(fill((*gutter, (note, "faint@code")), width, "code.text@code"))
    return lines
