"""Sessions moved to our trash and back, byte for byte (DESIGN "Words", *Trash*).

Every step leaves something `recover` can finish or take back. The manifest is written before
anything moves; parts move by rename, the session last on the way in and first on the way
out; archive membership follows the move in and precedes the way back. All of it happens
under the trash directory's lock, so an unfinished entry seen under the lock belongs to a
process that is dead.

What a manifest says is checked before it is used: a restore goes only where the store says
sessions live, over nothing, through no symbolic link.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from loop_core import fsio
from loop_core.errors import (
    Conflict,
    LoopError,
    NotUndoable,
    Refused,
    SessionNotFound,
    StorageFailed,
    reason_of,
)
from loop_core.plans import TrashPlan
from loop_core.store import SessionStore
from loop_core.trash_manifest import (
    PREFIX,
    SIDE_TRASH,
    Listing,
    Part,
    TrashEntry,
    entries_in,
    entry_at,
    new_entry_id,
    read_entries,
    write_manifest,
)
from loop_core.trash_recover import bring_in, bring_out, recover_all
from loop_core.trash_steps import (
    drop_entry,
    give_membership,
    is_inside,
    remove_entry,
    return_part,
    roots_of,
    store_part,
)

__all__ = [
    "PREFIX",
    "Listing",
    "Part",
    "TrashEntry",
    "entries_in",
    "entry_at",
    "move_in",
    "new_entry_id",
    "purge",
    "put_back",
    "read_entries",
    "recover",
]

_META = {"loop3": "meta.json", "craft": "session.jsonl", "loop2": ""}


def move_in(plan: TrashPlan, store: SessionStore, entry_id: str | None = None) -> TrashEntry:
    """Move what `plan` names into the trash and take its archive membership away.

    Raises Conflict when the session changed since it was planned, StorageFailed when the
    system refuses; then everything is back where it was. Nothing is ever removed instead.
    """
    trash = plan.trash_dir
    _require_own_trash(trash)
    with fsio.lock_dir(trash):
        _require_unchanged(plan)
        entry = _entry_for(plan, trash, entry_id or new_entry_id())
        fsio.make_private_dir(entry.path)
        try:
            write_manifest(entry)
            for index in entry.way_in():
                store_part(entry, index)
            give_membership(entry, store, archived=False)
            entry.state = "kept"
            write_manifest(entry)
        except BaseException:
            _take_back(entry, store)
            raise
    return entry


def _require_own_trash(trash: str) -> None:
    """Make the trash, or refuse one that is not plainly ours."""
    if os.path.islink(trash):
        raise Refused("the trash is a symbolic link", trash)
    fsio.make_private_dir(trash)
    me = os.geteuid()
    if me not in (0, os.lstat(trash).st_uid):
        raise Refused("the trash belongs to another user", trash)


def _require_unchanged(plan: TrashPlan) -> None:
    if plan.stamp is None:
        return
    session = next(move.source for move in plan.moves if move.kind == "session")
    metadata = os.path.join(session, _META[plan.form]) if _META[plan.form] else session
    now = fsio.stamp_of(metadata)
    if now is None:
        raise SessionNotFound("the session is not there any more", metadata)
    if now != plan.stamp:
        raise Conflict("the session changed a moment ago", metadata)


def _entry_for(plan: TrashPlan, trash: str, entry_id: str) -> TrashEntry:
    device = os.lstat(trash).st_dev
    parts = []
    for move in plan.moves:
        try:
            status = os.lstat(move.source)
        except FileNotFoundError:
            if move.kind == "session":
                raise SessionNotFound("the session is not there any more", move.source) from None
            continue
        except OSError as error:
            raise StorageFailed(error, move.source, "moving to the trash") from error
        place = "" if status.st_dev == device else _side_place(move.source, entry_id)
        size = fsio.tree_size(move.source)
        parts.append(
            Part(source=move.source, kind=move.kind, size=size, inode=status.st_ino, place=place)
        )
    return TrashEntry(
        version=1,
        id=entry_id,
        session=plan.id,
        source=plan.source,
        form=plan.form,
        trashed_ms=time.time_ns() // 1_000_000,
        state="moving",
        parts=parts,
        store=plan.key.store,
        ref=plan.key.ref,
        title=plan.title,
        cwd=plan.cwd,
        collection=plan.collection,
        archived=plan.archived,
        row=plan.row,
        path=os.path.join(trash, entry_id),
    )


def _side_place(source: str, entry_id: str) -> str:
    """A folder on the file system of `source`: beside it, so surely where the store lives."""
    return os.path.join(os.path.dirname(source), SIDE_TRASH, entry_id)


def _take_back(entry: TrashEntry, store: SessionStore) -> None:
    """After a failed move in. What fails here is left to `recover`; the cause is raised."""
    with suppress(LoopError):
        bring_out(entry, store)


def put_back(entry: TrashEntry, store: SessionStore, roots: Iterable[str] = ()) -> None:
    """Put the session back where it was, byte for byte, and give its membership back.

    `roots` are directories, besides the store's own, that may be written to (a trace root).
    Raises NotUndoable when something is at its place or the id exists there again, Refused
    when the manifest points outside; SessionNotFound when the entry is gone; StorageFailed when the
    system refuses. In all cases the entry is whole and in the trash.
    """
    with _locked(entry) as current:
        if current.state != "kept":
            raise Refused("an earlier move of this session was not finished", current.path)
        _require_targets(current, [*roots_of(store), *roots])
        current.state = "restoring"
        write_manifest(current)
        try:
            give_membership(current, store, archived=True)
            for index in reversed(current.way_in()):
                return_part(current, index)
        except BaseException:
            with suppress(LoopError):
                bring_in(current, store)
            raise
        # The session is back; an empty entry that cannot be removed now is removed later.
        with suppress(LoopError):
            drop_entry(current)


@contextmanager
def _locked(entry: TrashEntry) -> Iterator[TrashEntry]:
    """The entry as the disk has it, under the trash's lock."""
    trash = os.path.dirname(entry.path)
    if not os.path.lexists(entry.path):
        raise SessionNotFound("the session is not in the trash any more", entry.path)
    with fsio.lock_dir(trash):
        if not os.path.lexists(entry.path):
            raise SessionNotFound("the session is not in the trash any more", entry.path)
        yield entry_at(entry.path)


