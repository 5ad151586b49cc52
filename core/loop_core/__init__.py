"""Sessions of coding agents on disk: Loop and Craft-Agents. See docs/ARCHITECTURE.md.

The names below are the Loop SDK; `loop_core.craft` is the one for Craft-Agents. Each is
imported when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loop_core import errors
    from loop_core.errors import (
        Conflict,
        InvalidArchive,
        InvalidArgument,
        InvalidSession,
        LoopError,
        NotUndoable,
        PendingSave,
        ReadOnly,
        Refused,
        SessionNotFound,
        StaleRevision,
        StorageFailed,
        TraceLocked,
        UnsupportedSession,
    )
    from loop_core.loop.archive import SessionArchive
    from loop_core.loop.check import CheckResult, check
    from loop_core.loop.manager import KEEP, HistoryPage, SessionInfo, SessionManager
    from loop_core.loop.paths import get_agent_dir, get_session_dir, get_trace_dir

__all__ = [
    "KEEP",
    "CheckResult",
    "Conflict",
    "HistoryPage",
    "InvalidArchive",
    "InvalidArgument",
    "InvalidSession",
    "LoopError",
    "NotUndoable",
    "PendingSave",
    "ReadOnly",
    "Refused",
    "SessionArchive",
    "SessionInfo",
    "SessionManager",
    "SessionNotFound",
    "StaleRevision",
    "StorageFailed",
    "TraceLocked",
    "UnsupportedSession",
    "check",
    "errors",
    "get_agent_dir",
    "get_session_dir",
    "get_trace_dir",
]

_HOMES = {
    "CheckResult": "loop_core.loop.check",
    "check": "loop_core.loop.check",
    "SessionArchive": "loop_core.loop.archive",
    "KEEP": "loop_core.loop.manager",
    "HistoryPage": "loop_core.loop.manager",
    "SessionInfo": "loop_core.loop.manager",
    "SessionManager": "loop_core.loop.manager",
    "get_agent_dir": "loop_core.loop.paths",
    "get_session_dir": "loop_core.loop.paths",
    "get_trace_dir": "loop_core.loop.paths",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "errors":
        return import_module("loop_core.errors")
    value = getattr(import_module(_HOMES.get(name, "loop_core.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
