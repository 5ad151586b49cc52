"""An advisory lock on a directory itself, so that no extra file appears in it."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from loop_core.errors import Conflict
from loop_core.fsio_base import StrPath, close, guarded
from loop_core.fsio_calls import calls

_Identity = tuple[int, int]  # device, inode
_BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
_NO_LOCKS = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK)


class _Held(threading.local):
    """The directories this thread has locked, and whether only for reading."""

    def __init__(self) -> None:
        self.locks: dict[_Identity, bool] = {}


_held = _Held()


@contextmanager
def lock_dir(path: StrPath, *, shared: bool = False, timeout: float = 5.0) -> Iterator[None]:
    """Hold the lock of an existing directory; nested use in one thread is free.

    `timeout` is in seconds. Raises Conflict when another holder does not let go in time,
    StorageFailed when the directory is not there. On a file system without locks nothing is
    held; the compare-and-swap of `exchange` still guards each write.
    """
    with guarded(path, "locking the directory"):
        status = calls.stat(path)
    held = _held.locks.get((status.st_dev, status.st_ino))
    if held is not None:
        if held and not shared:
            raise Conflict("this directory is already locked for reading here", path)
        yield
        return
    with guarded(path, "locking the directory"):
        fd, identity = _acquire(path, shared=shared, timeout=timeout)
    _held.locks[identity] = shared
    try:
        yield
    finally:
        del _held.locks[identity]
        close(fd)  # the only descriptor: closing it releases the lock


def _acquire(path: StrPath, *, shared: bool, timeout: float) -> tuple[int, _Identity]:
    deadline = time.monotonic() + timeout
    pause = 0.0005
    while True:
        locked = _attempt(path, shared=shared)
        if locked is not None:
            return locked
        if time.monotonic() >= deadline:
            raise Conflict("another program is changing this directory", path)
        calls.sleep(pause)
        pause = min(pause * 2, 0.02)


def _attempt(path: StrPath, *, shared: bool) -> tuple[int, _Identity] | None:
    """Lock the directory now at `path`, or None when it is busy or was just replaced."""
    fd = calls.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            calls.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                close(fd)
                return None
            if error.errno not in _NO_LOCKS:
                raise
        mine, there = calls.fstat(fd), calls.stat(path)
        if (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
            close(fd)
            return None
    except BaseException:
        close(fd)
        raise
    return fd, (mine.st_dev, mine.st_ino)
