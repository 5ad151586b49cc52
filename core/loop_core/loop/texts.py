"""The text of a Loop session for search: streamed, and read on where it only grew."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from loop_core import fsio
from loop_core.errors import StorageFailed
from loop_core.loop.attachments import parse_attachment
from loop_core.loop.history import Range, iter_lines
from loop_core.loop.lines import decode_line, is_user_line
from loop_core.loop.reader import Opened, open_session
from loop_core.model import Piece, TextMark
from loop_core.plaintext import plain, strings_in
from loop_core.store import Cancelled, never_cancelled

__all__ = ["LoopTexts", "text_mark", "texts_of"]

Wanted = Callable[[bytes], bool]


def text_mark(path: str) -> TextMark:
    """The content a session has now, by its metadata; see `SessionStore.text_mark`."""
    return TextMark(_content(open_session(path)))


def _content(opened: Opened) -> str:
    where = opened.content.where
    return f"{opened.content.identity}+{where.base}+{where.length}"


class LoopTexts:
    """One pass over a session's messages; see `store.Texts`.

    Committed bytes of a version-3 session never change where they are: while the range
    begins at the same byte of the same file and only grew, reading goes on at the start of
    the last round. A version-2 file is rewritten whole and so read whole.
    """

    def __init__(
        self,
        path: str,
        *,
        since: TextMark | None = None,
        wanted: Wanted | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> None:
        opened = open_session(path)
        self._where: Range = opened.content.where
        self._inode = opened.content.inode
        self._grows = bool(opened.generation)
        self._content = _content(opened)
        self._wanted = wanted
        self._cancelled = cancelled
        self._damaged = 0
        self._offset, self._message, self._round = self._start(since)
        self.first_round = self._round if self._offset else -1
        self._resume = (self._offset, self._message, self._round, self._damaged)

    def _start(self, since: TextMark | None) -> tuple[int, int, int]:
        """Byte offset, message index and round to begin with."""
        if since is None or len(since.resume) != 7 or not self._grows:
            return 0, 0, -1
        base, inode, length, offset, message, round_, damaged = map(int, since.resume)
        if (base, inode) != (self._where.base, self._inode) or self._where.length < length:
            return 0, 0, -1
        self._damaged = damaged
        return offset, message, round_

    def __iter__(self) -> Iterator[Piece]:
        if self._where.length == 0:
            return
        fd = fsio.open_regular(self._where.path)
        try:
            yield from self._pieces(fd)
        except OSError as error:
            raise StorageFailed(error, self._where.path) from error
        finally:
            os.close(fd)

    def _pieces(self, fd: int) -> Iterator[Piece]:
        # The round that reading goes on with is counted again at its user message.
        offset, round_ = self._offset, self._round - 1 if self._offset else -1
        lines = iter_lines(fd, self._where.base, self._where.length, offset)
        for at, line in enumerate(lines, self._message):
            if self._cancelled():
                return
            if line is None:
                self._damaged += 1
                self._grows = False  # where the lines after it begin is not known
                continue
            if (b'"user"' in line or b"\\u00" in line) and is_user_line(line):
                round_ += 1
                self._resume = (offset, at, round_, self._damaged)
            offset += len(line) + 1
            if self._wanted is None or self._wanted(line):
                yield from self._of_line(line, at, round_)

    def _of_line(self, line: bytes, at: int, round_: int) -> Iterator[Piece]:
        values, fault = decode_line(line)
        self._damaged += fault is not None
        for value in values:
            if isinstance(value, dict):
                yield from texts_of(value, at, round_)

    def mark(self) -> TextMark:
        where = self._where
        resume = (where.base, self._inode, where.length, *self._resume)
        rounds = self._resume[2] + 1
        return TextMark(self._content, rounds, self._damaged, resume if self._grows else ())


def texts_of(value: dict[str, Any], at: int, round_: int) -> Iterator[Piece]:
    """The searchable text of one message; encoded data is left out."""
    role, content = value.get("role"), value.get("content")
    if role == "toolResult":
        name = value.get("toolName")
        tool = name if isinstance(name, str) else ""
        for text in _texts(content):
            yield Piece(round_, at, "tool", plain(text), tool)
    elif role == "user":
        for text in _texts(content):
            attached = parse_attachment(text)
            shown = text if attached is None else f"{attached.name}\n{attached.text}"
            yield Piece(round_, at, "user", plain(shown))
    elif role == "assistant":
        for block in [content] if isinstance(content, str) else content or ():
            yield from _of_block(block, at, round_)
        error = value.get("errorMessage")
        if isinstance(error, str) and error:
            yield Piece(round_, at, "assistant", plain(error))


def _of_block(block: Any, at: int, round_: int) -> Iterator[Piece]:
    if isinstance(block, str):
        yield Piece(round_, at, "assistant", plain(block))
    elif isinstance(block, dict):
        if isinstance(block.get("text"), str):
            yield Piece(round_, at, "assistant", plain(block["text"]))
        elif isinstance(block.get("thinking"), str):
            yield Piece(round_, at, "thinking", plain(block["thinking"]))
        elif block.get("type") == "toolCall":
            name = block.get("name")
            tool = name if isinstance(name, str) else ""
            strings = "\n".join(strings_in(block.get("arguments")))
            yield Piece(round_, at, "tool", f"{tool}\n{plain(strings)}", tool)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                yield block["text"]
