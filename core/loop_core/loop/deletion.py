"""Moving sessions into a staging directory and back; shared by deletion and recovery.

A manifest in the staging directory, durable before the first move, names every move. Whether
the deletion took effect is decided by archive.json: none of the ids that were members is one
any more. Where none was a member, a marker file decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from loop_core import fsio
from loop_core.errors import InvalidSession, LoopError, StorageFailed
from loop_core.jsonvalue import JsonSyntaxError, dumps, loads
from loop_core.loop.listing import SessionInfo
from loop_core.loop.membership import members_of
from loop_core.loop.migration import LEGACY_SUFFIX
from loop_core.loop.paths import META_FILE, is_session_id
from loop_core.loop.publish import staging_name

__all__ = ["MANIFEST", "PURPOSE", "Deletion", "Move"]

PURPOSE = "delete"
MANIFEST = "manifest.json"
COMMITTED = "committed"


class Move(NamedTuple):
    """One path on its way: where it was, and its name in the staging directory."""

    source: str
    name: str


class Deletion:
    """One deletion. Call with the collection locked, in the order of the methods."""

    def __init__(
        self, collection: str, trace_dir: str | None, ids: list[str], members: set[str]
    ) -> None:
        self.collection = collection
        self.trace_dir = trace_dir
        self.ids = ids
        self.members = [one for one in ids if one in members]
        self.moves: list[Move] = []
        self.traces: list[str] = []  # trace directories that are there
        self.directories: list[str] = []  # session directories, no links
        self.staging = os.path.join(collection, staging_name(PURPOSE))

    def add(self, sessions: Iterable[SessionInfo]) -> None:
        """Plan the moves of `sessions`: directory, version-2 files, traces."""
        for info in sessions:
            path = os.fspath(info.path)
            if info.path.name == META_FILE:
                path = os.path.dirname(path)
                if not os.path.islink(path):
                    self.directories.append(path)
            for source in (path, path + LEGACY_SUFFIX, self._file(info.id)):
                self._plan(source)
            if self.trace_dir is not None:
                trace = os.path.join(self.trace_dir, info.id)
                if os.path.lexists(trace):
                    self.traces.append(trace)
                    self._plan(trace, prefix="trace-")

    def _file(self, session_id: str) -> str:
        return os.path.join(self.collection, session_id + LEGACY_SUFFIX)

    def _plan(self, source: str, prefix: str = "") -> None:
        if os.path.lexists(source) and source not in {move.source for move in self.moves}:
            self.moves.append(Move(source, prefix + os.path.basename(source)))

    def stage(self) -> None:
        """Move everything into a fresh private directory; on failure everything is back."""
        fsio.make_private_dir(self.staging)
        try:
            fsio.atomic_write(os.path.join(self.staging, MANIFEST), self._manifest())
            for move in self.moves:
                fsio.rename(move.source, os.path.join(self.staging, move.name))
        except BaseException as error:
            self.put_back(error)
            raise

    def _manifest(self) -> bytes:
        return dumps(
            {
                "ids": self.ids,
                "members": self.members,
                "moves": [{"source": move.source, "name": move.name} for move in self.moves],
            }
        )

    def put_back(self, error: BaseException | None = None) -> None:
        """Undo the moves, last one first, and drop the staging directory.

        What cannot go back stays staged, with the manifest, and is named by the StorageFailed
        that is raised instead of `error`.
        """
        failed: LoopError | None = None
        for move in reversed(self.moves):
            staged = os.path.join(self.staging, move.name)
            for attempt in (1, 2):
                try:
                    if fsio.stamp_of(staged, follow=False) is not None:
                        fsio.rename(staged, move.source)
                    break
                except LoopError as problem:
                    if attempt == 2:
                        failed = problem
        if failed is not None:
            cause = failed.error if isinstance(failed, StorageFailed) else OSError(str(failed))
            raise StorageFailed(cause, self.staging, "not everything could be put back") from error
        self._drop()

    def _drop(self) -> None:
        """Remove the emptied staging directory; if it stays, the next start finds it empty."""
        for _ in range(2):
            try:
                fsio.remove_tree(self.staging)
            except LoopError:
                continue
            return

    def took_effect(self) -> bool:
        """Whether archive.json shows the deletion, as far as it can tell and be read."""
        try:
            return bool(self.members) and self.is_committed()
        except LoopError:
            return False

    def committed(self) -> None:
        """Note that membership is changed. Needed only where archive.json cannot tell."""
        if not self.members:
            fsio.write_new(os.path.join(self.staging, COMMITTED), b"")

    def purge(self) -> None:
        """Remove the staged files for good. Raises StorageFailed."""
        fsio.remove_tree(self.staging)

    # --- after a crash

    def is_committed(self) -> bool:
        """Whether the deletion took effect. Raises InvalidArchive, StorageFailed."""
        if self.members:
            return not set(self.members) & set(members_of(self.collection))
        return fsio.stamp_of(os.path.join(self.staging, COMMITTED), follow=False) is not None

    def holds_files(self) -> bool:
        return any(os.path.lexists(os.path.join(self.staging, move.name)) for move in self.moves)

    @classmethod
    def found(cls, staging: str, trace_dir: str | None, *, checked: bool = True) -> Deletion | None:
        """The deletion a staging directory belongs to; None without a manifest.

        `checked`: every path has to be one of the collection or its traces, so that nothing
        else is ever written to. Raises InvalidSession, StorageFailed.
        """
        path = os.path.join(staging, MANIFEST)
        raw = fsio.read_optional(path, follow=False)
        if raw is None:
            return None
        collection = os.path.dirname(staging)
        try:
            ids, members, moves = _parse(loads(raw))
            if checked:
                _check_moves(moves, {collection, trace_dir})
        except (JsonSyntaxError, ValueError, TypeError, KeyError) as error:
            raise InvalidSession(path, f"not a manifest of ours: {error}") from error
        deletion = cls(collection, trace_dir, ids, set(members))
        deletion.staging = staging
        deletion.moves = moves
        return deletion


def _parse(value: dict[str, Any]) -> tuple[list[str], list[str], list[Move]]:
    ids, members = list(value["ids"]), list(value["members"])
    if not all(map(is_session_id, [*ids, *members])):
        raise ValueError("an id is none")
    return ids, members, [Move(one["source"], one["name"]) for one in value["moves"]]


def _check_moves(moves: list[Move], places: set[str | None]) -> None:
    for move in moves:
        if os.path.dirname(move.source) not in places or os.sep in move.name or not move.name:
            raise ValueError("a path is not one of this collection")
