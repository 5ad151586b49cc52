"""What the stores have to say: snapshots, taken so that nothing moves under a busy person.

A row that changed is drawn at once. A row that belongs elsewhere now goes there when nobody
has touched a key or the mouse for a while, or when somebody asks for it (`R`).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from textual.timer import Timer

from loop_core.errors import LoopError, reason_of
from loop_core.model import Snapshot

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler

__all__ = ["News"]

IDLE_S = 2.0  # without a key for that long, rows may change places


class News:
    """The snapshots of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen
        self.scanning = True  # the first scan is not over
        self._settle_timer: Timer | None = None

    def handlers(self) -> dict[str, Handler]:
        return {"refresh": lambda _: self.rescan(said=True)}

    def apply(self, snapshot: Snapshot) -> None:
        """Take a snapshot; rows change places only when nobody is at the keys."""
        screen = self.screen
        browse = screen.browse
        if snapshot.generation < browse.snapshot.generation:
            return
        if snapshot is browse.snapshot and not browse.pending:
            screen.board.show_all()  # taken already; marks may have changed
            return
        before = browse.row
        first = not browse.snapshot.rows
        idle = time.monotonic() - screen.last_touch > IDLE_S
        browse.apply(snapshot, settle=first or idle)
        # What the first scan finds goes above what it found before: until somebody is
        # there, the top of the list is what they look at.
        top = first or (self.scanning and not screen.last_touch)
        self.scanning = self.scanning and not snapshot.complete
        screen.board.show_all(top=top)
        row = browse.row
        if row is not None and before is not None and row.key == before.key and row != before:
            screen.history.refresh_row(row)
        if browse.pending:
            self._settle_later()

    def finish_scan(self) -> None:
        """The first scan is over, whatever it found."""
        self.scanning = False
        self.screen.board.show_all()

    def _settle_later(self) -> None:
        if self._settle_timer is None:
            self._settle_timer = self.screen.set_timer(IDLE_S, self._settle_if_idle)

    def _settle_if_idle(self) -> None:
        self._settle_timer = None
        if not self.screen.browse.pending:
            return
        if time.monotonic() - self.screen.last_touch < IDLE_S:
            self._settle_later()
            return
        self._settle()

    def _settle(self) -> None:
        self.screen.browse.settle()
        self.screen.board.show_rows()

    def rescan(self, *, said: bool = False) -> None:
        """Read the stores again, and put the rows in order."""
        self.screen.run_worker(self._rescan(said=said), group="scan", exclusive=True)

    async def _rescan(self, *, said: bool) -> None:
        screen = self.screen
        if screen.service is None:
            return
        try:
            snapshot = await asyncio.to_thread(screen.service.scan)
        except LoopError as error:
            screen.toast(reason_of(error), "error")
            return
        self.apply(snapshot)
        self._settle()
        if said:
            screen.toast(f"Read again: {screen.header.sessions:,} active sessions")
