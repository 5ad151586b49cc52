"""Pages of a session's history: one index per stamp, one byte range per page.

The file may vanish for a moment while the application replaces it (craft-format rule 1), so
opening waits and looks again before it says the session is gone. Everything is read through
one descriptor: a replaced file keeps its old content for whoever holds it open.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from loop_core import fsio, jsonvalue
from loop_core.craft.blocks import make_round, text_of
from loop_core.craft.records import lines_in, pieces_of
from loop_core.craft.rounds import RoundIndex, build_index
from loop_core.craft.sessions import SESSION_FILE
from loop_core.craft.tokens import expand_line
from loop_core.errors import InvalidArgument, SessionNotFound, StaleRevision, StorageFailed
from loop_core.fsio_base import stamp_from
from loop_core.model import Hit, Page, RawPage, Round, SessionKey
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled, never_cancelled

__all__ = ["HistoryReader", "session_files"]

TMP_FILE = SESSION_FILE + ".tmp"
_WAITS = (0.002, 0.01, 0.03, 0.08, 0.15, 0.25)
_CACHE_SIZE = 32
_ROUND_WHOLE = 16 << 20  # a longer round is shown by its two ends
_ROUND_TAIL = 6 << 20
_OVERSIZED = {"type": "oversized", "content": "a record too large to show"}


class _Open(NamedTuple):
    fd: int
    path: str
    folder: str
    rounds: RoundIndex


class Range(NamedTuple):
    """Which rounds of an index a page shows: [first, last), -1 for the prelude."""

    first: int
    last: int
    start: int
    end: int


def session_files(folder: str) -> tuple[str, str]:
    """The session's file and the one a crash may have left alone."""
    return os.path.join(folder, SESSION_FILE), os.path.join(folder, TMP_FILE)


def open_session(folder: str, waits: tuple[float, ...] = _WAITS) -> tuple[int, str]:
    """A descriptor of `session.jsonl`, waiting out the application's gap; else of the `.tmp`.

    Raises SessionNotFound when neither appears, StorageFailed.
    """
    file, lone = session_files(folder)
    for wait in (*waits, None):
        try:
            return fsio.open_regular(file), file
        except StorageFailed as error:
            if not isinstance(error.error, FileNotFoundError):
                raise
        if wait is None or not os.path.isdir(folder):
            break
        time.sleep(wait)
    try:
        return fsio.open_regular(lone), lone
    except StorageFailed as error:
        if isinstance(error.error, FileNotFoundError):
            raise SessionNotFound("the session is not there any more", file) from error
        raise


