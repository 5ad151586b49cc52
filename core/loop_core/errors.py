"""Every way the storage package can fail, on one screen.

::

    LoopError
    ├── UnsupportedSession   format or version is not ours; lists skip it
    ├── InvalidSession       metadata, JSON, message rules, pairing, checksum, missing cwd
    ├── SessionNotFound      nothing published at that path or under that id
    ├── InvalidArchive       archive.json is not what Loop would read
    ├── InvalidArgument      the caller's mistake (also a ValueError)
    ├── PendingSave          an earlier save failed and waits for flush()
    ├── Conflict             another writer was there first
    │   └── StaleRevision    the history is no longer of the generation asked for
    ├── TraceLocked          a trace of the session is owned by a live process
    ├── Refused              the action is not allowed now; the reason says why
    │   ├── ReadOnly         the program runs with --read-only
    │   └── NotUndoable      the session changed, so undo or redo would be wrong
    └── StorageFailed        the operating system refused; names the path, wraps the OSError

Reasons are one short line a person can act on. Paths and reasons are raw; a front end
sanitizes what it shows.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = [
    "Conflict",
    "InvalidArchive",
    "InvalidArgument",
    "InvalidSession",
    "LoopError",
    "NotUndoable",
    "PendingSave",
    "ReadOnly",
    "Refused",
    "SessionNotFound",
    "StaleRevision",
    "StorageFailed",
    "TraceLocked",
    "UnsupportedSession",
]

_PathLike = str | os.PathLike[str]


class LoopError(Exception):
    """Base of every expected failure of the storage package."""

    def __init__(self, reason: str = "", path: _PathLike | None = None) -> None:
        self.reason = reason
        self.path = None if path is None else os.fspath(path)
        super().__init__(reason if self.path is None else f"{self.path}: {reason}")


class UnsupportedSession(LoopError):
    """The file says it is of another format or version; a list skips it."""


class InvalidSession(LoopError):
    """A session that Loop would refuse to open.

    `line` is the 1-based physical line of the file at `path`, or None when the fault is not
    on a line (a checksum, a missing folder).
    """

    def __init__(
        self, path: _PathLike | None = None, reason: str = "", line: int | None = None
    ) -> None:
        self.line = line
        super().__init__(reason, path)
        if line is not None:
            self.args = (f"{'' if self.path is None else self.path}:{line}: {reason}",)


class SessionNotFound(LoopError):
    """No published session at that path or under that id."""


class InvalidArchive(LoopError):
    """archive.json holds something Loop refuses; it is never overwritten."""


class InvalidArgument(LoopError, ValueError):
    """The caller passed a value outside the contract."""


class PendingSave(LoopError):
    """An earlier save failed; `flush()` it first."""


class Conflict(LoopError):
    """Another writer changed the same thing; nothing of ours was written."""


class StaleRevision(Conflict):
    """The message generation asked for is no longer the committed one."""


class TraceLocked(LoopError):
    """A trace lock names a live process, or cannot be understood."""


class Refused(LoopError):
    """The action is not allowed now; the reason says why and what would help."""


class ReadOnly(Refused):
    """Writing is switched off (`--read-only`)."""


class NotUndoable(Refused):
    """The session has changed, so taking the action back would be wrong."""


class StorageFailed(LoopError):
    """The operating system refused; `error` is the OSError."""

    def __init__(self, error: OSError, path: _PathLike | None = None, doing: str = "") -> None:
        self.error = error
        self.errno = error.errno
        what = error.strerror or type(error).__name__
        super().__init__(f"{doing}: {what}" if doing else what, path or error.filename)


def reason_of(error: BaseException) -> str:
    """One line for a person: the reason of a `LoopError`, else the type and text."""
    if isinstance(error, LoopError):
        return error.reason or type(error).__name__
    text: Any = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
