"""The ground `fsio` stands on: error mapping, reading, temporaries, directory sync."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from loop_core.errors import StorageFailed
from loop_core.fsio_calls import calls
from loop_core.model import Stamp

StrPath = str | os.PathLike[str]
Source = bytes | Iterable[bytes]

#: Every name we create for a moment begins with this. Hidden, and never ``*.jsonl``, so that
#: neither Loop nor Craft-Agents (which deletes ``session.jsonl.tmp``) looks at it.
MARK = ".loop-tui-"
PART = MARK + "part."
CHUNK = 1 << 20
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@contextmanager
def guarded(path: StrPath, doing: str = "") -> Iterator[None]:
    """Turn every OSError inside into a `StorageFailed` for `path`."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(error, os.fspath(path), doing) from error


def close(fd: int) -> None:
    """Close a descriptor. What matters was synced before, so an error here changes nothing."""
    with suppress(OSError):
        calls.close(fd)


def stamp_from(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


def stamp_of(path: StrPath, *, follow: bool = True) -> Stamp | None:
    """The stamp of what `path` names, or None when there is nothing."""
    with guarded(path):
        try:
            return stamp_from(calls.stat(path) if follow else calls.lstat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None


def require_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)


def open_for_read(path: StrPath, *, follow: bool = True) -> tuple[int, os.stat_result]:
    """A descriptor of a regular file and its status; OSError otherwise, without blocking."""
    fd = calls.open(path, _READ | (0 if follow else os.O_NOFOLLOW))
    try:
        status = calls.fstat(fd)
        require_regular(status, os.fspath(path))
    except BaseException:
        close(fd)
        raise
    return fd, status


def open_regular(path: StrPath, *, follow: bool = True) -> int:
    """Open a regular file for reading; the caller closes the descriptor.

    Raises StorageFailed for anything else, without hanging on a FIFO or a device.
    """
    with guarded(path):
        return open_for_read(path, follow=follow)[0]


@contextmanager
def reading(path: StrPath, *, follow: bool = True) -> Iterator[tuple[int, os.stat_result]]:
    """`open_for_read`, closed at the end."""
    fd, status = open_for_read(path, follow=follow)
    try:
        yield fd, status
    finally:
        close(fd)


def read_all(fd: int, size: int, limit: int | None = None) -> bytes:
    """From the descriptor's position to the end, or `limit` bytes; `size` is a hint."""
    wanted = size + 1 if limit is None else min(size + 1, limit)
    parts: list[bytes] = []
    got = 0
    while limit is None or got < limit:
        part = calls.read(fd, max(1, min(wanted, limit - got if limit is not None else wanted)))
        if not part:
            break
        parts.append(part)
        got += len(part)
        wanted = CHUNK if got > size else max(1, size + 1 - got)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_file_stamped(
    path: StrPath, *, limit: int | None = None, follow: bool = True
) -> tuple[bytes, Stamp]:
    """The bytes of a regular file (at most `limit`) and the stamp they were read under."""
    with guarded(path), reading(path, follow=follow) as (fd, status):
        return read_all(fd, status.st_size, limit), stamp_from(status)


def read_file(path: StrPath, *, limit: int | None = None, follow: bool = True) -> bytes:
    """The bytes of a regular file, at most `limit`. Raises StorageFailed."""
    return read_file_stamped(path, limit=limit, follow=follow)[0]


def read_optional(path: StrPath, *, follow: bool = True) -> bytes | None:
    """The bytes of a regular file, or None when nothing is there."""
    try:
        return read_file(path, follow=follow)
    except StorageFailed as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise


def read_range(path: StrPath, start: int, length: int) -> bytes:
    """Up to `length` bytes from `start`; shorter only where the file ends."""
    with guarded(path), reading(path) as (fd, _):
        return pread_exactly(fd, start, length)


def pread_exactly(fd: int, start: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length > 0:
        part = calls.pread(fd, length, start)
        if not part:
            break
        parts.append(part)
        start += len(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def sync_dir_raw(path: StrPath) -> None:
    """fsync a directory. Some file systems refuse that (EINVAL); they need no such call."""
    fd = calls.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        calls.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        close(fd)


def sync_dir(path: StrPath) -> None:
    """Make the names in a directory durable."""
    with guarded(path):
        sync_dir_raw(path)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[calls.write(fd, view) :]


def chunks_of(source: Source) -> Iterable[bytes]:
    return (source,) if isinstance(source, bytes) else source


def part_name() -> str:
    """A name for a file that is complete only when it gets another one."""
    return f"{PART}{secrets.token_hex(16)}.tmp"


def write_temporary(
    path: str,
    source: Source,
    *,
    mode: int,
    like: os.stat_result | None = None,
    durable: bool = True,
) -> os.stat_result:
    """Create `path` with exactly `mode` (whatever the umask), fill it, fsync it.

    With `like`, its owner is kept as far as the system allows. Removed again on any failure.
    """
    fd = calls.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        try:
            calls.fchmod(fd, mode)
            if like is not None:
                _keep_owner(fd, like)
            for chunk in chunks_of(source):
                write_all(fd, chunk)
            if durable:
                calls.fsync(fd)
            status = calls.fstat(fd)
        finally:
            close(fd)
    except BaseException:
        discard(path)
        raise
    return status


def _keep_owner(fd: int, like: os.stat_result) -> None:
    mine = os.geteuid()
    if like.st_uid != mine:
        calls.fchown(fd, like.st_uid, like.st_gid)
    elif like.st_gid != calls.fstat(fd).st_gid:
        # A group we are no member of cannot be kept; the owner and the mode still are.
        with suppress(PermissionError):
            calls.fchown(fd, -1, like.st_gid)


def discard(path: StrPath) -> None:
    """Remove a temporary of ours, if it is still there; a second try for a passing fault."""
    for _ in range(2):
        try:
            calls.unlink(path)
        except FileNotFoundError:
            return
        except OSError:
            continue
        return


def now_ns() -> int:
    """The clock that file times are compared with, in nanoseconds since the epoch."""
    return calls.time_ns()


def parent(path: str) -> str:
    return os.path.dirname(path) or "."
