"""What the keys do in the history pane. The command table binds them; this does them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from loop_core.model import Block, Hit, Round, SessionKey
from loop_tui.layout import TOOL_LEVELS, BlockId, LaidRound, Options, line_text
from loop_tui.layout.marks import find_in
from loop_tui.text import Glyphs
from loop_tui.widgets.find_input import FindInput
from loop_tui.widgets.history_find import Finder, stream
from loop_tui.widgets.history_text import (
    block_text,
    block_title,
    path_to,
    round_text,
    where_text,
)
from loop_tui.widgets.transcript import Transcript
from loop_tui.widgets.window import LIMIT, Window

if TYPE_CHECKING:
    from textual.widget import Widget

    from loop_tui.widgets.history import At, HistoryPane, Reader

    _Base = Widget
else:
    _Base = object

__all__ = ["HistoryActions"]


class HistoryActions(_Base):
    """The actions of `HistoryPane`, by the names the command table uses."""

    if TYPE_CHECKING:
        transcript: Transcript
        find_input: FindInput
        window: Window | None
        options: Options
        glyphs: Glyphs
        reader: Reader
        following: bool
        shown: Any
        Status: type[HistoryPane.Status]
        Copied: type[HistoryPane.Copied]

        @property
        def showing(self) -> SessionKey | None: ...
        def redraw(self, *, exact: bool = True, then: Callable[[], None] | None = None) -> None: ...
        def load_edge(self, *, top: bool, then: Callable[[], None] | None = None) -> None: ...
        def start(self, job: Any, *, group: str, exclusive: bool = False) -> None: ...
        def turn(self) -> None: ...
        def _title(self) -> None: ...
        async def _read(self, row: Any, at: At, *, follow: bool, why: str = "") -> bool: ...
        async def _draw(
            self, *, follow: bool = False, exact: bool = True, keep_cursor: bool = True
        ) -> None: ...

    def _init_find(self) -> None:
        self.finder: Finder | None = None
        self._last_text = ""

    def _tell(self, text: str) -> None:
        self.post_message(self.Status(text))

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
        laid = lines.round_at(lines.cursor)
        if laid is None:
            return
        start = lines.start_of(laid.number)
        if start is not None and lines.cursor > start:
            lines.move_to(start, top=True)
            return
        earlier = self._neighbour(laid.number, -1)
        if earlier is not None:
            lines.move_to(earlier, top=True)
        elif self.window is not None and self.window.at_start:
            self._tell("This is the first round.")
        else:
            self.load_edge(top=True, then=self.action_previous_round)

    def action_next_round(self) -> None:
        lines = self.transcript
        laid = lines.round_at(lines.cursor)
        if laid is None:
            return
        later = self._neighbour(laid.number, 1)
        if later is not None:
            lines.move_to(later, top=True)
        elif self.window is not None and self.window.at_end:
            lines.move_to(lines.last_line)
            self._tell("This is the last round.")
        else:
            self.load_edge(top=False, then=self.action_next_round)

    def _neighbour(self, number: int, by: int) -> int | None:
        numbers = [laid.number for laid in self.transcript.rounds]
        at = numbers.index(number) + by
        return self.transcript.start_of(numbers[at]) if 0 <= at < len(numbers) else None

    def action_load_earlier(self) -> None:
        """Three rounds more at the top; the reader's line stays."""
        if self.window is None:
            return
        if self.window.at_start:
            self._tell("This is the beginning of the session.")
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
            self._unfollow()
            return
        self._go_to(_at(before_round=3), lambda: self.transcript.move_to(0, top=True))

    def action_latest(self) -> None:
        """The end; new rounds are followed until one scrolls up."""
        if self.window is None or self.shown is None:
            return
        if not self.window.at_end:
            self.turn()
            self.start(self._read(self.shown, _at(), follow=True), group="page", exclusive=True)
            return
        self.following = True
        self.transcript.move_to(self.transcript.last_line)
        self.transcript.to_end()
        self._title()

    def _unfollow(self) -> None:
        self.following = self.transcript.at_end and bool(self.window and self.window.at_end)
        self._title()

    def _go_to(self, at: At, then: Callable[[], None]) -> None:
        """Replace the window by one at `at`."""
        self.turn()

        async def run() -> None:
            if await self._read(self.shown, at, follow=False):
                then()
                self._unfollow()

        self.start(run, group="page", exclusive=True)

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
        self._tell(f"Tools: {words[level]}.")

    def action_toggle_thinking(self) -> None:
        self.options = self.options._replace(thinking=not self.options.thinking)
        self.redraw(exact=False)
        self._tell("Thinking is shown." if self.options.thinking else "Thinking is folded.")

    def action_open_block(self) -> None:
        """Unfold or fold what the cursor is on; a clipped block opens whole."""
        lines = self.transcript
        part = lines.part_at(lines.cursor)
        if part is None:
            self._tell("Nothing to open on this line.")
            return
        _, offset = lines.find_round(lines.cursor)
        does = part.enter if offset == part.first else part.enter_body or part.enter
        if does == "fold":
            self.flip(part.id)
            if offset != part.first:
                lines.move_by(part.first - offset)
        elif part.block is not None and (does == "view" or part.enter_body == "view"):
            self.view(part.block)
        else:
            self._tell("This block is shown whole.")

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
        if key is None:
            return
        self.app.push_screen(
            BlockViewer(
                block,
                lambda image: self.reader.image_data(key, image),
                title=block_title(block),
                ascii=self.options.ascii,
            )
        )

    # --- copying and asking

    def action_copy_block(self) -> None:
        part = self.transcript.part_at(self.transcript.cursor)
        if part is None or part.block is None:
            self._tell("No block on this line to copy.")
            return
        self.post_message(self.Copied(block_text(part.block), "block"))

    def action_copy_round(self) -> None:
        one = self._round_here()
        if one is None:
            self._tell("No round here to copy.")
            return
        name = f"round {one.index + 1}" if one.index >= 0 else "the first messages"
        self.post_message(self.Copied(round_text(one), name))

    def _round_here(self) -> Round | None:
        laid: LaidRound | None = self.transcript.round_at(self.transcript.cursor)
        return None if laid is None else laid.round

    def action_where_am_i(self) -> None:
        self._tell(self.where_am_i)

    @property
    def where_am_i(self) -> str:
        """Round n of N, bytes, and the damage known."""
        if self.window is None:
            return "No session is shown."
        return where_text(self.window, self._round_here(), self.glyphs.separator, self.glyphs.dash)

    # --- finding

    def action_start_find(self) -> None:
        """Type what to find in the whole session."""
        self.find_input.open(self._last_text)

    def on_input_submitted(self, event: FindInput.Submitted) -> None:
        if event.input is not self.find_input:
            return
        event.stop()
        self.find_input.close()
        self.transcript.focus()
        self.find(event.value)

    def on_find_input_left(self, event: FindInput.Left) -> None:
        event.stop()
        self.transcript.focus()

    def find(self, text: str) -> None:
        """Find `text` in the whole session; "" ends the search and its marks."""
        self._stop_find()
        self._last_text = text
        key = self.showing
        if not text or key is None:
            return
        self.finder = finder = Finder(text)
        self.transcript.mark(text)
        self.start(partial(self._find, finder, key), group="find", exclusive=True)

    def _stop_find(self) -> None:
        if self.finder is not None:
            self.finder.stopped.set()
            self.finder = None
        self.transcript.mark("")

    async def _find(self, finder: Finder, key: SessionKey) -> None:
        from loop_core.errors import LoopError, reason_of

        part = self.transcript.part_at(self.transcript.cursor)
        one = self._round_here()
        here = part.id[0] if part is not None else (one.start if one is not None else 0)
        shown = False
        try:
            async for _ in stream(
                finder, lambda stop: self.reader.find(key, finder.text, cancelled=stop)
            ):
                if self.finder is not finder:
                    return
                if not shown and (hit := finder.first_from(here)) is not None:
                    shown = True
                    self._jump(hit)
                self._tell(finder.status())
        except LoopError as error:
            self._tell(f"Could not search: {reason_of(error)}")
            return
        if not shown and self.finder is finder and (hit := finder.step(1)) is not None:
            self._jump(hit)
        self._tell(finder.status())

    def action_next_hit(self) -> None:
        self._step(1)

    def action_previous_hit(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        if self.finder is None:
            self._tell("Nothing is searched for.")
            return
        hit = self.finder.step(by)
        if hit is not None:
            self._jump(hit)
        self._tell(self.finder.status())

    def go_to(self, message_index: int, query: str = "") -> None:
        """Show a message, with `query` marked: for a hit of the search over all sessions."""
        self._stop_find()
        if query:
            self._last_text = query
            self.transcript.mark(query)
        self._reach(message_index, query, 0)

    def _jump(self, hit: Hit) -> None:
        if self.finder is not None:
            self._reach(hit.message, self.finder.text, self.finder.occurrence)

    def _reach(self, message: int, text: str, occurrence: int) -> None:
        """Bring a message on the screen, loading the window around it when needed."""

        def arrive() -> None:
            self._arrive(message, text.casefold(), occurrence)

        if self._round_of(message) is not None:
            arrive()
        elif self.shown is not None:
            self._go_to(_at(before=message + 1), arrive)

    def _round_of(self, message: int) -> LaidRound | None:
        for laid in self.transcript.rounds:
            if laid.round.start <= message < laid.round.end:
                return laid
        return None

    def _arrive(self, message: int, needle: str, occurrence: int, *, again: bool = True) -> None:
        """Put the cursor on the match, unfolding what hides it."""
        laid = self._round_of(message)
        if laid is None:
            return
        path = path_to(laid.round, message)
        keys = {key for key, _ in path}
        parts = [part for part in laid.parts if part.id in keys]
        start = self.transcript.start_of(laid.number) or 0
        matches = [
            start + line
            for part in parts
            for line in range(part.first, part.first + part.height)
            if needle and find_in(line_text(laid.lines[line]), needle)
        ]
        hidden = [key for key, block in path if _hides(block, needle) and key not in _open(parts)]
        if not matches and hidden and again and needle:
            self.options = self.options._replace(flipped=self.options.flipped ^ set(hidden))
            self.redraw(then=lambda: self._arrive(message, needle, occurrence, again=False))
            return
        if matches:
            line = matches[min(occurrence, len(matches) - 1)]
        else:
            line = start + (parts[0].first if parts else 0)
        self.transcript.move_to(line)
        self.transcript.center(line)
        self._unfollow()


def _at(before: int | None = None, before_round: int | None = None) -> At:
    from loop_tui.widgets.history import At

    return At(before, before_round)


def _hides(block: Block, needle: str) -> bool:
    return needle in block_text(block)[: 1 << 20].casefold() or bool(getattr(block, "children", ()))


def _open(parts: Any) -> set[BlockId]:
    """Parts already unfolded: those of more than one line."""
    return {part.id for part in parts if part.height > 1}
