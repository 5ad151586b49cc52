"""What a manager has accepted: the state behind `SessionManager`, and all ways to read it.

The state is one immutable value that a write replaces as a whole, so reading needs no lock;
what is handed out is a copy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from loop_core.jsonvalue import loads
from loop_core.loop.conversation import EMPTY, Conversation, Draft
from loop_core.loop.manager_page import HistoryPage, page_from_disk, page_in_memory
from loop_core.loop.paths import META_FILE
from loop_core.loop.publish import Place
from loop_core.loop.saving import Published
from loop_core.loop.turns import Turns
from loop_core.loop.values import copy_value

__all__ = ["Accepted", "Pending", "State"]


class Pending(NamedTuple):
    """A save that was asked for: what `flush` tries again, unchanged."""

    draft: Draft
    changes: dict[str, bytes | None]


class State(NamedTuple):
    """What is saved, and what was asked for and is not saved yet."""

    header: dict[str, Any]  # as saved; never changed in place
    conversation: Conversation
    pending: Pending | None = None


class Accepted:
    """The reading half of `SessionManager`."""

    def __init__(
        self,
        header: dict[str, Any],
        conversation: Conversation = EMPTY,
        *,
        place: Place | None = None,
        collection: str | None = None,
    ) -> None:
        """For the class's own constructors."""
        self._state = State(header, conversation)
        self._disk = None if place is None else Published(place)
        self._collection = collection
        self._turns = Turns()

    @property
    def session_id(self) -> str:
        return str(self._state.header["id"])

    @property
    def cwd(self) -> str:
        return str(self._state.header["cwd"])

    @property
    def session_file(self) -> Path | None:
        """meta.json, also of a draft that is not there yet; None in memory."""
        if self._disk is not None:
            return Path(self._disk.place.meta_path)
        return (
            None
            if self._collection is None
            else (Path(self._collection) / self.session_id / META_FILE)
        )

    def get_session_dir(self) -> Path | None:
        """The collection the session belongs to; None in memory."""
        return None if self._collection is None else Path(self._collection)

    @property
    def messages(self) -> list[Any]:
        """The whole conversation, a save that is pending included; a copy."""
        state = self._state
        if state.pending is not None:
            return [loads(line) for line in state.pending.draft.lines]
        return state.conversation.values()

    @property
    def unread(self) -> bool:
        """The unread flag, a save that is pending included."""
        state = self._state
        if state.pending is not None and state.pending.changes.get("unread") is not None:
            return True
        return bool(state.header.get("unread", False))

    @property
    def has_pending_save(self) -> bool:
        """Whether a save failed and waits for `flush`."""
        return self._state.pending is not None

    def get_header(self) -> dict[str, Any]:
        """The saved header, with the fallback title when none is stored; a copy."""
        state = self._state
        header: dict[str, Any] = copy_value(state.header)
        if "title" not in header and state.conversation.title is not None:
            header["title"] = copy_value(state.conversation.title)
        return header

    def get_runtime_contexts(self) -> list[Any]:
        return self._array("runtimeContexts")

    def get_prompt_timings(self) -> list[Any]:
        return self._array("promptTimings")

    def get_compactions(self) -> list[Any]:
        return self._array("compactions")

    def get_system_prompt_checkpoints(self) -> list[Any]:
        return self._array("systemPromptCheckpoints")

    def _array(self, key: str) -> list[Any]:
        state = self._state
        if state.pending is not None and key in state.pending.changes:
            text = state.pending.changes[key]
            return [] if text is None else list(loads(text))
        return list(copy_value(state.header.get(key, [])))

    # --- pages

    def read_history(
        self, before: int | None = None, revision: str | None = None, *, rounds: int = 3
    ) -> HistoryPage:
        """The `rounds` user rounds before message `before`, else the latest.

        From disk only the page's bytes are read; a missing or wrong index.json is published
        anew. Raises InvalidArgument for a `before` that is no round's start, StaleRevision
        when the generation is not `revision`, InvalidSession, StorageFailed.
        """
        state = self._state
        if state.pending is not None:
            draft = state.pending.draft
            return page_in_memory(draft.lines, draft.users, before, revision, rounds)
        if self._disk is None:
            found = state.conversation
            return page_in_memory(found.lines, found.users, before, revision, rounds)
        return page_from_disk(self._disk.place, before, revision, rounds)
