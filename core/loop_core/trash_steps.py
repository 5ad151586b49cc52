"""The single steps of `trash`: parts in and out, membership, an entry taken apart."""

from __future__ import annotations

import os
from collections.abc import Iterable

from loop_core import fsio
from loop_core.errors import Refused
from loop_core.fsio_calls import calls
from loop_core.store import SessionStore
from loop_core.trash_manifest import MANIFEST, TrashEntry

__all__ = [
    "drop_entry",
    "drop_folder",
    "give_membership",
    "is_inside",
    "remove_entry",
    "return_part",
    "roots_of",
    "store_part",
]


def store_part(entry: TrashEntry, index: int) -> None:
    """Move one part into the entry."""
    stored = entry.stored(index)
    fsio.make_private_dir(os.path.dirname(stored))
    fsio.move_tree(entry.parts[index].source, stored)


def return_part(entry: TrashEntry, index: int) -> None:
    """Move one part back to where it was; StorageFailed when something is there."""
    source = entry.parts[index].source
    fsio.make_private_dir(os.path.dirname(source))
    fsio.move_tree(entry.stored(index), source)


def give_membership(entry: TrashEntry, store: SessionStore, *, archived: bool) -> None:
    if entry.archived and entry.collection:
        store.set_membership(entry.collection, [entry.session], archived=archived)


def roots_of(store: SessionStore) -> tuple[str, ...]:
    """Where the store says sessions and what belongs to them live."""
    return (str(store.root), *(root.path for root in store.watch_roots()))


def is_inside(path: str, real_roots: Iterable[str]) -> bool:
    """Whether a real path is one of the roots or below one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in real_roots)


def remove_entry(entry: TrashEntry) -> None:
    """Everything in the entry; the manifest and its directory last."""
    for index in range(len(entry.parts)):
        if not os.path.islink(os.path.dirname(entry.stored(index))):
            fsio.remove_tree(entry.stored(index))
    drop_entry(entry)


def drop_entry(entry: TrashEntry) -> None:
    """The directories and the manifest of an entry whose parts are elsewhere.

    Only removes what is empty or our own temporary, so a part that is still there stays.
    """
    for index, part in enumerate(entry.parts):
        drop_folder(os.path.dirname(entry.stored(index)))
        if part.place:
            drop_folder(part.place)
            drop_folder(os.path.dirname(part.place))
    if any(os.path.lexists(entry.stored(index)) for index in range(len(entry.parts))):
        raise Refused("the trash entry still holds something", entry.path)
    fsio.remove_file(os.path.join(entry.path, MANIFEST))
    drop_folder(entry.path)


def drop_folder(path: str) -> None:
    """Remove a folder of ours when it holds nothing but our own unfinished temporaries."""
    if os.path.islink(path) or not os.path.isdir(path):
        return
    with fsio.guarded(path, "removing"):
        names = calls.listdir(path)
        if not all(fsio.is_our_temporary(name) for name in names):
            return
        for name in names:
            fsio.remove_tree(os.path.join(path, name))
        calls.rmdir(path)
