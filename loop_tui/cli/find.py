"""Which session a word of the command line means."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import Literal

from loop_core.errors import SessionNotFound
from loop_core.model import SessionRow

_FILES = ("meta.json", "session.jsonl")


def find(rows: Sequence[SessionRow], text: str, *, trashed: bool = False) -> SessionRow | None:
    """The row `text` names: a full id, a path, or an unambiguous beginning of an id.

    Where both match, sessions in the trash give way to others, or the others to them with
    `trashed`. None when nothing matches; raises SessionNotFound when several do.
    """
    if not text:
        return None
    for matches in (
        [row for row in rows if row.id == text],
        _by_path(rows, text),
        [row for row in rows if row.id.startswith(text)],
    ):
        preferred = [row for row in matches if (row.trashed_ms is not None) == trashed] or matches
        if len(preferred) == 1:
            return preferred[0]
        if preferred:
            paths = ", ".join(row.path for row in preferred[:3])
            more = f" and {len(preferred) - 3} more" if len(preferred) > 3 else ""
            raise SessionNotFound(f"{text!r} means several sessions: {paths}{more}")
    return None


def _by_path(rows: Sequence[SessionRow], text: str) -> list[SessionRow]:
    if os.sep not in text and not os.path.lexists(text):
        return []
    wanted = _canonical(text)
    found = []
    for row in rows:
        if os.path.basename(row.path) in _FILES:
            names = (row.path, os.path.dirname(row.path))
        else:
            names = (row.path,)
        if any(_canonical(name) == wanted for name in names if _may_be(name, wanted)):
            found.append(row)
    return found


def _may_be(name: str, wanted: str) -> bool:
    """Cheap refusal before links are resolved: the last component has to agree.

    A link may rename it, so a name that is a link is always worth resolving.
    """
    return os.path.basename(name) == os.path.basename(wanted) or os.path.islink(name)


def _canonical(path: str) -> str:
    """The folder resolved, the last component not: a linked session stays itself."""
    path = os.path.abspath(os.path.expanduser(path))
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def outside(text: str) -> tuple[Literal["loop", "craft"], str] | None:
    """The collection or workspace a path lies in, by its shape; None when it has none."""
    if os.sep not in text and not os.path.lexists(text):
        return None
    path = os.path.abspath(os.path.expanduser(text))
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    name = os.path.basename(path)
    if stat.S_ISDIR(mode):
        if os.path.lexists(os.path.join(path, "meta.json")):
            return "loop", os.path.dirname(path)
        if os.path.lexists(os.path.join(path, "session.jsonl")):
            return _workspace(path)
        return None
    if name == "session.jsonl":
        return _workspace(os.path.dirname(path))
    if name == "meta.json":
        return "loop", os.path.dirname(os.path.dirname(path))
    return ("loop", os.path.dirname(path)) if name.endswith(".jsonl") else None


def _workspace(folder: str) -> tuple[Literal["loop", "craft"], str] | None:
    sessions = os.path.dirname(folder)
    if os.path.basename(sessions) != "sessions":
        return None
    return "craft", os.path.dirname(sessions)
