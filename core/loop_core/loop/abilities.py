"""What can be done with one Loop session now, and why not."""

from __future__ import annotations

from typing import NamedTuple

from loop_core.errors import Refused
from loop_core.loop.paths import is_session_id
from loop_core.loop.traces import owner_of
from loop_core.model import SessionRow
from loop_core.plans import Capabilities
from loop_core.sanitize import safe_line

__all__ = ["Away", "capabilities", "resume_command"]


class Away(NamedTuple):
    """Why nothing is written where a session lies (`location.away`): None where it may be."""

    session: str | None  # its metadata
    collection: str | None  # archive.json, and the session as a whole


def capabilities(
    row: SessionRow, traces: str | None, away: Away, *, read_only: bool
) -> Capabilities:
    """The reasons, one line each, why something cannot be done; None where it can."""
    blocked = None
    if row.trashed_ms is not None:
        blocked = "it is in the trash"
    if read_only:
        blocked = "the program runs read-only"
    header = blocked or away.session or _header_problem(row)
    whole = blocked or away.collection
    owner = None if blocked or traces is None else owner_of(traces)
    return Capabilities(
        pin=header,
        archive=whole or (None if is_session_id(row.id) else "its id is not one of Loop's"),
        read=header or ("it has no messages" if row.size == 0 else None),
        rename=header,
        status="Loop sessions have no status",
        trash=whole or (None if owner is None else f"in use: {safe_line(owner)}"),
        resume=_resume_problem(row),
    )


def _header_problem(row: SessionRow) -> str | None:
    """Metadata Loop would refuse is never rewritten; broken messages do not matter here."""
    broken = row.problem is not None and not row.problem.startswith("messages.jsonl")
    return f"Loop would refuse this session: {row.problem}" if broken else None


def resume_command(row: SessionRow) -> tuple[list[str], str]:
    """Loop's own command and the session's folder. Raises Refused with the reason."""
    reason = _resume_problem(row)
    if reason is not None or row.cwd is None:
        raise Refused(reason or "its folder is not known", row.path)
    return ["loop", "--session", row.path], row.cwd


def _resume_problem(row: SessionRow) -> str | None:
    if row.trashed_ms is not None:
        return "it is in the trash"
    if row.problem is not None:
        return f"Loop would refuse it: {row.problem}"
    if row.folder_missing or row.cwd is None:
        return f"its folder is gone: {safe_line(row.cwd or 'unknown')}"
    return None
