"""Harmless writes beside an application that may be running (craft-format section 14).

Only wanted header keys change, by byte span; every other byte is copied. The write is a
compare-and-swap: when the application saved meanwhile, its file is put back and the change is
made again on what it wrote. A file that is missing for a moment is waited for, never created.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from loop_core import fsio, jsonvalue
from loop_core.craft.header import HEADER_LIMIT, truthy
from loop_core.craft.history import HistoryReader
from loop_core.craft.ids import is_valid_id
from loop_core.craft.rescue import is_saving, rescue
from loop_core.craft.rounds import header_span, is_header
from loop_core.craft.running import Owner
from loop_core.craft.sessions import SESSION_FILE
from loop_core.errors import Conflict, Refused, SessionNotFound, StorageFailed
from loop_core.fsio_base import stamp_from
from loop_core.model import SessionKey, Stamp
from loop_core.plans import Change

__all__ = ["Head", "Place", "head_of", "open_file", "perform", "raw_value", "recover", "same_json"]

_ATTEMPTS = 12
_WAITS = (0.002, 0.01, 0.03, 0.08, 0.15, 0.25, 0.5)
_LONG, _MORE = 0.1, 2.0  # seconds: a busy machine makes the gap longer
_SMALL = 1 << 20
_CHUNK = 1 << 20
_SAVING = "Craft-Agents began to save this session a moment ago and has not finished; try again"
QUEUED = "{}, and the session holds a message not sent yet that any change would send"


class Place(NamedTuple):
    """A session to change and the application that may have it open."""

    key: SessionKey
    workspace: str
    folder: str
    owner: Owner | None


class Head(NamedTuple):
    """The header of an open session file: the bytes before it, the line, where the rest is."""

    prefix: bytes
    line: bytes
    after: int
    value: dict[str, Any]


def raw_value(line: bytes, field: str) -> bytes | None:
    span = jsonvalue.get_span(line, field)
    return None if span is None else line[span[0] : span[1]]


def to_text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


def to_bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def same_json(a: bytes | None, b: bytes | None) -> bool:
    if a is None or b is None or a == b:
        return a == b
    return jsonvalue.dumps(jsonvalue.loads(a)) == jsonvalue.dumps(jsonvalue.loads(b))


def perform(place: Place, change: Change, history: HistoryReader) -> None:
    """Do exactly `change`; what the application writes meanwhile stays.

    Raises Conflict when a value is neither `before` nor `after` or others keep writing,
    Refused, SessionNotFound, StorageFailed.
    """
    check_place(place)
    if not change.edits:
        return
    if change.edits[0].field == SESSION_FILE:
        if change.edits[0].after is None:
            raise Refused("a session brought back from a crash stays", place.folder)
        rescue(place.folder)
        return
    fsio.recover_temporaries(place.folder, os.path.join(place.folder, SESSION_FILE))
    for attempt in range(_ATTEMPTS):
        fd, path = open_file(place.folder)
        try:
            check_queued(place, history, fd)
            status = os.fstat(fd)
            head = head_of(fd, status.st_size, path)
            line = _edited(head, change, path)
            if line == head.line:
                return
            _exchange(fd, path, head, line, stamp_from(status))
        except fsio.Changed:
            if attempt + 1 == _ATTEMPTS:
                raise
            time.sleep(_WAITS[min(attempt, len(_WAITS) - 1)] / 4)
        else:
            return
        finally:
            os.close(fd)


def _exchange(fd: int, path: str, head: Head, line: bytes, stamp: Stamp) -> None:
    """Swap in the file with another header line; a large one is streamed."""
    if stamp.size <= _SMALL:
        data = os.pread(fd, stamp.size + 1, 0)
        if len(data) != stamp.size:
            raise fsio.Changed("the file grew while it was read", path)
        fsio.exchange(path, head.prefix + line + data[head.after :], expected=data)
        return
    chunks = itertools.chain((head.prefix + line,), _rest(fd, head.after, stamp.size))
    fsio.exchange(path, chunks, expected=stamp)


def _rest(fd: int, at: int, size: int) -> Iterator[bytes]:
    while at < size:
        chunk = os.pread(fd, min(_CHUNK, size - at), at)
        if not chunk:
            raise fsio.Changed("the file was cut while it was read")
        at += len(chunk)
        yield chunk


def _edited(head: Head, change: Change, path: str) -> bytes:
    """The header line with every edit made."""
    line = head.line
    for edit in change.edits:
        now, before, after = (
            raw_value(line, edit.field),
            to_bytes(edit.before),
            to_bytes(edit.after),
        )
        if same_json(now, after):
            continue
        if not same_json(now, before):
            raise Conflict(f"{edit.field} was changed by another program", path)
        if edit.field == "name" and not truthy(head.value.get("lastFinalMessageId")):
            _keep_named(after, path)
        line = jsonvalue.edit(line, (edit.field,), after)
    if len(line) > HEADER_LIMIT >= len(head.line):
        raise Refused(
            f"the header would have {len(line)} bytes; over {HEADER_LIMIT} "
            "Craft-Agents loses the session from its list",
            path,
        )
    return line


def _keep_named(after: bytes | None, path: str) -> None:
    name = None if after is None else jsonvalue.loads(after)
    if not isinstance(name, str) or not jsonvalue.js_trim(name):
        raise Refused("without a name and an answer Craft-Agents deletes the session unasked", path)


def open_file(folder: str) -> tuple[int, str]:
    """Open `session.jsonl`, waiting out the application's gap; never the `.tmp`."""
    path = os.path.join(folder, SESSION_FILE)
    for wait in _waits(folder):
        try:
            if os.path.islink(path):
                raise Refused("session.jsonl is a symbolic link; it is not written", path)
            return fsio.open_regular(path, follow=False), path
        except StorageFailed as error:
            if not isinstance(error.error, FileNotFoundError):
                raise
            if not os.path.isdir(folder):
                break
            if wait is None and is_saving(folder):
                raise Refused(_SAVING, path) from error
        if wait is not None:
            time.sleep(wait)
    raise SessionNotFound("the session is not there any more", path)


