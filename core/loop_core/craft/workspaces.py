"""Configuration directories and the workspaces they know.

craft-format section 1. The configuration holds secrets (server and workspace tokens): only
the fields named in `Workspace` are taken out of it, and the rest is dropped at once. Unlike
the application's loader, reading creates nothing.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from loop_core.craft.statuses import read_json
from loop_core.craft.tokens import expand_home

__all__ = [
    "Workspace",
    "config_dirs",
    "default_config_dir",
    "default_workspaces_dir",
    "discover_workspaces",
    "get_config_dir",
    "load_workspaces",
    "workspace_name",
]


class Workspace(NamedTuple):
    """One workspace: absolute folder, name, and whether its sessions are on another machine."""

    root: str
    name: str
    remote: bool = False
    listed: bool = True  # named by config.json; else found in the default folder
    id: str | None = None


def default_config_dir() -> str:
    """``<home>/.craft-agent``."""
    return os.path.join(os.path.expanduser("~"), ".craft-agent")


def get_config_dir() -> str:
    """`CRAFT_CONFIG_DIR`, else ``<home>/.craft-agent``."""
    chosen = os.environ.get("CRAFT_CONFIG_DIR")
    return os.path.abspath(chosen) if chosen else default_config_dir()


def config_dirs() -> list[str]:
    """Every configuration directory to look in, the chosen one first.

    The application looks for workspaces in ``<home>/.craft-agent/workspaces`` even when
    `CRAFT_CONFIG_DIR` names another place (issue 1062), so both count.
    """
    return list(dict.fromkeys((get_config_dir(), default_config_dir())))


def default_workspaces_dir() -> str:
    """Where the application puts new workspaces, whatever `CRAFT_CONFIG_DIR` says."""
    return os.path.join(default_config_dir(), "workspaces")


def workspace_name(root: str | os.PathLike[str]) -> str:
    """`name` of the workspace's config.json, else the folder's name, else "Untitled"."""
    value = read_json(os.path.join(os.fspath(root), "config.json"))
    name = value.get("name") if isinstance(value, dict) else None
    if isinstance(name, str) and name:
        return name
    return os.path.basename(os.fspath(root).rstrip("/")) or "Untitled"


def discover_workspaces(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Every directory in `folder` (the default one) that holds a `config.json`, sorted."""
    base = default_workspaces_dir() if folder is None else os.fspath(folder)
    try:
        with os.scandir(base) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []
    roots = (os.path.join(base, name) for name in names)
    return [root for root in roots if os.path.isfile(os.path.join(root, "config.json"))]


def load_workspaces(config_dir: str | os.PathLike[str]) -> list[Workspace]:
    """The workspaces listed in `<config_dir>/config.json`, in its order.

    [] when the file is missing, not JSON, or its `workspaces` is no array.
    """
    return listed_workspaces(config_dir) or []


def listed_workspaces(config_dir: str | os.PathLike[str]) -> list[Workspace] | None:
    """`load_workspaces`, or None where the list cannot be read (or is being rewritten)."""
    value = read_json(os.path.join(os.fspath(config_dir), "config.json"))
    entries = value.get("workspaces") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        return None
    found = (_workspace(entry) for entry in entries)
    return [workspace for workspace in found if workspace is not None]


def _workspace(entry: Any) -> Workspace | None:
    """The needed fields of one entry; None when it names no folder."""
    root = entry.get("rootPath") if isinstance(entry, dict) else None
    if not isinstance(root, str) or not root or "\0" in root:
        return None
    path = expand_home(root)
    name = entry.get("name")
    ident = entry.get("id")
    return Workspace(
        path.rstrip("/") or "/",
        name if isinstance(name, str) and name else os.path.basename(path.rstrip("/")),
        remote=bool(entry.get("remoteServer")),
        id=ident if isinstance(ident, str) else None,
    )


def all_workspaces(config_dir: str, listed: list[Workspace]) -> list[Workspace]:
    """`listed`, then those found in the `workspaces` folder of the configuration directory.

    The default folder so belongs to the default configuration directory.
    """
    found = list(listed)
    seen = {os.path.realpath(workspace.root) for workspace in found}
    for root in discover_workspaces(os.path.join(config_dir, "workspaces")):
        real = os.path.realpath(root)
        if real not in seen:
            seen.add(real)
            found.append(Workspace(root, workspace_name(root), listed=False))
    return found
