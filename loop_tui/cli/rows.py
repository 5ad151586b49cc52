"""A session row as a JSON object and as the cells of a table (docs/SCHEMA.md)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

from loop_core.model import Project, SessionRow


def row_object(row: SessionRow, project: str) -> dict[str, Any]:
    """The stable form of a row; times are ISO 8601 in UTC."""
    return {
        "source": row.source,
        "id": row.id,
        "path": row.path,
        "cwd": row.cwd,
        "project": project or None,
        "title": row.title,
        "createdAt": iso(row.created_ms),
        "updatedAt": iso(row.updated_ms or None),
        "unread": row.unread,
        "pinnedAt": iso(row.pinned_ms),
        "archived": row.archived,
        "messageCount": row.message_count,
        "bytes": row.size,
        "status": row.status,
        "labels": list(row.labels),
        "problem": row.problem,
    }


def project_names(projects: Iterable[Project]) -> dict[str, str]:
    """A name a project key: with the parent's last part, or all of it, where names collide."""
    from loop_tui.state import display_names

    projects = tuple(projects)
    names: dict[str, str] = {}
    for key, (name, parent) in display_names(projects).items():
        names[key] = f"{os.path.basename(parent.rstrip('/'))}/{name}" if parent else name
    shared = Counter((project.source, names[project.key]) for project in projects)
    for project in projects:
        if shared[project.source, names[project.key]] > 1:
            names[project.key] = f"{project.parent}/{project.name}"
    return names


def iso(time_ms: int | None) -> str | None:
    from loop_core.loop.dates import iso_from_ms

    return None if time_ms is None else iso_from_ms(time_ms)


def shown_title(row: SessionRow) -> str:
    return row.title or "New session"


def marks(row: SessionRow, now_ms: int, *, ascii_only: bool) -> str:
    """The state of a row in glyphs, each where it applies."""
    from loop_tui.text import glyphs

    signs = glyphs(ascii_only)
    states = (
        (row.unread, signs.unread),
        (row.pinned_ms is not None, signs.pinned),
        (row.archived, signs.archived),
        (row.running(now_ms), signs.running),
        (row.problem is not None, signs.damaged),
        (row.folder_missing, signs.missing),
    )
    return "".join(sign for holds, sign in states if holds)
