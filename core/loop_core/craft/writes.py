"""Harmless writes beside an application that may be running (craft-format sections 8, 14).

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
from loop_core.craft.records import lines_in, pieces_of
from loop_core.craft.rounds import header_span, is_header
from loop_core.craft.running import Owner
from loop_core.craft.scan import TRASH_NAME
from loop_core.craft.sessions import SESSION_FILE
from loop_core.craft.statuses import load_statuses
from loop_core.craft.tokens import collapse_line
from loop_core.errors import (
    Conflict,
    InvalidArgument,
    Refused,
    SessionNotFound,
    StorageFailed,
)
from loop_core.fsio_base import stamp_from
from loop_core.model import (
    Capabilities,
    Change,
    Edit,
    Intent,
    SessionKey,
    SessionRow,
    Stamp,
    TrashMove,
    TrashPlan,
)

__all__ = ["Place", "capabilities_of", "perform", "plan", "plan_trash", "recover"]

_ATTEMPTS = 12
_WAITS = (0.002, 0.01, 0.03, 0.08, 0.15, 0.25, 0.5)
_SMALL = 1 << 20
_CHUNK = 1 << 20
#: What the running application undoes at its next write of the session (section 8).
_UNDONE = frozenset({"archive", "restore", "read", "unread"})
_UNDOES = "{}: it keeps this in memory and would undo the change at its next save"
_QUEUED = "{}, and the session holds a message not sent yet that any change would send"
_NO_RESUME = "Craft-Agents has no command that resumes a session; open it in the application"


class Place(NamedTuple):
    """A session to change and the application that may have it open."""

    key: SessionKey
    workspace: str
    folder: str
    owner: Owner | None


class _Head(NamedTuple):
    """The header of an open session file: the bytes before it, the line, where the rest is."""

    prefix: bytes
    line: bytes
    after: int
    value: dict[str, Any]


# --- what can be done


def capabilities_of(
    row: SessionRow, owner: Owner | None, *, queued: bool, read_only: bool
) -> Capabilities:
    """What can be done with a session now, by its row, the lock file and the queued mark."""
    everything = _why_not_at_all(row, read_only=read_only)
    if everything is None and queued and owner is not None:
        everything = _QUEUED.format(owner.reason)
    if everything is not None:
        trash: str | None = everything
        if not read_only and row.trashed_ms is None:
            trash = None if owner is None else _no_trash(owner)
        return Capabilities(
            pin=everything,
            archive=everything,
            read=everything,
            rename=everything,
            status=everything,
            trash=trash,
            resume=_NO_RESUME,
        )
    if owner is None:
        return Capabilities(resume=_NO_RESUME)
    undone = _UNDOES.format(owner.reason)
    return Capabilities(
        archive=undone,
        read=undone,
        trash=_no_trash(owner),
        resume=_NO_RESUME,
        forced=frozenset({"archive", "read"}),
    )


def _no_trash(owner: Owner) -> str:
    return f"{owner.reason}: it would bring the folder back, empty; quit it first"


def _why_not_at_all(row: SessionRow, *, read_only: bool) -> str | None:
    if read_only:
        return "writing is switched off (--read-only)"
    if row.trashed_ms is not None:
        return "the session is in the trash; restore it first"
    if row.linked:
        return "the folder is a symbolic link; change the session where it is"
    if os.path.basename(row.path) != SESSION_FILE:
        return "only session.jsonl.tmp is left of this session"
    if row.stamp is None or (row.problem or "").startswith(_UNWRITABLE):
        return row.problem or "the session cannot be read"
    return None


_UNWRITABLE = (
    "the header cannot be read",
    "the header is not",
    "the header is missing",
    "the file ",
)


# --- planning


def plan(place: Place, intent: Intent, history: HistoryReader) -> Change:
    """What `intent` changes in the header, from what is on disk now.

    Raises Refused (the application is running and would undo it, a queued message, no header
    to change), InvalidArgument, SessionNotFound, StorageFailed.
    """
    owner = place.owner
    if owner is not None and intent.do in _UNDONE and not intent.force:
        raise Refused(_UNDOES.format(owner.reason), place.folder)
    _check_place(place)
    fd, path = _open(place.folder)
    try:
        size = os.fstat(fd).st_size
        head = _head_of(fd, size, path)
        wanted = _wanted(place, intent, head, fd, size)
    finally:
        os.close(fd)
    _check_queued(place, history)
    edits: list[Edit] = []
    for field, value in wanted.items():
        before = _raw(head.line, field)
        after = None if value is None else collapse_line(jsonvalue.dumps(value), place.folder)
        if not _same(before, after):
            edits.append(Edit(field, _text(before), _text(after)))
    name = head.value.get("name")
    return Change(
        key=place.key,
        id=os.path.basename(place.folder),
        path=path,
        title=name if isinstance(name, str) else None,
        edits=tuple(edits),
    )


def _wanted(place: Place, intent: Intent, head: _Head, fd: int, size: int) -> dict[str, Any]:
    """Header keys and their new values (None: removed), as the application sets them."""
    match intent.do:
        case "pin" | "unpin":
            return {"isFlagged": intent.do == "pin"}
        case "archive":
            return {"isArchived": True, "archivedAt": int(time.time() * 1000)}
        case "restore":
            return {"isArchived": False, "archivedAt": None}
        case "read":
            final = last_final_id(fd, head.after, size)
            return {"hasUnread": False} | ({} if final is None else {"lastReadMessageId": final})
        case "unread":
            return {"hasUnread": True, "lastReadMessageId": None}
        case "rename":
            return {"name": _name(intent.value)}
        case "status":
            known = [status.id for status in load_statuses(place.workspace)]
            if intent.value not in known:
                raise InvalidArgument(f"the workspace has no status {intent.value!r}")
            return {"sessionStatus": intent.value}
        case "labels":
            labels = intent.value
            if not isinstance(labels, tuple) or not all(
                isinstance(entry, str) and entry.strip() for entry in labels
            ):
                raise InvalidArgument("labels are texts that are not empty")
            return {"labels": list(labels)}


def _name(value: object) -> str:
    if not isinstance(value, str) or not jsonvalue.js_trim(value):
        raise InvalidArgument("a name cannot be empty: Craft-Agents deletes nameless sessions")
    return jsonvalue.js_trim(value)


def last_final_id(fd: int, start: int, size: int) -> str | None:
    """The id of the last assistant message that is no commentary, read from the end.

    Looks at growing tails, so that a long session costs its last lines only.
    """
    span = 1 << 18
    while True:
        begin = max(start, size - span)
        found: str | None = None
        whole = begin == start
        for line in lines_in(fd, begin, size):
            # The first line of a tail may be cut; the next tail holds it whole.
            if not whole and line.offset == begin:
                continue
            for piece in pieces_of(line.data, line.length)[0]:
                if piece.kind.type == "assistant":
                    found = _final(piece.data) or found
        if found is not None or whole:
            return found
        span *= 4


def _final(data: bytes) -> str | None:
    value = jsonvalue.loads(data)
    ident = value.get("id")
    return ident if isinstance(ident, str) and not truthy(value.get("isIntermediate")) else None


def _raw(line: bytes, field: str) -> bytes | None:
    span = jsonvalue.get_span(line, field)
    return None if span is None else line[span[0] : span[1]]


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _same(a: bytes | None, b: bytes | None) -> bool:
    if a is None or b is None or a == b:
        return a == b
    return jsonvalue.dumps(jsonvalue.loads(a)) == jsonvalue.dumps(jsonvalue.loads(b))


# --- writing


def perform(place: Place, change: Change, history: HistoryReader) -> None:
    """Do exactly `change`; what the application writes meanwhile stays.

    Raises Conflict when a value is neither `before` nor `after` or others keep writing,
    Refused, SessionNotFound, StorageFailed.
    """
    _check_place(place)
    if not change.edits:
        return
    fsio.recover_temporaries(place.folder, os.path.join(place.folder, SESSION_FILE))
    for attempt in range(_ATTEMPTS):
        _check_queued(place, history)
        fd, path = _open(place.folder)
        try:
            status = os.fstat(fd)
            head = _head_of(fd, status.st_size, path)
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


def _exchange(fd: int, path: str, head: _Head, line: bytes, stamp: Stamp) -> None:
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


def _edited(head: _Head, change: Change, path: str) -> bytes:
    """The header line with every edit made."""
    line = head.line
    for edit in change.edits:
        now, before, after = _raw(line, edit.field), _bytes(edit.before), _bytes(edit.after)
        if _same(now, after):
            continue
        if not _same(now, before):
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


def _open(folder: str) -> tuple[int, str]:
    """Open `session.jsonl`, waiting out the application's gap; never the `.tmp`."""
    path = os.path.join(folder, SESSION_FILE)
    for wait in (*_WAITS, None):
        try:
            if os.path.islink(path):
                raise Refused("session.jsonl is a symbolic link; it is not written", path)
            return fsio.open_regular(path, follow=False), path
        except StorageFailed as error:
            if not isinstance(error.error, FileNotFoundError):
                raise
            if wait is None or not os.path.isdir(folder):
                raise SessionNotFound("the session is not there any more", path) from error
        time.sleep(wait)
    raise SessionNotFound("the session is not there any more", path)


