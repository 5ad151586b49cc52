"""The streaming search: the files alone answer, at the speed of reading them."""

from __future__ import annotations

from msgspec import Struct

from loop_core.model import SessionRow
from loop_core.search.query import Query
from loop_core.search.result import RoundHit, SessionHits, excerpt, snippet
from loop_core.search.units import TITLE_ROUND, Matcher, raw_filter, units
from loop_core.store import Cancelled, SessionStore, never_cancelled

__all__ = ["Found", "scan_session", "title_hit"]

_TITLE_SCORE = 3.0


class Found(Struct, frozen=True):
    """What one session answers (None: it does not), and its damaged lines."""

    hits: SessionHits | None
    damaged: int = 0


def scan_session(
    store: SessionStore,
    row: SessionRow,
    query: Query,
    *,
    exact: bool = False,
    most: int = 5,
    cancelled: Cancelled = never_cancelled,
) -> Found:
    """Hold the query against one session's title and rounds; keeps the first `most` hits.

    Raises LoopError when the session cannot be read.
    """
    matcher = Matcher(query, exact=exact)
    hits: list[RoundHit] = []
    count = 0
    head = title_hit(row, query, matcher, exact=exact)
    if head is not None:
        hits.append(head)
        count += 1
    damaged = 0
    if query.roles != ("title",):
        pass_ = store.texts(row.key, wanted=raw_filter(query, exact=exact), cancelled=cancelled)
        for unit in units(pass_):
            if matcher.unit(unit):
                count += 1
                if len(hits) < most:
                    hit = excerpt(unit.pieces, query, exact=exact)
                    hits += [] if hit is None else [hit]
        damaged = pass_.mark().damaged
    if not count:
        return Found(None, damaged)
    score = (_TITLE_SCORE if head else 0.0) + min(count, 20) / 20
    return Found(SessionHits(row.key, score, tuple(hits), count), damaged)


def title_hit(row: SessionRow, query: Query, matcher: Matcher, *, exact: bool) -> RoundHit | None:
    """The hit a title is, if it answers."""
    if row.title is None or not matcher.title(row.title):
        return None
    found = snippet(row.title, query, exact=exact)
    return None if found is None else RoundHit(TITLE_ROUND, 0, "title", found, _TITLE_SCORE)
