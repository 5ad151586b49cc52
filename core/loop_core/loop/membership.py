"""archive.json: which sessions of a collection are archived (S1 "Storage and failures").

A JSON array of ids in the order they were added, compact, with one line feed. It is changed
by compare-and-swap, because Loop re-reads it before each of its own writes and may write at
any moment; it is created by link, so that a file Loop just created is never overwritten. A
file Loop would refuse is never overwritten either, and a symbolic link is not followed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from loop_core import fsio
from loop_core.errors import Conflict, InvalidArchive, InvalidArgument
from loop_core.jsonvalue import JsonSyntaxError, dumps, loads
from loop_core.loop.paths import ARCHIVE_FILE, is_session_id

__all__ = ["change_members", "check_ids", "members_of", "parse_members", "set_members"]

ATTEMPTS = 50  # each one more write of another program between our read and our write


def check_ids(ids: Iterable[str]) -> list[str]:
    """`ids` without repetitions; raises InvalidArgument unless every one is an id."""
    if isinstance(ids, str):
        raise InvalidArgument("ids has to be a list of session ids")
    wanted = list(ids)
    for one in wanted:
        if not is_session_id(one):
            raise InvalidArgument(f"not a session id: {one!r}")
    return list(dict.fromkeys(wanted))


def parse_members(raw: bytes, path: str) -> list[str]:
    """The ids in an archive.json, in file order, once each. Raises InvalidArchive."""
    try:
        value = loads(raw)
    except JsonSyntaxError as error:
        raise InvalidArchive(f"not JSON: {error}", path) from error
    if not isinstance(value, list):
        raise InvalidArchive("not an array of session ids", path)
    for index, member in enumerate(value):
        if not is_session_id(member):
            raise InvalidArchive(f"entry {index + 1} is not a session id", path)
    return list(dict.fromkeys(value))


def members_of(collection: str | os.PathLike[str]) -> list[str]:
    """Archived ids of a collection, in the order they were added; missing file: none.

    Raises InvalidArchive, StorageFailed.
    """
    path = os.path.join(collection, ARCHIVE_FILE)
    raw = fsio.read_optional(path)
    return [] if raw is None else parse_members(raw, path)


def set_members(collection: str | os.PathLike[str], ids: Iterable[str], *, archived: bool) -> None:
    """Add or drop ids, keeping all others and their order. Written also when nothing changes.

    All ids are checked first (InvalidArgument). Raises InvalidArchive, Conflict,
    StorageFailed; membership is then what it was.
    """
    wanted = check_ids(ids)

    def change(members: list[str]) -> list[str]:
        if archived:
            return list(dict.fromkeys([*members, *wanted]))
        dropped = set(wanted)
        return [member for member in members if member not in dropped]

    change_members(collection, change)


def change_members(
    collection: str | os.PathLike[str], change: Callable[[list[str]], list[str]]
) -> None:
    """Replace membership by `change` of it, whatever other programs write meanwhile."""
    path = os.path.join(collection, ARCHIVE_FILE)
    fsio.make_private_dir(collection)
    with fsio.lock_dir(collection):
        for _ in range(ATTEMPTS):
            raw = fsio.read_optional(path)
            members = [] if raw is None else parse_members(raw, path)
            new = dumps(change(members)) + b"\n"
            if raw == new:
                return
            if raw is None:
                if fsio.create_by_link(path, new):
                    return
                continue
            try:
                fsio.exchange(path, new, expected=raw)
            except fsio.Changed:
                continue
            return
    raise Conflict("another program keeps changing the archive", path)