class HistoryReader:
    """Reads histories of session folders; keeps the indexes of those read last."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[str, RoundIndex] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def _opened(self, folder: str, cancelled: Cancelled = never_cancelled) -> Iterator[_Open]:
        fd, path = open_session(folder)
        try:
            stamp = stamp_from(os.fstat(fd))
            with self._lock:
                index = self._indexes.get(folder)
            if index is None or index.stamp != stamp:
                fresh = build_index(fd, stamp, cancelled=cancelled)
                if index is not None and fresh.continues(index):
                    fresh.revision = index.revision
                index = fresh
                if not cancelled():
                    self._keep(folder, index)
            yield _Open(fd, path, folder, index)
        except OSError as error:
            raise StorageFailed(error, path, "reading the history") from error
        finally:
            os.close(fd)

    def _keep(self, folder: str, index: RoundIndex) -> None:
        with self._lock:
            self._indexes[folder] = index
            self._indexes.move_to_end(folder)
            while len(self._indexes) > _CACHE_SIZE:
                self._indexes.popitem(last=False)

    def known_queued(self, folder: str) -> bool:
        """Whether the last index of this session saw a message not sent yet."""
        with self._lock:
            index = self._indexes.get(folder)
        return index is not None and index.queued

    def has_queued(self, folder: str) -> bool:
        """Whether the session holds a user message with `isQueued` true; reads it if needed."""
        with self._opened(folder) as session:
            return session.rounds.queued

    def page(
        self,
        key: SessionKey,
        folder: str,
        *,
        before: int | None = None,
        before_round: int | None = None,
        rounds: int = 3,
        revision: str | None = None,
        running: bool = False,
        cancelled: Cancelled = never_cancelled,
    ) -> Page:
        """See `SessionStore.page`."""
        with self._opened(folder, cancelled) as session:
            index = session.rounds
            if revision is not None and revision != index.revision:
                raise StaleRevision("the history was replaced meanwhile", session.path)
            span = choose(index, before=before, before_round=before_round, rounds=rounds)
            read = _Reader(session)
            made = [
                read.round(number, running=running and number + 1 == index.rounds)
                for number in range(span.first, span.last)
                if not cancelled()
            ]
            return Page(
                key=key,
                revision=index.revision,
                start=span.start,
                end=span.end,
                total=index.total,
                first_round=max(span.first, 0),
                total_rounds=index.rounds,
                rounds=tuple(made),
                damage=tuple(index.damage),
                at_end=span.end >= index.total,
                read_bytes=read.bytes,
                running=running,
            )

    def rounds(self, folder: str, *, cancelled: Cancelled = never_cancelled) -> Iterator[Round]:
        """Every round whole, in order, one at a time."""
        with self._opened(folder, cancelled) as session:
            read = _Reader(session)
            for number in range(-1 if session.rounds.has_prelude else 0, session.rounds.rounds):
                if cancelled():
                    return
                yield read.round(number, running=False, whole=True)

    def raw_page(self, folder: str, *, before: int | None = None, rounds: int = 3) -> RawPage:
        """See `SessionStore.raw_page`: messages exactly as stored."""
        with self._opened(folder) as session:
            index = session.rounds
            span = choose(index, before=before, before_round=None, rounds=rounds)
            read = _Reader(session)
            messages = [
                value for number in range(span.first, span.last) for _, value in read.stored(number)
            ]
            return RawPage(
                path=session.path,
                revision=index.revision,
                start=span.start,
                end=span.end,
                total=index.total,
                first_round=max(span.first, 0),
                last_round=max(span.last - 1, 0),
                total_rounds=index.rounds,
                messages=tuple(messages),
                damage=tuple(index.damage),
            )

    def messages(
        self, folder: str, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[tuple[int, Any]]:
        """Every message as stored, streamed; ends early when cancelled."""
        with self._opened(folder, cancelled) as session:
            yield from _stream(session, session.rounds.body, session.rounds.size, 0, cancelled)

    def message(self, folder: str, number: int, revision: str | None = None) -> Any:
        """One message as stored. Raises StaleRevision, InvalidArgument."""
        with self._opened(folder) as session:
            index = session.rounds
            if revision is not None and revision != index.revision:
                raise StaleRevision("the history was replaced meanwhile", session.path)
            if not 0 <= number < index.total:
                raise InvalidArgument(f"no message {number}", session.path)
            offset, first = _nearest(index, number)
            for at, value in _stream(session, offset, index.size, first):
                if at == number:
                    return value
            raise InvalidArgument(f"no message {number}", session.path)

    def find(
        self, folder: str, text: str, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[Hit]:
        """Case-insensitive matches in order, one a message; nothing for a blank text."""
        wanted = text.casefold()
        if not wanted.strip():
            return
        with self._opened(folder, cancelled) as session:
            number = -1
            starts = session.rounds.starts
            for at, value in _stream(
                session,
                session.rounds.body,
                session.rounds.size,
                0,
                cancelled,
                expand=True,
                wanted=_sieve(text),
            ):
                while number + 1 < len(starts) and starts[number + 1] <= at:
                    number += 1
                for part in text_of(value):
                    place = part.casefold().find(wanted)
                    if place >= 0:
                        begin = max(place - 40, 0)
                        snippet = part[begin : place + len(text) + 80]
                        yield Hit(number, at, safe_line(("…" if begin else "") + snippet))
                        break


def choose(
    index: RoundIndex, *, before: int | None, before_round: int | None, rounds: int
) -> Range:
    """The rounds before a message index or a round; the latest without either."""
    if rounds < 1:
        raise InvalidArgument("a page has at least one round")
    stop = index.rounds
    if before_round is not None:
        stop = min(max(before_round, 0), index.rounds)
    elif before is not None:
        if before < 0:
            raise InvalidArgument("a message index is not negative")
        # Rounded up: a place inside a round means the end of that round.
        stop = _rounds_before(index, before)
    first = max(stop - rounds, 0)
    if first == 0 and index.has_prelude and (before is None or before > 0):
        first = -1
    if first >= stop and not (first == -1 and stop == 0):
        return Range(0, 0, 0, 0)
    return Range(
        first,
        max(stop, 0),
        index.span(first)[2],
        index.span(stop - 1)[3] if stop else index.span(-1)[3],
    )


def _rounds_before(index: RoundIndex, before: int) -> int:
    """How many rounds begin before message `before`."""
    low, high = 0, len(index.starts)
    while low < high:
        middle = (low + high) // 2
        if index.starts[middle] < before:
            low = middle + 1
        else:
            high = middle
    return low


def _nearest(index: RoundIndex, number: int) -> tuple[int, int]:
    """A byte offset and the message index there, close before message `number`."""
    place = (index.body, 0)
    after = _rounds_before(index, number + 1)
    if after:
        place = (index.offsets[after - 1], index.starts[after - 1])
    for offset, message, _ in index.marks:
        if place[1] < message <= number:
            place = (offset, message)
    return place


def _stream(
    session: _Open,
    start: int,
    end: int,
    first: int,
    cancelled: Cancelled = never_cancelled,
    *,
    expand: bool = False,
    wanted: Callable[[bytes], bool] | None = None,
) -> Iterator[tuple[int, Any]]:
    """The messages in a byte range with their indexes; `first` is the first one's.

    Those whose bytes are not `wanted` are counted and passed over.
    """
    for line in lines_in(session.fd, start, end, cancelled=cancelled):
        for piece in pieces_of(line.data, line.length)[0]:
            if not piece.data:
                yield first, {**_OVERSIZED, "bytes": line.length}
            elif wanted is None or wanted(piece.data):
                data = expand_line(piece.data, session.folder) if expand else piece.data
                yield first, jsonvalue.loads(data)
            first += 1


def _sieve(text: str) -> Callable[[bytes], bool] | None:
    """A quick look at raw bytes that never misses; None: decode every record.

    Plain ASCII stands for itself in JSON unless written as an escape; letters of other
    scripts may fold to it, and the session token stands for a path.
    """
    if not (text.isascii() and all(c.isalnum() or c in " -_.,:;=+*#@!?()[]<>" for c in text)):
        return None
    needle = text.lower().encode()

    def may_hold(data: bytes) -> bool:
        return (
            needle in data.lower()
            or not data.isascii()
            or b"\\u" in data
            or b"{{SESSION_PATH}}" in data
        )

    return may_hold


class _Reader:
    """Rounds of one open session; counts the bytes it reads."""

    def __init__(self, session: _Open) -> None:
        self.session = session
        self.bytes = 0

    def stored(self, number: int) -> Iterator[tuple[int, Any]]:
        """The messages of a round as stored, however many."""
        start, end, first, _, _ = self.session.rounds.span(number)
        self.bytes += end - start
        return _stream(self.session, start, end, first)

    def round(self, number: int, *, running: bool, whole: bool = False) -> Round:
        """One round to show; of a huge one its beginning and its end unless `whole`."""
        start, end, first, last, _ = self.session.rounds.span(number)
        gap: tuple[int, str] | None = None
        parts = [(start, end, first)]
        if end - start > _ROUND_WHOLE and not whole:
            inside = [m for m in self.session.rounds.marks if start < m[0] < end]
            tail = [m for m in inside if m[0] >= end - _ROUND_TAIL] or inside[-1:]
            if inside and tail and inside[0][0] < tail[0][0]:
                head, back = inside[0], tail[0]
                parts = [(start, head[0], first), (back[0], end, back[1])]
                gap = (back[1], f"{back[1] - head[1]} messages are not shown here")
        messages: list[tuple[int, Any]] = []
        for begin, stop, at in parts:
            self.bytes += stop - begin
            messages += _stream(self.session, begin, stop, at, expand=True)
        return make_round(
            messages,
            index=number,
            start=first,
            end=last,
            size=end - start,
            running=running,
            gap=gap,
        )
