"""Search from the browser: opening it, going to hits, and the index kept in the background.

The index is brought up to date by a process of its own, started when the search opens and
sessions are not in it yet. It is our own cache and touches no store, so read-only mode has
it too. The process ends with the browser; what it had committed stays.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.message import Message

from loop_tui.screens.questions import title_of

if TYPE_CHECKING:
    from loop_core.model import SessionKey
    from loop_core.search.indexer import IndexProgress
    from loop_core.search.result import RoundHit
    from loop_tui.indexing import IndexJob
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler
    from loop_tui.screens.search import Asked, Chosen, SearchScreen
    from loop_tui.state.found import FoundLine, Place

__all__ = ["IndexEnded", "Indexed", "Searching"]

STOP_S = 0.3


class Indexed(Message):
    """The index update is so far."""

    def __init__(self, progress: IndexProgress) -> None:
        self.progress = progress
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Indexed)


class IndexEnded(Message):
    """The index update ended; `fault` says why it failed."""

    def __init__(self, fault: str | None) -> None:
        self.fault = fault
        super().__init__()


class Searching:
    """The search of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen
        self.note = ""  # what the index process does, for status lines
        self.asked: Asked | None = None
        self.places: list[Place] = []
        self.at = -1
        self.job: IndexJob | None = None
        self._starting = False
        self._stopped = False

    def handlers(self) -> dict[str, Handler]:
        return {
            "search": lambda _: self.open(),
            "find.next": lambda _: self.step(1),
            "find.previous": lambda _: self.step(-1),
        }

    # --- the screen

    def open(self) -> None:
        from loop_tui.screens.search import Asked, SearchScreen

        screen = self.screen
        if screen.service is None:
            screen.toast("The stores are still being opened", "warning")
            return
        self.start_indexing()
        asked = self.asked if self.asked is not None else Asked()
        screen.app.push_screen(SearchScreen(screen, asked), self._left)

    def _left(self, chosen: Chosen | None) -> None:
        if chosen is None:
            return
        self.asked = chosen.asked
        if chosen.line is not None:
            self.go(chosen.line)

    def go(self, line: FoundLine) -> None:
        """Open the history at a hit, or the session at its latest round."""
        if line.key is None or self.asked is None:
            return
        from loop_tui.state.found import walk

        self.places = walk(self.asked.lines)
        hits = [i for i, place in enumerate(self.places) if place.key == line.key]
        self.at = next((i for i in hits if self.places[i].hit is line.hit), -1)
        if line.hit is None and hits:
            # On the session's own line: its first hit is the next one.
            self.at = hits[0] - 1
        self._show(line.key, line.hit)

    # --- walking the hits

    @property
    def walking(self) -> bool:
        """Whether `n` has hits of the search to go to."""
        return bool(self.places)

    def step(self, by: int) -> None:
        """The next or previous hit: of a find in the history, else of the search."""
        screen = self.screen
        if screen.history.finding:
            viewer = screen.history
            viewer.action_next_hit() if by > 0 else viewer.action_previous_hit()
            return
        if not self.places:
            return
        if self.at < 0 and by < 0:
            self.at = 0
        self.at = (self.at + by) % len(self.places)
        place = self.places[self.at]
        if place.key not in screen.browse.rows:
            screen.toast("This session is not there any more", "warning")
            return
        self._show(place.key, place.hit)

    def _show(self, key: SessionKey, hit: RoundHit | None) -> None:
        screen = self.screen
        if not screen.places.reveal(key):
            screen.toast("This session is not there any more", "warning")
            return
        screen.places.go("history")
        row = screen.browse.rows[key]
        if hit is None:
            return
        from loop_tui.state.found import needle_of

        screen.history.show_at(row, hit.message, needle_of(hit))
        gap = f" {screen.glyphs.separator} "
        number = "before the first round" if hit.round < 0 else f"round {hit.round + 1}"
        where = f"hit {self.at + 1:,} of {len(self.places):,}"
        screen.toast(gap.join((where, number, title_of(row))))

    # --- the index

    def start_indexing(self) -> None:
        """Bring the index up to date in a process of its own, when that is worth it."""
        if not self._starting and (self.job is None or not self.job.running):
            self._starting = True
            self.screen.run_worker(self._start(), group="index")

    async def _start(self) -> None:
        screen, service = self.screen, self.screen.service
        try:
            from loop_core.search.index import available

            if not await asyncio.to_thread(available):
                self.tell("without an index (tantivy is not installed)")
                return
            rows = service.snapshot.rows
            if await asyncio.to_thread(service.engine.pending, rows) and not self._stopped:
                self.tell("indexing")
                self.job = await asyncio.to_thread(self._job)
        except OSError as error:
            screen.toast(f"The index stays as it is: {error}", "warning")
        finally:
            self._starting = False

    def _job(self) -> IndexJob:
        from loop_tui.indexing import IndexJob

        post = self.screen.post_message

        def progressed(progress: IndexProgress) -> None:
            post(Indexed(progress))

        def ended(fault: str | None) -> None:
            post(IndexEnded(fault))

        return IndexJob(self.screen.service.options, progressed, ended)

    def indexed(self, progress: IndexProgress) -> None:
        share = progress.bytes_done * 100 // max(progress.bytes_total, 1)
        self.tell(f"indexing {progress.done:,} of {progress.total:,} ({share} %)")

    def ended(self, fault: str | None) -> None:
        self.tell("" if fault is None else f"the index stays as it is: {fault}")
        if (top := self._top()) is not None and fault is None:
            top.ask_soon(keep=True)

    def tell(self, note: str) -> None:
        """Show what the index process does, where the user is."""
        self.note = note
        if (top := self._top()) is not None:
            top.say()
        self.screen.board.show_status()

    def _top(self) -> SearchScreen | None:
        from loop_tui.screens.search import SearchScreen

        top = self.screen.app.screen
        return top if isinstance(top, SearchScreen) else None

    def stop(self) -> None:
        """End the index process; called when the browser closes."""
        self._stopped = True
        if self.job is not None:
            self.job.stop(STOP_S)
