"""Reading one Loop session for people: pages, single messages, finding, whatever its state.

A session Loop would refuse is read as far as it goes: an unusable range of a version-3
session falls back to the whole message file. Nothing here writes to a session's directory.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from loop_core import fsio
from loop_core.errors import (
    Conflict,
    LoopError,
    SessionNotFound,
    StaleRevision,
    StorageFailed,
)
from loop_core.jsonvalue import JsonSyntaxError, loads
from loop_core.loop.blocks import HeaderNotes, Message, make_round
from loop_core.loop.envelope import parse_envelope
from loop_core.loop.history import IndexMismatch, Range, iter_lines
from loop_core.loop.lines import begins_round, is_user_value
from loop_core.loop.pages import Book, Chapter, Content
from loop_core.loop.paths import MESSAGES_FILE
from loop_core.loop.probe import end_of_text, is_gone, read_first_line
from loop_core.loop.round_cache import RoundCache
from loop_core.model import NoteBlock, Page, RawPage, Round, SessionKey
from loop_core.store import Cancelled, never_cancelled

__all__ = ["Opened", "Reader", "Walked", "open_session"]

_BOOKS = 32
_HEAD_SAMPLE = 1024
_META_LIMIT = 256 << 20


class Opened(NamedTuple):
    """A session's metadata as just read, for reading its messages."""

    header: Any
    content: Content
    generation: str
    read_bytes: int


class Walked(NamedTuple):
    """A line of the messages: its index, its values, its round (-1: none yet), its bytes."""

    at: int
    values: list[Any]
    round: int
    size: int


def open_session(path: str) -> Opened:
    """Read the metadata at `path` (meta.json or a version-2 file) as far as it goes.

    Raises SessionNotFound and StorageFailed.
    """
    try:
        return _open_published(path) if os.path.basename(path) == "meta.json" else _open_file(path)
    except StorageFailed as error:
        if is_gone(error):
            raise SessionNotFound("the session is not there any more", path) from error
        raise


def _open_published(path: str) -> Opened:
    raw = fsio.read_file(path, limit=_META_LIMIT)
    directory = os.path.dirname(path)
    messages = os.path.join(directory, MESSAGES_FILE)
    stamp = fsio.stamp_of(messages)
    size, inode = (0, 0) if stamp is None else (stamp.size, stamp.inode)
    try:
        envelope = parse_envelope(raw, path)
    except LoopError:
        header, where = _guess(raw, messages, size)
        identity = "" if stamp is None else "-".join(map(str, stamp))
        content = Content(where, identity, inode, directory)
        return Opened(header, content, identity, len(raw))
    where = Range(messages, envelope.start, envelope.bytes, envelope.message_count)
    content = Content(where, envelope.generation, inode, directory)
    return Opened(envelope.header, content, envelope.generation, len(raw))


def _guess(raw: bytes, messages: str, size: int) -> tuple[Any, Range]:
    """The header and the range of an invalid meta.json, as far as they make sense."""
    try:
        value = loads(raw)
    except JsonSyntaxError:
        value = None
    outer: dict[str, Any] = value if isinstance(value, dict) else {}
    start, length = outer.get("start"), outer.get("bytes")
    if not (type(start) is int and type(length) is int and 0 <= start <= start + length <= size):
        start, length = 0, size
    return outer.get("header"), Range(messages, start, length)


def _open_file(path: str) -> Opened:
    first = read_first_line(path)
    try:
        header = loads(first.raw)
    except JsonSyntaxError:
        header = None
    base = min(first.end + 1, first.stamp.size)
    fd = fsio.open_regular(path)
    try:
        end = end_of_text(fd, base, first.stamp.size)
    except OSError as error:
        raise StorageFailed(error, path) from error
    finally:
        os.close(fd)
    where = Range(path, base, end - base, first_line=first.number + 1)
    identity = "-".join(map(str, first.stamp))
    head = first.rest[: max(first.rest.find(b"\n"), 0)][:_HEAD_SAMPLE]
    content = Content(where, identity, first.stamp.inode, head=head)
    return Opened(header, content, "", first.end)


