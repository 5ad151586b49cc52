"""What a query is held against: a session's title, or the text of one of its rounds.

Both engines use the same units, so that they agree: the index stores them as documents, the
scan matches them as they come from the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from loop_core.model import Piece
from loop_core.search.query import Query, Role, Term
from loop_core.search.words import BREAK, fold, words

__all__ = ["TITLE_ROUND", "Matcher", "Unit", "raw_filter", "units"]

TITLE_ROUND = -2
_LIMIT = 16 << 20  # characters; a longer round falls into several units
_ESCAPED = re.compile(rb"\\u(?!00[01])")
_ASCII_BYTES = bytes(range(128))
# Characters whose folded form holds an ASCII letter or digit, or vanishes, in UTF-8: accented
# and other Latin, combining marks, small, raised, ringed and full-width forms.
_MAY_BE_ASCII = re.compile(
    rb"[\xc3-\xc8\xcc\xcd]|\xc2[\xaa-\xbe]|\xca[\xb0-\xbf]|\xcb[\xa0-\xbf]|\xd2[\x83-\x87]"
    rb"|\xd6[\x91-\xbf]|\xd7[\x80-\x87]|\xd8[\x90-\x9a]|\xd9[\x8b-\x9f]|\xe1[\xb4-\xbb]"
    rb"|\xe2(?:\x81[\xb0-\xbf]|[\x82\x84\x85\x91-\x93]|\x86\x89|\xb1[\xbc\xbd])"
    rb"|\xe3(?:\x89[\x90-\x9f]|[\x8a\x8b\x8d-\x8f])|\xea\x9f[\xb0-\xbf]"
    rb"|\xef(?:\xac[\x80-\x86]|\xbc[\x90-\xba]|\xbd[\x81-\x9a])"
    rb"|\xf0(?:\x90\x9e|\x9c|\x9d[\x90-\x9f]|\x9f[\x84-\x86\xaf])"
)
# The bytes no such character begins with: most of what is written outside ASCII.
_OTHERS = bytes(
    {*range(256)}
    - {*range(0xC2, 0xC9), 0xCA, 0xCB, 0xCC, 0xCD, 0xD2, *range(0xD6, 0xDA)}
    - {0xE1, 0xE2, 0xE3, 0xEA, 0xEF, 0xF0}
)
_ROLES: tuple[Role, ...] = ("title", "user", "assistant", "thinking", "tool")


class Unit(Struct, gc=False):
    """The text of one round (or title), by role, as the pieces it came in."""

    round: int
    pieces: list[Piece]

    @property
    def message(self) -> int:
        return self.pieces[0].message if self.pieces else 0

    def text(self, role: Role, form: Callable[[str], str]) -> str:
        """All text of a role in one form; phrases do not reach over its pieces."""
        return f" {BREAK} ".join(form(p.text) for p in self.pieces if p.role == role)

    def tools(self) -> str:
        """The words of the tools' names."""
        names = dict.fromkeys(p.tool for p in self.pieces if p.tool)
        return f" {BREAK} ".join(words(name) for name in names)


def units(pieces: Iterable[Piece]) -> Iterator[Unit]:
    """Group pieces by round, in order."""
    unit: Unit | None = None
    size = 0
    for piece in pieces:
        if unit is None or piece.round != unit.round or size > _LIMIT:
            if unit is not None:
                yield unit
            unit, size = Unit(piece.round, []), 0
        unit.pieces.append(piece)
        size += len(piece.text)
    if unit is not None:
        yield unit


class Matcher:
    """Whether a unit answers a query, by words or (`exact`) by substrings of folded text."""

    def __init__(self, query: Query, *, exact: bool) -> None:
        form: Callable[[str], str] = fold if exact else words
        self._form = form
        self._roles = query.roles or _ROLES
        needle = _as_typed if exact else _in_a_row
        self._terms = tuple(filter(None, map(needle, query.terms)))
        self._without = tuple(filter(None, map(needle, query.without)))
        self._tools = tuple(f" {' '.join(words(tool).split())} " for tool in query.tools)
        self._exact = exact

    def title(self, title: str) -> bool:
        """Whether a title answers; never with ``tool:`` or a role other than title."""
        if self._tools or "title" not in self._roles or not self._terms:
            return False
        text = self._padded(self._form(title))
        return all(term in text for term in self._terms) and not any(
            term in text for term in self._without
        )

    def unit(self, unit: Unit) -> bool:
        """Whether one round answers."""
        if self._tools:
            named = f" {' '.join(unit.tools().split())} "
            if not any(tool in named for tool in self._tools):
                return False
        texts: dict[Role, str] = {}
        for piece in unit.pieces:
            if piece.role not in texts:
                texts[piece.role] = self._padded(unit.text(piece.role, self._form))
        allowed = [text for role, text in texts.items() if role in self._roles]
        return (
            bool(allowed)
            and all(any(term in text for text in allowed) for term in self._terms)
            and not any(term in text for text in texts.values() for term in self._without)
        )

    def _padded(self, text: str) -> str:
        return text if self._exact else f" {' '.join(text.split())} "


def _in_a_row(term: Term) -> str:
    if not term.words:
        return ""
    return " " + " ".join(term.words) + ("" if term.begins else " ")


def _as_typed(term: Term) -> str:
    return term.raw


def raw_filter(query: Query, *, exact: bool) -> Callable[[bytes], bool] | None:
    """A quick no for the raw bytes of a message that cannot matter to `query`.

    Says yes whenever in doubt: escaped letters, and what outside ASCII folds to ASCII.
    None: every message matters.
    """
    terms = [t for t in (*query.terms, *query.without) if exact or t.words]
    if not terms and (query.roles or not query.tools):
        return None
    needles = [_needle(term, exact=exact) for term in terms]
    needles += [max(words(tool).split(), key=len, default="") for tool in query.tools]
    if "" in needles:
        return None
    look = tuple(needle.encode() for needle in needles if needle and needle.isascii())

    plain = all(needle.isascii() for needle in needles)

    def wanted(line: bytes) -> bool:
        low = line.lower()
        if any(needle in low for needle in look) or (b"\\u" in low and _ESCAPED.search(low)):
            return True
        if line.isascii():
            return False
        if not plain:
            return True
        rest = line.translate(None, _ASCII_BYTES)
        return bool(rest.translate(None, _OTHERS)) and bool(_MAY_BE_ASCII.search(rest))

    return wanted


def _needle(term: Term, *, exact: bool) -> str:
    """The longest run of letters that a text with this term must hold; "" for none."""
    parts = re.findall(r"[^\W_]+", term.raw) if exact else term.words
    return max(parts, key=len, default="")
