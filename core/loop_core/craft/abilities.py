"""What can be done with a session now, and what moves when it goes to the trash."""

from __future__ import annotations

import os
from typing import Any

from loop_core.craft.header import truthy
from loop_core.craft.running import Owner
from loop_core.craft.scan import TRASH_NAME
from loop_core.craft.sessions import SESSION_FILE
from loop_core.craft.writes import QUEUED, Place, head_of, open_file
from loop_core.errors import Refused, SessionNotFound, StorageFailed
from loop_core.model import SessionRow
from loop_core.plans import Capabilities, TrashMove, TrashPlan

__all__ = ["LONE", "UNDOES", "capabilities_of", "plan_trash"]

UNDOES = "{}: it keeps this in memory and would undo the change at its next save"
LONE = "only session.jsonl.tmp is left of this session; restore brings it back"
_NO_RESUME = "Craft-Agents has no command that resumes a session; open it in the application"


def capabilities_of(
    row: SessionRow, owner: Owner | None, *, queued: bool, read_only: bool
) -> Capabilities:
    """What can be done with a session now, by its row, the lock file and the queued mark."""
    everything = _why_not_at_all(row, read_only=read_only)
    if everything is None and queued and owner is not None:
        everything = QUEUED.format(owner.reason)
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
    undone = UNDOES.format(owner.reason)
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
        return LONE
    if row.stamp is None or (row.problem or "").startswith(_UNWRITABLE):
        return row.problem or "the session cannot be read"
    return None


_UNWRITABLE = (
    "the header cannot be read",
    "the header is not",
    "the header is missing",
    "the file ",
)


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
        fd, path = open_file(folder)
    except (StorageFailed, SessionNotFound, Refused):
        return {}
    try:
        value = head_of(fd, os.fstat(fd).st_size, path).value
    except Refused:
        return {}
    finally:
        os.close(fd)
    url = value.get("sharedUrl")
    if not truthy(value.get("sharedId")) and not truthy(url):
        return {}
    return {"warning": "shared: its public copy stays online", "sharedUrl": url}
