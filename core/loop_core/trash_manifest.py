"""What a trash entry says about itself, and the tolerant list of entries.

An entry is a private directory ``<trash>/<UTC stamp>-<uuid>/`` that holds ``manifest.json``
and, for each part number *n*, ``<n>/<original name>``. A part that lies on another file
system than the trash is kept in a second trash on that file system; the manifest names the
place (DESIGN "Words", *Trash*). A manifest is untrusted input: nothing it says is used as a
path before `problem_of` has passed it, and `trash` checks targets again before it moves.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from loop_core import fsio
from loop_core.errors import LoopError, reason_of
from loop_core.model import Form, Problem, Source

__all__ = [
    "MANIFEST",
    "PREFIX",
    "SIDE_TRASH",
    "Listing",
    "Part",
    "State",
    "TrashEntry",
    "entries_in",
    "entry_at",
    "is_entry_name",
    "new_entry_id",
    "read_entries",
    "write_manifest",
]

MANIFEST = "manifest.json"
PREFIX = "trash:"
SIDE_TRASH = ".loop-tui-trash"
_VERSION = 1
_LIMIT = 4 * 1024 * 1024
_NAME = re.compile(r"\d{8}T\d{9}Z-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

State = Literal["moving", "kept", "restoring", "purging"]


class Part(Struct, kw_only=True, forbid_unknown_fields=True):
    """One path of the entry: where it came from and where it lies now."""

    source: str  # raw, absolute: the original path
    kind: Literal["session", "backup", "traces", "file"]
    size: int = 0  # bytes of all regular files
    inode: int = 0  # tells ours from a newcomer after a kill
    place: str = ""  # raw: folder of the entry on another file system; "": the entry's own


class TrashEntry(Struct, kw_only=True):
    """A session in the trash. `path` is the entry's directory; the rest is the manifest."""

    version: int
    id: str  # name of the entry's directory
    session: str  # the session's id
    source: Source
    form: Form
    trashed_ms: int
    state: State
    parts: list[Part]
    store: str = ""  # id of the store it came from
    ref: str = ""  # the key it had there
    title: str | None = None
    cwd: str | None = None
    collection: str = ""
    archived: bool = False
    row: dict[str, Any] = {}
    path: str = ""

    @property
    def key_ref(self) -> str:
        """`SessionKey.ref` of the row that shows this entry."""
        return PREFIX + self.id

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def stored(self, index: int) -> str:
        """Where part `index` lies while it is in the trash."""
        part = self.parts[index]
        return os.path.join(part.place or self.path, str(index), os.path.basename(part.source))

    @property
    def session_path(self) -> str:
        """Where the session itself lies: a directory, or a version-2 file."""
        return self.stored(self.session_part)

    @property
    def original_path(self) -> str:
        return self.parts[self.session_part].source

    @property
    def session_part(self) -> int:
        return next(i for i, part in enumerate(self.parts) if part.kind == "session")

    def way_in(self) -> list[int]:
        """The order parts move in: the session last, so that it is never seen half gone."""
        return sorted(range(len(self.parts)), key=lambda i: self.parts[i].kind == "session")


class Listing(NamedTuple):
    """What a trash directory holds: entries (oldest first) and what could not be read."""

    entries: list[TrashEntry]
    problems: list[Problem]


def new_entry_id(now_ms: int | None = None) -> str:
    """A name that sorts by time and never meets another: ``20261105T101500123Z-<uuid>``."""
    now = datetime.now(UTC) if now_ms is None else datetime.fromtimestamp(now_ms / 1000, UTC)
    stamp = now.strftime("%Y%m%dT%H%M%S") + f"{now.microsecond // 1000:03d}Z"
    return f"{stamp}-{uuid.uuid4()}"


def is_entry_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def entries_in(trash_dir: str | os.PathLike[str]) -> list[TrashEntry]:
    """The readable entries of a trash directory, oldest first; [] when it is missing."""
    return read_entries(trash_dir).entries


