"""The text of a session for search: streamed, and read on where the history only grew.

The application rewrites the whole file at every save, so that nothing but the bytes tells
whether it only grew: a pass remembers a checksum of everything before the last round, and the
next pass compares it before it goes on there. Hashing is far cheaper than decoding.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from loop_core import jsonvalue
from loop_core.craft.blocks import content_of
from loop_core.craft.opening import open_session
from loop_core.craft.records import lines_in, pieces_of
from loop_core.craft.rounds import header_span, is_header
from loop_core.errors import StorageFailed
from loop_core.fsio_base import stamp_from
from loop_core.model import Piece, Stamp, TextMark
from loop_core.plaintext import plain, strings_in
from loop_core.store import Cancelled, never_cancelled

__all__ = ["CraftTexts", "text_mark", "texts_of"]

Wanted = Callable[[bytes], bool]
_CHUNK = 1 << 20


def text_mark(folder: str) -> TextMark:
    """The content a session has now, by the stamp of its file."""
    fd, _ = open_session(folder)
    try:
        return TextMark(_content(stamp_from(os.fstat(fd))))
    finally:
        os.close(fd)


def _content(stamp: Stamp) -> str:
    return f"{stamp.mtime_ns}.{stamp.size}.{stamp.inode}"


class CraftTexts:
    """One pass over a session's messages; see `store.Texts`."""

    def __init__(
        self,
        folder: str,
        *,
        since: TextMark | None = None,
        wanted: Wanted | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> None:
        self._folder = folder
        self._wanted = wanted
        self._cancelled = cancelled
        self._fd, self._path = open_session(folder)
        try:
            self._stamp = stamp_from(os.fstat(self._fd))
            self._body, self._line = body_of(self._fd, self._stamp.size)
            self._damaged = 0
            self._offset, self._message, self._round = self._start(since)
        except BaseException:
            os.close(self._fd)
            raise
        self.first_round = self._round if self._offset else -1
        self._sum = 0
        self._last = (self._offset, self._message, self._round, self._damaged)

    def _start(self, since: TextMark | None) -> tuple[int, int, int]:
        """Byte offset behind the header, message index and round to begin with."""
        if since is None or len(since.resume) != 5:
            return 0, 0, -1
        offset, total, message, round_, damaged = map(int, since.resume)
        if self._body + offset > self._stamp.size or self._checksum(offset) != total:
            return 0, 0, -1
        self._damaged = damaged
        return offset, message, round_

    def _checksum(self, length: int) -> int:
        """Of the first `length` bytes behind the header."""
        total, at, end = 0, self._body, self._body + length
        while at < end and (chunk := os.pread(self._fd, min(_CHUNK, end - at), at)):
            total = zlib.crc32(chunk, total)
            at += len(chunk)
        return total

    def __iter__(self) -> Iterator[Piece]:
        try:
            yield from self._pieces()
            if not self._cancelled():
                self._sum = self._checksum(self._last[0])
        except OSError as error:
            raise StorageFailed(error, self._path, "reading the history") from error
        finally:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)

    def _pieces(self) -> Iterator[Piece]:
        # The round that reading goes on with is counted again at its user message.
        round_ = self._round - 1 if self._offset else -1
        at = self._message
        begin = self._body + self._offset
        for line in lines_in(self._fd, begin, self._stamp.size, cancelled=self._cancelled):
            records, reason = pieces_of(line.data, line.length)
            self._damaged += reason is not None
            for record in records:
                if record.kind.type == "user":
                    round_ += 1
                    offset = line.offset + record.start - self._body
                    self._last = (offset, at, round_, self._damaged)
                if record.data and (self._wanted is None or self._wanted(record.data)):
                    yield from texts_of(jsonvalue.loads(record.data), at, round_)
                at += 1

    def mark(self) -> TextMark:
        """The mark for the next pass; only after the last piece."""
        offset, message, round_, damaged = self._last
        resume = (offset, self._sum, message, round_, damaged)
        return TextMark(_content(self._stamp), round_ + 1, self._damaged, resume)


def body_of(fd: int, size: int) -> tuple[int, int]:
    """Where the messages of an open session begin: byte offset and line number."""
    head, body, number = header_span(fd, size)
    try:
        header = jsonvalue.loads(head.removeprefix(jsonvalue.BOM))
    except jsonvalue.JsonSyntaxError:
        header = None
    return (body, number + 1) if is_header(header) else (0, 1)


def texts_of(value: Any, at: int, round_: int) -> Iterator[Piece]:
    """The searchable text of one record; encoded data is left out."""
    if not isinstance(value, dict):
        return
    kind = value.get("type")
    if kind == "tool":
        name = value.get("toolName")
        tool = name if isinstance(name, str) else ""
        asked = "\n".join(strings_in(value.get("toolInput")))
        parts = [tool, _string(value, "toolDisplayName"), _string(value, "toolIntent"), asked]
        yield Piece(round_, at, "tool", plain("\n".join(p for p in parts if p)), tool)
        result = value.get("toolResult")
        if result is not None:
            yield Piece(round_, at, "tool", plain("\n".join(strings_in(result))), tool)
        return
    text = content_of(value)
    if kind == "user":
        files = value.get("attachments")
        names = (
            [_string(f, "name") for f in files if isinstance(f, dict)]
            if isinstance(files, list)
            else []
        )
        yield Piece(round_, at, "user", plain("\n".join([*names, text])))
    elif text or kind == "error":
        extra = [_string(value, "errorTitle"), _string(value, "errorOriginal")]
        yield Piece(round_, at, "assistant", plain("\n".join([*filter(None, extra), text])))


def _string(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
