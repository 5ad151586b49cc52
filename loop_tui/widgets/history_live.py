"""The open history while its session grows, and when its output counts as seen."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from textual.timer import Timer

from loop_core.errors import LoopError, reason_of
from loop_core.model import SessionKey, SessionRow
from loop_tui.widgets.history_edges import HistoryEdges
from loop_tui.widgets.history_pages import newer_page
from loop_tui.widgets.history_reader import OutputSeen, Reader
from loop_tui.widgets.transcript import Transcript

__all__ = ["HistoryLive"]

_REPAINT = 0.25  # growth is shown this often at most
_SEEN_TICKS = 4  # looks at the screen before its output counts as seen


class HistoryLive(HistoryEdges):
    """The live half of `HistoryPane`; see there."""

    def __init__(self, reader: Reader, *, seen_after: float = 1.0, **options: Any) -> None:
        super().__init__(reader, **options)
        self.seen_after = seen_after  # seconds
        self._live: Timer | None = None
        self._live_again = False
        self._seen_timer: Timer | None = None
        self._seen_ticks = 0
        self._seen: tuple[SessionKey, int] | None = None

    def window_changed(self) -> None:
        super().window_changed()
        self.watch_seen()
        if self._live_again and self._live is None:
            self._follow_soon()

    def on_transcript_scrolled(self, event: Transcript.Scrolled) -> None:
        event.stop()
        was = self.following
        self.update_following()
        if was != self.following:
            self.watch_seen()

    def update_following(self) -> None:
        """New rounds are followed while the end is on the screen."""
        was = self.following
        window = self.window
        self.following = window is not None and window.at_end and self.transcript.at_end
        if self.following and window is not None:
            self.read_total = window.total
        if was != self.following:
            self._title()

    # --- growth

    def refresh_row(self, row: SessionRow) -> None:
        """The session changed on disk: follow it, or say what is new below.

        Bursts are drawn about four times a second.
        """
        if self.wanted is None or row.key != self.wanted.key or not self.is_mounted:
            return
        before, self.wanted = self.wanted, row
        changed = before.stamp is None or before.stamp != row.stamp
        if self._page_busy:
            self._live_again = changed  # after what is being read now
            return
        if self.shown is None or self.shown.key != row.key or self.window is None:
            self.load_latest(row)
            return
        self.shown = row
        if before.title != row.title:
            self._title()
        if changed:
            self._follow_soon()

    def _follow_soon(self) -> None:
        if self._live is not None:
            self._live_again = True
            return
        self._live_again = False
        self._live = self.set_timer(_REPAINT, self._live_next)
        if self.shown is not None:
            self.start(partial(self._grow, self.shown), group="live")

    def _live_next(self) -> None:
        self._live = None
        if self._live_again:
            self._follow_soon()

    async def _grow(self, row: SessionRow) -> None:
        mine, window = self._serial, self.window
        if window is None:
            return
        try:
            page = await asyncio.to_thread(
                newer_page, self.reader, row.key, window, joined=self.following
            )
        except LoopError as error:
            if mine == self._serial:
                self.tell(f"Could not read on: {reason_of(error)}")
            return
        if mine != self._serial or self.window is not window:
            return
        if page.revision != window.revision or page.total < window.total:
            self.replaced(row, mine)
            return
        follow = self.following
        keep, _ = self.on_screen()
        changed = window.add_later(page, keep=keep) if window.at_end or follow else 0
        if not changed and page.total > window.total:
            window.total, window.total_rounds = page.total, page.total_rounds
        gap = bool(page.rounds) and page.rounds[-1].index > window.last
        if follow and gap:
            self.load_latest(row)
            return
        window.at_end = window.at_end and not gap
        if changed:
            await self.draw(follow=follow)
        if follow:
            self.read_total = window.total
        self.say_if_empty()
        self.window_changed()

    # --- what has been seen

    def start_seeing(self) -> None:
        """Make the timer that looks at the screen; call it when mounted."""
        every = self.seen_after / _SEEN_TICKS
        self._seen_timer = self.set_interval(every, self._tick, pause=True)

    def on_descendant_focus(self) -> None:
        self.watch_seen()

    def watch_seen(self) -> None:
        """Count the time the end is on screen, while there is something new to see."""
        self._seen_ticks = 0
        if self._seen_timer is None:
            return
        key = self._seen_now()
        if key is None or key == self._seen:
            self._seen_timer.pause()
        else:
            self._seen_timer.resume()

    def _seen_now(self) -> tuple[SessionKey, int] | None:
        if self.shown is None or self.window is None or not self.window.total:
            return None
        return self.shown.key, self.window.total

    def _tick(self) -> None:
        now, timer = self._seen_now(), self._seen_timer
        if timer is None or now is None or not self.transcript.has_focus:
            self._seen_ticks = 0
            if timer is not None:
                timer.pause()
            return
        visible = (
            self.window is not None
            and self.window.at_end
            and self.transcript.at_end
            and self.app.screen is self.screen
            and self.app.app_focus
        )
        self._seen_ticks = self._seen_ticks + 1 if visible else 0
        if self._seen_ticks >= _SEEN_TICKS:
            self._seen = now
            timer.pause()
            self.post_message(OutputSeen(*now))
