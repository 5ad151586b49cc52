"""Directory trees: moved, copied and removed without ever following a link."""

from __future__ import annotations

import errno
import os
import stat

from loop_core.fsio_base import (
    CHUNK,
    StrPath,
    close,
    guarded,
    parent,
    part_name,
    reading,
    sync_dir_raw,
    write_temporary,
)
from loop_core.fsio_calls import UNSUPPORTED, calls
from loop_core.fsio_lock import lock_dir

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def rename(a: StrPath, b: StrPath, *, replace: bool = False) -> None:
    """Rename and make both directories durable; never onto something unless `replace`.

    A link is moved itself. Raises StorageFailed; FileExistsError inside when `b` exists.
    """
    source, target = os.fspath(a), os.fspath(b)
    with guarded(source, "moving"):
        _rename(source, target, replace=replace)
        sync_dir_raw(parent(target))
        if parent(source) != parent(target):
            sync_dir_raw(parent(source))


def _rename(source: str, target: str, *, replace: bool) -> None:
    if replace:
        calls.rename(source, target)
        return
    try:
        calls.rename_new(source, target)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error
        calls.rename(source, target)


def move_tree(a: StrPath, b: StrPath) -> None:
    """Move a file or tree to a name that must be free, also onto another file system.

    There it is copied beside `b` first, named last, and only then removed at `a`.
    """
    source, target = os.fspath(a), os.fspath(b)
    with guarded(source, "moving"):
        try:
            _rename(source, target, replace=False)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _move_across(source, target)
        sync_dir_raw(parent(target))
        if parent(source) != parent(target):
            sync_dir_raw(parent(source))


def _move_across(source: str, target: str) -> None:
    part = os.path.join(parent(target), part_name())
    with lock_dir(parent(target)):  # else a recovery there would take the part for a leftover
        try:
            _copy(source, part)
            _rename(part, target, replace=False)
        except BaseException:
            _remove(part)
            raise
    _remove(source)


def copy_tree(a: StrPath, b: StrPath) -> None:
    """Copy a file or tree with modes and times to a free name; links stay links.

    Raises StorageFailed, also for a FIFO, socket or device inside; nothing stays at `b`.
    """
    source, target = os.fspath(a), os.fspath(b)
    with guarded(source, "copying"):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        try:
            _copy(source, target)
            sync_dir_raw(parent(target))
        except BaseException:
            _remove(target)
            raise


def _copy(source: str, target: str) -> None:
    """Breadth does not matter, depth may: an explicit stack, directories finished last."""
    todo, folders = [(source, target)], []
    while todo:
        a, b = todo.pop()
        status = calls.lstat(a)
        if stat.S_ISLNK(status.st_mode):
            calls.symlink(calls.readlink(a), b)
            calls.utime(b, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)
        elif stat.S_ISDIR(status.st_mode):
            calls.mkdir(b, 0o700)
            folders.append((b, status))
            todo.extend((os.path.join(a, n), os.path.join(b, n)) for n in calls.listdir(a))
        else:
            _copy_file(a, b, status)
    for folder, status in reversed(folders):
        fd = calls.open(folder, _DIR)
        try:
            calls.fchmod(fd, stat.S_IMODE(status.st_mode))
            calls.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))
            calls.fsync(fd)
        finally:
            close(fd)


def _copy_file(a: str, b: str, status: os.stat_result) -> None:
    with reading(a, follow=False) as (fd, _):
        chunks = iter(lambda: calls.read(fd, CHUNK), b"")
        write_temporary(b, chunks, mode=stat.S_IMODE(status.st_mode))
    calls.utime(b, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)


def remove_tree(path: StrPath) -> bool:
    """Remove a file, link or tree for good; links are removed, not followed.

    Directories without write permission of ours are opened up first. False: nothing there.
    Raises StorageFailed for the first thing that cannot be removed.
    """
    text = os.fspath(path)
    with guarded(text, "removing"):
        removed = _remove(text)
        if removed:
            sync_dir_raw(parent(text))
        return removed


def _remove(path: str) -> bool:
    try:
        status = calls.lstat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        calls.unlink(path)
        return True
    folders, todo = [], [path]
    while todo:
        folder = todo.pop()
        folders.append(folder)
        fd = calls.open(folder, _DIR)
        try:
            if calls.fstat(fd).st_mode & stat.S_IRWXU != stat.S_IRWXU:
                calls.fchmod(fd, stat.S_IRWXU)
            for name in calls.listdir(fd):
                if stat.S_ISDIR(calls.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                    todo.append(os.path.join(folder, name))
                else:
                    calls.unlink(name, dir_fd=fd)
        finally:
            close(fd)
    for folder in reversed(folders):
        calls.rmdir(folder)
    return True


def tree_size(path: StrPath) -> int:
    """Bytes of the regular files in a tree, links not followed; what vanishes counts 0."""
    total, todo = 0, [os.fspath(path)]
    while todo:
        entry = todo.pop()
        try:
            status = calls.lstat(entry)
            if stat.S_ISDIR(status.st_mode):
                todo.extend(os.path.join(entry, name) for name in calls.listdir(entry))
            elif stat.S_ISREG(status.st_mode):
                total += status.st_size
        except OSError:
            continue
    return total
