"""Bringing the index up to date: only what changed is read, only the last round twice.

Runs in a process of its own (the engine takes both cores while it merges). It may be killed
at any moment: a session that goes leaves the catalog before its documents go, one that comes
is in the catalog after them, and documents are taken away before they are added again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec import Struct

from loop_core import fsio
from loop_core.errors import Conflict, LoopError
from loop_core.model import SessionKey, SessionRow
from loop_core.search.catalog import Catalog, Entry
from loop_core.search.index import IndexFailed, SearchIndex
from loop_core.search.units import units
from loop_core.store import Cancelled, SessionStore, never_cancelled

__all__ = ["IndexProgress", "update"]

_COMMIT_CHARS = 96 << 20
_COMMIT_SECONDS = 20.0
_TELL_SECONDS = 0.1
_MANY = 32 << 20  # bytes of new conversation from which the writer gets both cores


class IndexProgress(Struct, frozen=True, gc=False, tag=True):
    """How far an update is: sessions and bytes of conversation; `failed` could not be read."""

    done: int
    total: int
    bytes_done: int
    bytes_total: int
    failed: int = 0


OnProgress = Callable[[IndexProgress], None]


def update(
    directory: str,
    rows: Iterable[SessionRow],
    store_of: Callable[[SessionKey], SessionStore],
    *,
    forget: Container[str] = (),
    on_progress: OnProgress | None = None,
    cancelled: Cancelled = never_cancelled,
) -> IndexProgress:
    """Make the index in `directory` hold `rows` as they are; the trash is left out.

    Sessions of the stores in `forget` that are not among `rows` are taken out: name a store
    only when its scan was complete.
    An index that cannot be opened or is of another version is built anew. Raises Conflict
    while another process updates it, StorageFailed when the disk refuses.
    """
    fsio.make_private_dir(directory)
    work = _Update(
        directory, rows, store_of, forget=forget, on_progress=on_progress, cancelled=cancelled
    )
    with _one_at_a_time(directory):
        try:
            return work.run()
        except IndexFailed as error:
            raise error.storage_failed(directory) from error


@contextmanager
def _one_at_a_time(directory: str) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(fsio.lock_dir(directory, timeout=0))
        except Conflict:
            raise Conflict("another process is indexing", directory) from None
        yield


class _Update:
    def __init__(
        self,
        directory: str,
        rows: Iterable[SessionRow],
        store_of: Callable[[SessionKey], SessionStore],
        *,
        forget: Container[str],
        on_progress: OnProgress | None,
        cancelled: Cancelled,
    ) -> None:
        self.catalog = Catalog(directory)
        self.index = SearchIndex(directory)
        self.rows = {row.key: row for row in rows if row.trashed_ms is None}
        self.store_of = store_of
        self.forget = forget
        self.on_progress = on_progress
        self.cancelled = cancelled
        self.pending: dict[SessionKey, Entry] = {}
        self.chars = 0
        self.committed = time.monotonic()
        self.told = 0.0

    def run(self) -> IndexProgress:
        self.open()
        todo = [
            row
            for key, row in self.rows.items()
            if (entry := self.catalog.entries.get(key)) is None or not entry.holds(row)
        ]
        gone = [
            key for key in self.catalog.entries if key not in self.rows and key.store in self.forget
        ]
        total = sum(row.size for row in todo)
        progress = IndexProgress(0, len(todo), 0, total)
        if not todo and not gone and not self.catalog.leaving:
            return progress
        writer = self.writer(large=total > _MANY)
        self.let_go(writer, gone)
        done = failed = size = 0
        for row in sorted(todo, key=lambda row: -row.updated_ms):
            if self.cancelled():
                break
            try:
                self.session(writer, row)
            except LoopError:
                # It stays out of the catalog: searches say that it could not be read.
                failed += 1
            done, size = done + 1, size + row.size
            progress = IndexProgress(done, len(todo), size, total, failed)
            self.tell(progress)
            if self.chars > _COMMIT_CHARS or time.monotonic() - self.committed > _COMMIT_SECONDS:
                self.commit(writer)
        self.commit(writer)
        self.index.finish(writer)
        self.catalog.save(self.index.files())
        return progress

    def tell(self, progress: IndexProgress) -> None:
        """Say how far it is, ten times a second at most, and at the end."""
        now = time.monotonic()
        if self.on_progress is not None and (
            progress.done == progress.total or now - self.told >= _TELL_SECONDS
        ):
            self.told = now
            self.on_progress(progress)

    def open(self) -> None:
        try:
            if self.catalog.load() and self.index.intact(self.catalog.files) and self.index.open():
                return
        except IndexFailed:
            self.index.close()
        self.catalog.clear()
        self.index.discard()
        self.index.open(create=True)

    def writer(self, *, large: bool) -> Any:
        try:
            return self.index.writer(large=large)
        except IndexFailed as error:
            if "Lock" not in str(error):
                raise
            raise Conflict("another process is indexing", self.index.directory) from error

    def let_go(self, writer: Any, gone: list[SessionKey]) -> None:
        """Take sessions away, with those that an update which was killed left behind.

        One that comes back as it was, out of the trash say, must not find its entry alone.
        """
        if gone:
            self.catalog.leaving += [self.catalog.entries.pop(key).number for key in gone]
            self.catalog.save(self.catalog.files)
        for number in self.catalog.leaving:
            self.index.remove(writer, number)

    def session(self, writer: Any, row: SessionRow) -> None:
        """Read what is new of one session and put its documents in."""
        store = self.store_of(row.key)
        entry = self.catalog.entries.get(row.key)
        number = entry.number if entry else self.catalog.number(row.key)
        whole = False
        try:
            texts = store.texts(
                row.key, since=entry.mark if entry else None, cancelled=self.cancelled
            )
            self.index.remove_from(writer, number, texts.first_round)
            self.index.add_title(writer, number, row.title or "")
            for unit in units(texts):
                self.chars += self.index.add_unit(writer, number, unit)
            whole = not self.cancelled()
        finally:
            # What an entry names is read again from where it ended; the rest has no name.
            if not whole and entry is None:
                self.index.remove(writer, number)
        if whole:
            self.pending[row.key] = Entry(number, row.stamp, row.title, texts.mark())

    def commit(self, writer: Any) -> None:
        self.index.commit(writer)
        self.catalog.leaving.clear()
        self.catalog.entries.update(self.pending)
        self.pending.clear()
        self.catalog.save(self.index.files())
        self.chars = 0
        self.committed = time.monotonic()
