"""Create, load, save, delete and list sessions of a workspace (S2; craft-format sections 2, 9).

The folder name is the identity. Every id is checked before it becomes part of a path: the
application's own delete, given an empty id, removes all sessions of a workspace.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loop_core import fsio
from loop_core.craft.header import NO_USAGE, read_session_header, truthy
from loop_core.craft.ids import check_id, generate_id, is_valid_id
from loop_core.craft.messages import StoredSession, read_session_jsonl
from loop_core.craft.statuses import load_statuses, status_of
from loop_core.craft.tokens import expand_home
from loop_core.errors import InvalidArgument, StorageFailed

__all__ = [
    "SUBFOLDERS",
    "create_session",
    "delete_session",
    "ensure_session_dir",
    "filter_sessions",
    "get_session_file_path",
    "get_session_path",
    "list_sessions",
    "load_session",
]

SUBFOLDERS = ("attachments", "plans", "data", "long_responses", "downloads")
SESSION_FILE = "session.jsonl"
_PathLike = str | os.PathLike[str]


def sessions_dir(workspace_root: _PathLike) -> str:
    """``<workspace>/sessions``, absolute; ``~`` is expanded."""
    return os.path.join(expand_home(os.fspath(workspace_root)).rstrip("/") or "/", "sessions")


def get_session_path(workspace_root: _PathLike, session_id: str) -> Path:
    """The absolute folder of a session. Raises InvalidArgument for an id that is none."""
    return Path(sessions_dir(workspace_root), check_id(session_id))


def get_session_file_path(workspace_root: _PathLike, session_id: str) -> Path:
    """The absolute path of a session's `session.jsonl`."""
    return get_session_path(workspace_root, session_id) / SESSION_FILE


def ensure_session_dir(workspace_root: _PathLike, session_id: str) -> Path:
    """Make the session's folder and its five standard subfolders; returns the folder."""
    folder = get_session_path(workspace_root, session_id)
    make_folders(os.fspath(folder))
    return folder


def make_folders(folder: str) -> None:
    """The folder of a session and its standard subfolders. Raises StorageFailed."""
    for path in (folder, *(os.path.join(folder, name) for name in SUBFOLDERS)):
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise StorageFailed(error, path, "making the session's folder") from error


def create_session(
    workspace_root: _PathLike, *, name: str | None = None, working_directory: str | None = None
) -> StoredSession:
    """Make an empty session with a fresh id and write it at once.

    `sdkCwd` is the working directory, else the session's folder, and never changes. Raises
    StorageFailed.
    """
    from loop_core.craft.queue import save_session

    root = os.path.dirname(sessions_dir(workspace_root))
    base = os.path.join(root, "sessions")
    try:
        os.makedirs(base, exist_ok=True)
        taken = set(os.listdir(base))
    except OSError as error:
        raise StorageFailed(error, base, "making a session") from error
    ident = generate_id(taken)
    folder = os.fspath(ensure_session_dir(root, ident))
    now = int(time.time() * 1000)
    header: dict[str, Any] = {
        "id": ident,
        "workspaceRootPath": root,
        "sdkCwd": folder if working_directory is None else expand_home(working_directory),
        "createdAt": now,
        "lastUsedAt": now,
    }
    if name is not None:
        header["name"] = name
    if working_directory is not None:
        header["workingDirectory"] = expand_home(working_directory)
    header["tokenUsage"] = dict(NO_USAGE)
    session = StoredSession(header, path=os.path.join(folder, SESSION_FILE))
    save_session(session)
    return session


def load_session(workspace_root: _PathLike, session_id: str) -> StoredSession | None:
    """The whole session, read tolerantly; None when it is missing or unreadable.

    An id that must not become a path is answered with None: no such session can exist.
    """
    if not is_valid_id(session_id):
        return None
    return read_session_jsonl(get_session_file_path(workspace_root, session_id))


def delete_session(workspace_root: _PathLike, session_id: str) -> bool:
    """Remove a session's folder for good; True also when nothing was there.

    Raises InvalidArgument for a bad id, where the application deletes the whole `sessions`
    folder or the workspace, and StorageFailed. A link is removed, not what it leads to.
    """
    folder = os.fspath(get_session_path(workspace_root, session_id))
    if os.path.islink(folder):
        fsio.remove_file(folder)
    elif os.path.lexists(folder):
        fsio.remove_tree(folder)
    return True


