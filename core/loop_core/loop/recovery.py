"""What a killed process of ours left in a collection: found, put back, or offered for removal.

Runs at a start that may write. Only entries with our mark, and only while nobody holds the
lock of the collection (loop-format "Our decisions" 11). A deletion that took effect is never
removed without the user's word; anybody else's leftovers are never touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from loop_core import fsio
from loop_core.errors import Conflict, LoopError, Refused, reason_of
from loop_core.loop.archive import managed_trace_dir
from loop_core.loop.deletion import PURPOSE, Deletion
from loop_core.loop.publish import is_staging_name

__all__ = ["Leftover", "purge_leftover", "recover_collection"]

_PathLike = str | os.PathLike[str]
_UNPUBLISHED = ("create", "migrate")


class Leftover(Struct, frozen=True):
    """One thing found. `state`: done (finished or undone), purge (a deletion that took effect;
    its files wait for `purge_leftover`), stuck (could not be dealt with; `text` says why).
    """

    path: str
    state: Literal["done", "purge", "stuck"]
    text: str
    ids: tuple[str, ...] = ()


def recover_collection(
    collection: _PathLike, trace_dir: _PathLike | None = None
) -> tuple[Leftover, ...]:
    """Deal with our leftovers in a collection and in its session directories.

    Another process of ours at work there is not disturbed: what it holds is passed over.
    Raises StorageFailed when the collection cannot be read.
    """
    folder = os.path.abspath(collection)
    traces = managed_trace_dir(folder) if trace_dir is None else os.path.abspath(trace_dir)
    with fsio.guarded(folder, "looking for leftovers"):
        try:
            names = sorted(os.listdir(folder))
        except FileNotFoundError:
            return ()
    found: list[Leftover] = []
    try:
        with fsio.lock_dir(folder, timeout=0):
            for name in names:
                path = os.path.join(folder, name)
                if is_staging_name(name, PURPOSE):
                    found.append(_guarded(path, _deletion, traces))
                elif any(is_staging_name(name, purpose) for purpose in _UNPUBLISHED):
                    found.append(_guarded(path, _unpublished, traces))
            found += _temporaries(folder)
    except Conflict:
        pass  # a live process of ours is at work here; the next start looks again
    for name in names:
        path = os.path.join(folder, name)
        if not name.startswith(".") and not os.path.islink(path) and os.path.isdir(path):
            found += _temporaries(path)
    return tuple(found)


def purge_leftover(path: _PathLike) -> None:
    """Remove the staged files of a deletion that took effect, for good.

    Raises Refused for anything else, StorageFailed.
    """
    staging = os.path.abspath(path)
    collection = os.path.dirname(staging)
    if not is_staging_name(os.path.basename(staging), PURPOSE) or os.path.islink(staging):
        raise Refused("not the rest of a deletion of ours", staging)
    with fsio.lock_dir(collection):
        deletion = Deletion.found(staging, None, checked=False)
        if deletion is not None and not deletion.is_committed():
            raise Refused("that deletion did not take effect; its files can be put back", staging)
        fsio.remove_tree(staging)


def _guarded(path: str, act: Callable[[str, str | None], Leftover], traces: str | None) -> Leftover:
    try:
        return act(path, traces)
    except (LoopError, OSError) as error:
        return Leftover(path, "stuck", reason_of(error))


def _deletion(staging: str, traces: str | None) -> Leftover:
    deletion = Deletion.found(staging, traces)
    if deletion is None:
        # The manifest comes first: without one nothing was moved yet, or a removal had begun.
        if not all(map(fsio.is_our_temporary, os.listdir(staging))):
            return Leftover(staging, "purge", "the rest of a deletion that took effect")
        fsio.remove_tree(staging)
        return Leftover(staging, "done", "removed an empty staging directory")
    ids = tuple(deletion.ids)
    if deletion.is_committed() and deletion.holds_files():
        return Leftover(staging, "purge", "deleted, but the staged files remain", ids)
    deletion.put_back()
    return Leftover(
        staging, "done", f"put back {len(ids)} session(s) of an unfinished deletion", ids
    )


def _unpublished(staging: str, _: str | None) -> Leftover:
    """A session that never got its name: its content is nowhere visible, and for a migration
    the original is untouched.
    """
    fsio.remove_tree(staging)
    return Leftover(staging, "done", "removed an unpublished session")


def _temporaries(folder: str) -> list[Leftover]:
    try:
        if not any(map(fsio.is_our_temporary, os.listdir(folder))):
            return []
        with fsio.lock_dir(folder, timeout=0):
            done = fsio.recover_temporaries(folder)
    except Conflict:
        return []
    except OSError:
        return []  # unreadable or just moved away: a row of the scan says so
    except LoopError as error:
        return [Leftover(folder, "stuck", reason_of(error))]
    return [Leftover(folder, "done", text) for text in done]
