"""Private, durable writes of whole files, appends, and directories.

Order of every durable write: the data is synced, then the name appears, then the directory
is synced. A reader sees the old file or the new one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress

from loop_core.fsio_base import (
    Source,
    StrPath,
    chunks_of,
    close,
    discard,
    guarded,
    parent,
    part_name,
    require_regular,
    stamp_from,
    sync_dir_raw,
    write_temporary,
)
from loop_core.fsio_calls import UNSUPPORTED, calls
from loop_core.fsio_lock import lock_dir
from loop_core.model import Stamp

_APPEND = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def make_private_dir(path: StrPath) -> None:
    """Create a directory and its missing parents with mode 0700 under any umask.

    An existing directory keeps its mode; anything else at the path raises StorageFailed.
    """
    text = os.path.abspath(path)
    with guarded(text, "creating the directory"):
        missing: list[str] = []
        step = text
        while True:
            try:
                status = calls.stat(step)
            except FileNotFoundError:
                missing.append(step)
                step = os.path.dirname(step)
                continue
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), step)
            break
        for folder in reversed(missing):
            _make_dir(folder)


def _make_dir(path: str) -> None:
    try:
        calls.mkdir(path, 0o700)
    except FileExistsError:
        return
    try:
        if stat.S_IMODE(calls.stat(path).st_mode) != 0o700:
            fd = calls.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                calls.fchmod(fd, 0o700)
            finally:
                close(fd)
        sync_dir_raw(parent(path))
    except BaseException:
        with suppress(OSError):
            calls.rmdir(path)
        raise


def write_new(path: StrPath, data: Source, mode: int = 0o600) -> Stamp:
    """Create a file that must not exist, with exactly `mode`, and make it durable.

    For places no reader looks at yet (a staging directory): the content grows under its
    final name. Raises StorageFailed (FileExistsError inside) when something is there.
    """
    text = os.fspath(path)
    with guarded(text, "writing"):
        status = write_temporary(text, data, mode=mode)
        try:
            sync_dir_raw(parent(text))
        except BaseException:
            discard(text)
            raise
        return stamp_from(status)


def atomic_write(
    path: StrPath,
    data: Source,
    *,
    mode: int = 0o600,
    follow: bool = False,
    durable: bool = True,
) -> Stamp:
    """Replace or create a file of our own in one step and make it durable.

    An existing regular file keeps its mode; `mode` is for a new one. A symbolic link is
    replaced, not followed, unless `follow` (a settings file that lives elsewhere). Without
    `durable` nothing is synced: for what can be made again.
    """
    text = os.path.realpath(path) if follow else os.fspath(path)
    with lock_dir(parent(text)), guarded(text, "writing"):
        with suppress(FileNotFoundError):
            before = calls.lstat(text)
            if not stat.S_ISLNK(before.st_mode):
                require_regular(before, text)
                mode = stat.S_IMODE(before.st_mode)
        temporary = os.path.join(parent(text), part_name())
        status = write_temporary(temporary, data, mode=mode, durable=durable)
        try:
            calls.rename(temporary, text)
        except BaseException:
            discard(temporary)
            raise
        if durable:
            sync_dir_raw(parent(text))
        return stamp_from(status)


def create_by_link(path: StrPath, data: Source, *, mode: int = 0o600) -> bool:
    """Create a file whole, in one step, never over an existing one. False: it exists."""
    text = os.fspath(path)
    with lock_dir(parent(text)), guarded(text, "creating"):
        temporary = os.path.join(parent(text), part_name())
        write_temporary(temporary, data, mode=mode)
        try:
            created = _give_name(temporary, text)
            if created:
                sync_dir_raw(parent(text))
        finally:
            discard(temporary)
        return created


def _give_name(temporary: str, path: str) -> bool:
    try:
        try:
            calls.link(temporary, path)
        except OSError as error:
            if error.errno not in {*UNSUPPORTED, errno.EPERM, errno.EMLINK}:
                raise
            calls.rename_new(temporary, path)
    except FileExistsError:
        return False
    return True


def append(path: StrPath, at: int, chunks: Source, *, mode: int = 0o600) -> Stamp:
    """Cut the file to `at` bytes, append there, fsync; returns the stamp after.

    Creates the file when `at` is 0. Never follows a link. Raises StorageFailed when it is
    shorter than `at`, or when the system refuses; then it is cut back to `at` as far as the
    system lets us, so that no half-written tail stays.
    """
    text = os.fspath(path)
    with guarded(text, "appending"):
        fd, created = _open_to_append(text, create=at == 0, mode=mode)
        try:
            status = calls.fstat(fd)
            require_regular(status, text)
            if status.st_size < at:
                raise OSError(errno.EINVAL, f"Shorter than its {at} committed bytes", text)
            if status.st_size > at:
                calls.truncate(fd, at)
            _append_from(fd, at, chunks)
            after = calls.fstat(fd)
        finally:
            close(fd)
        if created:
            sync_dir_raw(parent(text))
        return stamp_from(after)


def _open_to_append(path: str, *, create: bool, mode: int) -> tuple[int, bool]:
    """A descriptor, and whether the file is new; a new one has exactly `mode`."""
    try:
        return calls.open(path, _APPEND), False
    except FileNotFoundError:
        if not create:
            raise
    fd = calls.open(path, _APPEND | os.O_CREAT | os.O_EXCL, mode)
    try:
        calls.fchmod(fd, mode)
    except BaseException:
        close(fd)
        raise
    return fd, True


def _append_from(fd: int, at: int, chunks: Source) -> None:
    place = at
    try:
        for chunk in chunks_of(chunks):
            view = memoryview(chunk)
            while view:
                count = calls.pwrite(fd, view, place)
                view, place = view[count:], place + count
        calls.fsync(fd)
    except BaseException:
        cut_back(fd, at)
        raise


def cut_back(fd: int, at: int) -> None:
    """Undo an append as far as the system allows; a second try for a passing fault."""
    for _ in range(2):
        try:
            calls.truncate(fd, at)
        except OSError:
            continue
        return


def append_line(path: StrPath, line: bytes, *, mode: int = 0o600) -> None:
    """Append one line (LF added) to a log of ours and make it durable; private mode.

    A torn last line of a killed process is closed first, so that it spoils no other. Holds
    the file's lock; on failure the file is cut back to what it was.
    """
    if b"\n" in line:
        raise ValueError("a log line cannot hold a line feed")
    text = os.fspath(path)
    with guarded(text, "appending"):
        fd, created = _open_to_append(text, create=True, mode=mode)
        try:
            calls.flock(fd, fcntl.LOCK_EX)
            status = calls.fstat(fd)
            require_regular(status, text)
            size = status.st_size
            torn = size > 0 and calls.pread(fd, 1, size - 1) != b"\n"
            _append_from(fd, size, (b"\n" if torn else b"") + line + b"\n")
        finally:
            close(fd)
        if created:
            sync_dir_raw(parent(text))


def remove_file(path: StrPath) -> bool:
    """Unlink a file or link and make that durable. False: nothing was there."""
    text = os.fspath(path)
    with guarded(text, "removing"):
        try:
            calls.unlink(text)
        except FileNotFoundError:
            return False
        sync_dir_raw(parent(text))
        return True
