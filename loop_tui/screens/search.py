"""Full text over all sessions: a field, and what it finds as one types.

The question goes to a thread 60 ms after the last key; only the latest answer is shown. What
the index does not hold is looked at for a third of a second first, then to the end.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from loop_core.errors import LoopError, reason_of
from loop_tui.state.found import FoundLine, found_lines, left_out, summary
from loop_tui.text import clip
from loop_tui.widgets.bars import FooterBar
from loop_tui.widgets.found import FoundList
from loop_tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from loop_core.search.result import SearchResult
    from loop_tui.screens.browser import BrowserScreen

__all__ = ["Asked", "Chosen", "SearchScreen"]

DEBOUNCE_S = 0.06
BUDGET_S = 0.3  # for sessions the index does not hold, while one types
SESSIONS = 50


class Asked(NamedTuple):
    """A question and its answer, kept while the browser runs."""

    text: str = ""
    exact: bool = False
    lines: tuple[FoundLine, ...] = ()
    cursor: int = -1
    result: SearchResult | None = None


class Chosen(NamedTuple):
    """How the screen was left; `line` None: without a choice."""

    asked: Asked
    line: FoundLine | None


class SearchScreen(Screen[Chosen]):
    """Type, move with the arrows, Enter opens."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", show=False),
        Binding("ctrl+f", "leave", "Back", show=False, id="search"),
        Binding("down,ctrl+n", "move(1)", "Down", show=False),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("tab", "exact", "Parts of words", show=False),
    ]

    def __init__(self, browser: BrowserScreen, asked: Asked) -> None:
        super().__init__()
        self.browser = browser
        self.glyphs = browser.glyphs
        self.asked = asked
        self.exact = asked.exact
        self.result = asked.result
        self.busy = False
        self.field = Input(asked.text, id="search-field", compact=True, select_on_focus=False)
        self.line = Static(id="search-summary", markup=False)
        self.listing = FoundList(ascii_only=browser.ascii_only)
        self.footer = FooterBar(ascii_only=browser.ascii_only)
        self._timer: Timer | None = None
        self._stop = threading.Event()
        self._said = ""
        self._fault = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="search-line"):
            yield Static("search", id="search-sign", markup=False)
            yield self.field
        yield self.line
        yield self.listing
        yield self.footer

    def on_mount(self) -> None:
        self.set_class(self.browser.ascii_only, "-ascii")
        self.set_focus(self.field)
        self.field.cursor_position = len(self.field.value)
        self.show_footer()
        if self.asked.result is not None:
            self.listing.show_found(self.asked.lines, self.asked.cursor)
            self._say(self.asked.result)
        else:
            self.listing.show_help()
        if self.field.value:
            self.ask_soon(keep=True)

    def on_unmount(self) -> None:
        self._stop.set()

    def show_footer(self) -> None:
        parts = "whole words" if self.exact else "parts of words"
        keys = [("Enter", "open"), ("Tab", parts), ("Esc", "back"), ("PgDn", "page")]
        if not self.browser.ascii_only:
            keys.insert(1, ("↓ ↑", "choose"))
        self.footer.update([("", key, label) for key, label in keys])

    # --- asking

    @on(Input.Changed, "#search-field")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self.asked.text or self.result is None:
            self.asked = self.asked._replace(text=event.value)
            self.ask_soon()

    def ask_soon(self, *, keep: bool = False) -> None:
        """Ask once the keys rest; `keep` leaves the cursor where it is."""
        self._stop.set()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_S, lambda: self._ask(keep=keep))

    def _ask(self, *, keep: bool) -> None:
        self._stop.set()
        self._stop = threading.Event()
        self.run_worker(self._answer(self._stop, keep=keep), group="search", exclusive=True)

    async def _answer(self, stop: threading.Event, *, keep: bool) -> None:
        text, service = self.field.value, self.browser.service
        if service is None or not text.strip():
            self.result, self._fault = None, False
            self.busy = False
            self.listing.show_help()
            self.say()
            return
        self.busy = True
        self.say()
        try:
            answer = await self._search(text, stop, BUDGET_S)
            if answer.left_out.pending and not stop.is_set():
                self._show(answer, keep=keep)
                answer = await self._search(text, stop, None)
        except LoopError as error:
            if not stop.is_set():
                self.busy, self._fault = False, True
                self.line.update(Content(f" {reason_of(error)}"))
                self.line.add_class("-fault")
            return
        if not stop.is_set():
            self.busy = False
            self._show(answer, keep=keep or self.listing.cursor > 0)

    async def _search(self, text: str, stop: threading.Event, budget: float | None) -> SearchResult:
        answer: SearchResult = await asyncio.to_thread(
            self.browser.service.search,
            text,
            exact=self.exact,
            limit=SESSIONS,
            typing=True,
            budget=budget,
            cancelled=stop.is_set,
        )
        return answer

    def _show(self, answer: SearchResult, *, keep: bool) -> None:
        self.result, self._fault = answer, False
        before = self.chosen
        browse = self.browser.browse
        lines = found_lines(
            answer, browse.rows, browse.names, now_ms=self.browser.now_ms, glyphs=self.glyphs
        )
        cursor = -1
        if keep and before is not None:
            same = (i for i, one in enumerate(lines) if _same(one, before))
            cursor = next(same, -1)
        self.listing.show_found(lines, cursor)
        self._say(answer)

    # --- words

    def _say(self, answer: SearchResult) -> None:
        parts = [summary(answer, exact=self.exact, glyphs=self.glyphs), *left_out(answer.left_out)]
        if not answer.sessions:
            parts[0] = "Nothing found"
            if not self.exact and not answer.left_out.archived:
                parts.append("Tab looks for parts of words too")
        self._said = f" {self.glyphs.separator} ".join(parts)
        self.say()

    def say(self) -> None:
        """The line under the field: how much was found, or what goes on."""
        if self._fault:
            return
        parts = [self._said] if self.result is not None else []
        if self.busy:
            parts.append(f"looking{self.glyphs.ellipsis}")
        if note := self.browser.searching.note:
            parts.append(note)
        text = f" {self.glyphs.separator} ".join(parts)
        self.line.remove_class("-fault")
        self.line.update(
            Content(" " + clip(text, max(self.app.size.width - 2, 8), self.glyphs.ellipsis))
        )

    def on_resize(self) -> None:
        self.say()

    # --- keys

    @property
    def chosen(self) -> FoundLine | None:
        at, items = self.listing.cursor, self.listing.items
        return items[at] if 0 <= at < len(items) else None

    def action_move(self, rows: int) -> None:
        self.listing.move_by(rows)

    def action_page(self, pages: int) -> None:
        self.listing.move_pages(pages)

    def action_exact(self) -> None:
        self.exact = not self.exact
        self.show_footer()
        self.ask_soon()

    def action_leave(self) -> None:
        self._leave(None)

    @on(Input.Submitted, "#search-field")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self.chosen is not None:
            self._leave(self.chosen)

    @on(LineList.Chosen)
    def _clicked(self, event: LineList.Chosen) -> None:
        event.stop()
        self._leave(self.chosen)

    @on(LineList.Highlighted)
    def _moved(self, event: LineList.Highlighted) -> None:
        event.stop()

    def _leave(self, line: FoundLine | None) -> None:
        self._stop.set()
        lines: tuple[Any, ...] = tuple(self.listing.items) if self.result is not None else ()
        asked = Asked(self.field.value, self.exact, lines, self.listing.cursor, self.result)
        self.dismiss(Chosen(asked, line))


def _same(one: FoundLine, other: FoundLine) -> bool:
    rounds = [None if line.hit is None else line.hit.round for line in (one, other)]
    return one.key == other.key and rounds[0] == rounds[1]
