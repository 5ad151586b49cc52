"""Reading a session into the history pane: a window of rounds, its lines and its titles.

Every read and every layout runs in a thread (`history_pages`); `turn` marks that another
session (or another place) is wanted, and what earlier reads bring is dropped. What is on the
screen belongs to `shown` until the next session is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from loop_core.errors import LoopError, reason_of
from loop_core.model import SessionKey, SessionRow
from loop_core.sanitize import safe_line
from loop_tui.layout import Options
from loop_tui.text import cell_width, clip, glyphs
from loop_tui.widgets.history_pages import Laid, View, lay_out, open_window
from loop_tui.widgets.history_reader import At, Reader, Status
from loop_tui.widgets.history_text import damage_text
from loop_tui.widgets.transcript import Transcript
from loop_tui.widgets.window import Window

__all__ = ["HistoryReading"]

_DEBOUNCE = 0.04
_SLOW = 0.15  # a load that takes longer says so


class HistoryReading(Widget):
    """The reading half of `HistoryPane`; see there."""

    transcript: Transcript
    notice: Static

    def __init__(
        self,
        reader: Reader,
        *,
        ascii: bool = False,  # noqa: A002 - the option is called so everywhere
        now_ms: Callable[[], float] | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.reader = reader
        self.now_ms = now_ms
        self.options = Options(ascii=ascii)
        self.glyphs = glyphs(ascii)
        self.set_class(ascii, "-ascii")
        self.wanted: SessionRow | None = None
        self.shown: SessionRow | None = None
        self.window: Window | None = None
        self.following = True
        self.read_total = 0  # messages when the end was last on the screen
        self._damage = ""  # what the line about damage says
        self._serial = 0
        self._laid: Laid = {}
        self._drawing = asyncio.Lock()
        self._page_busy = False
        self._edge_busy = False

    @property
    def showing(self) -> SessionKey | None:
        """Key of the session whose lines are on the screen."""
        return None if self.shown is None else self.shown.key

    def tell(self, text: str) -> None:
        """Say something in the status line."""
        self.post_message(Status(safe_line(text)))

    def start(self, job: Any, *, group: str, exclusive: bool = False) -> None:
        """Run an async job (a callable, so that one never started is never awaited)."""
        self.run_worker(job, group=group, exclusive=exclusive)

    def turn(self) -> int:
        """From here on, what earlier reads bring is dropped; returns the new turn."""
        self._serial += 1
        self._edge_busy = self._page_busy = False
        return self._serial

    def window_changed(self) -> None:
        """The window has other rounds, or the reader is at its end now, or no longer."""
        self._title()

    def forgotten(self) -> None:
        """Nothing of a session is shown any more."""

    # --- windows

    def load_latest(self, row: SessionRow, why: str = "") -> None:
        """Read the latest rounds of `row`, after a moment in which another may be wanted."""

        def said() -> None:
            if why:
                self.tell(why)

        self._load(row, At(), wait=0 if why else _DEBOUNCE, follow=True, then=said)

    def load_window(
        self,
        at: At,
        *,
        row: SessionRow | None = None,
        follow: bool = False,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Replace the window by one at another place: of the same session, or of `row`."""
        row = self.shown if row is None else row
        if row is not None:
            self._load(row, at, follow=follow, then=then)

    def _load(
        self,
        row: SessionRow,
        at: At,
        *,
        wait: float = 0,
        follow: bool,
        then: Callable[[], None] | None,
    ) -> None:
        mine = self.turn()
        self._page_busy = True

        async def run() -> None:
            if wait:
                await asyncio.sleep(wait)
            if mine != self._serial or not await self._read(row, at, mine, follow=follow):
                return
            if then is not None:
                then()

        self.start(run, group="page", exclusive=True)

    async def _read(self, row: SessionRow, at: At, mine: int, *, follow: bool) -> bool:
        """Read a window and show it; False when it failed or something else is wanted."""
        slow = self.set_timer(_SLOW, lambda: self._loading(row, mine))
        try:
            view = self._view()
            window, laid = await asyncio.to_thread(open_window, self.reader, row.key, at, view)
        except LoopError as error:
            if mine == self._serial:
                self._failed(row, error)
            return False
        finally:
            slow.stop()
            if mine == self._serial:
                self._page_busy = False
        if mine != self._serial:
            return False
        if self.shown is None or self.shown.key != row.key:
            self.forget()
        self.shown, self.window, self._laid = row, window, laid
        if follow:
            self.read_total = window.total
        self.following = follow
        await self.draw(follow=follow, keep_cursor=False)
        if mine != self._serial:
            return False
        self.say_if_empty()
        self.window_changed()
        return True

    def _loading(self, row: SessionRow, mine: int) -> None:
        if mine == self._serial and (self.shown is None or self.shown.key != row.key):
            self.forget()
            self.shown = row
            self._title()
            self.say(f"Reading{self.glyphs.ellipsis}")

    def _failed(self, row: SessionRow, error: LoopError) -> None:
        self.forget()
        self.shown = row
        self._title()
        line = getattr(error, "line", None)
        where = f"{error.path}" if error.path else ""
        where += f", line {line}" if line is not None else ""
        self.say(f"This session cannot be read: {reason_of(error)}\n\n{where}", error=True)

    def forget(self) -> None:
        """Clear the pane: nothing of one session stays while another is read."""
        self.shown = None
        self.window = None
        self._laid = {}
        self.options = self.options._replace(flipped=frozenset())
        self.forgotten()
        self.transcript.clear()
        self._title()

    def say(self, text: str, *, error: bool = False) -> None:
        """Words in place of the lines, as long as there are none."""
        self.transcript.say(text, "error" if error else "muted")

    def say_if_empty(self) -> None:
        """Words for a session without a round."""
        empty = self.window is not None and not self.window.rounds
        self.say("Nothing has been said here yet." if empty else "")

    def _title(self) -> None:
        """Border title and subtitle, and the line about damage."""
        row, window = self.shown, self.window
        title = "" if row is None else row.title or "New session"
        where = "" if window is None else window.range_text(self.glyphs.dash)
        if new := self.new_below:
            where = f"{new:,} new below {self.glyphs.separator} {where}"
        # Textual would cut a title with an ellipsis that plain ASCII does not have.
        room = self.size.width - 4 if self.size.width else 200
        if self.styles.border_bottom[0] in ("", "none", "hidden") and where:
            # Without a lower border its text joins the title.
            where = f" {self.glyphs.separator} {where}"
            kept = clip(title, max(room - cell_width(where), 8), self.glyphs.ellipsis)
            title, where = f"{kept}{where}", ""
        self.border_title = Content(clip(title, max(room, 1), self.glyphs.ellipsis))
        self.border_subtitle = Content(where)
        damage = "" if window is None else damage_text(window.damage)
        if damage != self._damage:  # an update lays the screen out again
            self._damage = damage
            self.notice.update(Content(f"{self.glyphs.damaged} {damage}" if damage else ""))
            self.notice.set_class(bool(damage), "-shown")

    @property
    def new_below(self) -> int:
        """Messages that came while the reader was further up."""
        if self.window is None or self.following:
            return 0
        return max(self.window.total - self.read_total, 0)

    # --- laying out

    def _view(self) -> View:
        options = self.options
        if self.now_ms is not None:
            options = options._replace(now_ms=self.now_ms())
        return View(self.transcript.line_room or 80, self.transcript.size.height, options)

    async def draw(
        self, *, follow: bool = False, exact: bool = True, keep_cursor: bool = True
    ) -> None:
        """Lay out the window in a thread and show it; draws follow one another."""
        async with self._drawing:
            window, mine = self.window, self._serial
            if window is None:
                return
            laid = await asyncio.to_thread(lay_out, window.rounds, self._view(), dict(self._laid))
            if mine != self._serial or self.window is not window:
                return
            self._laid = laid
            self.transcript.show(
                [one for _, one in laid.values()],
                follow=follow,
                exact=exact,
                keep_cursor=keep_cursor,
            )
