"""Opening a session's file while the application may be replacing it (craft-format rule 1)."""

from __future__ import annotations

import os
import time

from loop_core import fsio
from loop_core.craft.sessions import SESSION_FILE
from loop_core.errors import SessionNotFound, StorageFailed

__all__ = ["TMP_FILE", "open_session", "session_files"]

TMP_FILE = SESSION_FILE + ".tmp"
_WAITS = (0.002, 0.01, 0.03, 0.08, 0.15, 0.25)


def session_files(folder: str) -> tuple[str, str]:
    """The session's file and the one a crash may have left alone."""
    return os.path.join(folder, SESSION_FILE), os.path.join(folder, TMP_FILE)


def open_session(folder: str, waits: tuple[float, ...] = _WAITS) -> tuple[int, str]:
    """A descriptor of `session.jsonl`, waiting out the application's gap; else of the `.tmp`.

    Raises SessionNotFound when neither appears, StorageFailed.
    """
    file, lone = session_files(folder)
    for wait in (*waits, None):
        try:
            return fsio.open_regular(file), file
        except StorageFailed as error:
            if not isinstance(error.error, FileNotFoundError):
                raise
        if wait is None or not os.path.isdir(folder):
            break
        time.sleep(wait)
    try:
        return fsio.open_regular(lone), lone
    except StorageFailed as error:
        if isinstance(error.error, FileNotFoundError):
            raise SessionNotFound("the session is not there any more", file) from error
        raise