def _waits(folder: str) -> Iterator[float | None]:
    """How long to wait for a missing file: longer while a save is seen to be under way."""
    yield from _WAITS
    waited = 0.0
    while waited < _MORE and is_saving(folder):
        yield _LONG
        waited += _LONG
    yield None


def head_of(fd: int, size: int, path: str) -> Head:
    """The header line of an open file. Raises Refused when there is none to change."""
    raw, after, _ = header_span(fd, size)
    start = after - len(raw) - (1 if after < size or _ends_with_lf(fd, size) else 0)
    prefix = os.pread(fd, start, 0) if start > 0 else b""
    line = raw
    if line.startswith(jsonvalue.BOM):
        prefix, line = prefix + jsonvalue.BOM, line[len(jsonvalue.BOM) :]
    try:
        value = jsonvalue.loads(line)
    except jsonvalue.JsonSyntaxError as error:
        raise Refused(f"the header cannot be read: {error}", path) from error
    if not isinstance(value, dict) or not is_header(value):
        raise Refused("the session has no header that could be changed", path)
    return Head(prefix, line, start + len(raw), value)


def _ends_with_lf(fd: int, size: int) -> bool:
    return size > 0 and os.pread(fd, 1, size - 1) == b"\n"


def check_place(place: Place) -> None:
    name = os.path.basename(place.folder)
    if not is_valid_id(name):
        raise Refused("the folder's name is no session id; it is not written", place.folder)
    if os.path.islink(place.folder):
        raise Refused("the folder is a symbolic link; change the session where it is", place.folder)


def check_queued(place: Place, history: HistoryReader, fd: int) -> None:
    """While the application runs, any change of a file with a queued message sends it.

    Looked up in the very file that is going to be exchanged. Raises Refused.
    """
    if place.owner is not None and history.queued_in(place.folder, fd):
        raise Refused(QUEUED.format(place.owner.reason), place.folder)


def recover(sessions: str) -> list[str]:
    """Act on our temporaries in every session folder; folders that are links are not entered."""
    done: list[str] = []
    try:
        with os.scandir(sessions) as entries:
            folders = [e.path for e in entries if e.is_dir(follow_symlinks=False)]
    except OSError:
        return done
    for folder in folders:
        try:
            said = fsio.recover_temporaries(folder, os.path.join(folder, SESSION_FILE))
        except StorageFailed as error:
            done.append(f"{folder}: {error.reason}")
        else:
            done += [f"{folder}: {text}" for text in said]
    return done