def _spread(header: Any) -> dict[str, Any]:
    """The keys an object spread of a JSON value copies."""
    if isinstance(header, dict):
        return dict(header)
    if isinstance(header, list):
        return {str(index): item for index, item in enumerate(header)}
    if isinstance(header, str):
        units = header.encode("utf-16-le", "surrogatepass")
        return {
            str(at // 2): units[at : at + 2].decode("utf-16-le", "surrogatepass")
            for at in range(0, len(units), 2)
        }
    return {}


def _expanded(value: Any) -> str | None:
    """A stored path made absolute; None for a falsy one. Raises TypeError for anything else."""
    if not truthy(value):
        return None
    if not isinstance(value, str):
        raise TypeError("a path that is not text")
    return expand_home(value)


def plan_count(folder: str) -> int:
    """How many ``*.md`` files the session's `plans` folder holds."""
    try:
        return sum(name.endswith(".md") for name in os.listdir(os.path.join(folder, "plans")))
    except OSError:
        return 0


def list_entry(
    header: Any, workspace_root: str, folder: str, known: frozenset[str]
) -> dict[str, Any] | None:
    """A header as the application's list converts it; None where its conversion fails."""
    entry = _spread(header)
    stored = entry if isinstance(header, dict) else {}
    try:
        working = _expanded(stored.get("workingDirectory"))
        sdk = _expanded(stored.get("sdkCwd")) or working
    except TypeError:
        return None
    for key in ("enabledSourceSlugs", "pendingPlanExecution", "workingDirectory", "sdkCwd"):
        entry.pop(key, None)
    # These five come last in the application's object, whatever the header's order.
    for key in ("workspaceRootPath", "sessionStatus", "planCount"):
        entry.pop(key, None)
    entry["workspaceRootPath"] = workspace_root
    entry["sessionStatus"] = status_of(header, known)
    plans = plan_count(folder)
    if plans:
        entry["planCount"] = plans
    if working is not None:
        entry["workingDirectory"] = working
    if sdk is not None:
        entry["sdkCwd"] = sdk
    return entry


def list_sessions(workspace_root: _PathLike) -> list[dict[str, Any]]:
    """Every session the application would list, converted as it does, newest save first.

    Links, files, and sessions whose header does not fit 8 KiB are skipped, as there; hidden
    and archived sessions are included. Unlike there, nothing on disk changes: no
    `session.jsonl.tmp` is deleted, no status icon made. With a `lastUsedAt` that is no number
    the order is undefined; ours is stable by folder name.
    """
    root = os.path.dirname(sessions_dir(workspace_root))
    base = os.path.join(root, "sessions")
    try:
        with os.scandir(base) as entries:
            names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return []
    known = frozenset(status.id for status in load_statuses(root))
    found: list[dict[str, Any]] = []
    for name in names:
        folder = os.path.join(base, name)
        header = read_session_header(os.path.join(folder, SESSION_FILE))
        if header is None:
            continue
        entry = list_entry(header, os.fspath(workspace_root), folder, known)
        if entry is not None:
            found.append(entry)
    found.sort(key=functools.cmp_to_key(_newest_first))
    return found


def _number(entry: dict[str, Any]) -> float:
    value = entry.get("lastUsedAt")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _newest_first(a: dict[str, Any], b: dict[str, Any]) -> int:
    left, right = _number(a), _number(b)
    return (right > left) - (right < left)  # NaN compares as equal, as in JavaScript's sort


def _active(entry: dict[str, Any], _: str | None) -> bool:
    return entry.get("isArchived") is not True


_FILTERS: dict[str, Callable[[dict[str, Any], str | None], bool]] = {
    "active": _active,
    "archived": lambda entry, _: entry.get("isArchived") is True,
    "flagged": lambda entry, _: _active(entry, None) and entry.get("isFlagged") is True,
    "inbox": lambda entry, category: _active(entry, None) and category == "open",
    "completed": lambda entry, category: _active(entry, None) and category == "closed",
}


def filter_sessions(
    entries: list[dict[str, Any]], name: str, workspace_root: _PathLike
) -> list[dict[str, Any]]:
    """The entries of `list_sessions` that a filter keeps, in order.

    `name`: active, archived, flagged, inbox (open statuses), completed (closed ones). Raises
    InvalidArgument for another name.
    """
    keep = _FILTERS.get(name)
    if keep is None:
        raise InvalidArgument(f"no such filter: {name!r}")
    category = {status.id: status.category for status in load_statuses(workspace_root)}
    return [entry for entry in entries if keep(entry, category.get(entry["sessionStatus"]))]
