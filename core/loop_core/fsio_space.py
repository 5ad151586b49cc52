"""Giving space back: swapping whole directories, and holes in files that keep their size."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from functools import cache
from typing import Any

from loop_core.fsio_base import StrPath, guarded, require_regular
from loop_core.fsio_calls import calls

_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def swap_directories(a: StrPath, b: StrPath) -> None:
    """Exchange the names of two directories in one step; durable once the parent is synced.

    Raises StorageFailed where the file system cannot; then nothing happened.
    """
    with guarded(a, "exchanging directories"):
        calls.exchange(os.fspath(a), os.fspath(b))


def copy_look(source: StrPath, target: StrPath) -> None:
    """Give `target` the mode and the times of `source`."""
    with guarded(target, "keeping mode and times"):
        status = calls.lstat(os.fspath(source))
        fd = calls.open(os.fspath(target), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            calls.fchmod(fd, stat.S_IMODE(status.st_mode))
        finally:
            calls.close(fd)
        calls.utime(os.fspath(target), ns=(status.st_atime_ns, status.st_mtime_ns))


def allocated(path: StrPath) -> int:
    """Bytes the file takes on disk; holes take none."""
    with guarded(path):
        return calls.lstat(os.fspath(path)).st_blocks * 512


def punch_hole(path: StrPath, end: int) -> int:
    """Give the blocks of the first `end` bytes back; those bytes read as zero from then on.

    Size and every later byte stay where they are. Returns how many bytes on disk that freed.
    Raises StorageFailed where the system or the file system cannot.
    """
    text = os.fspath(path)
    with guarded(text, "freeing blocks"):
        fd = calls.open(text, _OPEN)
        try:
            require_regular(calls.fstat(fd), text)
            before = calls.fstat(fd).st_blocks
            call = _fallocate()
            if call is None:
                raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), text)
            if call(fd, _KEEP_SIZE | _PUNCH_HOLE, 0, end) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), text)
            calls.fsync(fd)
            return max(0, before - calls.fstat(fd).st_blocks) * 512
        finally:
            calls.close(fd)


@cache
def _fallocate() -> Any:
    """Linux's fallocate, or None."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "fallocate64", None) or getattr(libc, "fallocate", None)
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return call
