"""Loop's session manager: one writable session (S0 "Read and write").

All writes of one manager happen one after the other, in the order they were asked for; each
ends with a new accepted state. Reading is in `accepted`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

from loop_core.errors import InvalidArgument, PendingSave
from loop_core.jsonvalue import dumps, is_safe_integer
from loop_core.loop.accepted import Accepted, Pending, State
from loop_core.loop.conversation import EMPTY, Conversation, compare, extended
from loop_core.loop.dates import now_iso
from loop_core.loop.header import PRESETS, model_problem
from loop_core.loop.header_changes import (
    KEEP,
    Keep,
    Seen,
    array_changes,
    check_arrays,
    new_header,
    with_changes,
)
from loop_core.loop.listing import SessionInfo, list_sessions
from loop_core.loop.manager_page import HistoryPage
from loop_core.loop.migration import open_any
from loop_core.loop.paths import get_session_dir
from loop_core.loop.publish import Place, publish
from loop_core.loop.saving import Changes, Published
from loop_core.loop.titles import stored_title_problem

__all__ = ["KEEP", "HistoryPage", "SessionInfo", "SessionManager"]

_PathLike = str | os.PathLike[str]
_List = list  # inside the class that name is a method


class SessionManager(Accepted):
    """One session: in memory, a draft, or three files on disk. Safe from several threads.

    Made by `in_memory`, `create`, `draft`, `open` or `continue_recent`. Use one manager for a
    session; what another program writes meanwhile is noticed and never overwritten.
    """

    # --- opening

    @classmethod
    def in_memory(cls, cwd: _PathLike | None = None) -> Self:
        """A session that is never written."""
        return cls(new_header(os.getcwd() if cwd is None else cwd))

    @classmethod
    def draft(cls, cwd: _PathLike, session_dir: _PathLike | None = None) -> Self:
        """A session that is written with its first user message, and not before."""
        return cls(new_header(cwd), collection=_collection(cwd, session_dir))

    @classmethod
    def create(cls, cwd: _PathLike, session_dir: _PathLike | None = None) -> Self:
        """A new, empty session on disk. Raises StorageFailed, InvalidSession (no such cwd)."""
        header = new_header(cwd)
        collection = _collection(cwd, session_dir)
        place = publish(collection, header["id"], dumps(header), (), purpose="create")
        return cls(header, place=place, collection=collection)

    @classmethod
    def open(cls, path: _PathLike) -> Self:
        """An existing session, validated in full, its checksum included.

        `path` is meta.json, the session directory, or a version-2 ``.jsonl``, which becomes a
        directory beside it. Raises SessionNotFound, UnsupportedSession, InvalidSession,
        StorageFailed.
        """
        opened = open_any(path)
        collection = os.path.dirname(opened.place.directory)
        return cls(opened.header, opened.conversation, place=opened.place, collection=collection)

    @staticmethod
    def list(
        cwd: _PathLike | None = None, session_dir: _PathLike | None = None
    ) -> _List[SessionInfo]:
        """Sessions of one working directory in Loop's order, newest first; nothing migrates.

        Without `cwd`, all sessions of `session_dir`. As strict as Loop: one bad session raises
        for the whole list (InvalidSession, StorageFailed).
        """
        if cwd is None and session_dir is None:
            raise InvalidArgument("a list without a working directory needs a session directory")
        collection = _collection("" if cwd is None else cwd, session_dir)
        return list_sessions(collection, None if cwd is None else os.fspath(cwd))

    @classmethod
    def continue_recent(cls, cwd: _PathLike, session_dir: _PathLike | None = None) -> Self:
        """The newest session of a working directory, archived or empty ones too; else a new one."""
        found = cls.list(cwd, session_dir)
        return cls.open(found[0].path) if found else cls.create(cwd, session_dir)

    # --- history

    def commit(
        self,
        messages: Sequence[Any],
        runtime_contexts: Sequence[Any] | Keep = KEEP,
        prompt_timings: Sequence[Any] | Keep = KEEP,
        *,
        compactions: Sequence[Any] | Keep = KEEP,
        system_prompt_checkpoints: Sequence[Any] | Keep = KEEP,
    ) -> None:
        """Save the complete history; it is durable on return.

        An omitted array stays as it is, an empty one is removed. Messages that begin with all
        the saved ones are appended; anything else becomes a new generation behind the old.
        Raises PendingSave, InvalidArgument (an array that does not fit: nothing changes);
        InvalidSession (a message), Conflict, SessionNotFound, StorageFailed: these leave the
        save pending.
        """
        arrays = {
            "runtimeContexts": runtime_contexts,
            "promptTimings": prompt_timings,
            "compactions": compactions,
            "systemPromptCheckpoints": system_prompt_checkpoints,
        }
        with self._turns:
            state = self._idle()
            draft = compare(state.conversation, messages)
            changes = array_changes(arrays)
            check_arrays(state.header, changes, draft)
            changes["updatedAt"] = dumps(now_iso())
            if draft.has_output(len(state.conversation.lines)):
                changes["unread"] = b"true"
            pending = Pending(draft, changes)
            self._state = state._replace(pending=pending)
            self._save(pending)

    def flush(self) -> None:
        """Try the pending save again, unchanged. Raises as `commit`; nothing pending: nothing."""
        with self._turns:
            pending = self._state.pending
            if pending is not None:
                self._save(pending)

    def wait_for_writes(self) -> None:
        """Return when every write asked for before has ended."""
        with self._turns:
            pass

    def _idle(self) -> State:
        state = self._state
        if state.pending is not None:
            raise PendingSave("an earlier save failed; flush it first", self.session_file)
        return state

    def _save(self, pending: Pending) -> None:
        state = self._state
        old, draft = state.conversation, pending.draft
        appends = draft.kept == len(old.lines) and self._ends_with_line_feed()
        path = None if self._disk is None else self._disk.place.messages_path
        base = old if appends else EMPTY
        conversation = extended(base, draft.lines[len(base.lines) :], path)
        if self._disk is not None:
            header = self._save_on_disk(self._disk, conversation, pending.changes, len(base.lines))
        else:
            header = with_changes(state.header, pending.changes)
            if self._collection is not None and conversation.users:
                self._disk = self._first_save(self._collection, header, conversation)
        self._state = State(header, conversation)
        if self._disk is not None:
            self._disk.publish_index(conversation)

    def _ends_with_line_feed(self) -> bool:
        return self._disk is None or self._disk.place.bytes == self._state.conversation.size

    @staticmethod
    def _first_save(
        collection: str, header: dict[str, Any], conversation: Conversation
    ) -> Published:
        place = publish(
            collection, header["id"], dumps(header), conversation.lines, purpose="create"
        )
        return Published(place)

    @staticmethod
    def _save_on_disk(
        disk: Published, conversation: Conversation, changes: Changes, kept: int
    ) -> dict[str, Any]:
        now = disk.place
        start = now.start if kept or not now.bytes else now.end
        place = Place(
            now.directory,
            conversation.generation,
            start,
            conversation.size,
            len(conversation.lines),
        )
        return disk.commit(place, conversation.lines[kept:], changes)

    # --- metadata

    def set_pinned(self, pinned: bool) -> str | None:
        """Pin or unpin; returns the pin's timestamp. A pin that is there keeps its time.

        Allowed while a save is pending. Raises Conflict, SessionNotFound, StorageFailed.
        """
        if not isinstance(pinned, bool):
            raise InvalidArgument("pinned has to be true or false")

        def decide(seen: Seen) -> Changes:
            if pinned:
                return {} if "pinnedAt" in seen.header else {"pinnedAt": dumps(now_iso())}
            return {"pinnedAt": None}

        with self._turns:
            self._change(decide)
            stamp = self._state.header.get("pinnedAt")
            return None if stamp is None else str(stamp)

    def mark_read(self, message_count: int) -> bool:
        """Clear the unread flag if the history has exactly that many messages and any at all.

        True also when it was read already. Raises InvalidArgument, PendingSave, Conflict,
        StorageFailed.
        """
        if not is_safe_integer(message_count) or message_count < 0:
            raise InvalidArgument("the message count has to be a whole number from 0 on")
        fits = False

        def decide(seen: Seen) -> Changes:
            nonlocal fits
            # Another program may have added output that this reader has not seen.
            fits = seen.message_count == message_count
            return {"unread": b"false"} if fits and seen.header.get("unread", False) else {}

        with self._turns:
            saved = len(self._idle().conversation.lines)
            if message_count == 0 or message_count != saved:
                return False
            self._change(decide)
            return fits

    def mark_unread(self) -> bool:
        """Set the unread flag again; True. Raises InvalidArgument for an empty history."""
        with self._turns:
            if not self._idle().conversation.lines:
                raise InvalidArgument("a session without messages cannot be unread")
            self._change(
                lambda seen: {} if seen.header.get("unread", False) else {"unread": b"true"}
            )
            return True

    def set_title(self, title: dict[str, Any], accept: Callable[[], bool] | None = None) -> bool:
        """Store a title; allowed while a save is pending, and no activity.

        `accept` is asked before and after the write; when it declines, False is returned, and
        a late refusal writes the former title back. Raises InvalidArgument, Conflict,
        SessionNotFound, StorageFailed.
        """
        if problem := stored_title_problem(title):
            raise InvalidArgument(problem)
        text = dumps(title)
        with self._turns:
            if accept is not None and not accept():
                return False
            former: bytes | None = None

            def decide(seen: Seen) -> Changes:
                nonlocal former
                former = seen.text_of("title")
                return {"title": text}

            self._change(decide)
            declined = True
            try:
                declined = accept is not None and not accept()
            finally:
                if declined:
                    self._change(lambda _: {"title": former})
            return not declined

    def set_model(self, provider: str, id: str, effort: str | None = None) -> None:  # noqa: A002
        """Change the model; effort "default" is stored as none. Raises PendingSave,
        InvalidArgument, Conflict, SessionNotFound, StorageFailed.
        """
        model = {"provider": provider, "id": id}
        if effort not in (None, "default"):
            model["effort"] = str(effort)
        if problem := model_problem(model):
            raise InvalidArgument(problem)
        self._set_active("model", dumps(model))

    def set_permission_preset(self, preset: str) -> None:
        """Change what the agent may do. Raises as `set_model`."""
        if preset not in PRESETS:
            raise InvalidArgument("the permission preset is unknown")
        self._set_active("permissionPreset", dumps(preset))

    def _set_active(self, key: str, text: bytes) -> None:
        """A change that counts as activity."""
        with self._turns:
            self._idle()
            now = dumps(now_iso())
            self._change(lambda _: {"updatedAt": now, key: text})

    def _change(self, decide: Callable[[Seen], Changes]) -> None:
        """Change header values on disk, or in memory, and accept the header that results."""
        state = self._state
        if self._disk is None:
            seen = Seen(state.header, len(state.conversation.lines))
            header = with_changes(state.header, decide(seen))
        else:
            header = self._disk.change_header(
                lambda found: decide(Seen(found.header, found.message_count, found.raw))
            )
        self._state = state._replace(header=header)


def _collection(cwd: _PathLike, session_dir: _PathLike | None) -> str:
    return os.path.abspath(get_session_dir(cwd) if session_dir is None else session_dir)
