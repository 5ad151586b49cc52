"""The history pane: one session's rounds, read page by page around the reader.

Highlighting a row shows it after 40 ms, so that key repeat reads nothing; every read and
every layout runs in a thread, and a result for a row that is no longer shown is dropped.
What is on the screen belongs to `shown` (with its revision) until the next session is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from loop_core.errors import LoopError, StaleRevision, reason_of
from loop_core.model import Detail, Hit, ImageBlock, Page, Round, SessionKey, SessionRow
from loop_tui.layout import BlockId, LaidRound, Options, layout_round
from loop_tui.text import cell_width, clip, glyphs
from loop_tui.widgets.find_input import FindInput
from loop_tui.widgets.history_actions import HistoryActions
from loop_tui.widgets.history_text import damage_text
from loop_tui.widgets.transcript import Transcript
from loop_tui.widgets.window import PAGE, Window, any_visible

__all__ = ["At", "HistoryPane", "Reader"]

_DEBOUNCE = 0.04
_SLOW = 0.15  # a load that takes longer says so
_REPAINT = 0.25  # growth is shown this often at most
_SEEN_TICKS = 4  # looks at the screen before its output counts as seen


class At(NamedTuple):
    """Where to read a window: before a message, before a round, or the latest rounds."""

    before: int | None = None
    before_round: int | None = None


class Reader(Protocol):
    """The part of the service the pane reads through; every call may block."""

    def page(
        self,
        key: SessionKey,
        *,
        before: int | None = None,
        before_round: int | None = None,
        rounds: int = 3,
        revision: str | None = None,
    ) -> Page: ...

    def image_data(self, key: SessionKey, block: ImageBlock) -> tuple[str, str] | None: ...

    def find(
        self, key: SessionKey, text: str, *, cancelled: Callable[[], bool] = ...
    ) -> Iterator[Hit]: ...

    def details(self, key: SessionKey) -> tuple[Detail, ...]: ...


class HistoryPane(HistoryActions, Widget):
    """A session's conversation. `show` a row, `refresh_row` when it changed on disk."""

    class OutputSeen(Message):
        """The last output has been on screen in the focused pane for one second."""

        def __init__(self, key: SessionKey, message_count: int) -> None:
            self.key = key
            self.message_count = message_count
            super().__init__()

    class Status(Message):
        """Something to say in the status line."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class Copied(Message):
        """`text` should go to the clipboard; `what` names it ("block", "round 3")."""

        def __init__(self, text: str, what: str) -> None:
            self.text = text
            self.what = what
            super().__init__()

    def __init__(
        self,
        reader: Reader,
        *,
        ascii: bool = False,  # noqa: A002 - the option is called so everywhere
        now_ms: Callable[[], float] | None = None,
        seen_after: float = 1.0,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.reader = reader
        self.now_ms = now_ms
        self.seen_after = seen_after  # seconds
        self.options = Options(ascii=ascii)
        self.glyphs = glyphs(ascii)
        self.set_class(ascii, "-ascii")
        self.wanted: SessionRow | None = None
        self.shown: SessionRow | None = None
        self.window: Window | None = None
        self.following = True
        self._serial = 0
        self._laid: dict[int, tuple[tuple[Any, ...], LaidRound]] = {}
        self._drawing = asyncio.Lock()
        self._edge_busy = False
        self._read_total = 0  # messages that were below or on the screen when last at the end
        self._live: Timer | None = None
        self._live_again = False
        self._seen_timer: Timer | None = None
        self._seen_ticks = 0
        self._seen: tuple[SessionKey, int] | None = None
        self._init_find()

    def compose(self) -> ComposeResult:
        yield FindInput(id="history-find", placeholder="find in this session")
        yield Static(id="history-notice", markup=False)
        yield Transcript(id="history-lines")

    def on_mount(self) -> None:
        self.transcript = self.query_one(Transcript)
        self._notice = self.query_one("#history-notice", Static)
        self.find_input = self.query_one(FindInput)
        self._seen_timer = self.set_interval(self.seen_after / _SEEN_TICKS, self._tick, pause=True)
        self._say("No session selected.")
        if self.wanted is not None:
            self.show(self.wanted)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the lines: the pane itself has nothing to type into."""
        self.transcript.focus(scroll_visible)
        return self

    # --- what is shown

    @property
    def showing(self) -> SessionKey | None:
        """Key of the session whose lines are on the screen."""
        return None if self.shown is None else self.shown.key

    def show(self, row: SessionRow | None) -> None:
        """Show a session's latest rounds, 40 ms from now unless another is asked for.

        The same session again only refreshes it.
        """
        if (
            row is not None
            and self.wanted is not None
            and row.key == self.wanted.key
            and self.is_mounted
        ):
            self.refresh_row(row)
            return
        self.wanted = row
        if not self.is_mounted:
            return
        self.turn()
        self.workers.cancel_node(self)
        if row is None:
            self._forget()
            self._say("No session selected.")
            return
        self.start(partial(self._load, row), group="page", exclusive=True)

    def start(self, job: Any, *, group: str, exclusive: bool = False) -> None:
        """Run an async job (a callable, so that one never started is never awaited)."""
        self.run_worker(job, group=group, exclusive=exclusive)

    def turn(self) -> None:
        """From here on, what earlier reads bring is dropped."""
        self._serial += 1
        self._edge_busy = False

    def _forget(self) -> None:
        self.shown = None
        self.window = None
        self._laid = {}
        self.options = self.options._replace(flipped=frozenset())
        self._stop_find()
        self.transcript.clear()
        self._title()

    async def _load(self, row: SessionRow, why: str = "") -> None:
        """Read the latest rounds of `row` and show their end."""
        await asyncio.sleep(0 if why else _DEBOUNCE)
        await self._read(row, At(), follow=True, why=why)

    async def _read(self, row: SessionRow, at: At, *, follow: bool, why: str = "") -> bool:
        """Read a window of `row` at `at`, replacing what is shown; True when it is shown."""
        mine = self._serial
        slow = self.set_timer(_SLOW, lambda: self._loading(row, mine))
        try:
            window = await asyncio.to_thread(self._open_window, row.key, at)
        except LoopError as error:
            if mine == self._serial:
                self._failed(row, error)
            return False
        finally:
            slow.stop()
        if mine != self._serial:
            return False
        if self.shown is None or self.shown.key != row.key:
            self._forget()
        self.shown, self.window = row, window
        self._laid = {}
        self._read_total = window.total if follow else self._read_total
        self.following = follow
        await self._draw(follow=follow, keep_cursor=False)
        self._say("" if window.rounds else "Nothing has been said here yet.")
        self._title()
        self._watch_seen()
        if why:
            self.post_message(self.Status(why))
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
            self._forget()
            self.shown = row
            self._title()
            self._say(f"Reading{self.glyphs.ellipsis}")

    def _failed(self, row: SessionRow, error: LoopError) -> None:
        self._forget()
        self.shown = row
        self._title()
        line = getattr(error, "line", None)
        where = f"{error.path}" if error.path else ""
        where += f", line {line}" if line is not None else ""
        self._say(f"This session cannot be read: {reason_of(error)}\n\n{where}", error=True)

    def _say(self, text: str, *, error: bool = False) -> None:
        """Words in place of the lines, as long as there are none."""
        self.transcript.say(text, "error" if error else "muted")

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
        self._notice.update(Content(f"{self.glyphs.damaged} {damage}" if damage else ""))
        self._notice.set_class(bool(damage), "-shown")

    @property
    def new_below(self) -> int:
        """Messages that came while the reader was further up."""
        if self.window is None or self.following:
            return 0
        return max(self.window.total - self._read_total, 0)

    # --- laying out

    async def _draw(
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
            await self._draw(follow=self.following and not exact, exact=exact)
            if then is not None:
                then()

        self.start(run, group="layout")

    def on_transcript_resized(self) -> None:
        if self.window is not None:
            self._title()
            self.redraw(exact=False)

    # --- the edges

    def on_transcript_edge(self, event: Transcript.Edge) -> None:
        event.stop()
        window = self.window
        if window is None:
            return
        if event.top and not window.at_start:
            self.load_edge(top=True)
        elif not event.top and not window.at_end:
            self.load_edge(top=False)

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
            await self._draw()
            self._title()
            if then is not None and mine == self._serial:
                then()
        except StaleRevision:
            self._replaced(row, mine)
        except LoopError as error:
            if mine == self._serial:
                self.post_message(self.Status(f"Could not read on: {reason_of(error)}"))
        finally:
            if mine == self._serial:
                self._edge_busy = False

    def on_screen(self) -> tuple[int, int]:
        """Numbers of the first and the last round with a line on the screen."""
        lines = self.transcript
        top = lines.scroll_offset.y
        first, last = lines.round_at(top), lines.round_at(top + max(lines.size.height, 1) - 1)
        return (0 if first is None else first.number), (-1 if last is None else last.number)

    def _edge_page(self, key: SessionKey, window: Window, top: bool) -> Page:
        before = window.first if top else window.last + 1 + PAGE
        return self.reader.page(key, before_round=before, rounds=PAGE, revision=window.revision)

    def _replaced(self, row: SessionRow, mine: int) -> None:
        if mine != self._serial:
            return
        self.turn()
        why = "Its earlier history was replaced on disk; this is the new one."
        self.start(partial(self._load, row, why), group="page", exclusive=True)

    def on_transcript_scrolled(self, event: Transcript.Scrolled) -> None:
        event.stop()
        was = self.following
        self.following = self.window is not None and self.window.at_end and self.transcript.at_end
        if self.following and self.window is not None:
            self._read_total = self.window.total
        if was != self.following:
            self._title()
            self._watch_seen()

    # --- live

    def refresh_row(self, row: SessionRow) -> None:
        """The session changed on disk: follow it, or say what is new below.

        Bursts are drawn about four times a second.
        """
        if self.wanted is None or row.key != self.wanted.key:
            return
        before, self.wanted = self.wanted, row
        if self.shown is None or self.shown.key != row.key or self.window is None:
            if self.is_mounted and (self.window is None or before.stamp != row.stamp):
                self.start(partial(self._load, row), group="page", exclusive=True)
            return
        self.shown = row
        if before.title != row.title:
            self._title()
        if before.stamp is not None and before.stamp == row.stamp:
            return
        if self._live is not None:
            self._live_again = True
            return
        self._live = self.set_timer(_REPAINT, self._live_next)
        self.start(partial(self._grow, row), group="live")

    def _live_next(self) -> None:
        self._live = None
        if self._live_again and self.wanted is not None:
            self._live_again = False
            self.refresh_row(self.wanted)

    async def _grow(self, row: SessionRow) -> None:
        mine, window = self._serial, self.window
        try:
            page = await asyncio.to_thread(self.reader.page, row.key, rounds=PAGE)
        except LoopError as error:
            if mine == self._serial:
                self.post_message(self.Status(f"Could not read on: {reason_of(error)}"))
            return
        if mine != self._serial or window is None or self.window is not window:
            return
        if page.revision != window.revision or page.total < window.total:
            self._replaced(row, mine)
            return
        follow = self.following
        keep, _ = self.on_screen()
        changed = window.add_later(page, keep=keep) if window.at_end or follow else 0
        if not changed and page.total > window.total:
            window.total, window.total_rounds = page.total, page.total_rounds
        gap = bool(page.rounds) and page.rounds[-1].index > window.last
        if follow and gap:
            await self._read(row, At(), follow=True)
            return
        window.at_end = window.at_end and not gap
        if changed:
            await self._draw(follow=follow)
        if follow:
            self._read_total = window.total
        self._say("" if window.rounds else "Nothing has been said here yet.")
        self._title()
        self._watch_seen()

    # --- what has been seen

    def on_descendant_focus(self) -> None:
        self._watch_seen()

    def _watch_seen(self) -> None:
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
            self.post_message(self.OutputSeen(*now))


def _lay_out(
    rounds: Sequence[Round],
    width: int,
    options: Options,
    known: dict[int, tuple[tuple[Any, ...], LaidRound]],
) -> dict[int, tuple[tuple[Any, ...], LaidRound]]:
    """Lay out the rounds that changed; the others keep their lines. Runs in a thread."""
    laid: dict[int, tuple[tuple[Any, ...], LaidRound]] = {}
    for one in rounds:
        flipped: frozenset[BlockId] = frozenset(
            key for key in options.flipped if one.start <= key[0] < max(one.end, one.start + 1)
        )
        state = (width, options.tools, options.thinking, options.ascii, flipped)
        old = known.get(one.index)
        if old is not None and old[0] == state and old[1].round is one:
            laid[one.index] = old
        else:
            laid[one.index] = (state, layout_round(one, width, options))
    return laid
