"""The edges of the window: rounds that join there, so that the pane is full and stays put."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from loop_core.errors import LoopError, StaleRevision, reason_of
from loop_core.model import SessionRow
from loop_tui.widgets.history_pages import edge_page
from loop_tui.widgets.history_reading import HistoryReading
from loop_tui.widgets.window import Window, any_visible

__all__ = ["HistoryEdges"]


class HistoryEdges(HistoryReading):
    """What `HistoryPane` does at both ends of its window; see there."""

    def redraw(self, *, exact: bool = True, then: Callable[[], None] | None = None) -> None:
        """Lay out again after a change of width or of what is unfolded."""

        async def run() -> None:
            await self.draw(follow=self.following and not exact, exact=exact)
            self.fill()
            if then is not None:
                then()

        self.start(run, group="layout")

    def fill(self) -> None:
        """Read on while there are fewer lines than the pane has room for."""
        window, lines = self.window, self.transcript
        if window is None or not window.rounds or lines.height >= lines.size.height:
            return
        if window.at_start and window.at_end:
            return
        here = len(window.rounds)

        def more() -> None:
            if self.window is window and len(window.rounds) > here:
                self.fill()

        self.load_edge(top=window.at_end, then=more)

    def load_edge(self, *, top: bool, then: Callable[[], None] | None = None) -> None:
        """Read three more rounds at one end; the view stays where it is."""
        if self._edge_busy or self.window is None or self.shown is None:
            return
        self._edge_busy = True
        work = partial(self._load_edge, self.shown, self.window, top=top, then=then)
        self.start(work, group="edge")

    async def _load_edge(
        self, row: SessionRow, window: Window, *, top: bool, then: Callable[[], None] | None
    ) -> None:
        mine = self._serial
        try:
            added = True
            while added and mine == self._serial and self.window is window:
                page = await asyncio.to_thread(edge_page, self.reader, row.key, window, top=top)
                if mine != self._serial or self.window is not window:
                    return
                first, last = self.on_screen()
                added = bool(
                    window.add_earlier(page, keep=last)
                    if top
                    else window.add_later(page, keep=first)
                )
                if any_visible(page.rounds) or (window.at_start if top else window.at_end):
                    break
            await self.draw()
            self._title()
            if then is not None and mine == self._serial:
                then()
        except StaleRevision:
            self.replaced(row, mine)
        except LoopError as error:
            if mine == self._serial:
                self.tell(f"Could not read on: {reason_of(error)}")
        finally:
            if mine == self._serial:
                self._edge_busy = False

    def on_screen(self) -> tuple[int, int]:
        """Numbers of the first and the last round with a line on the screen."""
        lines, top = self.transcript.lines, self.transcript.scroll_offset.y
        first = lines.round_at(top)
        last = lines.round_at(top + max(self.transcript.size.height, 1) - 1)
        return (0 if first is None else first.number), (-1 if last is None else last.number)

    def replaced(self, row: SessionRow, mine: int) -> None:
        """The session has another history now: read that, and say so."""
        if mine == self._serial:
            why = "Its earlier history was replaced on disk; this is the new one."
            self.load_latest(row, why)
