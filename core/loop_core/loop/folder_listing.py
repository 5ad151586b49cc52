"""What lies in a folder of sessions: candidates for sessions, and oddities."""

from __future__ import annotations

import os
import time

from loop_core import fsio

__all__ = ["Listed", "Lister", "forms_of"]

#: A deletion of ours that a kill left; see `recovery`.
OUR_DELETION = ".delete-loop-tui-"
_OUR_DELETION = "what an interrupted deletion left; loop-tui purge with this path removes it"
_LEFTOVER = "a temporary file another program left"
#: Nanoseconds. A directory changed later than this before a look may change unnoticed after
#: it: file systems count time in steps of up to two seconds.
_STEADY_NS = 3 * 10**9
#: Names in a listing that is kept. Listing more is little beside looking at the sessions.
_KEPT = 1024


class Listed:
    """`stems` maps a session's name to its forms: "d" a directory, "f" a version-2 file,
    upper case where it is a link. `oddities` are (name, reason, kind of `Problem`). `links`:
    a name is a link, or could not be looked at.
    """

    def __init__(self) -> None:
        self.stems: dict[str, str] = {}
        self.oddities: list[tuple[str, str, str]] = []
        self.links = False


class Lister:
    """Lists one folder again and again, and only when its names may have changed."""

    def __init__(self) -> None:
        self._listed = Listed()
        self._only: set[str] | None = None
        self._changed: tuple[int, ...] | None = None  # inode and times; None: not kept

    def list(self, folder: int, only: set[str] | None = None) -> Listed:
        """What lies in an open folder; of its directories `only` those named. Raises OSError."""
        status, now = os.fstat(folder), time.time_ns()
        # The second time cannot be set back by whoever copies a folder with its times.
        changed = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        if changed == self._changed and only == self._only:
            return self._listed
        listed = _list(folder, only)
        steady = now - max(changed[1:]) > _STEADY_NS
        # A link may lead elsewhere tomorrow without a change of the folder.
        if steady and not listed.links and len(listed.stems) <= _KEPT:
            self._listed, self._only, self._changed = listed, only, changed
        else:
            self._listed, self._changed = Listed(), None
        return listed


def _list(folder: int, only: set[str] | None) -> Listed:
    listed = Listed()
    stems = listed.stems
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            try:
                if name[0] == ".":
                    _hidden(name, listed)
                elif entry.is_dir():
                    if only is None or name in only:
                        form = "d"
                        if entry.is_symlink():
                            form, listed.links = "D", True
                        stems[name] = form + stems[name] if name in stems else form
                else:
                    _file(entry, listed)
            except OSError as error:
                listed.links = True
                listed.oddities.append(
                    (name, f"cannot be looked at: {error.strerror}", "unreadable")
                )
    return listed


def _file(entry: os.DirEntry[str], listed: Listed) -> None:
    name = entry.name
    linked = entry.is_symlink()
    listed.links = listed.links or linked
    if name.endswith(".jsonl"):
        if entry.is_file():
            form = "F" if linked else "f"
            listed.stems[name[:-6]] = listed.stems.get(name[:-6], "") + form
        else:
            listed.oddities.append((name, "not a regular file", "unreadable"))
    elif name.endswith(".tmp"):
        listed.oddities.append((name, _LEFTOVER, "leftover"))
    elif linked and not entry.is_file():
        listed.oddities.append((name, "a symbolic link that leads nowhere", "unreadable"))


def _hidden(name: str, listed: Listed) -> None:
    """Loop ignores such names; staging of others is shown, ours is recovered elsewhere."""
    if name.startswith(OUR_DELETION):
        listed.oddities.append((name, _OUR_DELETION, "leftover"))
    elif name.startswith(".delete-"):
        listed.oddities.append((name, "an unfinished deletion", "leftover"))
    elif name.endswith(".tmp") and not fsio.is_our_temporary(name):
        listed.oddities.append((name, _LEFTOVER, "leftover"))


def forms_of(folder: str, stem: str) -> str:
    """The forms of one session, as `list_folder` would tell them."""
    forms = ""
    for form, path in (("d", f"{folder}/{stem}"), ("f", f"{folder}/{stem}.jsonl")):
        if os.path.isdir(path) if form == "d" else os.path.isfile(path):
            forms += form.upper() if os.path.islink(path) else form
    return forms
