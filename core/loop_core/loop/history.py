"""Pages of a history, read from the bytes of that page alone (S0 "History pages").

`Range` says where the messages of a session lie; `read_lines` reads consecutive rounds of it
through a `RoundIndex`, which is checked on the way (loop-format, "Our decisions" 9), so a
lying index is found out before its page is used. `read_rounds` is the strict form for
`SessionManager.read_history`; the browser's tolerant form is `pages`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from loop_core import fsio
from loop_core.errors import InvalidSession, StorageFailed
from loop_core.loop.lines import MAX_LINE, begins_round
from loop_core.loop.round_scan import build
from loop_core.loop.rounds import RoundIndex, Window, decode_index, window

if TYPE_CHECKING:
    from loop_core.loop.envelope import Envelope

__all__ = [
    "INDEX_LIMIT",
    "IndexMismatch",
    "Range",
    "RoundPage",
    "check_rounds",
    "iter_lines",
    "read_exactly",
    "read_lines",
    "read_rounds",
]

#: Bytes of an index.json worth decoding; above, one pass over the messages costs less memory.
INDEX_LIMIT = 16 << 20
_BLOCK = 1 << 20


class IndexMismatch(Exception):
    """The index does not fit the bytes it points at."""


class Range(NamedTuple):
    """Where the messages of a session lie.

    `base` is the first byte, `length` the bytes, `total` the lines the metadata promises
    (None: it promises nothing), `first_line` the 1-based line of the first message.
    """

    path: str
    base: int
    length: int
    total: int | None = None
    first_line: int = 1


class RoundPage(Struct, frozen=True):
    """One page for `SessionManager.read_history`; `rebuilt` asks to publish `index`."""

    lines: list[bytes]
    start: int
    end: int
    total: int
    index: RoundIndex
    rebuilt: bool


def read_rounds(
    directory: str, envelope: Envelope, *, before: int | None = None, rounds: int = 3
) -> RoundPage:
    """The lines of the `rounds` rounds before message `before` of a published session.

    Reads index.json and the page only when that index holds; otherwise rebuilds it from the
    committed messages in one pass. Raises InvalidArgument for a `before` that begins no
    round, InvalidSession when the committed range is not what the metadata says, and
    StorageFailed.
    """
    path = os.path.join(directory, "messages.jsonl")
    if envelope.bytes == 0:
        view = window((), 0, before, rounds)
        index = RoundIndex(envelope.generation, 0, 0)
        return RoundPage([], view.start, view.end, 0, index, rebuilt=False)
    where = Range(path, envelope.start, envelope.bytes, envelope.message_count)
    fd = fsio.open_regular(path)
    try:
        found = stored_index(directory, envelope.generation, where)
        if found is not None:
            try:
                view = window(found.messages, found.total, before, rounds)
                return _page(fd, where, found, view, rebuilt=False)
            except (IndexMismatch, ValueError):
                # Even a refused `before` may be the lie of an index: ask a true one.
                pass
        made = build(fd, where.base, where.length, generation=envelope.generation)
        _check_range(where, made)
        view = window(made.messages, made.total, before, rounds)
        return _page(fd, where, made, view, rebuilt=True)
    except OSError as error:
        raise StorageFailed(error, path) from error
    except IndexMismatch:
        raise InvalidSession(path, "messages changed while they were read") from None
    finally:
        os.close(fd)


def _page(fd: int, where: Range, index: RoundIndex, view: Window, *, rebuilt: bool) -> RoundPage:
    lines = read_lines(fd, where, index, view.first, view.last)
    check_rounds(map(begins_round, lines), index, view.first, view.last)
    return RoundPage(lines, view.start, view.end, index.total, index, rebuilt)


def _check_range(where: Range, index: RoundIndex) -> None:
    if index.length < where.length:
        raise InvalidSession(where.path, "shorter than its metadata says")
    if where.total is not None and index.total != where.total:
        raise InvalidSession(
            where.path, f"holds {index.total} messages, its metadata says {where.total}"
        )


def stored_index(directory: str, generation: str, where: Range) -> RoundIndex | None:
    """Loop's own index of the committed range when it can be used."""
    path = os.path.join(directory, "index.json")
    try:
        raw = fsio.read_file(path, limit=INDEX_LIMIT + 1, follow=False)
    except StorageFailed:
        # A hint, whatever is wrong with it: the messages themselves decide.
        return None
    if len(raw) > INDEX_LIMIT or where.total is None:
        return None
    return decode_index(raw, generation, where.length, where.total)


def read_lines(
    fd: int, where: Range, index: RoundIndex, first: int, last: int, *, checked: bool = True
) -> list[bytes]:
    """The lines of rounds [first, last), without their line feeds.

    Reads those bytes and the one before them. Raises IndexMismatch unless a line begins
    there and the lines are as many as the index says; not with `checked` False.
    """
    start, stop, begin, end = index.span(first, last)
    lead = 1 if begin else 0
    data = read_exactly(fd, where.base + begin - lead, end - begin + lead)
    if checked and (len(data) < end - begin + lead or (lead and data[0] != 0x0A)):
        raise IndexMismatch
    lines = data[lead:].split(b"\n")
    if not lines[-1]:
        lines.pop()
    elif checked and end != index.length:
        raise IndexMismatch
    if checked and len(lines) != stop - start:
        raise IndexMismatch
    return lines


def check_rounds(begins: Iterable[bool], index: RoundIndex, first: int, last: int) -> None:
    """Raise IndexMismatch unless rounds begin at just those lines where `index` says.

    `begins` tells it of each line of rounds [first, last).
    """
    listed = set(index.messages[max(first, 0) : last])
    for at, begin in enumerate(begins, index.span(first, last)[0]):
        if begin is not (at in listed):
            raise IndexMismatch


def read_exactly(fd: int, at: int, length: int) -> bytes:
    """`length` bytes from `at`; fewer only where the file ends."""
    data = os.pread(fd, length, at)
    while len(data) < length and (more := os.pread(fd, length - len(data), at + len(data))):
        data += more
    return data


def iter_lines(fd: int, base: int, length: int, offset: int = 0) -> Iterator[bytes | None]:
    """Every line of the range from `offset` (a line's start), without line feeds, in order.

    Memory is bounded by the longest line; one above `MAX_LINE` bytes is given as None.
    """
    parts: list[bytes] = []
    size = 0
    while offset < length:
        block = os.pread(fd, min(_BLOCK, length - offset), base + offset)
        if not block:
            break
        offset += len(block)
        first, *rest = block.split(b"\n")
        size += len(first)
        parts.append(first)
        if rest:
            yield b"".join(parts) if size <= MAX_LINE else None
            *whole, tail = rest
            yield from whole
            parts, size = [tail], len(tail)
        elif size > MAX_LINE:
            parts.clear()
    if size:
        yield b"".join(parts) if size <= MAX_LINE else None
