"""What lies in a folder of sessions: candidates for sessions, and oddities."""

from __future__ import annotations

import os

from loop_core import fsio

__all__ = ["Listed", "forms_of", "list_folder"]

#: A deletion of ours that a kill left; see `recovery`.
OUR_DELETION = ".delete-loop-tui-"
_OUR_DELETION = "what an interrupted deletion left; loop-tui purge with this path removes it"
_LEFTOVER = "a temporary file another program left"


class Listed:
    """`stems` maps a session's name to its forms: "d" a directory, "f" a version-2 file,
    upper case where it is a link. `oddities` are (name, reason, kind of `Problem`).
    """

    def __init__(self) -> None:
        self.stems: dict[str, str] = {}
        self.oddities: list[tuple[str, str, str]] = []


def list_folder(path: str, only: set[str] | None = None) -> Listed:
    """List a folder; of its directories `only` those named. Raises OSError."""
    listed = Listed()
    stems = listed.stems
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            try:
                if name[0] == ".":
                    _hidden(name, listed)
                elif entry.is_dir():
                    if only is None or name in only:
                        form = "D" if entry.is_symlink() else "d"
                        stems[name] = form + stems[name] if name in stems else form
                else:
                    _file(entry, listed)
            except OSError as error:
                listed.oddities.append(
                    (name, f"cannot be looked at: {error.strerror}", "unreadable")
                )
    return listed


def _file(entry: os.DirEntry[str], listed: Listed) -> None:
    name = entry.name
    if name.endswith(".jsonl"):
        if entry.is_file():
            form = "F" if entry.is_symlink() else "f"
            listed.stems[name[:-6]] = listed.stems.get(name[:-6], "") + form
        else:
            listed.oddities.append((name, "not a regular file", "unreadable"))
    elif name.endswith(".tmp"):
        listed.oddities.append((name, _LEFTOVER, "leftover"))
    elif entry.is_symlink() and not entry.is_file():
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
