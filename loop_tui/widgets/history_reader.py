"""What the history pane reads through, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from textual.message import Message

from loop_core.model import Detail, Hit, ImageBlock, Page, SessionKey

__all__ = ["At", "Copied", "OutputSeen", "Reader", "Status"]


class At(NamedTuple):
    """Where to read a window: before a message, before a round, or the latest rounds."""

    before: int | None = None
    before_round: int | None = None


class Reader(Protocol):
    """The part of the service the pane reads through; every call may block."""

    def page(
        self,
        key: SessionKey,
        *,
        before: int | None = None,
        before_round: int | None = None,
        rounds: int = 3,
        revision: str | None = None,
    ) -> Page: ...

    def image_data(self, key: SessionKey, block: ImageBlock) -> tuple[str, str] | None: ...

    def find(
        self, key: SessionKey, text: str, *, cancelled: Callable[[], bool] = ...
    ) -> Iterator[Hit]: ...

    def details(self, key: SessionKey) -> tuple[Detail, ...]: ...


class OutputSeen(Message, namespace="history_pane"):
    """The last output has been on screen in the focused pane for one second."""

    def __init__(self, key: SessionKey, message_count: int) -> None:
        self.key = key
        self.message_count = message_count
        super().__init__()


class Status(Message, namespace="history_pane"):
    """Something to say in the status line."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()


class Copied(Message, namespace="history_pane"):
    """`text` should go to the clipboard; `what` names it ("block", "round 3")."""

    def __init__(self, text: str, what: str) -> None:
        self.text = text
        self.what = what
        super().__init__()
