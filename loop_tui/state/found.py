"""What a search found, as lines to choose from and as words. Pure.

Every text that reaches the screen from here is sanitized: titles and excerpts where they
were made, names by `safe_line` here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from loop_core.model import SessionKey, SessionRow
from loop_core.sanitize import safe_line
from loop_core.search.result import LeftOut, RoundHit, SearchResult
from loop_core.search.units import TITLE_ROUND
from loop_tui.text import Glyphs, cell_width, clip, human_count, relative_time

__all__ = [
    "HELP",
    "FoundLine",
    "Place",
    "found_lines",
    "hit_spans",
    "left_out",
    "needle_of",
    "summary",
    "walk",
]

Span = tuple[str, str]

#: What can be typed, as (example, what it asks for).
HELP: tuple[tuple[str, str], ...] = (
    ("lock archive", "both words in one round, or in a title"),
    ('"lost update"', "these words in a row"),
    ("lock -draft", "rounds without draft"),
    ("project:shop", "in one project; model:opus in the same way"),
    ("role:user", "or assistant, thinking, tool, title"),
    ("tool:bash", "rounds that used a tool"),
    ("is:unread", "or pinned, archived; -is:unread without"),
    ("after:2026-11-01", "last activity; before: as well"),
)
_ROLES = {"user": "you", "assistant": "agent", "thinking": "thinking", "tool": "tool"}


class Place(NamedTuple):
    """A hit one can go to."""

    key: SessionKey
    hit: RoundHit


class FoundLine(NamedTuple):
    """A session (`hit` None) or one of its hits; `key` None: words, the cursor passes over."""

    key: SessionKey | None
    hit: RoundHit | None = None
    left: tuple[Span, ...] = ()
    right: tuple[str, ...] = ()  # from full to short; the first that fits is shown


def found_lines(
    result: SearchResult,
    rows: Mapping[SessionKey, SessionRow],
    names: Mapping[str, str],
    *,
    now_ms: float,
    glyphs: Glyphs,
) -> list[FoundLine]:
    """A line for each session, best first, and its best hits below it in reading order."""
    lines: list[FoundLine] = []
    for session in result.sessions:
        row = rows.get(session.key)
        if row is None:
            continue
        lines.append(_session_line(row, session.count, names, now_ms, glyphs))
        hits = sorted(
            (hit for hit in session.hits if hit.round != TITLE_ROUND), key=lambda hit: hit.round
        )
        lines += [FoundLine(session.key, hit) for hit in hits]
        titled = any(hit.round == TITLE_ROUND for hit in session.hits)
        more = session.count - len(hits) - titled
        if more > 0:
            noun = "round" if more == 1 else "rounds"
            text = f"     and {human_count(more)} more {noun}"
            lines.append(FoundLine(None, None, ((text, "faint"),)))
    return lines


def _session_line(
    row: SessionRow, count: int, names: Mapping[str, str], now_ms: float, glyphs: Glyphs
) -> FoundLine:
    gap = f" {glyphs.separator} "
    project = safe_line(names.get(row.project, ""))
    age = relative_time(row.updated_ms or None, now_ms)
    marks: list[Span] = []
    for shown, glyph, role in (
        (row.unread, glyphs.unread, "unread"),
        (row.pinned_ms is not None, glyphs.pinned, "pinned"),
        (row.archived, glyphs.archived, "archived"),
    ):
        if shown:
            marks.append((f"{glyph} ", role))
    many = f"{human_count(count)} {'match' if count == 1 else 'matches'}" if count else ""
    return FoundLine(
        row.key,
        None,
        ((" ", "text"), *marks, (row.title or "New session", "bold")),
        (gap.join(p for p in (project, many, age) if p), gap.join((project, age)), age),
    )


def hit_spans(hit: RoundHit, width: int, glyphs: Glyphs) -> list[Span]:
    """A hit in one line of at most `width` cells, the match in sight."""
    number = "start" if hit.round < 0 else f"round {hit.round + 1}"
    head = f"   {number:<9} "
    who = f"{_ROLES.get(hit.role, hit.role):<9}" if width >= 60 else ""
    room = width - cell_width(head) - cell_width(who)
    spans: list[Span] = [(head, "muted"), (who, "secondary")]
    pieces = _pieces(hit, room, glyphs.ellipsis)
    used = 0
    for text, role in pieces:
        shown = clip(text, room - used, glyphs.ellipsis)
        spans.append((shown, role))
        used += cell_width(shown)
        if shown != text:
            break
    return spans


def _pieces(hit: RoundHit, room: int, ellipsis: str) -> list[Span]:
    text, marks = hit.snippet.text, hit.snippet.spans
    begin = 0
    if marks and cell_width(text[: marks[0][1]]) > room - 4:
        begin = max(0, marks[0][0] - max(4, room // 4))
    pieces: list[Span] = [(ellipsis, "muted")] if begin else []
    at = begin
    for start, stop in marks:
        pieces += [(text[at:start], "text"), (text[start:stop], "accent bold")]
        at = stop
    pieces.append((text[at:], "text"))
    return [piece for piece in pieces if piece[0]]


def walk(lines: Sequence[FoundLine]) -> list[Place]:
    """The hits in order, for going from one to the next across sessions."""
    return [Place(line.key, line.hit) for line in lines if line.key and line.hit]


def needle_of(hit: RoundHit | None) -> str:
    """The text to mark in the history: the match as it stands there."""
    if hit is None or not hit.snippet.spans:
        return ""
    start, stop = hit.snippet.spans[0]
    return hit.snippet.text[start:stop]


def summary(result: SearchResult, *, exact: bool, glyphs: Glyphs) -> str:
    """How much was found, and where the answer comes from."""
    count = result.total
    found = f"{human_count(count)} {'session' if count == 1 else 'sessions'}"
    if count > len(result.sessions):
        found += f", the best {len(result.sessions)} shown"
    if result.engine == "scan":
        way = "parts of words, from the files" if exact else "from the files"
    elif result.scanned:
        way = f"from the index, {human_count(result.scanned)} newer from the files"
    else:
        way = "from the index"
    return f"{found} {glyphs.separator} {way}"


def left_out(counts: LeftOut) -> list[str]:
    """What an answer does not cover, in words."""
    told = (
        (
            counts.archived,
            "more in the archive (is:archived)",
            "more in the archive (is:archived)",
        ),
        (
            counts.damaged,
            "damaged line could not be searched",
            "damaged lines could not be searched",
        ),
        (counts.unread, "session could not be read", "sessions could not be read"),
        (counts.pending, "session not looked at yet", "sessions not looked at yet"),
    )
    return [f"{human_count(n)} {one if n == 1 else many}" for n, one, many in told if n]
