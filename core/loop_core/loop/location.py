"""Where a store lies: an agent directory or one collection, its traces, what to watch."""

from __future__ import annotations

import os

from loop_core.model import WatchRoot
from loop_core.sanitize import safe_line

__all__ = ["away", "default_traces", "holds_sessions", "label_of", "watch_roots"]


def holds_sessions(root: str) -> bool:
    """Whether a directory is a collection: it holds sessions itself."""
    if os.path.isdir(os.path.join(root, "sessions")):
        return False
    try:
        with os.scandir(root) as entries:
            return any(
                entry.name == "archive.json"
                or entry.name.endswith(".jsonl")
                or os.path.lexists(os.path.join(entry.path, "meta.json"))
                for entry in entries
            )
    except OSError:
        return False


def default_traces(root: str, *, agent: bool) -> str | None:
    """The folder of trace directories that goes with `root`; None when none can be told."""
    if agent:
        return os.path.join(root, "traces")
    # A collection in its usual place below an agent directory.
    parent, name = os.path.split(os.path.dirname(root))
    return os.path.join(parent, "traces") if name == "sessions" else None


def away(folder: str, *store: str) -> str | None:
    """Why nothing is written in `folder`: a link leads from the store to another place.

    Only a file may be linked there (loop-format "Our decisions" 12); whole directories belong
    to whoever keeps them. None when the folder lies in one of the folders `store`, which may
    be links themselves.
    """
    real = os.path.realpath(folder)
    for inside in map(os.path.realpath, store):
        if real == inside or real.startswith(inside.rstrip(os.sep) + os.sep):
            return None
    return f"a symbolic link leads out of the store, to {safe_line(real)}; change it there"


def label_of(root: str) -> str:
    """The store's name for people, the home directory shortened."""
    home = os.path.expanduser("~")
    inside = root.startswith(home + os.sep)
    return safe_line("Loop " + ("~" + root[len(home) :] if inside else root))


def watch_roots(root: str, sessions: str, trash: str, *, agent: bool) -> tuple[WatchRoot, ...]:
    """The folders whose changes concern the store; `web-ui` holds the names of projects."""
    roots = [WatchRoot(sessions, exists=os.path.isdir(sessions))]
    roots.append(WatchRoot(trash, recursive=False, exists=os.path.isdir(trash)))
    if agent:
        names = os.path.join(root, "web-ui")
        roots.append(WatchRoot(names, recursive=False, exists=os.path.isdir(names)))
    return tuple(roots)
