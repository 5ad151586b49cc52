"""The reading half of `LoopStore`: a row, pages, texts and details of one session."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from loop_core.errors import InvalidArgument, SessionNotFound
from loop_core.loop.details import details_of
from loop_core.loop.finding import find
from loop_core.loop.reader import Reader, open_session
from loop_core.loop.scan import Scanner
from loop_core.loop.texts import LoopTexts, text_mark
from loop_core.loop.whole import image_data, whole_rounds
from loop_core.model import (
    Detail,
    Hit,
    ImageBlock,
    Page,
    RawPage,
    Round,
    SessionKey,
    SessionRow,
    TextMark,
)
from loop_core.store import Cancelled, never_cancelled

__all__ = ["LoopReading"]


class LoopReading:
    """What `LoopStore` reads of single sessions; the store itself makes these fields."""

    _id: str
    _scanner: Scanner
    _reader: Reader
    _lock: threading.RLock

    def look(self, key: SessionKey) -> SessionRow | None:
        if key.store != self._id:
            raise InvalidArgument("a session of another store")
        with self._lock:
            path = self._scanner.path_of(key.ref)
            if path is not None and not self._scanner.look_at({path}, never_cancelled):
                self._scanner.rescan({path}, never_cancelled)
            return self._scanner.row_of(key.ref)

    def page(
        self,
        key: SessionKey,
        *,
        before: int | None = None,
        before_round: int | None = None,
        rounds: int = 3,
        revision: str | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> Page:
        row = self._row(key)
        running = row.trashed_ms is None and row.running(time.time_ns() // 1_000_000)
        made: Page = self._reading(
            key,
            lambda path: self._reader.page(
                key,
                path,
                before=before,
                before_round=before_round,
                rounds=rounds,
                revision=revision,
                running=running,
                cancelled=cancelled,
            ),
        )
        return made

    def raw_page(self, key: SessionKey, *, before: int | None = None, rounds: int = 3) -> RawPage:
        made: RawPage = self._reading(
            key, lambda path: self._reader.raw_page(path, before=before, rounds=rounds)
        )
        return made

    def messages(
        self, key: SessionKey, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[tuple[int, Any]]:
        return self._reader.messages(self._row(key).path, cancelled)

    def message(self, key: SessionKey, index: int, revision: str | None = None) -> Any:
        return self._reading(key, lambda path: self._reader.message(path, index, revision))

    def find(
        self, key: SessionKey, text: str, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[Hit]:
        return find(self._reader, self._row(key).path, text, cancelled)

    def header(self, key: SessionKey) -> Any:
        return self._reading(key, lambda path: open_session(path).header)

    def rounds(self, key: SessionKey, *, cancelled: Cancelled = never_cancelled) -> Iterator[Round]:
        return whole_rounds(self._reader, self._row(key).path, cancelled)

    def image_data(self, key: SessionKey, block: ImageBlock) -> tuple[str, str] | None:
        return image_data(self._reader, self._row(key).path, block)

    def text_mark(self, key: SessionKey) -> TextMark:
        mark: TextMark = self._reading(key, text_mark)
        return mark

    def texts(
        self,
        key: SessionKey,
        *,
        since: TextMark | None = None,
        wanted: Callable[[bytes], bool] | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> LoopTexts:
        def open_texts(path: str) -> LoopTexts:
            return LoopTexts(path, since=since, wanted=wanted, cancelled=cancelled)

        texts: LoopTexts = self._reading(key, open_texts)
        return texts

    def details(self, key: SessionKey) -> tuple[Detail, ...]:
        row = self._row(key)
        project = self._scanner.folders.projects.get(row.project)
        name = row.project if project is None else project.name
        return details_of(row, self._reader, name, self._scanner.traces_of(row))

    def _reading(self, key: SessionKey, read: Callable[[str], Any]) -> Any:
        """Read at the path known; once more where it lies now, when it was moved meanwhile."""
        try:
            return read(self._row(key).path)
        except SessionNotFound:
            row = self.look(key)
            if row is None:
                raise
            return read(row.path)

    def _row(self, key: SessionKey) -> SessionRow:
        known = self._scanner.row_of(key.ref) if key.store == self._id else None
        row = known or self.look(key)
        if row is None:
            raise SessionNotFound("the session is not there any more")
        return row
