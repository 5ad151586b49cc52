"""One row of a list from the header of a session alone.

Rows show what the application hides by accident too; `problem` then says why it does
(craft-format rules 2 and 3, section 3 "Reading the header").
"""

from __future__ import annotations

import math
import os
import stat
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

from loop_core import jsonvalue
from loop_core.craft.header import HEADER_LIMIT, clean_text, permission_mode, truthy
from loop_core.craft.records import lines_in, pieces_of
from loop_core.craft.statuses import FALLBACK
from loop_core.craft.tokens import TOKEN, expand_home, expand_line
from loop_core.model import SessionKey, SessionRow, Stamp
from loop_core.sanitize import safe_line

__all__ = ["Head", "Place", "read_head", "row_from"]

TITLE_LIMIT = 400
OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_HEADER_MAX = 16 << 20
_FIRST_TEXT_MAX = 1 << 20
_TOKEN = TOKEN.encode()


class Fields(Struct, gc=False, rename="camel"):
    """The header fields a row needs, of any type."""

    name: Any = None
    preview: Any = None
    created_at: Any = None
    last_message_at: Any = None
    last_used_at: Any = None
    is_flagged: Any = None
    is_archived: Any = None
    has_unread: Any = None
    hidden: Any = None
    session_status: Any = None
    todo_state: Any = None
    labels: Any = None
    message_count: Any = None
    model: Any = None
    permission_mode: Any = None
    working_directory: Any = None
    sdk_cwd: Any = None
    type: Any | UnsetType = UNSET


_decode = msgspec.json.Decoder(Fields).decode
_ENCODED = dict(zip(Fields.__struct_encode_fields__, Fields.__struct_fields__, strict=True))


class Head(NamedTuple):
    """The beginning of a session file: its stamp, the first line, and what else was read."""

    stamp: Stamp
    line: bytes  # the first non-empty line, without LF
    blanks: int  # empty lines before it
    rest: bytes  # what was read behind it


class Place(NamedTuple):
    """Where a row comes from."""

    store: str
    ref: str
    folder: str
    name: str  # of the folder
    path: str  # of the file that was read
    project: str
    known: frozenset[str]  # status ids of the workspace
    linked: bool = False


def read_head(path: str) -> Head:
    """The first line of a session file, whatever its length, usually in one read.

    Raises OSError; never blocks on a FIFO or device.
    """
    fd = os.open(path, OPEN_FLAGS)
    try:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(21, "Is a directory", path)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(22, "not a regular file", path)
        stamp = Stamp(status.st_mtime_ns, status.st_size, status.st_ino)
        data = os.read(fd, HEADER_LIMIT)
        end = data.find(b"\n")
        if end > 0:
            return Head(stamp, data[:end], 0, data[end + 1 :])
        if end < 0 and len(data) >= status.st_size:
            return Head(stamp, data, 0, b"")
        for line in lines_in(fd, 0, status.st_size):
            after = line.offset + line.length + 1
            rest = os.pread(fd, HEADER_LIMIT, after)
            return Head(stamp, line.data[:_HEADER_MAX], line.number - 1, rest)
        return Head(stamp, b"", 0, b"")
    finally:
        os.close(fd)


def _fields_of(head: Head, folder: str) -> tuple[Fields | None, str | None]:
    """The header's fields, and what is wrong with the header."""
    line = expand_line(head.line, folder) if _TOKEN in head.line else head.line
    try:
        fields = _decode(line)
    except (msgspec.DecodeError, RecursionError):
        if not line:
            return None, "the file is empty"
        if not line.strip(b"\0"):
            return None, "the file holds only NUL bytes"
        try:
            value = jsonvalue.loads(line.removeprefix(jsonvalue.BOM))
        except jsonvalue.JsonSyntaxError as error:
            return None, f"the header cannot be read: {error}"
        if not isinstance(value, dict):
            return None, "the header is not an object"
        fields = Fields(**{_ENCODED[key]: value[key] for key in value.keys() & _ENCODED.keys()})
    if isinstance(fields.type, str):
        return fields, "the header is missing; a message stands in its place"
    return fields, None


def _hidden_reason(head: Head, fields: Fields, place: Place) -> str | None:
    """Why the application's list leaves out a session whose header is sound."""
    if head.blanks and (head.rest or head.stamp.size > HEADER_LIMIT):
        return "a blank line stands before the header; Craft-Agents does not list the session"
    if head.line[HEADER_LIMIT:].strip(b" \t\r"):
        return (
            f"the header has {len(head.line)} bytes; "
            f"Craft-Agents lists a session only up to {HEADER_LIMIT}"
        )
    for value, name in (
        (fields.working_directory, "workingDirectory"),
        (fields.sdk_cwd, "sdkCwd"),
    ):
        if not isinstance(value, str) and truthy(value):
            return f"{name} is not text; Craft-Agents cannot load the session"
    if place.linked:
        return "a symbolic link; Craft-Agents does not list it"
    return None


