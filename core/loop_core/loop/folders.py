"""Working directories of sessions, and the projects they make.

A session belongs to the project of its real working directory when the folder it lies in is
named by that directory's hash, or when the folder was named by the user. Any other session
belongs to the folder's own global project (loop-format, "Our decisions" 7).
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from typing import Any, NamedTuple

from loop_core import fsio
from loop_core.errors import LoopError
from loop_core.jsonvalue import JsonSyntaxError, loads
from loop_core.loop.paths import os_path, workspace_hash
from loop_core.model import Project
from loop_core.mounts import Mounts
from loop_core.sanitize import safe_line

__all__ = ["Folder", "Folders", "read_names"]

_NAMES_LIMIT = 4 << 20
#: Seconds a network mount may take to say whether a folder is there.
_PATIENCE = 1.0
#: Seconds for which the table of mounts is taken to be as it was.
_MOUNTS = 5.0


class Folder(NamedTuple):
    """A working directory: its real path, its hash, and whether it is gone.

    `identity` is its device and inode, None for one that is gone.
    """

    real: str
    digest: str
    missing: bool
    identity: tuple[int, int] | None = None


class Folders:
    """Working directories looked at once a scan, and the projects made of them."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.projects: dict[str, Project] = {}
        self._names: dict[str, str] = {}
        self._seen: dict[str, Folder] = {}
        self._resolved: dict[str, Folder] = {}  # as last seen in any scan
        self._places: dict[tuple[str, str], tuple[str, bool]] = {}
        self._mounts = Mounts()
        self._mounts_due = time.monotonic() + _MOUNTS

    def look_again(self) -> None:
        """Forget which directories exist; projects keep their keys."""
        self._seen = {}
        self._places = {}
        if time.monotonic() >= self._mounts_due:
            self._mounts = Mounts()
            self._mounts_due = time.monotonic() + _MOUNTS

    def rename(self, names: dict[str, str]) -> None:
        """Use these names of directories from now on, for projects already made too."""
        if names == self._names:
            return
        self._names = names
        for key, project in self.projects.items():
            if project.cwd is not None:
                self.projects[key] = self._for_folder(key, project.cwd, project.path)

    def folder(self, cwd: str) -> Folder:
        found = self._seen.get(cwd)
        if found is None:
            mount = self._mounts.of(cwd) if self._mounts.any_remote else None
            if mount is not None and mount.remote:
                found = _look_with_patience(cwd)
            else:
                before = self._resolved.get(cwd)
                # Resolving a path costs ten times as much as seeing that it is the same.
                found = before if before is not None and _is_same(cwd, before) else _look(cwd)
            self._seen[cwd] = self._resolved[cwd] = found
        return found

    def place_of(self, cwd: str, collection: str, *, named: bool) -> tuple[str, bool]:
        """`project_of`, and whether the working directory is gone; remembered for a scan."""
        found = self._places.get((cwd, collection))
        if found is None:
            missing = bool(cwd) and self.folder(cwd).missing
            found = (self.project_of(cwd, collection, named=named), missing)
            self._places[cwd, collection] = found
        return found

    def project_of(self, cwd: str, collection: str, *, named: bool) -> str:
        """Key of the project of a session with `cwd` in `collection`.

        `named`: the user named this collection; its sessions are grouped by directory.
        """
        if cwd:
            folder = self.folder(cwd)
            if named or folder.digest == os.path.basename(collection):
                key = f"{self.store}|{folder.real}"
                if key not in self.projects:
                    self.projects[key] = self._for_folder(key, folder.real, collection)
                return key
        key = f"{self.store}|in:{collection}"
        if key not in self.projects:
            self.projects[key] = self._for_collection(key, collection)
        return key

    def _for_folder(self, key: str, real: str, collection: str) -> Project:
        name = self._names.get(real) or os.path.basename(real) or real
        return Project(
            key=key,
            source="loop",
            store=self.store,
            name=safe_line(name, 200),
            cwd=real,
            path=collection,
            parent=safe_line(_short(os.path.dirname(real)), 300),
        )

    def _for_collection(self, key: str, collection: str) -> Project:
        return Project(
            key=key,
            source="loop",
            store=self.store,
            name=safe_line(os.path.basename(collection) or collection, 200),
            path=collection,
            parent=safe_line(_short(os.path.dirname(collection)), 300),
            kind="global",
        )


def _identity(cwd: str) -> tuple[int, int] | None:
    """Device and inode of a directory; None when it is none. ValueError: it cannot be one."""
    path = os_path(cwd)
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _is_same(cwd: str, before: Folder) -> bool:
    try:
        same = _identity(cwd) == before.identity
        # Through a link, the real path has to lead to the same directory still.
        return same and (before.real == cwd or _identity(before.real) == before.identity)
    except ValueError:
        return before.identity is None


def _look(cwd: str) -> Folder:
    try:
        path = os_path(cwd)
        identity = _identity(cwd)
    except ValueError:
        return Folder(cwd, "", missing=True)
    missing = identity is None
    # Loop hashes the real path; a directory that is gone was stored in that form.
    real = cwd if missing else os.fsdecode(os.path.realpath(path))
    try:
        return Folder(real, workspace_hash(cwd), missing, identity)
    except (OSError, ValueError, LoopError):
        return Folder(real, "", missing, identity)


def _look_with_patience(cwd: str) -> Folder:
    """The same for a mount that may not answer: then the folder counts as being there."""
    found: list[Folder] = []
    thread = threading.Thread(target=lambda: found.append(_look(cwd)), daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if found:
        return found[0]
    digest = hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return Folder(cwd, digest, missing=False)


def _short(path: str) -> str:
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path


def read_names(agent_dir: str) -> dict[str, str]:
    """Project names the web interface keeps, by directory; {} when there are none to use."""
    try:
        raw = fsio.read_file(os.path.join(agent_dir, "web-ui", "projects.json"), limit=_NAMES_LIMIT)
        entries: Any = loads(raw)
    except (LoopError, JsonSyntaxError):
        return {}
    names: dict[str, str] = {}
    for entry in entries if isinstance(entries, list) else ():
        cwd, name = (entry.get(k) for k in ("cwd", "name")) if isinstance(entry, dict) else ("", "")
        if isinstance(cwd, str) and isinstance(name, str) and cwd.startswith("/") and name.strip():
            names[cwd] = name.strip()
    return names
