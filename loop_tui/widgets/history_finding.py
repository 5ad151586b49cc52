"""Finding text in a whole session and going to its matches, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from loop_core.errors import LoopError, reason_of
from loop_core.model import Block, Hit, SessionKey, SessionRow
from loop_tui.layout import BlockId, LaidRound, Part, line_text
from loop_tui.layout.marks import find_in
from loop_tui.widgets.find_input import FindInput
from loop_tui.widgets.history_find import Finder, stream
from loop_tui.widgets.history_moves import HistoryMoves
from loop_tui.widgets.history_reader import At, Reader
from loop_tui.widgets.history_text import block_text, path_to

__all__ = ["HistoryFinding"]

_SEARCHED = 1 << 20  # characters of a folded block that are searched for the match


class HistoryFinding(HistoryMoves):
    """The finding part of `HistoryPane`; see there."""

    find_input: FindInput

    def __init__(self, reader: Reader, **options: Any) -> None:
        super().__init__(reader, **options)
        self.finder: Finder | None = None
        self._last_text = ""

    @property
    def finding(self) -> bool:
        """Whether a text is searched for in this session, so that there are hits to go to."""
        return self.finder is not None

    def forgotten(self) -> None:
        self._stop_find()

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
        part = self.transcript.part_here
        one = self.round_here()
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
                self.tell(finder.status())
        except LoopError as error:
            self.tell(f"Could not search: {reason_of(error)}")
            return
        if not shown and self.finder is finder and (hit := finder.step(1)) is not None:
            self._jump(hit)
        self.tell(finder.status())

    def action_next_hit(self) -> None:
        self._step(1)

    def action_previous_hit(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        if self.finder is None:
            self.tell("Nothing is searched for.")
            return
        hit = self.finder.step(by)
        if hit is not None:
            self._jump(hit)
        self.tell(self.finder.status())

    def go_to(self, message_index: int, query: str = "") -> None:
        """Show a message of the session shown, with `query` marked."""
        self._mark(query)
        self._reach(message_index, query, 0)

    def show_at(self, row: SessionRow, message: int, needle: str = "") -> None:
        """Show a session at one of its messages, with `needle` marked: a hit of the search.

        A session that is not shown yet is read there at once, never at its end first.
        """
        wanted = None if self.wanted is None else self.wanted.key
        if self.window is not None and self.showing == wanted == row.key:
            self.refresh_row(row)
            self.go_to(message, needle)
            return
        self.wanted = row
        self.workers.cancel_node(self)

        def arrive() -> None:
            self.go_to(message, needle)

        self.load_window(At(before=message + 1), row=row, then=arrive)

    def _mark(self, query: str) -> None:
        self._stop_find()
        if query:
            self._last_text = query
            self.transcript.mark(query)

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
            self.load_window(At(before=message + 1), then=arrive)

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
        start = self.transcript.lines.start_of(laid.number) or 0
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
        self.update_following()


def _hides(block: Block, needle: str) -> bool:
    if getattr(block, "children", ()):
        return True
    return needle in block_text(block)[:_SEARCHED].casefold()


def _open(parts: Sequence[Part]) -> set[BlockId]:
    """Parts already unfolded: those of more than one line."""
    return {part.id for part in parts if part.height > 1}
