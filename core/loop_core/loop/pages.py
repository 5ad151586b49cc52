"""The browser's reading of one history: whatever is wrong with it, show what there is.

A `Book` remembers the round index of a session between pages. When the history grew, only
the new bytes are read; when earlier history was replaced, its `revision` changes.
"""

from __future__ import annotations

import threading
import zlib
from bisect import bisect_left
from typing import Any, NamedTuple

from loop_core.errors import InvalidArgument, SessionNotFound
from loop_core.loop.history import (
    Range,
    check_rounds,
    iter_lines,
    read_exactly,
    read_lines,
    stored_index,
)
from loop_core.loop.lines import decode_line, is_user_value
from loop_core.loop.round_cache import RoundCache
from loop_core.loop.round_scan import build
from loop_core.loop.rounds import RoundIndex
from loop_core.model import Damage
from loop_core.store import Cancelled, never_cancelled

__all__ = ["Book", "Chapter", "Content"]

#: Bytes. A page holds fewer rounds than asked for when they are larger together.
PAGE_BUDGET = 8 << 20
#: Bytes. A larger round is read at its two ends only.
ROUND_BUDGET = 96 << 20
_CUT_HEAD = 8 << 20
_CUT_TAIL = 32 << 20
#: Bytes of a line that is no message and worth keeping decoded for a moment.
_COSTLY = range(16 << 10, 512 << 10)
#: Bytes. A rebuilt index of a history this small is made together with a list of its damage.
_CHECKED = 8 << 20
_SAMPLE = 1024


class Content(NamedTuple):
    """What a session's metadata says of its messages at one moment.

    `identity` names the content exactly: the generation, or a version-2 file's stamp.
    `directory` holds Loop's own index.json (None: there is none to ask). `head` is a sample
    of the first message's bytes where the content is rewritten as a whole (version 2).
    """

    where: Range
    identity: str
    inode: int
    directory: str | None = None
    head: bytes = b""


class Chapter(NamedTuple):
    """The lines of consecutive rounds: [first, last), messages [start, end).

    `values` are the JSON values of each line by the number of its message.
    `left_out` is (messages, bytes, first message after them) of an oversized round.
    """

    first: int
    last: int
    start: int
    end: int
    values: list[tuple[int, list[Any]]]
    size: int
    left_out: tuple[int, int, int] | None = None