def _require_targets(entry: TrashEntry, roots: list[str]) -> None:
    real_roots = {os.path.realpath(root) for root in roots}
    for index, part in enumerate(entry.parts):
        stored = entry.stored(index)
        if os.path.islink(os.path.dirname(stored)) or not os.path.lexists(stored):
            raise NotUndoable("the trash does not hold all of this session any more", stored)
        folder = os.path.dirname(part.source)
        if not is_inside(os.path.realpath(folder), real_roots):
            raise Refused("the trash says it came from outside this store", part.source)
        taken = {part.source}
        if part.kind == "session" and entry.source == "loop":
            # A published directory hides a version-2 file of that name, and Loop lists by id.
            stem = part.source.removesuffix(".jsonl")
            taken |= {stem, f"{stem}.jsonl"} - {other.source for other in entry.parts}
        for path in sorted(taken):
            if os.path.lexists(path):
                raise NotUndoable(f"a session {entry.session} exists there again", path)


def purge(entry: TrashEntry, store: SessionStore, roots: Iterable[str] = ()) -> None:
    """Remove an entry for good. Raises StorageFailed that names what could not be removed.

    Also for an entry whose removal was interrupted. What is removed is the entry's own
    directory, and its place on another file system when that lies inside the store's roots.
    """
    with _locked(entry) as current:
        if current.state not in ("kept", "purging"):
            raise Refused("an earlier move of this session was not finished", current.path)
        real_roots = {os.path.realpath(r) for r in (*roots_of(store), *roots)}
        for part in current.parts:
            if part.place and not is_inside(
                os.path.realpath(os.path.dirname(os.path.dirname(part.place))), real_roots
            ):
                raise Refused("the trash names a place outside this store", part.place)
        current.state = "purging"
        # A full disk must not stand in the way of making room.
        with suppress(StorageFailed):
            write_manifest(current)
        remove_entry(current)


def recover(trash_dir: str, store: SessionStore, roots: Iterable[str] = ()) -> tuple[str, ...]:
    """Finish or take back what a killed process left in this trash; says what was done.

    A trash another live process is busy in is left to that process. Never raises for one bad
    entry.
    """
    if os.path.islink(trash_dir) or not os.path.isdir(trash_dir):
        return ()
    try:
        with fsio.lock_dir(trash_dir, timeout=0.2):
            return recover_all(trash_dir, store, (*roots_of(store), *roots))
    except Conflict:
        return ()
    except LoopError as error:
        return (f"The trash at {trash_dir} could not be looked through: {reason_of(error)}",)
