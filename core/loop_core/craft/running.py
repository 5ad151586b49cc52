"""Is the application running? The lock file beside its configuration.

craft-format section 1, "is the app running": `<config>/.server.lock` holds JSON
``{pid, startedAt}`` or, older, a bare process number. It is stale when the process is dead or
when it started before the last boot (the number may belong to somebody else by now).
"""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime
from typing import Any, NamedTuple

from loop_core import fsio, jsonvalue
from loop_core.errors import StorageFailed

__all__ = ["LOCK_NAME", "Owner", "is_running", "owner_of"]

LOCK_NAME = ".server.lock"
_LIMIT = 64 * 1024
_BOOT_SLACK_MS = 10_000


class Owner(NamedTuple):
    """A live application: its process id (None when the lock cannot be understood)."""

    pid: int | None
    reason: str


def owner_of(config_dir: str) -> Owner | None:
    """The application that owns `config_dir` now, or None.

    A lock we cannot read or understand counts as live: writing beside a running application
    loses data, refusing does not.
    """
    path = os.path.join(config_dir, LOCK_NAME)
    try:
        data = fsio.read_file(path, limit=_LIMIT)
    except StorageFailed as error:
        if isinstance(error.error, (FileNotFoundError, NotADirectoryError)):
            return None
        return Owner(None, f"Craft-Agents may be running: {LOCK_NAME} cannot be read")
    pid, started = _parse(data)
    if pid is None:
        return Owner(None, f"Craft-Agents may be running: {LOCK_NAME} is not understood")
    if not _alive(pid) or (started is not None and started < _boot_ms() - _BOOT_SLACK_MS):
        return None
    return Owner(pid, f"Craft-Agents is running (process {pid})")


def is_running(config_dir: str | os.PathLike[str]) -> bool:
    """Whether a live application owns the configuration directory."""
    return owner_of(os.fspath(config_dir)) is not None


def _parse(data: bytes) -> tuple[int | None, float | None]:
    """Process id and start (Unix ms) of a lock; None for what is not there."""
    try:
        value: Any = jsonvalue.loads(data)
    except jsonvalue.JsonSyntaxError:
        return None, None
    started: float | None = None
    if isinstance(value, dict):
        started = _time_ms(value.get("startedAt"))
        value = value.get("pid")
    if not jsonvalue.is_integer(value):
        return None, None
    pid = int(value)
    return (pid, started) if 0 < pid < 2**31 else (None, None)


def _time_ms(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp() * 1000
        except (ValueError, OverflowError):
            return None
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it exists and belongs to somebody else
    return True


def _boot_ms() -> float:
    """When this machine started; time asleep counts."""
    clock = time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC
    return (time.time() - time.clock_gettime(clock)) * 1000
