"""Compare-and-swap of a file another program may replace at any moment.

The new content is written beside the file and the two names are *exchanged* in one step;
then we look at what came out. If it is what the caller had read, the write is done. If not,
somebody was there first: their file is exchanged back and the caller gets `Changed`. A plain
rename would have destroyed it unseen (loop-format "Our decisions" 1).

A process killed between exchange and look leaves the other program's newest file under our
temporary name. The name therefore tells the kind of exchange and, as SHA-256, what should
come out and what is put in; `recover_temporaries` decides by these:

* ``swap``, ours goes in: whatever is neither what was read nor what was written is foreign,
  and newer than ours.
* ``back``, a foreign file goes in again: even when the exchange did not happen yet, its
  content is newer than ours, which should come out.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple, ParamSpec, TypeVar

from loop_core.errors import Conflict
from loop_core.fsio_base import (
    CHUNK,
    MARK,
    PART,
    Source,
    StrPath,
    chunks_of,
    discard,
    guarded,
    parent,
    part_name,
    read_all,
    reading,
    stamp_from,
    sync_dir_raw,
    write_temporary,
)
from loop_core.fsio_calls import UNSUPPORTED, calls, exchange_available
from loop_core.fsio_lock import lock_dir
from loop_core.model import Stamp

_SWAP_NAME = re.compile(
    re.escape(MARK)
    + r"(swap|back)\.([0-9a-f]{12})-([0-9a-f]{64})-([0-9a-f]{64})\.[0-9a-f]{32}\.tmp"
)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_refusing: set[int] = set()  # devices whose file system answered that it cannot exchange
_MAX_BACK = 1000  # exchanges back; each needs another program to write in between


class _Content(NamedTuple):
    """A file's content as we recognise it (bytes, or stamp), and its SHA-256."""

    seen: bytes | Stamp
    digest: str


class Changed(Conflict):
    """The file is not what was read; it was left, or put back, as the other writer made it."""


def exchange(path: StrPath, new: Source, *, expected: bytes | Stamp, follow: bool = False) -> Stamp:
    """Replace the content of `path` if it still is `expected`; returns the new stamp.

    `expected` is the whole former content (small files), or the stamp it was read under
    (large ones; `new` is then usually streamed). Mode and owner stay. A symbolic link is
    refused unless `follow`: then it is resolved once and its target, a regular file of the
    same user, is replaced where it lives.

    Raises Changed when somebody else wrote first, StorageFailed when the system refuses. In
    both cases the file holds what it held, or what the other writer put there.
    """
    target = resolve_link(path, follow=follow)
    directory = parent(target)
    with lock_dir(directory), guarded(target, "replacing the file"):
        recover_temporaries(directory, target)
        status, digest = _check(target, expected)
        if isinstance(new, bytes):
            after = hashlib.sha256(new).hexdigest()
            temporary = _swap_path(target, digest, after)
            mode = stat.S_IMODE(status.st_mode)
            written = write_temporary(temporary, new, mode=mode, like=status)
        else:
            temporary, after, written = _write_streamed(target, new, status, digest)
        small = isinstance(expected, bytes)
        seen = new if small and isinstance(new, bytes) else stamp_from(written)
        placed = _Content(seen, after)
        _swap(target, temporary, expected, placed, status.st_dev)
        return stamp_from(written)


def resolve_link(path: StrPath, *, follow: bool) -> str:
    """Where a write to `path` has to happen. See loop-format "Our decisions" 12."""
    text = os.fspath(path)
    with guarded(text):
        try:
            if not stat.S_ISLNK(calls.lstat(text).st_mode):
                return text
        except FileNotFoundError as error:
            raise Changed("the file is gone", text) from error
        if not follow:
            raise OSError(errno.ELOOP, "A symbolic link is not followed here", text)
        target = os.path.realpath(text)
        status = calls.lstat(target)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise OSError(errno.EPERM, "The link leads to a file that is not ours", text)
        return target


