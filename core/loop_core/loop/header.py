"""The version-2 session header, which version 3 carries unchanged inside its envelope.

Source: S0 "Header", loop-format A.2 (steps 4 to 7) and A.3.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from loop_core.errors import InvalidSession
from loop_core.jsonvalue import is_number
from loop_core.loop.dates import is_canonical_iso, parse_date_ms
from loop_core.loop.paths import is_session_id, os_path
from loop_core.loop.titles import stored_title_problem

__all__ = [
    "EFFORTS",
    "FORMAT",
    "OBSOLETE",
    "PRESETS",
    "check_cwd",
    "cwd_problem",
    "header_problem",
    "is_supported",
    "model_problem",
]

FORMAT = "loop-session"
VERSION = 2
PRESETS = ("read-only", "workspace-write", "danger-full-access")
EFFORTS = ("default", "off", "minimal", "low", "medium", "high", "xhigh", "max")

#: Ignored on load whatever it holds, and left out by the next save of Loop.
OBSOLETE = "runTimings"


def is_supported(header: Any) -> bool:
    """Whether a parsed first line says it is a version-2 session; lists skip what is not."""
    return (
        isinstance(header, dict)
        and header.get("format") == FORMAT
        and is_number(header.get("version"))
        and header["version"] == VERSION
    )


def model_problem(model: Any) -> str | None:
    """Why `model` cannot be the header's model, or None."""
    if not isinstance(model, dict):
        return "model is not an object"
    if not (isinstance(model.get("provider"), str) and isinstance(model.get("id"), str)):
        return "model lacks a provider or id string"
    if "effort" in model and model["effort"] not in EFFORTS:
        return "model.effort is unknown"
    return None


def header_problem(header: dict[str, Any]) -> str | None:
    """Why Loop would refuse the fields of a supported header, or None.

    The arrays that depend on the history are checked by `annotations`, the folder by
    `check_cwd`.
    """
    if not is_session_id(header.get("id")):
        return "id is not 36 characters of a-f, 0-9 and -"
    cwd = header.get("cwd")
    if not isinstance(cwd, str) or not cwd.startswith("/"):
        return "cwd is not an absolute path"
    for field in ("createdAt", "updatedAt"):
        moment = header.get(field)
        if not isinstance(moment, str) or parse_date_ms(moment) is None:
            return f"{field} is not a date"
    if not isinstance(header.get("unread", False), bool):
        return "unread is not a boolean"
    if "pinnedAt" in header:
        pinned = header["pinnedAt"]
        if not isinstance(pinned, str) or not is_canonical_iso(pinned):
            return "pinnedAt is not a canonical UTC timestamp"
    if header.get("permissionPreset") not in PRESETS:
        return "permissionPreset is unknown"
    if "title" in header and (problem := stored_title_problem(header["title"])):
        return problem
    if "model" in header:
        return model_problem(header["model"])
    return None


def cwd_problem(cwd: str) -> str | None:
    """Why the working directory cannot be used now, or None."""
    try:
        mode = os.stat(os_path(cwd)).st_mode
    except ValueError:
        return "the working directory's path holds a NUL character"
    except OSError as error:
        return f"the working directory cannot be used: {error.strerror}"
    return None if stat.S_ISDIR(mode) else "the working directory is not a directory"


def check_cwd(header: dict[str, Any], path: str | None = None, line: int | None = None) -> None:
    """Raise `InvalidSession` unless the header's working directory exists."""
    if problem := cwd_problem(header["cwd"]):
        raise InvalidSession(path, problem, line)
