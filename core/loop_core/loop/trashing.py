"""What has to move for a Loop session to be in the trash."""

from __future__ import annotations

import os

from loop_core.errors import SessionNotFound
from loop_core.loop.traces import check_traces
from loop_core.model import SessionRow
from loop_core.plans import TrashMove, TrashPlan

__all__ = ["plan_trash"]


def plan_trash(
    row: SessionRow, *, trash_dir: str, collection: str, traces: str | None, project: str
) -> TrashPlan:
    """The session, its version-2 backup and its traces (loop-format section 8).

    A link moves as a link. Raises TraceLocked when the traces are in use, SessionNotFound.
    """
    published = row.form == "loop3"
    source = os.path.dirname(row.path) if published else row.path
    if not os.path.lexists(source):
        raise SessionNotFound("the session is not there any more", source)
    moves = [TrashMove(source, "session")]
    if published:
        moves += [TrashMove(path, "backup") for path in _backups(row, collection, source)]
    if traces is not None and os.path.lexists(traces):
        check_traces(traces)
        moves.append(TrashMove(traces, "traces"))
    return TrashPlan(
        key=row.key,
        id=row.id,
        source="loop",
        form=row.form,
        title=row.title,
        cwd=row.cwd,
        trash_dir=trash_dir,
        moves=tuple(moves),
        archived=row.archived,
        collection=collection,
        stamp=row.stamp,
        row={
            "project": project,
            "updatedMs": row.updated_ms,
            "createdMs": row.created_ms,
            "messageCount": row.message_count,
            "bytes": row.size,
            "unread": row.unread,
            "pinnedMs": row.pinned_ms,
        },
    )


def _backups(row: SessionRow, collection: str, source: str) -> list[str]:
    """Version-2 files behind a published directory: by its name, and by the id inside."""
    names = dict.fromkeys((os.path.basename(source), row.id))
    paths = [os.path.join(collection, f"{name}.jsonl") for name in names if "/" not in name]
    return [path for path in paths if os.path.lexists(path)]
