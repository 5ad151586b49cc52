"""The guarded change of single values in a session's metadata.

Read, change the one value by its byte span, compare-and-swap, and when another program wrote
first, do it again on what that program wrote. Used by the manager and by the browser's store
(loop-format "Our decisions" 1 and 2). Every byte outside the value stays: unknown keys, odd
numbers, escapes, white space, key order, duplicate keys.

Version 3: the value lives under ``header`` in meta.json. Version 2: in the first line of the
``.jsonl``, the rest of which is copied as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from loop_core import fsio
from loop_core.errors import (
    Conflict,
    InvalidSession,
    SessionNotFound,
    StorageFailed,
    UnsupportedSession,
)
from loop_core.jsonvalue import JS_SPACE, JsonSyntaxError, edit, get_span, is_number, loads
from loop_core.loop.header import header_problem, is_supported
from loop_core.loop.values import deep_equal
from loop_core.model import Edit, Stamp

__all__ = [
    "Head",
    "Written",
    "change_metadata",
    "edit_header",
    "header_of",
    "raw_value",
    "read_head",
]

_T = TypeVar("_T")
Form = Literal["loop3", "loop2"]
ATTEMPTS = 8  # each one more commit of another program between our read and our write
_CHUNK = 1 << 16
_SPACES = tuple(sorted((space.encode() for space in JS_SPACE), key=len, reverse=True))


class Written(NamedTuple):
    """What the metadata is now: its text (meta.json, or line 1), and the file's stamp."""

    raw: bytes
    stamp: Stamp
    changed: bool


class Head(NamedTuple):
    """The first line of a version-2 file: its bytes and where they lie."""

    raw: bytes
    start: int
    end: int
    stamp: Stamp


def edit_header(path: str | os.PathLike[str], edits: Sequence[Edit], form: Form) -> Written:
    """Make every edit of `edits` in one guarded write of the session at `path`.

    `path` is meta.json or the version-2 ``.jsonl``. An edit already done is no error. Raises
    Conflict when a value is neither `before` nor `after`, or other programs keep writing;
    InvalidSession, UnsupportedSession, SessionNotFound, StorageFailed.
    """
    prefix = ("header",) if form == "loop3" else ()

    def apply(raw: bytes) -> bytes:
        for one in edits:
            now = raw_value(raw, *prefix, one.field)
            after = None if one.after is None else one.after.encode("utf-8", "surrogatepass")
            if _same(now, after):
                continue
            before = None if one.before is None else one.before.encode("utf-8", "surrogatepass")
            if not _same(now, before):
                raise Conflict(f"{one.field} was changed by another program", path)
            raw = edit(raw, (*prefix, one.field), after)
        return raw

    return change_metadata(path, form, apply)


def change_metadata(
    path: str | os.PathLike[str], form: Form, change: Callable[[bytes], bytes]
) -> Written:
    """Apply `change` to the metadata text and swap it in; again when somebody was first.

    `change` may be called several times; returning its argument writes nothing. The result
    must be metadata Loop accepts, as the argument is.
    """
    once = _change_file if form == "loop3" else _change_first_line
    for _ in range(ATTEMPTS):
        try:
            return once(os.fspath(path), change)
        except fsio.Changed:
            continue
    raise Conflict("another program keeps changing this session", path)


def raw_value(raw: bytes, *path: str) -> bytes | None:
    """The JSON text of one value of `raw`, or None when it is absent."""
    span = get_span(raw, *path)
    return None if span is None else raw[span[0] : span[1]]


def _same(a: bytes | None, b: bytes | None) -> bool:
    if a is None or b is None or a == b:
        return a == b
    return deep_equal(loads(a), loads(b))


# --- version 3


def _change_file(path: str, change: Callable[[bytes], bytes]) -> Written:
    raw, stamp = _reading(path, fsio.read_file_stamped)
    header_of(raw, "loop3", path)
    new = change(raw)
    if new == raw:
        return Written(raw, stamp, changed=False)
    header_of(new, "loop3", path)
    return Written(new, fsio.exchange(path, new, expected=raw, follow=True), changed=True)


def header_of(raw: bytes, form: Form, path: str) -> dict[str, Any]:
    """The header in a metadata text; raises unless it is one that Loop accepts."""
    try:
        value = loads(raw)
    except JsonSyntaxError as error:
        raise InvalidSession(path, f"metadata is not JSON: {error}", 1) from error
    if form == "loop3":
        version = value.get("version") if isinstance(value, dict) else None
        if not is_number(version) or version != 3:
            raise UnsupportedSession("not a version-3 session", path)
        value = value.get("header")
    if not is_supported(value):
        raise UnsupportedSession("not a session header of version 2", path)
    header: dict[str, Any] = value
    if problem := header_problem(header):
        raise InvalidSession(path, problem, 1)
    return header


# --- version 2


def read_head(path: str | os.PathLike[str]) -> Head:
    """The first line of a version-2 file, after any leading white space or byte order mark."""
    text = os.fspath(path)
    fd = _reading(text, fsio.open_regular)
    try:
        with fsio.guarded(text):
            stamp = fsio.stamp_from(os.fstat(fd))
            data, at = bytearray(), 0
            while True:
                chunk = os.read(fd, _CHUNK)
                data += chunk
                at = _past_space(data, at)
                end = data.find(b"\n", at)
                if end >= 0 and at < end:
                    return Head(bytes(data[at:end]), at, end, stamp)
                if not chunk:
                    raw = _without_space_behind(bytes(data[at:]))
                    return Head(raw, at, at + len(raw), stamp)
    finally:
        os.close(fd)


def _past_space(data: bytearray, at: int) -> int:
    while any(data.startswith(found := space, at) for space in _SPACES):
        at += len(found)
    return at


def _without_space_behind(raw: bytes) -> bytes:
    while any(raw.endswith(found := space) for space in _SPACES):
        raw = raw[: -len(found)]
    return raw


def _change_first_line(path: str, change: Callable[[bytes], bytes]) -> Written:
    head = read_head(path)
    header_of(head.raw, "loop2", path)
    new = change(head.raw)
    if new == head.raw:
        return Written(head.raw, head.stamp, changed=False)
    header_of(new, "loop2", path)
    if b"\n" in new:
        raise Conflict("a version-2 header has to stay on one line", path)
    stamp = fsio.exchange(path, _with_head(path, head, new), expected=head.stamp, follow=True)
    return Written(new, stamp, changed=True)


def _with_head(path: str, head: Head, new: bytes) -> Iterator[bytes]:
    """The file with another first line, streamed."""
    fd = fsio.open_regular(path)
    try:
        yield os.pread(fd, head.start, 0) + new
        at = head.end
        while chunk := os.pread(fd, 1 << 20, at):
            yield chunk
            at += len(chunk)
    finally:
        os.close(fd)


def _reading(path: str, read: Callable[[str], _T]) -> _T:
    try:
        return read(path)
    except StorageFailed as error:
        if isinstance(error.error, FileNotFoundError | NotADirectoryError):
            raise SessionNotFound("no session is published here", path) from error
        raise
