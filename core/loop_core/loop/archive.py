"""Loop's session archive (S1): membership, and deletion for good.

Deleting moves everything of the selected sessions into a private staging directory of the
same collection, takes them out of archive.json, and removes the staging directory. Taking
them out is the moment that counts: a failure before it puts everything back, one after it
only leaves files to remove. A crash leaves the staging directory, which carries our mark and
says inside what it holds; `recovery` deals with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from loop_core import fsio
from loop_core.errors import InvalidArgument, LoopError, SessionNotFound, StorageFailed
from loop_core.loop.deletion import Deletion
from loop_core.loop.listing import SessionInfo, list_sessions
from loop_core.loop.membership import check_ids, members_of, set_members
from loop_core.loop.traces import check_traces
from loop_core.loop.turns import Turns

__all__ = ["SessionArchive", "managed_trace_dir"]

_PathLike = str | os.PathLike[str]
_HASH = re.compile(r"[0-9a-f]{24}")


def managed_trace_dir(collection: _PathLike) -> str | None:
    """The traces of ``<agentDir>/sessions/<hash>``; None for a collection of another layout."""
    parent, name = os.path.split(os.path.abspath(collection))
    agent_dir, kind = os.path.split(parent)
    if kind != "sessions" or _HASH.fullmatch(name) is None:
        return None
    return os.path.join(agent_dir, "traces", name)


class SessionArchive:
    """Which sessions of one collection are archived. Safe from several threads.

    `trace_dir` is where the traces of these sessions are, one directory a session; inferred
    for the managed layout, otherwise deletion covers the history only. Making one writes
    nothing.
    """

    def __init__(self, session_dir: _PathLike, trace_dir: _PathLike | None = None) -> None:
        self.session_dir = os.path.abspath(session_dir)
        self.trace_dir = (
            managed_trace_dir(session_dir) if trace_dir is None else os.path.abspath(trace_dir)
        )
        self._turns = Turns()

    def list(self) -> set[str]:
        """Archived ids, after the writes asked for before. Raises InvalidArchive, StorageFailed."""
        with self._turns:
            return set(members_of(self.session_dir))

    def set(self, ids: Iterable[str], archived: bool) -> None:
        """Archive (or restore) all `ids` in one step; doing it again changes nothing.

        Whether the sessions exist is not asked. Raises InvalidArgument for what is no id,
        InvalidArchive, Conflict, StorageFailed; membership is then what it was.
        """
        with self._turns:
            set_members(self.session_dir, ids, archived=archived)

    def delete(
        self, cwd: _PathLike | None, ids: Iterable[str], *, archived_only: bool = True
    ) -> None:
        """Remove sessions for good: directories, version-2 backups and traces.

        Every id must be a session of `cwd` (None: of the collection) and archived, unless
        `archived_only` is false. The whole selection is checked first, and as in Loop one
        unreadable session of the collection stops it. Raises InvalidArgument (no id, or not
        archived), SessionNotFound, TraceLocked, InvalidArchive, InvalidSession, Conflict,
        StorageFailed. Everything is then where it was, unless the error names a staging
        directory: its sessions are gone from the list and only its removal failed.
        """
        wanted = check_ids(ids)
        with self._turns:
            members = set(members_of(self.session_dir))
            sessions = self._selected(cwd, wanted)
            if archived_only:
                for one in wanted:
                    if one not in members:
                        raise InvalidArgument(f"the session is not archived: {one}")
            if wanted:
                self._delete(wanted, sessions, members)

    def _selected(self, cwd: _PathLike | None, ids: Iterable[str]) -> Sequence[SessionInfo]:
        wanted = set(ids)
        found = list_sessions(self.session_dir, None if cwd is None else os.fspath(cwd))
        chosen = [info for info in found if info.id in wanted]
        missing = wanted - {info.id for info in chosen}
        if missing:
            raise SessionNotFound(f"no such session here: {min(missing)}", self.session_dir)
        return chosen

    def _delete(
        self, ids: Iterable[str], sessions: Iterable[SessionInfo], members: Iterable[str]
    ) -> None:
        deletion = Deletion(self.session_dir, self.trace_dir, list(ids), set(members))
        deletion.add(sessions)
        with ExitStack() as locks:
            for trace in deletion.traces:
                check_traces(trace)
            for directory in sorted({self.session_dir, *deletion.directories}):
                locks.enter_context(fsio.lock_dir(directory))
            deletion.stage()
            try:
                set_members(self.session_dir, deletion.ids, archived=False)
            except BaseException as error:
                # A failure may be reported although the new membership is in place.
                if not deletion.took_effect():
                    deletion.put_back(error)
                    raise
            deletion.committed()
        try:
            deletion.purge()
        except LoopError as error:
            cause = error.error if isinstance(error, StorageFailed) else OSError(str(error))
            raise StorageFailed(
                cause, deletion.staging, "deleted, but the staged files remain"
            ) from error
