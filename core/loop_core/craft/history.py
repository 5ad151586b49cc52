"""Pages of a session's history: one index per stamp, one byte range per page.

The file may vanish for a moment while the application replaces it (craft-format rule 1), so
opening waits and looks again before it says the session is gone. Everything is read through
one descriptor: a replaced file keeps its old content for whoever holds it open.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from loop_core.craft.blocks import text_of
from loop_core.craft.opening import open_session
from loop_core.craft.pages import Opened, RoundReader, choose, nearest, sieve, stream
from loop_core.craft.rounds import RoundIndex, build_index
from loop_core.errors import InvalidArgument, StaleRevision, StorageFailed
from loop_core.fsio_base import stamp_from
from loop_core.model import Hit, Page, RawPage, Round, SessionKey
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled, never_cancelled

__all__ = ["HistoryReader"]

_CACHE_SIZE = 32
_AROUND = 40


class HistoryReader:
    """Reads histories of session folders; keeps the indexes of those read last."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[str, RoundIndex] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def _opened(self, folder: str, cancelled: Cancelled = never_cancelled) -> Iterator[Opened]:
        fd, path = open_session(folder)
        try:
            yield Opened(fd, path, folder, self._index(folder, fd, cancelled))
        except OSError as error:
            raise StorageFailed(error, path, "reading the history") from error
        finally:
            os.close(fd)

    def _index(self, folder: str, fd: int, cancelled: Cancelled) -> RoundIndex:
        """The index of the open file: the one kept, or a new one that carries its revision on."""
        stamp = stamp_from(os.fstat(fd))
        with self._lock:
            old = self._indexes.get(folder)
        if old is not None and old.stamp == stamp:
            return old
        index = build_index(fd, stamp, cancelled=cancelled)
        if old is not None and index.continues(old):
            index.revision = old.revision
        if not cancelled():
            self._keep(folder, index)
        return index

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

    def queued_in(self, folder: str, fd: int) -> bool:
        """Whether the open session file `fd` holds a user message with `isQueued` true."""
        return self._index(folder, fd, never_cancelled).queued

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
            read = RoundReader(session)
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
        """Every round whole, in order; see `SessionStore.rounds`."""
        with self._opened(folder, cancelled) as session:
            read = RoundReader(session)
            for number in range(-1 if session.rounds.has_prelude else 0, session.rounds.rounds):
                if cancelled():
                    return
                yield from read.whole(number)

    def raw_page(self, folder: str, *, before: int | None = None, rounds: int = 3) -> RawPage:
        """See `SessionStore.raw_page`: messages exactly as stored."""
        with self._opened(folder) as session:
            index = session.rounds
            span = choose(index, before=before, before_round=None, rounds=rounds)
            read = RoundReader(session)
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
            yield from stream(session, session.rounds.body, session.rounds.size, 0, cancelled)

    def message(self, folder: str, number: int, revision: str | None = None) -> Any:
        """One message as stored. Raises StaleRevision, InvalidArgument."""
        with self._opened(folder) as session:
            index = session.rounds
            if revision is not None and revision != index.revision:
                raise StaleRevision("the history was replaced meanwhile", session.path)
            if not 0 <= number < index.total:
                raise InvalidArgument(f"no message {number}", session.path)
            offset, first = nearest(index, number)
            for at, value in stream(session, offset, index.size, first):
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
            for at, value in stream(
                session,
                session.rounds.body,
                session.rounds.size,
                0,
                cancelled,
                expand=True,
                wanted=sieve(text),
            ):
                while number + 1 < len(starts) and starts[number + 1] <= at:
                    number += 1
                for part in text_of(value):
                    snippet = _around(part, wanted)
                    if snippet is not None:
                        yield Hit(max(number, 0), at, snippet)
                        break


def _around(text: str, wanted: str) -> str | None:
    """The place of a folded text in `text` with some words around it, or None."""
    folded = text.casefold()
    place = folded.find(wanted)
    if place < 0:
        return None
    # Folding may change lengths; the snippet is cut from the folded text then.
    source = text if len(folded) == len(text) else folded
    begin = max(place - _AROUND, 0)
    end = place + len(wanted) + 2 * _AROUND
    cut = source[begin:end].strip()
    return safe_line(f"{'…' if begin else ''}{cut}{'…' if end < len(source) else ''}")
