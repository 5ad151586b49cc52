"""The history pane of the browser: the viewer, and the keys it has here."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from loop_tui.keys import bindings_of
from loop_tui.widgets.history import HistoryPane

__all__ = ["HistoryColumn"]


class HistoryColumn(Vertical):
    """Holds the history viewer; the keys of the history scope are bound here."""

    BINDINGS = bindings_of("history")

    def __init__(self, viewer: HistoryPane) -> None:
        super().__init__(id="history", classes="pane")
        self.viewer = viewer

    def compose(self) -> ComposeResult:
        yield self.viewer