def _check(target: str, expected: bytes | Stamp) -> tuple[os.stat_result, str]:
    """Status and SHA-256 of the file as it is; Changed when it is not `expected`."""
    try:
        with reading(target, follow=False) as (fd, status):
            if isinstance(expected, bytes):
                same = status.st_size == len(expected) and read_all(fd, len(expected)) == expected
                digest = hashlib.sha256(expected).hexdigest()
            else:
                same = stamp_from(status) == expected
                digest = _hash_fd(fd) if same else ""
                same = same and stamp_from(calls.fstat(fd)) == expected
    except FileNotFoundError as error:
        raise Changed("the file is gone", target) from error
    if not same:
        raise Changed("another program changed the file", target)
    return status, digest


def _write_streamed(
    target: str, new: Source, like: os.stat_result, digest: str
) -> tuple[str, str, os.stat_result]:
    """The streamed content in a temporary, whose final name needs the hash of all of it."""
    hasher = hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for chunk in chunks_of(new):
            hasher.update(chunk)
            yield chunk

    part = os.path.join(parent(target), part_name())
    status = write_temporary(part, hashed(), mode=stat.S_IMODE(like.st_mode), like=like)
    after = hasher.hexdigest()
    temporary = _swap_path(target, digest, after)
    try:
        calls.rename(part, temporary)
    except BaseException:
        discard(part)
        raise
    return temporary, after, status


def _swap(
    target: str, temporary: str, expected: bytes | Stamp, placed: _Content, device: int
) -> None:
    """Exchange, look, and put back unless `expected` came out. Leaves no temporary."""
    try:
        calls.exchange(target, temporary)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            _refusing.add(device)
            _compare_and_rename(target, temporary, expected)
            return
        discard(temporary)
        if isinstance(error, FileNotFoundError):
            raise Changed("the file is gone", target) from error
        raise
    try:
        same = _look(temporary, expected) == expected
        if same:
            sync_dir_raw(parent(target))
    except OSError:
        _put_back(target, temporary, placed)
        raise
    if not same:
        _put_back(target, temporary, placed)
        raise Changed("another program changed the file", target)
    discard(temporary)


def _put_back(target: str, temporary: str, placed: _Content) -> None:
    """Exchange until what comes out is what we had put in: nothing foreign is held then.

    Every call is tried twice, because the temporary may be the only name of another
    program's newest file. If that fails too it stays, marked, for `recover_temporaries`.
    """
    for _ in range(_MAX_BACK):
        held = _Content(_twice(_look, temporary, placed.seen), _twice(_hash_file, temporary))
        name = _swap_path(target, placed.digest, held.digest, kind="back")
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
        if _twice(_look, temporary, placed.seen) == placed.seen:
            break
        placed = held
    else:
        raise Changed("another program changes the file without pause", target)
    discard(temporary)
    _twice(sync_dir_raw, parent(target))


def _compare_and_rename(target: str, temporary: str, expected: bytes | Stamp) -> None:
    """The best a file system without exchange allows: look right before the rename."""
    try:
        _check(target, expected)
        calls.rename(temporary, target)
    except BaseException:
        discard(temporary)
        raise
    sync_dir_raw(parent(target))


def _look(path: str, like: bytes | Stamp) -> bytes | Stamp:
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


def _hash_fd(fd: int) -> str:
    hasher = hashlib.sha256()
    while chunk := calls.read(fd, CHUNK):
        hasher.update(chunk)
    return hasher.hexdigest()


def _hash_file(path: str) -> str:
    with reading(path, follow=False) as (fd, _):
        return _hash_fd(fd)


def _name_hash(target: str) -> str:
    return hashlib.sha256(os.fsencode(os.path.basename(target))).hexdigest()[:12]


def _swap_path(target: str, out: str, put_in: str, *, kind: str = "swap") -> str:
    name = f"{MARK}{kind}.{_name_hash(target)}-{out}-{put_in}.{secrets.token_hex(16)}.tmp"
    return os.path.join(parent(target), name)


def has_exchange(path: StrPath) -> bool:
    """Whether two names can be exchanged where `path` is, as far as is known.

    False when the platform has no such call, or the file system refused it to this process;
    nothing is written to find out.
    """
    with guarded(path):
        return exchange_available() and calls.stat(path).st_dev not in _refusing


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
            if _hash_fd(fd) == (out if waiting else put_in):
                placed = _Content(stamp_from(status), out if waiting else put_in)
                _put_back(path, temporary, placed)
                return f"put back the newer {target} of another program"
    calls.unlink(temporary)
    return f"removed a finished temporary of {target}"