class Book:
    """The history of one session as it is being read. Safe to use from several threads."""

    def __init__(self, cache: RoundCache) -> None:
        self._cache = cache
        self.lock = threading.RLock()
        self._content: Content | None = None
        self._tail: tuple[int, int] | None = None
        self._epoch = 0
        self.index = RoundIndex("", 0, 0)
        self._found = (0, 0)  # a message asked for and its offset; later ones are found from it
        self._odd: tuple[bytes, tuple[list[Any], str | None]] | None = None
        self.damage: dict[int, Damage] = {}
        self.read_bytes = 0

    @property
    def revision(self) -> str:
        """Changes when earlier history was replaced, not when it grew."""
        content = self._content
        if content is None:
            return ""
        if content.directory is None:
            return f"v2.{self._epoch}"
        return f"{content.where.base:x}.{content.inode:x}.{self._epoch}"

    # --- keeping up

    def follow(self, fd: int, content: Content, cancelled: Cancelled = never_cancelled) -> None:
        """Make the index fit `content`, reading as little as possible."""
        with self.lock:
            old, self._content = self._content, content
            if old is not None and old.identity == content.identity and old.where == content.where:
                return
            self._found = (0, 0)
            try:
                self._catch_up(fd, old, content, cancelled)
            except BaseException:
                # Half a pass is no index: begin anew next time.
                self._content = None
                raise

    def _catch_up(
        self, fd: int, old: Content | None, content: Content, cancelled: Cancelled
    ) -> None:
        if old is not None and self._grew(fd, old, content):
            self._build(fd, content, cancelled, known=self.index)
            return
        if old is not None:
            self._epoch += 1
        self._tail = None
        self.damage = {}
        if not self._find(content):
            self._build(fd, content, cancelled)

    def rebuild(self, fd: int, cancelled: Cancelled = never_cancelled) -> None:
        """The index did not fit its bytes: make it from the messages."""
        with self.lock:
            if self._content is not None:
                self._found = (0, 0)
                self.damage = {}
                self._build(fd, self._content, cancelled)

    def _find(self, content: Content) -> bool:
        where = content.where
        if where.length == 0:
            self.index = RoundIndex(content.identity, 0, 0)
            return True
        found = None
        if content.directory is not None:
            found = stored_index(content.directory, content.identity, where)
        if found is None:
            found = self._cache.load(where.path, content.identity)
            if found is not None and (
                found.length != where.length or where.total not in (None, found.total)
            ):
                found = None
        if found is not None:
            self.index = found
        return found is not None

    def _build(
        self, fd: int, content: Content, cancelled: Cancelled, known: RoundIndex | None = None
    ) -> None:
        where = content.where
        index = build(
            fd,
            where.base,
            where.length,
            generation=content.identity,
            known=known,
            cancelled=cancelled,
        )
        since = 0 if known is None else known.length
        if index.length - since <= _CHECKED:
            self._look_for_damage(fd, where, since, 0 if known is None else known.total)
        if index.length < where.length:
            self.damage[-1] = Damage(None, "the file is shorter than its metadata says")
        elif where.total is not None and where.total != index.total:
            text = f"{index.total} lines, the metadata promises {where.total} messages"
            self.damage[-1] = Damage(None, text)
        self.index = index
        if known is None:
            self._cache.save(where.path, content.identity, index)

    def _look_for_damage(self, fd: int, where: Range, offset: int, at: int) -> None:
        for index, line in enumerate(iter_lines(fd, where.base, where.length, offset), at):
            if line is not None:
                self.values(index, line)

    def _grew(self, fd: int, old: Content, new: Content) -> bool:
        """Whether the content is the old one with lines after it."""
        if _named(old) != _named(new) and old.where.length:
            return False
        if old.where.length == 0:
            return True
        if self._tail is None or self.damage.get(-1):
            return False
        length = self.index.length
        if length != old.where.length or new.where.length < length:
            return False
        size, checksum = self._tail
        sample = read_exactly(fd, new.where.base + length - size, size)
        return sample.endswith(b"\n") and zlib.crc32(sample) == checksum

    def _note_tail(self, data: bytes) -> None:
        sample = data[-_SAMPLE:]
        self._tail = (len(sample), zlib.crc32(sample))

    # --- reading

    def choose(self, before: int | None, before_round: int | None, rounds: int) -> tuple[int, int]:
        """Rounds [first, last) of the page asked for; at least one where there is any."""
        index = self.index
        count = len(index)
        if rounds < 1:
            raise InvalidArgument("rounds must be above 0")
        last = count
        if before is not None:
            if before < 1:
                raise InvalidArgument("before must be above 0")
            last = bisect_left(index.messages, before)
        elif before_round is not None:
            last = before_round
        last = max(min(last, count), min(count, 1))
        first = max(0, last - rounds)
        while first < last - 1 and index.byte_at(last) - index.byte_at(first) > PAGE_BUDGET:
            first += 1
        return first, last

    def read(self, fd: int, first: int, last: int, *, checked: bool = True) -> Chapter:
        """The lines of rounds [first, last). Raises IndexMismatch, OSError.

        `checked` False takes the lines as they are, for an index that was made just now.
        """
        with self.lock:
            content, index = self._content, self.index
            if content is None:
                raise SessionNotFound("nothing was read yet")
            start, end, begin, stop = index.span(first, last)
            if index.length == 0:
                self.read_bytes = 0
                return Chapter(0, 0, 0, 0, [], 0)
            if stop - begin > ROUND_BUDGET:
                return self._read_ends(fd, content.where, first, last)
            lines = read_lines(fd, content.where, index, first, last, checked=checked)
            values = [(at, self.values(at, line)) for at, line in enumerate(lines, start)]
            if checked:
                begins = (any(map(is_user_value, found)) for _, found in values)
                check_rounds(begins, index, first, last)
            self.read_bytes = stop - begin
            if last >= len(index) and lines:
                self._note_tail(lines[-1][-_SAMPLE:] + b"\n")
            return Chapter(first, last, start, end, values, stop - begin)

    def _read_ends(self, fd: int, where: Range, first: int, last: int) -> Chapter:
        """The first and the last lines of rounds too large to read whole."""
        start, end, begin, stop = self.index.span(first, last)
        head = read_exactly(fd, where.base + begin, _CUT_HEAD).split(b"\n")[:-1]
        data = read_exactly(fd, where.base + stop - _CUT_TAIL, _CUT_TAIL)
        partial, *tail = data.removesuffix(b"\n").split(b"\n")
        # After a hole of NUL bytes the rest of the line may be whole.
        if b"\x00" in partial:
            tail.insert(0, partial[partial.rfind(b"\x00") + 1 :])
        self.read_bytes = _CUT_HEAD + _CUT_TAIL
        if last >= len(self.index):
            self._note_tail(data)
        resumed = max(end - len(tail), start + len(head))
        lines = list(enumerate(head, start)) + list(enumerate(tail, resumed))
        shown = sum(len(line) + 1 for _, line in lines)
        left_out = (resumed - start - len(head), stop - begin - shown, resumed)
        values = [(at, self.values(at, line)) for at, line in lines]
        return Chapter(first, last, start, end, values, stop - begin, left_out)

    def values(self, message: int, line: bytes) -> list[Any]:
        """The JSON values of a line; what is wrong with it is remembered as damage."""
        if self._odd is not None and self._odd[0] == line:
            (values, reason), self._odd = self._odd[1], None
        else:
            values, reason = decode_line(line)
            odd = reason is not None or not _is_message(values[0])
            if odd and len(line) in _COSTLY:
                # The search for damage comes right before the page that shows the line.
                self._odd = (line, (values, reason))
        if reason is None and not _is_message(values[0]):
            reason = "not a message"
        if reason is not None:
            self.note(message, reason)
        return values

    def note(self, message: int, reason: str) -> None:
        """Remember what is wrong with the line of a message."""
        number = message + (self._content.where.first_line if self._content else 1)
        self.damage[number] = Damage(number, reason)

    def line(self, fd: int, message: int) -> bytes | None:
        """The line of one message, found through its round or the one found before it.

        None when it is not there.
        """
        content, index = self._content, self.index
        if content is None or not 0 <= message < index.total:
            return None
        round_ = index.round_of(message)
        start, _, begin, _ = index.span(max(round_, 0), len(index))
        if start <= self._found[0] <= message:
            start, begin = self._found
        where = content.where
        lines = iter_lines(fd, where.base, where.length, begin)
        known = True
        for at, line in enumerate(lines, start):
            if at == message:
                if known:
                    self._found = (at, begin)
                return line
            # After a line too long to hold, where the next one begins is not known.
            known = known and line is not None
            begin += len(line or b"") + 1
        return None

    def all_damage(self) -> tuple[Damage, ...]:
        """What is known to be damaged, in the order of lines."""
        with self.lock:
            return tuple(self.damage[number] for number in sorted(self.damage))


def _named(content: Content) -> tuple[object, ...]:
    """What stays while a history only grows."""
    if content.directory is None:
        return (content.where.path, content.head)
    return (content.where.path, content.where.base, content.inode)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in ("user", "assistant", "toolResult")
