"""One pass over the lines of a history, whatever its size: syntax, rules, checksum.

Lines are read and decoded a block at a time, so memory depends on the longest line and not on
the file. Only a block with a line the typed reader refuses is judged line by line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from loop_core.errors import InvalidSession
from loop_core.jsonvalue import JsonSyntaxError, loads
from loop_core.loop import _typed
from loop_core.loop._longline import decode_long
from loop_core.loop.messages import MessageChecker

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = ["BLOCK", "ReadAt", "check_lines", "iter_blocks", "reader"]

#: Bytes read at a time; a longer line is read whole.
BLOCK = 1 << 18

#: Up to `length` bytes from `offset`; fewer only where the file ends.
ReadAt = Callable[[int, int], bytes]


def reader(fd: int) -> ReadAt:
    """Positional reads of an open file."""
    return lambda offset, length: os.pread(fd, length, offset)


def iter_blocks(read: ReadAt, start: int, end: int) -> Iterator[bytes]:
    """The bytes from `start` to `end` in blocks of whole lines; the last may lack its LF.

    Ends early where the file does.
    """
    while start < end:
        block = read(start, min(BLOCK, end - start))
        if not block:
            return
        cut = block.rfind(b"\n") + 1
        if start + len(block) < end:
            if not cut:
                block = read(start, _line_end(read, start + len(block), end) - start)
            elif cut < len(block):
                block = block[:cut]
        start += len(block)
        yield block


def _line_end(read: ReadAt, at: int, end: int) -> int:
    """One past the first LF at or after `at`, at most `end`."""
    while at < end:
        block = read(at, min(BLOCK, end - at))
        if not block:
            break
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
    return min(at, end)


class _Pass:
    """Where a pass stands: the line to come, and the first broken rule so far."""

    def __init__(self, checker: MessageChecker, line: int) -> None:
        self.checker = checker
        self.line = line
        self.broken: InvalidSession | None = None

    def block(self, block: bytes) -> None:
        lines = [block] if len(block) > BLOCK else block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        try:
            if len(block) > BLOCK:
                messages = [decode_long(block, with_text=self.checker.title is None)]
            else:
                messages = list(map(_typed.decode, lines))
        except (msgspec.MsgspecError, RecursionError):
            for text in lines:
                self._one(text)
            return
        if self.broken is None:
            try:
                self.checker.feed_typed(messages, self.line)
            except InvalidSession as error:
                self.broken = error
        self.line += len(messages)

    def _one(self, text: bytes) -> None:
        if self.broken is not None:
            _require_json(text, self.checker.path, self.line)
        else:
            try:
                self.checker.feed(text, self.line)
            except InvalidSession as error:
                _require_json(text, self.checker.path, self.line)
                self.broken = error
        self.line += 1


def _require_json(text: bytes, path: str | None, line: int) -> None:
    try:
        loads(text)
    except JsonSyntaxError as error:
        blank = not text.strip(b" \t\r")
        reason = "blank line between the lines" if blank else f"invalid JSON: {error}"
        raise InvalidSession(path, reason, line) from error


def check_lines(
    read: ReadAt,
    start: int,
    end: int,
    checker: MessageChecker,
    *,
    line: int = 1,
    digest: _Hash | None = None,
) -> int:
    """Check every line from byte `start` to `end`; returns how many bytes were there.

    Fewer than asked for mean that the file ends early, which is for the caller to judge. `line`
    is the number of the first line; `digest` is fed the bytes. As in Loop, a line that is no
    JSON is reported before a broken rule further up. Raises `InvalidSession`.
    """
    state = _Pass(checker, line)
    seen = 0
    for block in iter_blocks(read, start, end):
        if digest is not None:
            digest.update(block)
        state.block(block)
        seen += len(block)
    if state.broken is not None:
        raise state.broken
    checker.finish()
    return seen
