"""Compare-and-swap of a file another program may replace at any moment.

The new content is written beside the file and the two names are *exchanged* in one step;
then we look at what came out. If it is what the caller had read, the write is done. If not,
somebody was there first: their file is exchanged back and the caller gets `Changed`. A plain
rename would have destroyed it unseen (loop-format "Our decisions" 1).

What a process killed in between leaves is the subject of `fsio_swap`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator

from loop_core.fsio_base import (
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
from loop_core.fsio_swap import (
    Changed,
    Content,
    hash_fd,
    look,
    put_back,
    recover_temporaries,
    swap_path,
)
from loop_core.model import Stamp

_refusing: set[int] = set()  # devices whose file system answered that it cannot exchange


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
            temporary = swap_path(target, digest, after)
            mode = stat.S_IMODE(status.st_mode)
            written = write_temporary(temporary, new, mode=mode, like=status)
        else:
            temporary, after, written = _write_streamed(target, new, status, digest)
        small = isinstance(expected, bytes)
        seen = new if small and isinstance(new, bytes) else stamp_from(written)
        placed = Content(seen, after)
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
                digest = hash_fd(fd) if same else ""
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
    temporary = swap_path(target, digest, after)
    try:
        calls.rename(part, temporary)
    except BaseException:
        discard(part)
        raise
    return temporary, after, status


def _swap(
    target: str, temporary: str, expected: bytes | Stamp, placed: Content, device: int
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
        same = look(temporary, expected) == expected
        if same:
            sync_dir_raw(parent(target))
    except OSError:
        put_back(target, temporary, placed)
        raise
    if not same:
        put_back(target, temporary, placed)
        raise Changed("another program changed the file", target)
    discard(temporary)


def _compare_and_rename(target: str, temporary: str, expected: bytes | Stamp) -> None:
    """The best a file system without exchange allows: look right before the rename."""
    try:
        _check(target, expected)
        calls.rename(temporary, target)
    except BaseException:
        discard(temporary)
        raise
    sync_dir_raw(parent(target))


def has_exchange(path: StrPath) -> bool:
    """Whether two names can be exchanged where `path` is, as far as is known.

    False when the platform has no such call, or the file system refused it to this process;
    nothing is written to find out.
    """
    with guarded(path):
        return exchange_available() and calls.stat(path).st_dev not in _refusing
