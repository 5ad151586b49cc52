"""What a search answers, and the excerpt that shows a match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from loop_core.model import Block, Piece, Round, SessionKey, TextBlock, ThinkingBlock, ToolBlock
from loop_core.sanitize import safe_line
from loop_core.search.query import Query, Role
from loop_core.search.words import fold, pattern

__all__ = ["LeftOut", "RoundHit", "SearchResult", "SessionHits", "Snippet", "excerpt", "of_round"]

_BEFORE, _AFTER = 40, 120  # characters around a match
_NEAR = 200_000  # characters of a text that is not ASCII in which a match is looked for


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
    """Matches of the terms in `text`, as ranges of its characters, in order."""
    folded, places = _folded(text)
    found: list[tuple[int, int]] = []
    for term in query.terms:
        if exact:
            at = folded.find(term.raw) if term.raw else -1
            if at >= 0:
                found.append((at, at + len(term.raw)))
            continue
        shape = pattern(term.raw, begins=term.begins)
        match = shape.search(folded) if shape else None
        if match:
            found.append(match.span())
    found.sort()
    if places is None:
        return found
    return [(places[start], places[stop - 1] + 1) for start, stop in found if stop > start]


def _folded(text: str) -> tuple[str, Sequence[int] | None]:
    """Folded text, and for each of its characters where it comes from (None: the same)."""
    folded = fold(text)
    if len(folded) == len(text):
        return folded, None
    parts: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text[:_NEAR]):
        one = char.lower() if char.isascii() else fold(char)
        parts.append(one)
        places += [at] * len(one)
    return "".join(parts), places


def of_round(one: Round) -> Iterator[Piece]:
    """The text a round shows, as pieces."""
    for block in one.blocks:
        yield from _of_block(block, one.index)


def _of_block(block: Block, number: int) -> Iterator[Piece]:
    if isinstance(block, TextBlock):
        yield Piece(number, block.message, block.role, block.text)
    elif isinstance(block, ThinkingBlock):
        yield Piece(number, block.message, "thinking", block.text)
    elif isinstance(block, ToolBlock):
        yield Piece(number, block.message, "tool", block.arguments, block.name)
        if block.result is not None:
            at = block.message if block.result_message is None else block.result_message
            yield Piece(number, at, "tool", block.result, block.name)
        for child in block.children:
            yield from _of_block(child, number)