def milliseconds(value: object) -> int | None:
    """A stored time; None for what is no time."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if math.isfinite(value) and abs(value) < 1e15 else None


def _title(fields: Fields, head: Head, place: Place) -> tuple[str | None, str | None]:
    """Name, else preview, else the first user text; without wrapper tags (row 76)."""
    name = fields.name
    if isinstance(name, str) and name.strip():
        if name.lstrip().startswith("<"):
            name = clean_text(name).partition("<")[0].strip()
        if name:
            return safe_line(name, TITLE_LIMIT), "name"
    preview = fields.preview
    if isinstance(preview, str) and preview.strip():
        if "<" in preview:
            preview = clean_text(preview).partition("<")[0].strip()
        if preview:
            return safe_line(preview, TITLE_LIMIT), "preview"
    if fields.message_count != 0 or isinstance(fields.type, str):
        text = _first_text(head, place.path)
        if text:
            return safe_line(text, TITLE_LIMIT), "user"
    return None, None


def _first_text(head: Head, path: str) -> str | None:
    """The first user message's text, as a preview shows it; looks at one megabyte at most."""
    first = [head.line] if head.line else []
    for raw in (*first, *head.rest.split(b"\n")[:-1]):
        text = _user_text(raw)
        if text:
            return text
    try:
        fd = os.open(path, OPEN_FLAGS)
    except OSError:
        return None
    try:
        size = min(os.fstat(fd).st_size, _FIRST_TEXT_MAX)
        found = (_user_text(line.data) for line in lines_in(fd, 0, size))
        return next((text for text in found if text), None)
    finally:
        os.close(fd)


def _user_text(raw: bytes) -> str | None:
    for piece in pieces_of(raw, len(raw))[0]:
        if piece.kind.type == "user":
            content = jsonvalue.loads(piece.data).get("content")
            text = clean_text(content) if isinstance(content, str) else ""
            if text:
                return text
    return None


def _directory(fields: Fields) -> str | None:
    for value in (fields.working_directory, fields.sdk_cwd):
        if isinstance(value, str) and value:
            return value if value[0] == "/" else expand_home(value)
    return None


def _labels(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(safe_line(item, 120) for item in value if isinstance(item, str))


def _status(fields: Fields, known: frozenset[str]) -> str:
    value = fields.session_status
    if value is None:
        value = fields.todo_state
    return value if isinstance(value, str) and value in known else FALLBACK


def row_from(head: Head, place: Place, problem: str | None = None) -> SessionRow:
    """The row of a session whose beginning is `head`; `problem` from outside comes first."""
    fields, wrong = _fields_of(head, place.folder)
    if fields is None:
        fields = Fields()
    elif wrong is None:
        wrong = _hidden_reason(head, fields, place)
    changed = head.stamp.mtime_ns // 1_000_000
    updated = milliseconds(fields.last_message_at)
    if updated is None:
        updated = milliseconds(fields.last_used_at)
    if updated is None:
        updated = milliseconds(fields.created_at)
    if updated is None:
        updated = changed
    count = milliseconds(fields.message_count)
    title, source = _title(fields, head, place)
    mode = fields.permission_mode
    model = fields.model
    return SessionRow(
        key=SessionKey(place.store, place.ref),
        source="craft",
        form="craft",
        id=safe_line(place.name),
        path=place.path,
        project=place.project,
        cwd=_directory(fields),
        title=title,
        title_source=source,
        created_ms=milliseconds(fields.created_at),
        updated_ms=updated,
        unread=truthy(fields.has_unread),
        pinned_ms=updated if fields.is_flagged is True else None,
        archived=fields.is_archived is True,
        message_count=count if count is not None and count >= 0 else None,
        size=max(head.stamp.size - len(head.line) - head.blanks - 1, 0),
        model=safe_line(model, 120) if isinstance(model, str) and model else None,
        permission=permission_mode(mode) if mode is not None else None,
        status=safe_line(_status(fields, place.known), 80),
        labels=_labels(fields.labels),
        hidden=truthy(fields.hidden),
        empty=count == 0,
        linked=place.linked,
        changed_ms=changed,
        problem=problem or wrong,
        problem_line=1 if wrong is not None and problem is None else None,
        stamp=head.stamp,
    )


def bare_row(place: Place, problem: str, changed_ms: int) -> SessionRow:
    """The row of a session folder whose file cannot be read."""
    return SessionRow(
        key=SessionKey(place.store, place.ref),
        source="craft",
        form="craft",
        id=safe_line(place.name),
        path=place.path,
        project=place.project,
        updated_ms=changed_ms,
        changed_ms=changed_ms,
        linked=place.linked,
        empty=True,
        problem=problem,
    )
