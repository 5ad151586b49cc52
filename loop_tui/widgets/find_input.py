"""The line one types a search into: Enter searches, Esc leaves."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

__all__ = ["FindInput"]


class FindInput(Input):
    """An input that is there only while one types."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False)]

    class Left(Message):
        """Esc: nothing is searched."""

        def __init__(self, sender: FindInput) -> None:
            self.sender = sender
            super().__init__()

    def open(self, text: str = "") -> None:
        """Show the line with `text` selected and type into it."""
        self.value = text
        self.add_class("-shown")
        self.focus()

    def close(self) -> None:
        self.remove_class("-shown")

    def action_leave(self) -> None:
        self.close()
        self.post_message(self.Left(self))