class Reader:
    """Books of the sessions read lately. Safe to use from several threads."""

    def __init__(self, cache_dir: str | None) -> None:
        self._cache = RoundCache(cache_dir)
        self._books: OrderedDict[str, Book] = OrderedDict()
        self._lock = threading.Lock()

    def _book(self, path: str) -> Book:
        with self._lock:
            book = self._books.pop(path, None) or Book(self._cache)
            self._books[path] = book
            while len(self._books) > _BOOKS:
                self._books.popitem(last=False)
            return book

    @contextmanager
    def _following(
        self, path: str, cancelled: Cancelled, revision: str | None = None
    ) -> Iterator[tuple[Book, int, Opened]]:
        """The session's book, up to date, and its open message file."""
        opened = open_session(path)
        where = opened.content.where
        book = self._book(path)
        fd = fsio.open_regular(where.path) if where.length else -1
        try:
            with book.lock:
                book.follow(fd, opened.content, cancelled)
                if revision is not None and revision != book.revision:
                    raise StaleRevision("the history was replaced on disk", path)
                yield book, fd, opened
        except OSError as error:
            raise StorageFailed(error, where.path) from error
        finally:
            if fd >= 0:
                os.close(fd)

    def page(
        self,
        key: SessionKey,
        path: str,
        *,
        before: int | None = None,
        before_round: int | None = None,
        rounds: int = 3,
        revision: str | None = None,
        running: bool = False,
        cancelled: Cancelled = never_cancelled,
    ) -> Page:
        """One page as blocks; see `SessionStore.page`."""
        with self._following(path, cancelled, revision) as (book, fd, opened):
            asked = (before, before_round, rounds)
            chapter = self._chapter(book, fd, asked, cancelled)
            made = _rounds(book, chapter, HeaderNotes(opened.header), running)
            return Page(
                key=key,
                revision=book.revision,
                start=chapter.start,
                end=chapter.end,
                total=book.index.total,
                first_round=chapter.first,
                total_rounds=len(book.index),
                rounds=made,
                damage=book.all_damage(),
                at_end=chapter.last >= len(book.index),
                read_bytes=opened.read_bytes + book.read_bytes,
                running=running,
            )

    def raw_page(self, path: str, *, before: int | None = None, rounds: int = 3) -> RawPage:
        """One page as stored values."""
        with self._following(path, never_cancelled) as (book, fd, opened):
            chapter = self._chapter(book, fd, (before, None, rounds), never_cancelled)
            return RawPage(
                path=path,
                revision=opened.generation or book.revision,
                start=chapter.start,
                end=chapter.end,
                total=book.index.total,
                first_round=chapter.first,
                last_round=max(chapter.last - 1, 0),
                total_rounds=len(book.index),
                messages=tuple(value for _, values in chapter.values for value in values),
                damage=book.all_damage(),
            )

    @staticmethod
    def _chapter(
        book: Book, fd: int, asked: tuple[int | None, int | None, int], cancelled: Cancelled
    ) -> Chapter:
        for attempt in range(3):
            first, last = book.choose(*asked)
            try:
                return book.read(fd, first, last, checked=attempt < 2)
            except IndexMismatch:
                book.rebuild(fd, cancelled)
        raise Conflict("the history keeps changing while it is read")

    def message(self, path: str, index: int, revision: str | None) -> Any:
        """One message as stored. Raises SessionNotFound when it is not there."""
        with self._following(path, never_cancelled, revision) as (book, fd, _):
            line = book.line(fd, index)
            values = [] if line is None else book.values(index, line)
            if not values:
                raise SessionNotFound(f"message {index} cannot be read", path)
            return values[0]

    def messages(self, path: str, cancelled: Cancelled) -> Iterator[tuple[int, Any]]:
        """Every message as stored, streamed."""
        for line in self.walk(path, cancelled):
            for value in line.values:
                yield line.at, value

    def walk(
        self,
        path: str,
        cancelled: Cancelled,
        wanted: Callable[[bytes], bool] | None = None,
    ) -> Iterator[Walked]:
        """Every line (that is `wanted`), streamed.

        Keeps no lock, so nobody waits for a slow consumer. A line too long to read, or
        without a value, is passed over; the next page names it among the damage.
        """
        with self._following(path, cancelled) as (book, _, opened):
            where = opened.content.where
        if where.length == 0:
            return
        fd = fsio.open_regular(where.path)
        round_ = -1
        try:
            for at, line in enumerate(iter_lines(fd, where.base, where.length)):
                if cancelled():
                    return
                if line is None:
                    with book.lock:
                        book.note(at, "a line too long to read")
                elif wanted is None or wanted(line):
                    with book.lock:
                        values = book.values(at, line)
                    round_ += any(map(is_user_value, values))
                    yield Walked(at, values, round_, len(line))
                elif begins_round(line):
                    round_ += 1
        except OSError as error:
            raise StorageFailed(error, where.path) from error
        finally:
            os.close(fd)


def _rounds(book: Book, chapter: Chapter, notes: HeaderNotes, running: bool) -> tuple[Round, ...]:
    """The rounds of a chapter; what comes before the first is a round of number -1."""
    index = book.index
    bounds = [
        (n, index.message_at(n), index.byte_at(n)) for n in range(chapter.first, chapter.last)
    ]
    if chapter.start < (bounds[0][1] if bounds else chapter.end):
        bounds.insert(0, (-1, chapter.start, 0))
    if not bounds:
        return ()
    ends = [*bounds[1:], (0, chapter.end, index.byte_at(chapter.last))]
    if chapter.last >= len(index):
        ends[-1] = (0, index.total, index.length)
    made: list[Round] = []
    lines = iter(chapter.values)
    line = next(lines, None)
    for (number, start, begin), (_, end, stop) in zip(bounds, ends, strict=True):
        messages: list[Message] = []
        while line is not None and line[0] < end:
            messages += [Message(line[0], value) for value in line[1]]
            line = next(lines, None)
        made.append(
            make_round(
                messages,
                index=number,
                start=start,
                end=end,
                notes=notes,
                last=end == index.total,
                running=running,
                size=stop - begin,
                cut=_left_out(chapter),
            )
        )
    return tuple(made)


def _left_out(chapter: Chapter) -> NoteBlock | None:
    if chapter.left_out is None:
        return None
    count, size, at = chapter.left_out
    title = f"{count:,} messages left out here"
    return NoteBlock("info", title, f"{size / (1 << 20):,.0f} MB; an export holds them", at)
