"""Messages from background work to the screen; bursts of one kind become one call."""

from __future__ import annotations

from typing import Any

from textual.message import Message

from loop_core.model import Snapshot


class _Latest(Message):
    """Only the newest of several waiting in a queue matters."""

    def can_replace(self, message: Message) -> bool:
        return type(message) is type(self)


class SnapshotReady(_Latest):
    """A scan or a refresh has something newer to show."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        super().__init__()


class WatchState(_Latest):
    """How changes are noticed: native, polling or off, and why where that is worth a word."""

    def __init__(self, mode: str, note: str = "") -> None:
        self.mode = mode
        self.note = note
        super().__init__()


class Progressed(_Latest):
    """A bulk action has done `done` of `total` sessions."""

    def __init__(self, verb: str, done: int, total: int) -> None:
        self.verb = verb
        self.done = done
        self.total = total
        super().__init__()


class ServiceOpened(Message):
    """The stores are open; `recovered` says what was finished of a killed run."""

    def __init__(self, service: Any) -> None:
        self.service = service
        super().__init__()


class ServiceFailed(Message):
    """The stores could not be opened at all."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__()