def read_entries(trash_dir: str | os.PathLike[str], store: str = "") -> Listing:
    """Every entry, and a `Problem` (of store id `store`) for each that cannot be used.

    Never raises for a bad entry. Names that are not ours are left alone, unread.
    """
    root = os.path.abspath(os.fspath(trash_dir))
    entries: list[TrashEntry] = []
    problems: list[Problem] = []
    try:
        if os.path.islink(root):
            raise NotADirectoryError(20, "the trash is a symbolic link", root)
        names = sorted(name for name in os.listdir(root) if is_entry_name(name))
    except FileNotFoundError:
        return Listing([], [])
    except OSError as error:
        text = f"trash cannot be read: {error.strerror}"
        return Listing([], [Problem(store=store, path=root, reason=text, kind="unreadable")])
    for name in names:
        path = os.path.join(root, name)
        try:
            entry = entry_at(path)
        except LoopError as error:
            problems.append(
                Problem(
                    store=store, path=path, reason=f"trash: {reason_of(error)}", kind="leftover"
                )
            )
            continue
        if entry.state == "kept":
            entries.append(entry)
        else:
            problems.append(
                Problem(store=store, path=path, reason=_UNFINISHED[entry.state], kind="leftover")
            )
    entries.sort(key=lambda entry: (entry.trashed_ms, entry.id))
    return Listing(entries, problems)


_UNFINISHED = {
    "moving": "trash: a move to the trash was interrupted; the next start finishes it",
    "restoring": "trash: a restore was interrupted; the next start finishes it",
    "purging": "trash: a permanent removal was interrupted; the next start finishes it",
}


def entry_at(path: str) -> TrashEntry:
    """The entry whose directory is `path`, whatever its state.

    Raises LoopError when its manifest is missing, unreadable or not to be trusted.
    """
    if os.path.islink(path) or not os.path.isdir(path):
        raise LoopError("not an entry directory", path)
    manifest = os.path.join(path, MANIFEST)
    if os.path.islink(manifest):
        raise LoopError("the manifest is a symbolic link", manifest)
    if not os.path.lexists(manifest):
        raise LoopError("the manifest is missing", manifest)
    raw = fsio.read_file(manifest, limit=_LIMIT)
    try:
        value = json.loads(raw)
        entry = msgspec.convert(value, TrashEntry)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise LoopError(f"the manifest cannot be understood: {error}", manifest) from None
    problem = problem_of(entry, os.path.basename(path))
    if problem is not None:
        raise LoopError(f"the manifest cannot be trusted: {problem}", manifest)
    entry.path = path
    return entry


def problem_of(entry: TrashEntry, name: str) -> str | None:
    """Why a manifest may not be acted on; None when its form is sound."""
    if entry.version != _VERSION:
        return f"version {entry.version} is not known"
    if entry.id != name:
        return "it names another entry"
    if sum(part.kind == "session" for part in entry.parts) != 1:
        return "it does not hold exactly one session"
    for part in entry.parts:
        if not _is_plain(part.source):
            return "a path is not absolute and plain"
        if part.place and not _is_side_place(part.place, name):
            return "a part lies in a strange place"
    if len({part.source for part in entry.parts}) != len(entry.parts):
        return "a path occurs twice"
    if entry.collection and not _is_plain(entry.collection):
        return "the collection is not absolute and plain"
    return None


def _is_plain(path: str) -> bool:
    """Absolute, normalized, not the root, free of NUL."""
    return (
        path.startswith("/")
        and "\0" not in path
        and os.path.normpath(path) == path
        and os.path.basename(path) not in ("", ".", "..")
    )


def _is_side_place(path: str, name: str) -> bool:
    return _is_plain(path) and path.split("/")[-2:] == [SIDE_TRASH, name]


def write_manifest(entry: TrashEntry) -> None:
    """Publish the manifest atomically; escapes everything, for names that are not UTF-8."""
    value = msgspec.to_builtins(entry)
    del value["path"]
    data = json.dumps(value, ensure_ascii=True).encode("ascii") + b"\n"
    fsio.atomic_write(os.path.join(entry.path, MANIFEST), data, mode=0o600)
