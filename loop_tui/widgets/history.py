"""The history pane: one session's conversation, read page by page around the reader.

The pane is built up in steps, each a module: `history_reading` reads windows of rounds off
the event loop (`history_pages`), `history_edges` joins rounds at both ends, `history_live`
follows a growing session and notices what has been seen, `history_moves` holds the actions of
the command table, `history_finding` finds text in the whole session. What is drawn is
`transcript`.
"""

from __future__ import annotations

from typing import Self, TypeAlias

from textual.app import ComposeResult
from textual.widgets import Static

from loop_core.model import SessionRow
from loop_tui.widgets import history_reader
from loop_tui.widgets.find_input import FindInput
from loop_tui.widgets.history_finding import HistoryFinding
from loop_tui.widgets.history_reader import Reader
from loop_tui.widgets.transcript import Transcript

__all__ = ["HistoryPane", "Reader"]


class HistoryPane(HistoryFinding):
    """A session's conversation: `show` a row, `refresh_row` when it changed on disk.

    Posts `OutputSeen` when the end has been on screen in the focused pane for `seen_after`
    seconds, `Status` with what there is to say, `Copied` with text for the clipboard. The
    actions are bound by the command table; the pane has no keys of its own.
    """

    OutputSeen: TypeAlias = history_reader.OutputSeen
    Status: TypeAlias = history_reader.Status
    Copied: TypeAlias = history_reader.Copied

    def compose(self) -> ComposeResult:
        yield FindInput(id="history-find", placeholder="find in this session")
        yield Static(id="history-notice", markup=False)
        yield Transcript(id="history-lines")

    def on_mount(self) -> None:
        self.transcript = self.query_one(Transcript)
        self.notice = self.query_one("#history-notice", Static)
        self.find_input = self.query_one(FindInput)
        self.start_seeing()
        self.say("No session selected.")
        wanted, self.wanted = self.wanted, None
        if wanted is not None:
            self.show(wanted)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the lines: the pane itself has nothing to type into."""
        self.transcript.focus(scroll_visible)
        return self

    def show(self, row: SessionRow | None) -> None:
        """Show a session's latest rounds, 40 ms from now unless another is asked for.

        The same session again only refreshes it; None clears the pane.
        """
        if not self.is_mounted:
            self.wanted = row
            return
        if row is not None and self.wanted is not None and row.key == self.wanted.key:
            self.refresh_row(row)
            return
        self.wanted = row
        self.turn()
        self.workers.cancel_node(self)
        if row is None:
            self.forget()
            self.say("No session selected.")
        else:
            self.load_latest(row)

    def on_transcript_resized(self, event: Transcript.Resized) -> None:
        event.stop()
        if self.window is None:
            return
        self.window_changed()
        if event.width:
            self.redraw(exact=False)
            return
        if self.following:
            self.transcript.to_end()
        self.fill()

    def on_transcript_edge(self, event: Transcript.Edge) -> None:
        event.stop()
        window = self.window
        if window is None:
            return
        if event.top and not window.at_start:
            self.load_edge(top=True)
        elif not event.top and not window.at_end:
            self.load_edge(top=False)