def _head_of(fd: int, size: int, path: str) -> _Head:
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
    return _Head(prefix, line, start + len(raw), value)


def _ends_with_lf(fd: int, size: int) -> bool:
    return size > 0 and os.pread(fd, 1, size - 1) == b"\n"


def _check_place(place: Place) -> None:
    name = os.path.basename(place.folder)
    if not is_valid_id(name):
        raise Refused("the folder's name is no session id; it is not written", place.folder)
    if os.path.islink(place.folder):
        raise Refused("the folder is a symbolic link; change the session where it is", place.folder)


def _check_queued(place: Place, history: HistoryReader) -> None:
    """While the application runs, any change of a file with a queued message sends it."""
    if place.owner is not None and history.has_queued(place.folder):
        raise Refused(_QUEUED.format(place.owner.reason), place.folder)


# --- trash and recovery


def plan_trash(place: Place, row: SessionRow) -> TrashPlan:
    """The folder moves to the workspace's trash. Raises Refused while the application runs."""
    if place.owner is not None:
        raise Refused(_no_trash(place.owner), place.folder)
    own = os.path.basename(row.path) == SESSION_FILE and not row.linked
    return TrashPlan(
        key=place.key,
        id=row.id,
        source="craft",
        form="craft",
        title=row.title,
        cwd=row.cwd,
        trash_dir=os.path.join(place.workspace, TRASH_NAME),
        moves=(TrashMove(place.folder, "session"),),
        stamp=row.stamp if own else None,
        row={
            "title": row.title,
            "project": os.path.basename(place.workspace),
            "updatedAt": row.updated_ms,
            "messageCount": row.message_count,
            "archived": row.archived,
        }
        | _shared_note(place.folder),
    )


def _shared_note(folder: str) -> dict[str, Any]:
    """A warning for the dialog: our delete cannot take the public copy away."""
    try:
        fd, path = _open(folder)
    except (StorageFailed, SessionNotFound, Refused):
        return {}
    try:
        value = _head_of(fd, os.fstat(fd).st_size, path).value
    except Refused:
        return {}
    finally:
        os.close(fd)
    url = value.get("sharedUrl")
    if not truthy(value.get("sharedId")) and not truthy(url):
        return {}
    return {"warning": "shared: its public copy stays online", "sharedUrl": url}


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
