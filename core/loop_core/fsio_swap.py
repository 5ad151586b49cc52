"""Exchanging back, and the names that let another process do it for one that was killed.

A process killed between exchange and look leaves the other program's newest file under our
temporary name. The name therefore tells the kind of exchange and, as SHA-256, what should
come out and what is put in; `recover_temporaries` decides by these:

* ``swap``, ours goes in: whatever is neither what was read nor what was written is foreign,
  and newer than ours.
* ``back``, a foreign file goes in again: even when the exchange did not happen yet, its
  content is newer than ours, which should come out.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

from loop_core.errors import Conflict
from loop_core.fsio_base import (
    CHUNK,
    MARK,
    PART,
    StrPath,
    discard,
    guarded,
    parent,
    read_all,
    reading,
    stamp_from,
    sync_dir_raw,
)
from loop_core.fsio_calls import calls
from loop_core.fsio_lock import lock_dir
from loop_core.model import Stamp

_SWAP_NAME = re.compile(
    re.escape(MARK)
    + r"(swap|back)\.([0-9a-f]{12})-([0-9a-f]{64})-([0-9a-f]{64})\.[0-9a-f]{32}\.tmp"
)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_MAX_BACK = 1000  # exchanges back; each needs another program to write in between


class Content(NamedTuple):
    """A file's content as we recognise it (bytes, or stamp), and its SHA-256."""

    seen: bytes | Stamp
    digest: str


class Changed(Conflict):
    """The file is not what was read; it was left, or put back, as the other writer made it."""


def put_back(target: str, temporary: str, placed: Content) -> None:
    """Exchange until what comes out is what we had put in: nothing foreign is held then.

    Every call is tried twice, because the temporary may be the only name of another
    program's newest file. If that fails too it stays, marked, for `recover_temporaries`.
    """
    for _ in range(_MAX_BACK):
        held = Content(_twice(look, temporary, placed.seen), _twice(_hash_file, temporary))
        name = swap_path(target, placed.digest, held.digest, kind="back")
        _twice(calls.rename, temporary, name)
        temporary = name
        try:
            _twice(calls.exchange, target, temporary)
        except FileNotFoundError:
            # Unlinked since (a writer that unlinks before it renames): give the newest
            # file its name back, unless that writer already put a newer one there.
            try:
                _twice(calls.link, temporary, target)
            except FileExistsError:
                continue
            break
        if _twice(look, temporary, placed.seen) == placed.seen:
            break
        placed = held
    else:
        raise Changed("another program changes the file without pause", target)
    discard(temporary)
    _twice(sync_dir_raw, parent(target))


def look(path: str, like: bytes | Stamp) -> bytes | Stamp:
    """What `path` holds, in the form of `like`: its bytes, or its stamp."""
    if isinstance(like, bytes):
        with reading(path, follow=False) as (fd, status):
            return read_all(fd, status.st_size)
    return stamp_from(calls.lstat(path))


def _twice(call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    try:
        return call(*args, **kwargs)
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError:
        return call(*args, **kwargs)


def hash_fd(fd: int) -> str:
    hasher = hashlib.sha256()
    while chunk := calls.read(fd, CHUNK):
        hasher.update(chunk)
    return hasher.hexdigest()


def _hash_file(path: str) -> str:
    with reading(path, follow=False) as (fd, _):
        return hash_fd(fd)


def _name_hash(target: str) -> str:
    return hashlib.sha256(os.fsencode(os.path.basename(target))).hexdigest()[:12]


def swap_path(target: str, out: str, put_in: str, *, kind: str = "swap") -> str:
    name = f"{MARK}{kind}.{_name_hash(target)}-{out}-{put_in}.{secrets.token_hex(16)}.tmp"
    return os.path.join(parent(target), name)


# --- after a kill ------------------------------------------------------------------------


def is_our_temporary(name: str) -> bool:
    """Whether a directory entry is a temporary file of this program, by its name."""
    return name.startswith(MARK) and name.endswith(".tmp")


def recover_temporaries(directory: StrPath, target: StrPath | None = None) -> list[str]:
    """Finish what a killed process of ours left in `directory`; says what was done.

    Only temporaries of `target`, or of every file, and unnamed ones. Holds the directory's
    lock, so a live process of ours is never disturbed. A temporary with another program's
    commit is exchanged back while our older text is still in its place; every other one is
    removed. Temporaries whose target is gone, or that are not ours, stay.
    """
    folder = os.fspath(directory)
    with guarded(folder, "looking for temporaries"):
        found = [name for name in calls.listdir(folder) if is_our_temporary(name)]
        if not found:
            return []
        with lock_dir(folder):
            return _recover(folder, None if target is None else os.path.basename(target))


def _recover(folder: str, only: str | None) -> list[str]:
    done: list[str] = []
    names = calls.listdir(folder)
    targets = {_name_hash(name): name for name in names if only in (None, name)}
    for name in sorted(filter(is_our_temporary, names)):
        path = os.path.join(folder, name)
        status = calls.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            continue
        match = _SWAP_NAME.fullmatch(name)
        if match is None:
            if name.startswith(PART):
                calls.unlink(path)
                done.append(f"removed the unfinished {name}")
            continue
        target = targets.get(match[2])
        if target is not None:
            done.append(_finish(folder, name, target, match))
    return done


def _finish(folder: str, name: str, target: str, match: re.Match[str]) -> str:
    temporary, path = os.path.join(folder, name), os.path.join(folder, target)
    kind, out, put_in = match[1], match[3], match[4]
    content = _hash_file(temporary)
    foreign = content not in (out, put_in)
    # Still in `back`, what was to be put in is newer than what was to come out.
    waiting = kind == "back" and content == put_in
    if foreign or waiting:
        with reading(path, follow=False) as (fd, status):
            if hash_fd(fd) == (out if waiting else put_in):
                placed = Content(stamp_from(status), out if waiting else put_in)
                put_back(path, temporary, placed)
                return f"put back the newer {target} of another program"
    calls.unlink(temporary)
    return f"removed a finished temporary of {target}"
