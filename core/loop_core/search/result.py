"""What a search answers, and the excerpt that shows a match."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct

from loop_core.model import (
    AttachmentBlock,
    Block,
    NoteBlock,
    Piece,
    Round,
    SessionKey,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
)
from loop_core.sanitize import safe_line
from loop_core.search.query import Query, Role, Term
from loop_core.search.words import fold, origin, pattern

__all__ = ["LeftOut", "RoundHit", "SearchResult", "SessionHits", "Snippet", "excerpt", "of_round"]

_BEFORE, _AFTER = 40, 120  # characters around a match
_WINDOW, _OVERLAP = 50_000, 1_000  # characters of text folded at a time to find a match


class Snippet(Struct, frozen=True, gc=False):
    """Sanitized text on one line; `spans` are the matches in it, as character ranges."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()


class RoundHit(Struct, frozen=True, gc=False):
    """A round that answers; `round` -2 is the title. `message` is where the match stands."""

    round: int
    message: int
    role: Role
    snippet: Snippet
    score: float = 0.0


class SessionHits(Struct, frozen=True, gc=False):
    """A session that answers: its best rounds first, and how many rounds answer in all."""

    key: SessionKey
    score: float
    hits: tuple[RoundHit, ...]
    count: int


class LeftOut(Struct, frozen=True, gc=False, kw_only=True):
    """What the answer does not cover: sessions, but for `damaged` (lines)."""

    archived: int = 0  # they answer, but are archived and were not asked for
    damaged: int = 0  # lines that could not be read
    unread: int = 0  # sessions that could not be read
    pending: int = 0  # not indexed yet, and not looked at in the time given


class SearchResult(Struct, frozen=True, kw_only=True):
    """Sessions in order of score; `total` counts them before the limit."""

    sessions: tuple[SessionHits, ...] = ()
    total: int = 0
    engine: Literal["index", "scan"] = "scan"
    scanned: int = 0  # sessions read from their files for this answer
    left_out: LeftOut = LeftOut()


def excerpt(pieces: Iterable[Piece], query: Query, *, exact: bool) -> RoundHit | None:
    """The first match in the pieces of one round, with its surroundings; None: none found."""
    first: Piece | None = None
    for piece in pieces:
        if query.roles and piece.role not in query.roles:
            continue
        first = first or piece
        found = snippet(piece.text, query, exact=exact)
        if found is not None:
            return RoundHit(piece.round, piece.message, piece.role, found)
    if first is None:
        return None
    head = Snippet(safe_line(first.text, _BEFORE + _AFTER))
    return RoundHit(first.round, first.message, first.role, head)


def snippet(text: str, query: Query, *, exact: bool) -> Snippet | None:
    """An excerpt around the first match of any term in raw `text`."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    spans = _spans(text, query, exact=exact)
    if not spans:
        return None
    begin = max(0, spans[0][0] - _BEFORE)
    end = min(len(text), max(spans[0][1] + 1, spans[0][0] + _AFTER))
    parts: list[str] = ["…" if begin else ""]
    marks: list[tuple[int, int]] = []
    at = begin
    length = len(parts[0])
    for start, stop in spans:
        if start < at or stop > end:
            continue
        between, match = safe_line(text[at:start]), safe_line(text[start:stop])
        parts += [between, match]
        length += len(between)
        marks.append((length, length + len(match)))
        length += len(match)
        at = stop
    parts += [safe_line(text[at:end]), "…" if end < len(text) else ""]
    return Snippet("".join(parts), tuple(marks))


def _spans(text: str, query: Query, *, exact: bool) -> list[tuple[int, int]]:
    """The first match of each term in `text`, as ranges of its characters, in order."""
    finders = [find for term in query.terms if (find := _finder(term, exact=exact)) is not None]
    if text.isascii():
        folded = text.lower()
        return sorted(span for find in finders if (span := find(folded)) is not None)
    found: list[tuple[int, int]] = []
    for find in finders:
        for begin in range(0, len(text), _WINDOW - _OVERLAP):
            window = text[begin : begin + _WINDOW]
            span = find(fold(window))
            if span is not None:
                first, last = origin(window, span[0]), origin(window, span[1] - 1)
                found.append((begin + first, begin + last + 1))
                break
    return sorted(found)


Find = Callable[[str], tuple[int, int] | None]


def _finder(term: Term, *, exact: bool) -> Find | None:
    """Looks for one term in folded text."""
    if exact:
        raw = term.raw

        def find(folded: str) -> tuple[int, int] | None:
            at = folded.find(raw)
            return None if at < 0 else (at, at + len(raw))

        return find if raw else None
    shape = pattern(term.raw, begins=term.begins)
    if shape is None:
        return None

    def search(folded: str) -> tuple[int, int] | None:
        match = shape.search(folded)
        return None if match is None or match.start() == match.end() else match.span()

    return search


def of_round(one: Round) -> Iterator[Piece]:
    """The text a round shows, as pieces."""
    for block in one.blocks:
        yield from _of_block(block, one.index)


def _of_block(block: Block, number: int) -> Iterator[Piece]:
    if isinstance(block, TextBlock):
        yield Piece(number, block.message, block.role, block.text)
    elif isinstance(block, ThinkingBlock):
        yield Piece(number, block.message, "thinking", block.text)
    elif isinstance(block, AttachmentBlock):
        yield Piece(number, block.message, "user", f"{block.name}\n{block.text or ''}")
    elif isinstance(block, NoteBlock):
        yield Piece(number, block.message, "assistant", f"{block.title}\n{block.text}")
    elif isinstance(block, UnknownBlock):
        yield Piece(number, block.message, "assistant", block.text)
    elif isinstance(block, ToolBlock):
        yield Piece(number, block.message, "tool", " ".join(block.arguments.split()), block.name)
        if block.result is not None:
            at = block.message if block.result_message is None else block.result_message
            yield Piece(number, at, "tool", block.result, block.name)
        for child in block.children:
            yield from _of_block(child, number)
