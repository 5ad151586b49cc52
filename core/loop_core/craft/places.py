"""What a path of Craft-Agents belongs to: the running application, the workspace, the session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from loop_core.craft.running import LOCK_NAME, Owner, owner_of
from loop_core.craft.scan import WorkspaceScanner
from loop_core.craft.workspaces import default_config_dir, get_config_dir, load_workspaces
from loop_core.model import WatchRoot

__all__ = ["changed_sessions", "owner_of_workspace", "watch_roots"]


def owner_of_workspace(config_dir: str, workspace_root: str) -> Owner | None:
    """The application that has a workspace of `config_dir` open, or None.

    The lock lies beside the configuration; a workspace of the default folder may be open
    by an application with another configuration (craft-format section 1).
    """
    for place in _owning_dirs(config_dir, workspace_root):
        owner = owner_of(place)
        if owner is not None:
            return owner
    return None


def _owning_dirs(config_dir: str, workspace_root: str) -> list[str]:
    """The configuration directories whose application may have the workspace open."""
    places = [config_dir]
    default = default_config_dir()
    real = os.path.realpath(workspace_root)
    for other in (get_config_dir(), default):
        if other == config_dir:
            continue
        inside = real.startswith(os.path.realpath(os.path.join(default, "workspaces")) + os.sep)
        if inside or any(os.path.realpath(w.root) == real for w in load_workspaces(other)):
            places.append(other)
    return list(dict.fromkeys(places))


def watch_roots(config_dir: str, scanners: Iterable[WorkspaceScanner]) -> tuple[WatchRoot, ...]:
    """The folders whose changes concern the store; nothing of remote workspaces."""
    roots = [WatchRoot(config_dir, recursive=False, exists=os.path.isdir(config_dir))]
    for scanner in scanners:
        if scanner.workspace.remote:
            continue
        for path, recursive in ((scanner.sessions, True), (scanner.trash, False)):
            roots.append(WatchRoot(path, recursive=recursive, exists=os.path.isdir(path)))
        statuses = os.path.join(scanner.root, "statuses")
        if os.path.isdir(statuses):
            roots.append(WatchRoot(statuses, recursive=False))
    return tuple(roots)


def changed_sessions(
    scanners: Sequence[WorkspaceScanner], paths: Iterable[str]
) -> dict[str, set[str] | None] | None:
    """The session folders that changes at `paths` concern, by root of their workspace.

    A workspace's value is None when more than single sessions may be concerned; the whole
    result is None when a path lies in no workspace, so that the list itself may be another.
    """
    deepest_first = sorted(scanners, key=lambda one: len(one.root), reverse=True)
    changed: dict[str, set[str] | None] = {}
    for path in paths:
        scanner = next((s for s in deepest_first if path.startswith(s.root + os.sep)), None)
        if scanner is None:
            if os.path.basename(path) == LOCK_NAME:
                continue  # who is running is asked anew by every scan
            return None
        name = _session_in(scanner, path)
        names = changed.setdefault(scanner.root, set())
        if name is None or names is None:
            changed[scanner.root] = None
        else:
            names.add(name)
    return changed


def _session_in(scanner: WorkspaceScanner, path: str) -> str | None:
    """The session folder a changed path lies in; None when more than one may be concerned."""
    inside = scanner.sessions + os.sep
    if not path.startswith(inside):
        return None
    name = path[len(inside) :].split(os.sep, 1)[0]
    return name or None
