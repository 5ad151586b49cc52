"""Reading a session into the history pane: windows of rounds, laid out off the event loop.

Every read and every layout runs in a thread; `turn` marks that another session (or another
place) is wanted, and what earlier reads bring is dropped. What is on the screen belongs to
`shown` until the next session is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from loop_core.errors import LoopError, StaleRevision, reason_of
from loop_core.model import Page, Round, SessionKey, SessionRow
from loop_core.sanitize import safe_line
from loop_tui.layout import LaidRound, Options, layout_round
from loop_tui.text import cell_width, clip, glyphs
from loop_tui.widgets.history_reader import At, Reader, Status
from loop_tui.widgets.history_text import damage_text
from loop_tui.widgets.transcript import Transcript
from loop_tui.widgets.window import PAGE, Window, any_visible

__all__ = ["HistoryReading"]

_DEBOUNCE = 0.04
_SLOW = 0.15  # a load that takes longer says so
_Laid = dict[int, tuple[tuple[Any, ...], LaidRound]]


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
        self._laid: _Laid = {}
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
        mine = self.turn()
        self._page_busy = True

        async def run() -> None:
            await asyncio.sleep(0 if why else _DEBOUNCE)
            if mine == self._serial and await self._read(row, At(), mine, follow=True) and why:
                self.tell(why)

        self.start(run, group="page", exclusive=True)

    def load_window(
        self, at: At, *, follow: bool = False, then: Callable[[], None] | None = None
    ) -> None:
        """Replace the window by one at another place of the same session."""
        row = self.shown
        if row is None:
            return
        mine = self.turn()
        self._page_busy = True

        async def run() -> None:
            if await self._read(row, at, mine, follow=follow) and then is not None:
                then()

        self.start(run, group="page", exclusive=True)

    async def _read(self, row: SessionRow, at: At, mine: int, *, follow: bool) -> bool:
        """Read a window and show it; False when it failed or something else is wanted."""
        slow = self.set_timer(_SLOW, lambda: self._loading(row, mine))
        try:
            window = await asyncio.to_thread(self._open_window, row.key, at)
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
        self.shown, self.window, self._laid = row, window, {}
        if follow:
            self.read_total = window.total
        self.following = follow
        await self.draw(follow=follow, keep_cursor=False)
        if mine != self._serial:
            return False
        self.say_if_empty()
        self.window_changed()
        return True

    def _open_window(self, key: SessionKey, at: At) -> Window:
        """A window at a place; goes on to earlier pages while nothing is visible."""
        window = Window(
            self.reader.page(key, before=at.before, before_round=at.before_round, rounds=PAGE)
        )
        while not window.at_start and not any_visible(window.rounds):
            page = self.reader.page(
                key, before_round=window.first, rounds=PAGE, revision=window.revision
            )
            if not window.add_earlier(page):
                break
        return window

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

    async def draw(
        self, *, follow: bool = False, exact: bool = True, keep_cursor: bool = True
    ) -> None:
        """Lay out the window in a thread and show it; draws follow one another."""
        async with self._drawing:
            window, mine = self.window, self._serial
            if window is None:
                return
            width = self.transcript.line_room or 80
            options = self.options
            if self.now_ms is not None:
                options = options._replace(now_ms=self.now_ms())
            laid = await asyncio.to_thread(
                _lay_out, window.rounds, width, options, dict(self._laid)
            )
            if mine != self._serial or self.window is not window:
                return
            self._laid = laid
            self.transcript.show(
                [one for _, one in laid.values()],
                follow=follow,
                exact=exact,
                keep_cursor=keep_cursor,
            )

    def redraw(self, *, exact: bool = True, then: Callable[[], None] | None = None) -> None:
        """Lay out again after a change of width or of what is unfolded."""

        async def run() -> None:
            await self.draw(follow=self.following and not exact, exact=exact)
            if then is not None:
                then()

        self.start(run, group="layout")

    # --- the edges

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
                page = await asyncio.to_thread(self._edge_page, row.key, window, top)
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

    def _edge_page(self, key: SessionKey, window: Window, top: bool) -> Page:
        before = window.first if top else window.last + 1 + PAGE
        return self.reader.page(key, before_round=before, rounds=PAGE, revision=window.revision)

    def replaced(self, row: SessionRow, mine: int) -> None:
        """The session has another history now: read that, and say so."""
        if mine == self._serial:
            why = "Its earlier history was replaced on disk; this is the new one."
            self.load_latest(row, why)


def _lay_out(
    rounds: Sequence[Round],
    width: int,
    options: Options,
    known: _Laid,
) -> _Laid:
    """Lay out the rounds that changed; the others keep their lines. Runs in a thread."""
    laid: _Laid = {}
    for one in rounds:
        flipped = frozenset(
            key for key in options.flipped if one.start <= key[0] < max(one.end, one.start + 1)
        )
        state = (width, options.tools, options.thinking, options.ascii, flipped)
        old = known.get(one.index)
        if old is not None and old[0] == state and old[1].round is one:
            laid[one.index] = old
        else:
            laid[one.index] = (state, layout_round(one, width, options))
    return laid
