"""Every operating-system call of the package's file work, as one table.

`fsio` and its helpers call the system only through `calls`. A test can therefore put a fault
(no space, an I/O error, a killed process) in the place of each single call in turn, and
nothing that touches a disk escapes it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

_AT_FDCWD = -100
_LINUX_NOREPLACE, _LINUX_EXCHANGE = 1, 2
_MACOS_SWAP, _MACOS_EXCL = 2, 4
_SYSCALL_RENAMEAT2 = {"x86_64": 316, "aarch64": 276, "armv7l": 382, "riscv64": 276, "i686": 353}

#: What a file system answers that cannot exchange two names, or cannot rename conditionally.
UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


@cache
def _conditional_rename() -> Callable[[bytes, bytes, int], int] | None:
    """The platform's rename with flags, or None; looked up on first use."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None
    if sys.platform == "darwin":
        swap: Any = getattr(libc, "renamex_np", None)
        if swap is None:
            return None
        swap.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint)
        return lambda a, b, flags: int(swap(a, b, flags))
    rename: Any = getattr(libc, "renameat2", None)
    if rename is not None:
        rename.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        )
        return lambda a, b, flags: int(rename(_AT_FDCWD, a, _AT_FDCWD, b, flags))
    number = _SYSCALL_RENAMEAT2.get(os.uname().machine)
    if number is None:
        return None
    raw: Any = libc.syscall
    raw.restype = ctypes.c_long
    return lambda a, b, flags: int(
        raw(
            ctypes.c_long(number),
            ctypes.c_int(_AT_FDCWD),
            ctypes.c_char_p(a),
            ctypes.c_int(_AT_FDCWD),
            ctypes.c_char_p(b),
            ctypes.c_uint(flags),
        )
    )


def _rename_with(a: str, b: str, flags: int) -> None:
    call = _conditional_rename()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), a, None, b)
    if call(os.fsencode(a), os.fsencode(b), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), a, None, b)


def _exchange(a: str, b: str) -> None:
    """Swap two names of one directory in a single step."""
    _rename_with(a, b, _MACOS_SWAP if sys.platform == "darwin" else _LINUX_EXCHANGE)


def _rename_new(a: str, b: str) -> None:
    """Rename; FileExistsError when `b` exists."""
    _rename_with(a, b, _MACOS_EXCL if sys.platform == "darwin" else _LINUX_NOREPLACE)


def exchange_available() -> bool:
    """Whether this platform has the call at all; a file system may still refuse it."""
    return _conditional_rename() is not None


class Calls:
    """The system calls in use. Instance attributes, so that a test can wrap each of them."""

    def __init__(self) -> None:
        self.open = os.open
        self.close = os.close
        self.read = os.read
        self.pread = os.pread
        self.write = os.write
        self.pwrite = os.pwrite
        self.truncate = os.ftruncate
        self.fsync = os.fsync
        self.fstat = os.fstat
        self.stat = os.stat
        self.lstat = os.lstat
        self.fchmod = os.fchmod
        self.fchown = os.fchown
        self.utime = os.utime
        self.mkdir = os.mkdir
        self.rmdir = os.rmdir
        self.unlink = os.unlink
        self.link = os.link
        self.symlink = os.symlink
        self.readlink = os.readlink
        self.listdir = os.listdir
        self.rename = os.rename
        self.rename_new = _rename_new
        self.exchange = _exchange
        self.flock = fcntl.flock
        self.sleep = time.sleep
        self.time_ns = time.time_ns


calls = Calls()
