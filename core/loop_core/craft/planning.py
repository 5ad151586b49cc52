"""What a wanted change means for the header, from what is on disk now.

The keys are the application's own (craft-format section 9, "Operations"); while it runs, what
it would undo is refused unless the user said "do it anyway" (section 8).
"""

from __future__ import annotations

import os
import time
from typing import Any

from loop_core import jsonvalue
from loop_core.craft.abilities import LONE, UNDOES
from loop_core.craft.header import truthy
from loop_core.craft.history import HistoryReader
from loop_core.craft.records import lines_in, pieces_of
from loop_core.craft.rescue import RESCUE, is_lone
from loop_core.craft.sessions import SESSION_FILE
from loop_core.craft.statuses import load_statuses
from loop_core.craft.tokens import collapse_line
from loop_core.craft.writes import (
    Head,
    Place,
    check_place,
    check_queued,
    head_of,
    open_file,
    raw_value,
    same_json,
    to_text,
)
from loop_core.errors import InvalidArgument, Refused, SessionNotFound
from loop_core.plans import Change, Edit, Intent

__all__ = ["last_final_id", "plan"]

#: What the running application undoes at its next write of the session (section 8).
_UNDONE = frozenset({"archive", "restore", "read", "unread"})


def plan(place: Place, intent: Intent, history: HistoryReader) -> Change:
    """What `intent` changes in the header, from what is on disk now.

    Raises Refused (the application is running and would undo it, a queued message, no header
    to change), InvalidArgument, SessionNotFound, StorageFailed.
    """
    owner = place.owner
    check_place(place)
    if intent.do == "restore" and _left_lone(place.folder):
        path = os.path.join(place.folder, SESSION_FILE)
        ident = os.path.basename(place.folder)
        return Change(key=place.key, id=ident, path=path, edits=(RESCUE,), lasting=True)
    if owner is not None and intent.do in _UNDONE and not intent.force:
        raise Refused(UNDOES.format(owner.reason), place.folder)
    fd, path = _open(place.folder)
    try:
        size = os.fstat(fd).st_size
        head = head_of(fd, size, path)
        wanted = _wanted(place, intent, head, fd, size)
        check_queued(place, history, fd)
    finally:
        os.close(fd)
    edits: list[Edit] = []
    for field, value in wanted.items():
        before = raw_value(head.line, field)
        after = None if value is None else collapse_line(jsonvalue.dumps(value), place.folder)
        if not same_json(before, after):
            edits.append(Edit(field, to_text(before), to_text(after)))
    name = head.value.get("name")
    return Change(
        key=place.key,
        id=os.path.basename(place.folder),
        path=path,
        title=name if isinstance(name, str) else None,
        edits=tuple(edits),
    )


def _left_lone(folder: str) -> bool:
    """Whether a crash left only the `.tmp`, after waiting out the application's gap."""
    if not is_lone(folder):
        return False
    try:
        os.close(open_file(folder)[0])
    except SessionNotFound:
        return is_lone(folder)
    return False


def _open(folder: str) -> tuple[int, str]:
    """`open_file`, with the reason where the folder is there and its file is not."""
    try:
        return open_file(folder)
    except SessionNotFound as error:
        if is_lone(folder):
            raise Refused(LONE, folder) from error
        if os.path.isdir(folder):
            raise Refused("no session.jsonl in this folder", folder) from error
        raise


def _wanted(place: Place, intent: Intent, head: Head, fd: int, size: int) -> dict[str, Any]:
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
