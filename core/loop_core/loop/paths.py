"""Where Loop keeps things: the agent directory and what is named by a workspace hash.

Source: S0 "Location", S1, and loop-format A.1.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

__all__ = [
    "ARCHIVE_FILE",
    "INDEX_FILE",
    "MESSAGES_FILE",
    "META_FILE",
    "get_agent_dir",
    "get_session_dir",
    "get_trace_dir",
    "is_session_id",
    "os_path",
    "workspace_hash",
]

META_FILE = "meta.json"
MESSAGES_FILE = "messages.jsonl"
INDEX_FILE = "index.json"
ARCHIVE_FILE = "archive.json"

_PathLike = str | os.PathLike[str]
_SESSION_ID = re.compile(r"[a-f0-9-]{36}")


def is_session_id(value: object) -> bool:
    """Whether `value` is exactly 36 of ``a-f 0-9 -``; only such ids may go into a path."""
    return isinstance(value, str) and _SESSION_ID.fullmatch(value) is not None


def os_path(text: str) -> bytes:
    """A path stored in JSON as the bytes Node hands to the system.

    Unpaired surrogates become U+FFFD. Raises ValueError for a NUL.
    """
    if "\0" in text:
        raise ValueError("the path holds a NUL character")
    try:
        return text.encode()
    except UnicodeEncodeError:
        units = text.encode("utf-16-le", "surrogatepass")
        return units.decode("utf-16-le", "replace").encode()


def get_agent_dir() -> Path:
    """Loop's agent directory: `LOOP_DATA_DIR` if set at all, else ``~/.loop``.

    An empty value means the working directory. The path is absolute, `~` in the variable is
    not expanded and links stay as they are.
    """
    chosen = os.environ.get("LOOP_DATA_DIR")
    if chosen is None:
        chosen = os.path.join(os.path.expanduser("~"), ".loop")
    return Path(os.path.abspath(chosen))


def workspace_hash(cwd: _PathLike) -> str:
    """The first 24 hex digits of SHA-256 over the real path of `cwd`.

    A folder that is gone cannot be resolved; its text is taken as it stands, which is right
    for the working directory of a stored header, since Loop writes that canonical.
    """
    try:
        given = os.fsencode(cwd)
    except UnicodeEncodeError:
        given = os_path(os.fspath(cwd))
    try:
        real = os.path.realpath(given, strict=True)
    except (OSError, ValueError):
        real = os.path.normpath(os.path.abspath(given))
    # normpath keeps two leading slashes, which realpath and Loop do not.
    return hashlib.sha256(b"/" + real.lstrip(b"/")).hexdigest()[:24]


def get_session_dir(cwd: _PathLike, agent_dir: _PathLike | None = None) -> Path:
    """The collection of the sessions of one working directory."""
    return _agent_dir(agent_dir) / "sessions" / workspace_hash(cwd)


def get_trace_dir(cwd: _PathLike, agent_dir: _PathLike | None = None) -> Path:
    """The traces of one working directory.

    Loop documents the hash but not the parent folder; ``traces`` is our reading.
    """
    return _agent_dir(agent_dir) / "traces" / workspace_hash(cwd)


def _agent_dir(agent_dir: _PathLike | None) -> Path:
    return get_agent_dir() if agent_dir is None else Path(agent_dir)
