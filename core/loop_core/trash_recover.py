"""What a killed process left in a trash: finished or taken back.

A move in that had reached the session is finished, an earlier one is taken back: whoever
went on with the session in between finds it. A restore is finished unless something else is
at its place by now. A purge was confirmed, so it is finished. Only what the entry itself
holds, or a proven rest of our own copying, is ever removed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from loop_core import fsio
from loop_core.errors import InvalidArchive, LoopError, Refused, reason_of
from loop_core.sanitize import safe_line
from loop_core.store import SessionStore
from loop_core.trash_manifest import MANIFEST, TrashEntry, entry_at, is_entry_name, write_manifest
from loop_core.trash_steps import (
    drop_entry,
    drop_folder,
    give_membership,
    is_inside,
    remove_entry,
    return_part,
    store_part,
)

__all__ = ["bring_in", "bring_out", "recover_all"]


def recover_all(trash_dir: str, store: SessionStore, roots: Iterable[str]) -> tuple[str, ...]:
    """Settle every unfinished entry; the caller holds the trash's lock."""
    real_roots = {os.path.realpath(root) for root in roots}
    with fsio.guarded(trash_dir):
        names = sorted(name for name in os.listdir(trash_dir) if is_entry_name(name))
    said: list[str] = []
    for name in names:
        path = os.path.join(trash_dir, name)
        try:
            message = _recover_one(path, store, real_roots)
        except LoopError as error:
            message = f"The trash entry {path} could not be finished: {reason_of(error)}"
        if message is not None:
            said.append(message)
    return tuple(said)


def _recover_one(path: str, store: SessionStore, real_roots: set[str]) -> str | None:
    if os.path.islink(path) or not os.path.isdir(path):
        return None
    if not os.path.lexists(os.path.join(path, MANIFEST)):
        # Killed before the manifest: nothing was moved. A folder that holds more stays.
        drop_folder(path)
        return None
    if any(fsio.is_our_temporary(name) for name in os.listdir(path)):
        fsio.recover_temporaries(path)
    try:
        entry = entry_at(path)
    except LoopError:
        return None  # listed as a problem; nothing it says can be acted on
    if entry.state == "kept":
        return None
    for part in entry.parts:
        places = (os.path.dirname(part.source), os.path.dirname(os.path.dirname(part.place)))
        if not all(is_inside(os.path.realpath(p), real_roots) for p in places if p):
            raise Refused("it names a place outside this store")
    name = safe_line(entry.title or entry.session, 60)
    if entry.state == "purging":
        remove_entry(entry)
        return f"An interrupted permanent removal was finished: {name}"
    if entry.state == "restoring":
        return _finish_restore(entry, store, name)
    if os.path.lexists(entry.session_path):
        bring_in(entry, store)
        return f"An interrupted delete was finished; it is in the trash: {name}"
    bring_out(entry, store)
    return f"An interrupted delete was taken back: {name}"


def _finish_restore(entry: TrashEntry, store: SessionStore, name: str) -> str:
    try:
        bring_out(entry, store)
    except Refused:
        if not os.path.lexists(entry.session_path):
            raise
        bring_in(entry, store)
        return f"An interrupted restore was taken back; it is in the trash: {name}"
    return f"An interrupted restore was finished: {name}"


def bring_in(entry: TrashEntry, store: SessionStore) -> None:
    """Have every part in the trash, whatever a killed or failed move left."""
    for index in entry.way_in():
        _settle_in(entry, index)
    give_membership(entry, store, archived=False)
    entry.state = "kept"
    write_manifest(entry)


def bring_out(entry: TrashEntry, store: SessionStore) -> None:
    """Have every part where it came from, and no entry. Raises Refused over anything else."""
    for index in reversed(entry.way_in()):
        _settle_out(entry, index)
    # An index that cannot be read was not changed by us, so there is nothing to give back.
    with suppress(InvalidArchive):
        give_membership(entry, store, archived=True)
    drop_entry(entry)


def _settle_in(entry: TrashEntry, index: int) -> None:
    part, stored = entry.parts[index], entry.stored(index)
    inode = _inode(part.source)
    if not os.path.lexists(stored):
        if inode is not None:
            store_part(entry, index)
    elif inode == part.inode:
        # Copied from another file system; the original was not wholly removed.
        if not is_rest_of(part.source, stored):
            raise Refused("what is left at its old place differs from the copy in the trash")
        fsio.remove_tree(part.source)


def _settle_out(entry: TrashEntry, index: int) -> None:
    part, stored = entry.parts[index], entry.stored(index)
    if not os.path.lexists(stored):
        return
    inode = _inode(part.source)
    if inode is None:
        return_part(entry, index)
    elif is_rest_of(stored, part.source):
        fsio.remove_tree(stored)
    elif inode == part.inode and is_rest_of(part.source, stored):
        fsio.remove_tree(part.source)
        return_part(entry, index)
    else:
        raise Refused("something else is at its place by now", part.source)


def _inode(path: str) -> int | None:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return None


def is_rest_of(rest: str, whole: str) -> bool:
    """Whether everything in the tree `rest` is, byte for byte, also in the tree `whole`."""
    todo = [(rest, whole)]
    while todo:
        a, b = todo.pop()
        try:
            left, right = os.lstat(a), os.lstat(b)
            if stat.S_IFMT(left.st_mode) != stat.S_IFMT(right.st_mode):
                return False
            if stat.S_ISDIR(left.st_mode):
                todo += [(os.path.join(a, n), os.path.join(b, n)) for n in os.listdir(a)]
            elif stat.S_ISLNK(left.st_mode):
                if os.readlink(a) != os.readlink(b):
                    return False
            elif left.st_size != right.st_size or not _same_bytes(a, b):
                return False
        except OSError:
            return False
    return True


def _same_bytes(a: str, b: str) -> bool:
    step, at = 1 << 20, 0
    while True:
        left = fsio.read_range(a, at, step)
        if left != fsio.read_range(b, at, step):
            return False
        if len(left) < step:
            return True
        at += step
