"""Whether the traces of a session belong to a running program.

Loop documents that trace writers lock their directory, but not how. Our reading (loop-format
"Our decisions" 10): an entry named ``lock`` or ``*.lock`` is a lock. One that names a process
that is gone is stale; one that names a live process, or that we cannot understand, counts.
"""

from __future__ import annotations

import os
import re
from typing import Any

from loop_core import fsio
from loop_core.errors import StorageFailed, TraceLocked
from loop_core.jsonvalue import JsonSyntaxError, is_safe_integer, loads

__all__ = ["check_traces", "owner_of"]

_NUMBER = re.compile(rb"[1-9][0-9]{0,9}")
_LIMIT = 1 << 16


def owner_of(trace_dir: str | os.PathLike[str]) -> str | None:
    """Why the traces at `trace_dir` are in use, in one line; None when they are free or absent.

    A directory that cannot be read counts as used.
    """
    try:
        names = os.listdir(trace_dir)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"the trace directory cannot be read: {error.strerror}"
    for name in sorted(names):
        if name == "lock" or name.endswith(".lock"):
            reason = _owner_of_lock(os.path.join(trace_dir, name))
            if reason is not None:
                return f"{name} {reason}"
    return None


def check_traces(trace_dir: str | os.PathLike[str]) -> None:
    """Raise TraceLocked when the traces at `trace_dir` are in use."""
    reason = owner_of(trace_dir)
    if reason is not None:
        raise TraceLocked(f"the traces are in use: {reason}", trace_dir)


def _owner_of_lock(path: str) -> str | None:
    try:
        # Some programs keep the owner in a link that leads nowhere: host and process id.
        target = os.readlink(path)
    except OSError:
        target = None
    if target is None:
        try:
            raw = fsio.read_file(path, limit=_LIMIT, follow=False)
        except StorageFailed as error:
            if isinstance(error.error, FileNotFoundError):
                return None
            return f"cannot be understood ({error.reason})"
    else:
        raw = os.fsencode(target)
    pid = _pid_in(raw)
    if pid is None:
        return "does not say which process holds it"
    return f"is held by process {pid}" if is_alive(pid) else None


def _pid_in(raw: bytes) -> int | None:
    """A process id: the whole text, its first line, or ``pid`` of a JSON object."""
    first = raw.split(b"\n", 1)[0].strip()
    if _NUMBER.fullmatch(first):
        return int(first)
    try:
        value = loads(raw.strip())
    except JsonSyntaxError:
        return None
    pid: Any = value.get("pid") if isinstance(value, dict) else None
    return int(pid) if is_safe_integer(pid) and pid > 0 else None


def is_alive(pid: int) -> bool:
    """Whether a process with this id exists; one we may not signal does."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OverflowError:
        return False
    except PermissionError:
        return True
    return True
