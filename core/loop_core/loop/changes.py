"""What an intent means for a Loop session, as values to change, and the changing of them.

Planning reads and writes nothing; performing is one guarded write of the metadata
(`edits.edit_header`) or of archive.json (`membership`). Source: loop-format sections 7 and 8.
"""

from __future__ import annotations

import os

from loop_core import fsio
from loop_core.errors import Conflict, InvalidArgument, Refused
from loop_core.jsonvalue import dumps, loads
from loop_core.loop.dates import now_iso
from loop_core.loop.edits import Written, edit_header, raw_value
from loop_core.loop.envelope import parse_envelope, parse_header
from loop_core.loop.membership import change_members, members_of
from loop_core.loop.paths import ARCHIVE_FILE, is_session_id
from loop_core.loop.probe import read_first_line
from loop_core.loop.titles import normalize_title
from loop_core.model import SessionRow
from loop_core.plans import Change, Edit, Intent

__all__ = ["perform", "plan"]

_TRUE, _FALSE = "true", "false"


def plan(row: SessionRow, intent: Intent, collection: str) -> Change:
    """The change of the session of `row`, from what is on disk now.

    Raises InvalidArgument, Refused, and what reading the metadata raises.
    """
    if intent.do in ("archive", "restore"):
        edits = _archive_edits(row, collection, archived=intent.do == "archive")
    elif intent.do in ("status", "labels"):
        raise Refused("Loop sessions have no status and no labels", row.path)
    else:
        edits = _header_edits(row, intent)
    return Change(key=row.key, id=row.id, path=row.path, title=row.title, edits=edits)


def _archive_edits(row: SessionRow, collection: str, *, archived: bool) -> tuple[Edit, ...]:
    if not is_session_id(row.id):
        raise Refused("its id is not one Loop can archive", row.path)
    member = row.id in members_of(collection)
    if member == archived:
        return ()
    before, after = (None, _TRUE) if archived else (_TRUE, None)
    return (Edit(ARCHIVE_FILE, before, after),)


def _header_edits(row: SessionRow, intent: Intent) -> tuple[Edit, ...]:
    if row.form == "loop3":
        raw, prefix = fsio.read_file(row.path), ["header"]
        parse_envelope(raw, row.path)
    else:
        raw, prefix = read_first_line(row.path).raw, []
        parse_header(raw, row.path)

    def now(field: str) -> str | None:
        found = raw_value(raw, *prefix, field)
        return None if found is None else found.decode("utf-8", "surrogateescape")

    if intent.do == "pin":
        pinned = now("pinnedAt")
        # A pin keeps its time (loop-format section 7).
        return () if pinned is not None else (Edit("pinnedAt", None, f'"{now_iso()}"'),)
    if intent.do == "unpin":
        pinned = now("pinnedAt")
        return () if pinned is None else (Edit("pinnedAt", pinned, None),)
    if intent.do == "rename":
        return _title_edit(now("title"), intent.value)
    unread = now("unread")
    if intent.do == "read":
        return (Edit("unread", unread, _FALSE),) if unread == _TRUE else ()
    if row.size == 0:
        raise InvalidArgument("a session without messages cannot be unread")
    return () if unread == _TRUE else (Edit("unread", unread, _TRUE),)


def _title_edit(before: str | None, value: object) -> tuple[Edit, ...]:
    if not isinstance(value, str):
        raise InvalidArgument("a title is a text")
    text = normalize_title(value)
    if not text:
        raise InvalidArgument("a title cannot be blank")
    after = dumps({"text": text, "source": "user", "messageIndices": []}).decode()
    if before is not None:
        old = loads(before)
        if isinstance(old, dict) and (old.get("text"), old.get("source")) == (text, "user"):
            return ()
    return (Edit("title", before, after),)


def perform(change: Change, row: SessionRow, collection: str) -> Written | None:
    """Make every edit of `change`; what became of the metadata, None when it was not concerned.

    Raises Conflict and what the guarded writes raise.
    """
    members = [edit for edit in change.edits if edit.field == ARCHIVE_FILE]
    header = [edit for edit in change.edits if edit.field != ARCHIVE_FILE]
    written = None
    if header:
        written = edit_header(row.path, header, "loop2" if row.form == "loop2" else "loop3")
    for edit in members:
        _change_membership(edit, row, collection)
    return written


def _change_membership(edit: Edit, row: SessionRow, collection: str) -> None:
    if not is_session_id(row.id):
        raise Refused("its id is not one Loop can archive", row.path)
    before, after = edit.before is not None, edit.after is not None

    def changed(members: list[str]) -> list[str]:
        member = row.id in members
        if member == after:
            return members
        if member != before:
            path = os.path.join(collection, ARCHIVE_FILE)
            raise Conflict("archived or not was changed by another program", path)
        if after:
            return [*members, row.id]
        return [one for one in members if one != row.id]

    change_members(collection, changed)
