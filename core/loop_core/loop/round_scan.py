"""One pass over a message file that finds where its rounds begin.

It looks at few lines: a user message must contain the JSON string "user", and inside other
text that is written ``\\"user\\"``. Memory is bounded whatever the lines are.
"""

from __future__ import annotations

import os
import re
from array import array

from loop_core.errors import Refused
from loop_core.loop.lines import MAX_LINE, is_user_line
from loop_core.loop.rounds import RoundIndex
from loop_core.store import Cancelled, never_cancelled

__all__ = ["build"]

CHUNK = 1 << 18
_NEEDLE = b'"user"'
_ROLE_FIRST = b'{"role":'
_WHOLE = 8 << 20
_OVERLAP = len(_NEEDLE) - 1
#: The letters of "user" may be written as escapes; then every line of the chunk is looked at.
_ESCAPE = b"\\u00"
_ESCAPED = (b"\\u007", b"\\u0065")
#: Compiled patterns of plain text are found a third quicker than the text itself.
_needle_in, _escape_in = re.compile(_NEEDLE).search, re.compile(re.escape(_ESCAPE)).search
#: Bytes. Longer lines are counted quicker by jumping from end to end.
_LONG = 2 << 10


def build(
    fd: int,
    base: int,
    length: int,
    *,
    generation: str = "",
    known: RoundIndex | None = None,
    cancelled: Cancelled = never_cancelled,
) -> RoundIndex:
    """Index the lines of [base, base + length) in one pass with bounded memory.

    `known` is the index of a prefix that ends with a line feed: only what follows is read.
    A file that ends early gives an index of what is there. Raises Refused when cancelled.
    """
    scan = _Scan(fd, base, length, known)
    while scan.at < scan.length:
        if cancelled():
            raise Refused("cancelled")
        scan.step()
    return RoundIndex(generation, scan.length, scan.total, scan.messages, scan.offsets)


class _Scan:
    """The state of one pass; `at` is always the first byte of a line."""

    def __init__(self, fd: int, base: int, length: int, known: RoundIndex | None) -> None:
        self.fd = fd
        self.base = base
        self.length = length
        self.at = 0 if known is None else known.length
        self.total = 0 if known is None else known.total
        self.messages = array("Q") if known is None else known.messages[:]
        self.offsets = array("Q") if known is None else known.offsets[:]
        self.buffer = bytearray(CHUNK)
        self.sparse = False  # lines are long here

    def read(self, at: int) -> int:
        """Fill the buffer from range offset `at`; how many bytes count."""
        wanted = min(CHUNK, self.length - at)
        return os.preadv(self.fd, [memoryview(self.buffer)[:wanted]], self.base + at)

    def step(self) -> None:
        """Take in the whole lines of the next chunk."""
        got = self.read(self.at)
        if got == 0:
            self.length = self.at
            return
        cut = self.buffer.rfind(b"\n", 0, got) + 1
        if cut == 0 and self.at + got < self.length:
            self.long_line()
            return
        if cut == 0 or self.at + got == self.length:
            cut = got
        if _escape_in(self.buffer, 0, cut) and self.has(_ESCAPED, cut):
            self.every_line(cut)
        else:
            self.candidates(cut)
        self.at += cut

    def candidates(self, cut: int) -> None:
        buffer, line, counted, before = self.buffer, 0, 0, self.total
        while hit := _needle_in(buffer, line, cut):
            start = buffer.rfind(b"\n", line, hit.start()) + 1 or line
            end = buffer.find(b"\n", hit.end(), cut)
            end = cut if end < 0 else end
            self.total += self.ends(counted, start)
            counted = start
            self.consider(bytes(buffer[start:end]), self.at + start)
            line = end + 1
        self.total += self.ends(counted, cut) + (buffer[cut - 1] != 0x0A)
        self.sparse = cut > (self.total - before) * _LONG

    def has(self, needles: tuple[bytes, ...], cut: int) -> bool:
        return any(self.buffer.find(needle, 0, cut) >= 0 for needle in needles)

    def ends(self, start: int, stop: int) -> int:
        """Line feeds in a part of the buffer."""
        find = self.buffer.find
        if not self.sparse:
            return self.buffer.count(b"\n", start, stop)
        count = 0
        while (start := find(b"\n", start, stop) + 1) > 0:
            count += 1
        return count

    def every_line(self, cut: int) -> None:
        chunk = bytes(self.buffer[:cut])
        lines = chunk.split(b"\n")
        if not lines[-1]:
            lines.pop()
        at = self.at
        for line in lines:
            self.consider(line, at)
            self.total += 1
            at += len(line) + 1

    def consider(self, line: bytes, at: int) -> None:
        if is_user_line(line):
            self.messages.append(self.total)
            self.offsets.append(at)

    def long_line(self) -> None:
        """A line longer than the buffer: find its end, then look at it if it may be a user's."""
        start = end = self.at
        maybe = False
        while end < self.length:
            got = self.read(end)
            stop = self.buffer.find(b"\n", 0, got)
            upto = got if stop < 0 else stop
            maybe = maybe or self.has((_NEEDLE, *_ESCAPED), upto)
            if stop >= 0:
                end += stop + 1
                break
            if got < min(CHUNK, self.length - end):
                self.length = end + got  # the file ends here
            # Chunks overlap, so that a needle on their border is found.
            end += got if end + got >= self.length else got - _OVERLAP
        if maybe:
            self.consider_long(start, end)
        self.total += 1
        self.at = end

    def consider_long(self, start: int, end: int) -> None:
        """Loop writes the role first; the many megabytes after it need not be read again."""
        head = os.pread(self.fd, len(_ROLE_FIRST) + 6, self.base + start)
        if end - start > _WHOLE and head.startswith(_ROLE_FIRST):
            if head.endswith(_NEEDLE):
                self.messages.append(self.total)
                self.offsets.append(start)
        elif end - start <= MAX_LINE:
            line = os.pread(self.fd, end - start, self.base + start)
            self.consider(line.rstrip(b"\n"), start)
