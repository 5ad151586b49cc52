"""What an action on sessions came to, as values the front ends show."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from loop_core.model import SessionKey

__all__ = ["Action", "Done", "Failed", "Outcome", "Pending", "Progress", "Reverted"]

Action = Literal[
    "pin",
    "unpin",
    "archive",
    "restore",
    "read",
    "unread",
    "rename",
    "status",
    "labels",
    "trash",
    "purge",
    "undo",
    "redo",
]


class Done(NamedTuple):
    """A session the action reached. `title` is sanitized; None: a new session."""

    key: SessionKey
    id: str
    title: str | None


class Failed(NamedTuple):
    """A session the action did not reach, which is as it was, and why (one line, raw)."""

    key: SessionKey
    id: str
    reason: str


class Progress(NamedTuple):
    """How far a bulk action is; handed to the callback after each session."""

    done: int
    total: int


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of one action. `text` is the toast: "Archived 3 sessions".

    For `undo` and `redo`, `of` is the action taken back or done again; it is None (and
    `done` is empty) when there was nothing to do. `undoable` says whether the undo key (the
    redo key, after an undo) takes it back. `entry` is the journal's id. `at_risk` are the
    sessions done although their running owner will likely undo it.
    """

    action: Action
    done: tuple[Done, ...] = ()
    failed: tuple[Failed, ...] = ()
    text: str = ""
    undoable: bool = False
    entry: str | None = None
    of: Action | None = None
    at_risk: tuple[SessionKey, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.failed


class Pending(Struct, frozen=True, kw_only=True):
    """What the next undo or redo would do, in words: "Undo: archived 3 sessions"."""

    action: Action
    text: str
    ids: tuple[str, ...]
    entry: str
    when_ms: int


class Reverted(NamedTuple):
    """A session whose owner has undone what we wrote a moment ago; `text` says what."""

    key: SessionKey
    id: str
    title: str | None
    text: str
