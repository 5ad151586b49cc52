"""One question to every store: from the index where it knows, from the files where not.

The answer is right whatever the index knows: sessions it does not hold, or holds in an older
form, are scanned; a missing, damaged or foreign index only makes the answer slower.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Literal

from loop_core.errors import LoopError
from loop_core.model import SessionKey, SessionRow
from loop_core.search.catalog import Catalog
from loop_core.search.index import DocumentHit, IndexFailed, SearchIndex, available
from loop_core.search.query import Query, parse
from loop_core.search.result import (
    LeftOut,
    RoundHit,
    SearchResult,
    SessionHits,
    Snippet,
    excerpt,
    of_round,
)
from loop_core.search.scan import scan_session, title_hit
from loop_core.search.units import TITLE_ROUND, Matcher
from loop_core.search.words import fold
from loop_core.store import Cancelled, SessionStore, never_cancelled

__all__ = ["EXPLAINED", "SearchEngine"]

#: Rounds of a session that come with their place and an excerpt.
EXPLAINED = 5
_DOCUMENTS = 2_000
StoreOf = Callable[[SessionKey], SessionStore]


class SearchEngine:
    """Searches the sessions of a snapshot; keeps the index open between questions."""

    def __init__(self, directory: str, store_of: StoreOf) -> None:
        self.directory = directory
        self.store_of = store_of
        self.catalog = Catalog(directory)
        self.index: SearchIndex | None = None
        self._opening = threading.Lock()  # a newer question may come while one is answered

    def pending(self, rows: Iterable[SessionRow]) -> int:
        """How many sessions the index does not hold as they are now."""
        entries = self.catalog.entries if self.open() else {}
        return sum(
            1
            for row in rows
            if row.trashed_ms is None
            and not ((entry := entries.get(row.key)) is not None and entry.holds(row))
        )

    def search(
        self,
        text: str,
        rows: Iterable[SessionRow],
        *,
        project_of: Callable[[SessionRow], str],
        exact: bool = False,
        limit: int = 50,
        typing: bool = False,
        budget: float | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> SearchResult:
        """Sessions that answer `text`, best first.

        `exact` looks for substrings, in the files alone; so does a query without a letter
        (``->``). `budget` bounds the seconds spent on sessions the index does not hold; the
        rest is counted as pending. Raises InvalidArgument for a query that is not understood.
        """
        query = parse(text, typing=typing)
        exact = exact or (bool(query.terms) and not any(term.words for term in query.terms))
        live = [row for row in rows if row.trashed_ms is None]
        chosen = [row for row in live if _fits(row, query, project_of(row))]
        if query.empty:
            return SearchResult()
        if not query.terms and not query.tools and not query.roles:
            return _listing(chosen, limit, archived="archived" in query.flags)
        run = _Run(self, query, exact=exact, limit=limit, budget=budget, cancelled=cancelled)
        return run.over(chosen)

    def open(self) -> bool:
        """Whether the index can be asked, as it is now on disk."""
        if not available():
            return False
        with self._opening:
            return self._open()

    def _open(self) -> bool:
        try:
            if not self.catalog.load():
                self.index = None
                return False
            index = self.index or SearchIndex(self.directory)
            if not index.intact(self.catalog.files) or not index.open():
                self.index = None
                return False
            index.reload()
        except IndexFailed:
            self.index = None
            return False
        self.index = index
        return True


class _Run:
    """One question."""

    def __init__(
        self,
        engine: SearchEngine,
        query: Query,
        *,
        exact: bool,
        limit: int,
        budget: float | None,
        cancelled: Cancelled,
    ) -> None:
        self.engine = engine
        self.query = query
        self.exact = exact
        self.limit = limit
        self.deadline = None if budget is None else time.monotonic() + budget
        self.cancelled = cancelled
        self.found: list[SessionHits] = []
        self.scanned = self.damaged = self.unread = self.pending = 0

    def over(self, rows: list[SessionRow]) -> SearchResult:
        by_key = {row.key: row for row in rows}
        asks_index = not self.exact and (
            any(term.words for term in self.query.terms)
            or (bool(self.query.tools) and not self.query.roles)
        )
        indexed = self.known(rows) if asks_index else []
        names: Literal["index", "scan"] = "index" if indexed else "scan"
        if indexed:
            try:
                self.ask(indexed)
            except IndexFailed:
                indexed, names = [], "scan"
                self.found.clear()
                self.engine.index = None
        known = {row.key for row in indexed}
        rest = [row for row in rows if row.key not in known]
        for row in sorted(rest, key=lambda row: -row.updated_ms):
            self.scan(row)
        return self.result(by_key, names)

    def known(self, rows: list[SessionRow]) -> list[SessionRow]:
        if not self.engine.open():
            return []
        entries = self.engine.catalog.entries
        return [r for r in rows if (entry := entries.get(r.key)) is not None and entry.holds(r)]

    def ask(self, rows: list[SessionRow]) -> None:
        """Take what the index says of sessions it holds as they are."""
        index, entries = self.engine.index, self.engine.catalog.entries
        if index is None:
            return
        keys = {entries[row.key].number: row.key for row in rows}
        counts = {n: c for n, c in index.sessions(self.query).items() if n in keys}
        best: dict[int, list[DocumentHit]] = {}
        for hit in index.documents(self.query, limit=_DOCUMENTS):
            if hit.number in counts:
                best.setdefault(hit.number, []).append(hit)
        for number, count in counts.items():
            hits = best.get(number, [])
            score = hits[0].score if hits else 0.0
            shown = tuple(map(_unread, hits[:EXPLAINED]))
            self.found.append(SessionHits(keys[number], score, shown, count))
        self.damaged += sum(entries[row.key].mark.damaged for row in rows)

    def scan(self, row: SessionRow) -> None:
        if self.cancelled():
            return
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.pending += 1
            return
        self.scanned += 1
        try:
            store = self.engine.store_of(row.key)
            one = scan_session(store, row, self.query, exact=self.exact, cancelled=self.cancelled)
        except LoopError:
            self.unread += 1
            return
        self.damaged += one.damaged
        if one.hits is not None:
            self.found.append(one.hits)

    def result(
        self, by_key: dict[SessionKey, SessionRow], names: Literal["index", "scan"]
    ) -> SearchResult:
        asked = "archived" in self.query.flags
        shown = [s for s in self.found if asked or not by_key[s.key].archived]
        shown.sort(key=lambda s: (-s.score, -by_key[s.key].updated_ms, s.key))
        return SearchResult(
            sessions=tuple(self.explained(s, by_key[s.key]) for s in shown[: self.limit]),
            total=len(shown),
            engine=names,
            scanned=self.scanned,
            left_out=LeftOut(
                archived=len(self.found) - len(shown),
                damaged=self.damaged,
                unread=self.unread,
                pending=self.pending,
            ),
        )

    def explained(self, session: SessionHits, row: SessionRow) -> SessionHits:
        """The hits of the index with their excerpts, read from the session."""
        if session.hits and session.hits[0].snippet.text:
            hits = session.hits[:EXPLAINED]
            return SessionHits(session.key, session.score, hits, session.count)
        hits = session.hits
        index, entry = self.engine.index, self.engine.catalog.entries.get(session.key)
        if not hits and index is not None and entry is not None:
            with suppress(IndexFailed):
                documents = index.documents(self.query, limit=20, numbers=(entry.number,))
                hits = tuple(map(_unread, documents))
        told = [self.excerpt(row, hit) for hit in hits[:EXPLAINED] if not self.cancelled()]
        return SessionHits(session.key, session.score, tuple(filter(None, told)), session.count)

    def excerpt(self, row: SessionRow, hit: RoundHit) -> RoundHit | None:
        if hit.round == TITLE_ROUND:
            matcher = Matcher(self.query, exact=self.exact)
            return title_hit(row, self.query, matcher, exact=self.exact)
        try:
            page = self.engine.store_of(row.key).page(
                row.key, before_round=max(hit.round + 1, 1), rounds=1, cancelled=self.cancelled
            )
        except LoopError:
            return None
        for one in page.rounds:
            if one.index == hit.round:
                found = excerpt(of_round(one), self.query, exact=self.exact)
                if found is not None:
                    return RoundHit(hit.round, found.message, found.role, found.snippet, hit.score)
                return RoundHit(hit.round, one.start, "user", Snippet(""), hit.score)
        return None


def _unread(hit: DocumentHit) -> RoundHit:
    """A hit of the index whose text is still to be read."""
    role: Literal["title", "user"] = "title" if hit.round == TITLE_ROUND else "user"
    return RoundHit(hit.round, 0, role, Snippet(""), hit.score)


def _fits(row: SessionRow, query: Query, project: str) -> bool:
    """Whether a session passes the filters that look at the session alone."""
    flags = {"unread": row.unread, "pinned": row.pinned_ms is not None, "archived": row.archived}
    return (
        all(flags[flag] for flag in query.flags)
        and not any(flags[flag] for flag in query.no_flags)
        and (query.before_ms is None or row.updated_ms < query.before_ms)
        and (query.after_ms is None or row.updated_ms >= query.after_ms)
        and _named(query.projects, project, row.cwd or "")
        and _named(query.models, row.model or "")
    )


def _named(wanted: tuple[str, ...], *names: str) -> bool:
    folded = [fold(name) for name in names]
    return not wanted or any(want in name for want in wanted for name in folded)


def _listing(rows: list[SessionRow], limit: int, *, archived: bool) -> SearchResult:
    """Filters alone: the sessions, latest first, without rounds."""
    shown = [row for row in rows if archived or not row.archived]
    shown.sort(key=lambda row: (-row.updated_ms, row.key))
    return SearchResult(
        sessions=tuple(SessionHits(row.key, 0.0, (), 0) for row in shown[:limit]),
        total=len(shown),
        left_out=LeftOut(archived=len(rows) - len(shown)),
    )
