"""Where a path on the command line lies when no open store knows it."""

from __future__ import annotations

import os
import stat
from typing import Literal

Place = tuple[Literal["loop", "craft"], str]


def outside(text: str) -> Place | None:
    """The Loop collection or Craft-Agents workspace of a session's path, by its shape."""
    if os.sep not in text and not os.path.lexists(text):
        return None
    path = os.path.abspath(os.path.expanduser(text))
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        if os.path.lexists(os.path.join(path, "meta.json")):
            return "loop", os.path.dirname(path)
        return _workspace(path) if os.path.lexists(os.path.join(path, "session.jsonl")) else None
    name, folder = os.path.basename(path), os.path.dirname(path)
    if name == "session.jsonl":
        return _workspace(folder)
    if name == "meta.json":
        return "loop", os.path.dirname(folder)
    return ("loop", folder) if name.endswith(".jsonl") else None


def _workspace(folder: str) -> Place | None:
    sessions = os.path.dirname(folder)
    if os.path.basename(sessions) != "sessions":
        return None
    return "craft", os.path.dirname(sessions)
