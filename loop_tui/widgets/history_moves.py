"""Moving in the history, unfolding blocks, copying them: what the command table binds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from loop_core.model import Block, Round
from loop_tui.layout import TOOL_LEVELS, BlockId
from loop_tui.widgets.history_live import HistoryLive
from loop_tui.widgets.history_reader import At, Copied
from loop_tui.widgets.history_text import block_text, block_title, round_text, where_text
from loop_tui.widgets.transcript import Transcript
from loop_tui.widgets.window import LIMIT

__all__ = ["HistoryMoves"]


class HistoryMoves(HistoryLive):
    """The actions of `HistoryPane`; see there."""

    # --- moving

    def action_cursor_down(self) -> None:
        self.transcript.move_by(1)

    def action_cursor_up(self) -> None:
        self.transcript.move_by(-1)

    def action_page_down(self) -> None:
        self.transcript.page_by(1)

    def action_page_up(self) -> None:
        self.transcript.page_by(-1)

    def action_half_page_down(self) -> None:
        self.transcript.page_by(0.5)

    def action_half_page_up(self) -> None:
        self.transcript.page_by(-0.5)

    def action_home(self) -> None:
        self.action_first_round()

    def action_end(self) -> None:
        self.action_latest()

    def action_previous_round(self) -> None:
        """To the rule of this round, or of the one before it."""
        lines = self.transcript
        laid = lines.round_here
        if laid is None:
            return
        start = lines.lines.start_of(laid.number)
        if start is not None and lines.cursor > start:
            lines.move_to(start, top=True)
            return
        earlier = self._neighbour(laid.number, -1)
        if earlier is not None:
            lines.move_to(earlier, top=True)
        elif self.window is not None and self.window.at_start:
            self.tell("This is the first round.")
        else:
            self.load_edge(top=True, then=self.action_previous_round)

    def action_next_round(self) -> None:
        lines = self.transcript
        laid = lines.round_here
        if laid is None:
            return
        later = self._neighbour(laid.number, 1)
        if later is not None:
            lines.move_to(later, top=True)
        elif self.window is not None and self.window.at_end:
            lines.move_to(lines.lines.last_line)
            self.tell("This is the last round.")
        else:
            self.load_edge(top=False, then=self.action_next_round)

    def _neighbour(self, number: int, by: int) -> int | None:
        numbers = [laid.number for laid in self.transcript.rounds]
        at = numbers.index(number) + by
        return self.transcript.lines.start_of(numbers[at]) if 0 <= at < len(numbers) else None

    def action_load_earlier(self) -> None:
        """Three rounds more at the top; the reader's line stays."""
        if self.window is None:
            return
        if self.window.at_start:
            self.tell("This is the beginning of the session.")
            return
        if len(self.window.rounds) >= 2 * LIMIT:
            # Rounds on the screen are never dropped: from here on one has to go along.
            self.transcript.move_to(0, top=True)
        self.load_edge(top=True)

    def action_first_round(self) -> None:
        """The session's beginning: reads its first rounds, never all before the reader."""
        if self.window is None or self.shown is None:
            return
        if self.window.at_start:
            self.transcript.move_to(0, top=True)
            self.update_following()
            return

        def arrive() -> None:
            self.transcript.move_to(0, top=True)
            self.update_following()

        self.load_window(At(before_round=3), then=arrive)

    def action_latest(self) -> None:
        """The end; new rounds are followed until one scrolls up."""
        if self.window is None or self.shown is None:
            return
        if not self.window.at_end:
            self.load_window(At(), follow=True)
            return
        self.following = True
        self.transcript.move_to(self.transcript.lines.last_line)
        self.transcript.to_end()
        self._title()

    # --- what is unfolded

    def action_cycle_tools(self) -> None:
        """Tool detail: off, line, clipped, full."""
        level = TOOL_LEVELS[(TOOL_LEVELS.index(self.options.tools) + 1) % len(TOOL_LEVELS)]
        self.options = self.options._replace(tools=level, flipped=frozenset())
        self.redraw(exact=False)
        words = {
            "off": "one sentence for each run of calls",
            "line": "one line a call",
            "clipped": "calls unfolded, long output clipped",
            "full": "calls unfolded whole",
        }
        self.tell(f"Tools: {words[level]}.")

    def action_toggle_thinking(self) -> None:
        self.options = self.options._replace(thinking=not self.options.thinking)
        self.redraw(exact=False)
        self.tell("Thinking is shown." if self.options.thinking else "Thinking is folded.")

    def action_open_block(self) -> None:
        """Unfold or fold what the cursor is on; a clipped block opens whole."""
        lines = self.transcript
        part = lines.part_here
        if part is None:
            self.tell("Nothing to open on this line.")
            return
        _, offset = lines.lines.find_round(lines.cursor)
        does = part.enter if offset == part.first else part.enter_body or part.enter
        if does == "fold":
            self.flip(part.id)
            if offset != part.first:
                lines.move_by(part.first - offset)
        elif part.block is not None and (does == "view" or part.enter_body == "view"):
            self.view(part.block)
        else:
            self.tell("This block is shown whole.")

    def on_transcript_opened(self, event: Transcript.Opened) -> None:
        event.stop()
        self.action_open_block()

    def flip(self, key: BlockId, then: Callable[[], None] | None = None) -> None:
        """Unfold one block, or fold it again."""
        self.options = self.options._replace(flipped=self.options.flipped ^ {key})
        self.redraw(then=then)

    def view(self, block: Block) -> None:
        """Open a block whole, in a screen of its own."""
        from loop_tui.screens.block_viewer import BlockViewer

        key = self.showing
        if key is not None:
            viewer = BlockViewer(
                block,
                partial(self.reader.image_data, key),
                self.copy,
                title=block_title(block),
                ascii=self.options.ascii,
            )
            self.app.push_screen(viewer)

    def copy(self, text: str, what: str) -> None:
        """Hand a text to whoever owns the clipboard."""
        self.post_message(Copied(text, what))

    # --- copying and asking

    def action_copy_block(self) -> None:
        part = self.transcript.part_here
        if part is None or part.block is None:
            self.tell("No block on this line to copy.")
            return
        self.copy(block_text(part.block), "block")

    def action_copy_round(self) -> None:
        one = self.round_here()
        if one is None:
            self.tell("No round here to copy.")
            return
        name = f"round {one.index + 1}" if one.index >= 0 else "the first messages"
        self.copy(round_text(one), name)

    def round_here(self) -> Round | None:
        """The round under the cursor."""
        laid = self.transcript.round_here
        return None if laid is None else laid.round

    def action_where_am_i(self) -> None:
        self.tell(self.where_am_i)

    @property
    def where_am_i(self) -> str:
        """Round n of N, bytes, and the damage known."""
        if self.window is None:
            return "No session is shown."
        return where_text(self.window, self.round_here(), self.glyphs.separator, self.glyphs.dash)
