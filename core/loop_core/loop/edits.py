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
from typing import Literal, NamedTuple, TypeVar

from loop_core import fsio
from loop_core.errors import Conflict, InvalidSession, SessionNotFound, StorageFailed
from loop_core.jsonvalue import edit, get_span, loads
from loop_core.loop.envelope import parse_envelope, parse_header
from loop_core.loop.legacy import Legacy, parse_legacy
from loop_core.loop.values import deep_equal
from loop_core.model import Stamp
from loop_core.plans import Edit

__all__ = [
    "Written",
    "change_metadata",
    "edit_header",
    "published",
    "raw_value",
    "recover_metadata",
]

_T = TypeVar("_T")
Form = Literal["loop3", "loop2"]
ATTEMPTS = 8  # each one more commit of another program between our read and our write


class Written(NamedTuple):
    """What the metadata is now: its text (meta.json, or line 1), and the file's stamp.

    `before` is the stamp of what was read for it.
    """

    raw: bytes
    stamp: Stamp
    changed: bool
    before: Stamp


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
    text = os.fspath(path)
    # Among processes of ours the lock decides; the attempts are for writers that know none.
    folder = os.path.dirname(published(text, lambda: fsio.resolve_link(text, follow=True)))
    with fsio.lock_dir(folder or "."):
        for _ in range(ATTEMPTS):
            try:
                return once(text, change)
            except fsio.Changed:
                continue
    raise Conflict("another program keeps changing this session", path)


def recover_metadata(path: str | os.PathLike[str]) -> None:
    """Before trusting metadata enough to write by it: finish what a killed process of ours left.

    Its temporary may hold a newer commit of Loop than the file itself, whose messages would
    else look like an uncommitted tail. Raises SessionNotFound, Conflict, StorageFailed.
    """
    text = os.fspath(path)
    target = published(text, lambda: fsio.resolve_link(text, follow=True))
    fsio.recover_temporaries(os.path.dirname(target) or ".", target)


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
    raw, stamp = published(path, lambda: fsio.read_file_stamped(path))
    parse_envelope(raw, path)
    new = change(raw)
    if new == raw:
        return Written(raw, stamp, changed=False, before=stamp)
    parse_envelope(new, path)
    now = fsio.exchange(path, new, expected=raw, follow=True)
    return Written(new, now, changed=True, before=stamp)


# --- version 2


def _change_first_line(path: str, change: Callable[[bytes], bytes]) -> Written:
    stamp = published(path, lambda: fsio.stamp_of(path))
    if stamp is None:
        raise SessionNotFound("no session is published here", path)
    legacy = published(path, lambda: parse_legacy(path))
    new = change(legacy.raw)
    if new == legacy.raw:
        return Written(new, stamp, changed=False, before=stamp)
    if b"\n" in new:
        raise InvalidSession(path, "a version-2 header has to stay on one line")
    parse_header(new, path, legacy.line)
    content = _with_header(path, legacy, new)
    now = fsio.exchange(path, content, expected=stamp, follow=True)
    return Written(new, now, changed=True, before=stamp)


def _with_header(path: str, legacy: Legacy, header: bytes) -> Iterator[bytes]:
    """The file with another first line, streamed."""
    fd = fsio.open_regular(path)
    try:
        yield os.pread(fd, legacy.header_start, 0) + header
        at = legacy.header_end
        while chunk := os.pread(fd, 1 << 20, at):
            yield chunk
            at += len(chunk)
    finally:
        os.close(fd)


def published(path: str, read: Callable[[], _T]) -> _T:
    """`read()`, with SessionNotFound for a file that is not there."""
    try:
        return read()
    except fsio.Changed as error:
        raise SessionNotFound("no session is published here", path) from error
    except StorageFailed as error:
        if isinstance(error.error, FileNotFoundError | NotADirectoryError):
            raise SessionNotFound("no session is published here", path) from error
        raise
