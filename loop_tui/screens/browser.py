"""The one screen of the browser: three panes, and the commands that act on them.

It composes the panes and hands every message to the part that deals with it. Each part is an
object with one task and a module of its own: `keyboard` runs commands, `places` and `choosing`
move about, `board` draws what is chosen, `news` takes snapshots, `triage` asks and `changes`
performs; `copying`, `resuming`, `saving`, `searching`, `windows` and `preferences` do what they
are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Input

from loop_tui import text
from loop_tui.commands import Pane
from loop_tui.drawn import forget_drawn
from loop_tui.keys import bindings_of
from loop_tui.messages import Progressed, SnapshotReady, WatchState
from loop_tui.screens.board import Board
from loop_tui.screens.changes import Changes
from loop_tui.screens.choosing import Choosing
from loop_tui.screens.copying import Copying
from loop_tui.screens.keyboard import Keyboard
from loop_tui.screens.news import News
from loop_tui.screens.places import Places
from loop_tui.screens.preferences import Preferences
from loop_tui.screens.resuming import Resuming
from loop_tui.screens.saving import Saving
from loop_tui.screens.searching import Indexed, IndexEnded, Searching
from loop_tui.screens.triage import Triage
from loop_tui.screens.windows import Windows
from loop_tui.state import Browse
from loop_tui.widgets.bars import FooterBar, HeaderBar, StatusBar, ViewStrip
from loop_tui.widgets.history import HistoryPane
from loop_tui.widgets.history_column import HistoryColumn
from loop_tui.widgets.line_list import LineList
from loop_tui.widgets.projects import ProjectList, ProjectsPane
from loop_tui.widgets.sessions import SessionList, SessionsPane

if TYPE_CHECKING:
    from loop_tui.app import LoopTui
    from loop_tui.widgets.bars import Tone

HINT = "? shows every key · Enter opens · / filters · f changes the view · q goes back"


class BrowserScreen(Screen[None]):
    """Browse, triage, read."""

    BINDINGS = bindings_of("session", "global")
    AUTO_FOCUS = ""
    ESCAPE_TO_MINIMIZE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-medium"), (100, "-wide")]  # noqa: RUF012 - Textual's form
    VERTICAL_BREAKPOINTS = [(0, "-short"), (12, "-tall")]  # noqa: RUF012

    def __init__(self, app: LoopTui) -> None:
        super().__init__()
        self.owner = app
        settings = app.settings_file.value
        self.ascii_only = app.ascii_only
        self.glyphs = text.glyphs(app.ascii_only)
        self.browse = Browse(
            sort=settings.sort,
            reverse=settings.reverse,
            show_hidden=settings.show_hidden,
        )
        self.header = HeaderBar(ascii_only=app.ascii_only)
        self.strip = ViewStrip(ascii_only=app.ascii_only)
        self.status = StatusBar(ascii_only=app.ascii_only)
        self.footer = FooterBar(ascii_only=app.ascii_only)
        self.project_list = ProjectList(ascii_only=app.ascii_only)
        self.session_list = SessionList(
            self.browse.marks,
            lambda: self.browse.span,
            ascii_only=app.ascii_only,
            clock=app.clock,
        )
        self.projects_pane = ProjectsPane(self.project_list)
        self.sessions_pane = SessionsPane(self.session_list)
        self.history_column = HistoryColumn(
            HistoryPane(app.reader, ascii=app.ascii_only, now_ms=lambda: app.clock() * 1000)
        )
        self.pane: Pane = "sessions"
        self.watch_state = WatchState("")
        self._covered = False  # a dialog lies above
        self._arranged = Size(0, 0)
        self.board = Board(self)
        self.news = News(self)
        self.changes = Changes(self)
        self.triage = Triage(self)
        self.copying = Copying(self)
        self.resuming = Resuming(self)
        self.choosing = Choosing(self)
        self.places = Places(self)
        self.windows = Windows(self)
        self.preferences = Preferences(self)
        self.searching = Searching(self)
        self.saving = Saving(self)
        self.keyboard = Keyboard(
            self,
            self.places,
            self.choosing,
            self.news,
            self.windows,
            self.preferences,
            self.triage,
            self.copying,
            self.resuming,
            self.searching,
            self.saving,
        )

    # --- what the controllers use

    @property
    def service(self) -> Any:
        return self.owner.service

    @property
    def history(self) -> HistoryPane:
        """The history viewer."""
        return self.history_column.viewer

    @property
    def read_only(self) -> bool:
        return self.owner.read_only

    @property
    def scanning(self) -> bool:
        """Whether the first scan is going on."""
        return self.news.scanning

    @property
    def last_touch(self) -> float:
        """When somebody last did something here, by key or mouse; 0.0 when nobody did."""
        return max(self.keyboard.last_key, self.session_list.touched)

    @property
    def now_ms(self) -> int:
        return int(self.owner.clock() * 1000)

    # --- composing

    def compose(self) -> ComposeResult:
        # The first frame is painted before Textual looks at the breakpoints, and a class that
        # comes before the panes do need not style them twice.
        width, height = self.app.size
        self.add_class(_band(self.HORIZONTAL_BREAKPOINTS, width))
        self.add_class(_band(self.VERTICAL_BREAKPOINTS, height))
        self.set_class(self.ascii_only, "-ascii")
        yield self.header
        yield self.strip
        with Horizontal(id="panes"):
            yield self.projects_pane
            yield self.sessions_pane
            yield self.history_column
        yield self.status
        yield self.footer

    def on_mount(self) -> None:
        self.projects_pane.border_title = Content("Views")
        self.sessions_pane.field.leave = self.choosing.leave_field
        self.places.arrange()
        self.set_focus(self.session_list)
        self.board.show_all()
        if not self.preferences.value.hint_seen:
            self.toast(HINT.replace("·", self.glyphs.separator), seconds=15.0)
            self.preferences.change(hint_seen=True)

    def on_resize(self) -> None:
        # A terminal of unknown size reports a resize at every layout: titles would answer
        # with another layout, for ever.
        if self.app.size != self._arranged:
            self._arranged = self.app.size
            self.places.arrange()
            self.call_after_refresh(self.board.show_around)

    # --- commands

    async def action_command(self, name: str) -> None:
        """A key of the table was pressed."""
        self.keyboard.run(name)
        await self.keyboard.breathe()

    def on_key(self, event: events.Key) -> None:
        self.keyboard.pressed(event)

    @on(FooterBar.Pressed)
    def _footer_pressed(self, event: FooterBar.Pressed) -> None:
        self.keyboard.run(event.command)

    @on(ViewStrip.Picked)
    def _view_picked(self, event: ViewStrip.Picked) -> None:
        self.browse.choose_view(event.view)
        self.browse.commit_view()
        self.board.show_all(top=True)

    def on_screen_suspend(self) -> None:
        self._covered = True

    def on_screen_resume(self) -> None:
        """A dialog closed: a second `q` typed in a hurry must not quit."""
        if self._covered:
            self.keyboard.note_closed()
            forget_drawn(self)
        self._covered = False

    # --- rows

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if event.sender is self.session_list:
            if event.index == self.session_list.cursor:
                self.browse.move_to(event.index)
                self.board.preview_soon()
        elif event.sender is self.project_list and event.index == self.project_list.cursor:
            self.places.choose_place(self.project_list.items[event.index])

    @on(LineList.Chosen)
    def _chosen(self, event: LineList.Chosen) -> None:
        event.stop()
        if event.sender is self.session_list:
            self.keyboard.run("open")
        elif event.sender is self.project_list:
            self.keyboard.run("projects.open")

    # --- telling, showing

    def toast(self, words: str, tone: Tone = "info", *, seconds: float | None = None) -> None:
        """Say something in the status line for a while."""
        self.status.say(words, tone, seconds=seconds)

    def clear_toast(self) -> None:
        self.status.hush()

    # --- messages from background work

    @on(SnapshotReady)
    def _snapshot_ready(self, event: SnapshotReady) -> None:
        self.news.apply(event.snapshot)

    @on(WatchState)
    def _watching(self, event: WatchState) -> None:
        self.watch_state = event
        if event.note:
            self.toast(event.note, "warning")
        self.board.show_status()

    @on(Progressed)
    def _progressed(self, event: Progressed) -> None:
        self.toast(f"{event.verb} {event.done:,} of {event.total:,}")

    @on(Indexed)
    def _indexed(self, event: Indexed) -> None:
        self.searching.indexed(event.progress)

    @on(IndexEnded)
    def _index_ended(self, event: IndexEnded) -> None:
        self.searching.ended(event.fault)

    def on_unmount(self) -> None:
        self.searching.stop()

    # --- focus

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.places.entered(event.widget)

    # --- the history viewer

    @on(HistoryPane.Status)
    def _history_says(self, event: HistoryPane.Status) -> None:
        self.toast(event.text)

    @on(HistoryPane.Copied)
    def _history_copied(self, event: HistoryPane.Copied) -> None:
        self.copying.copy(event.text, event.what)

    @on(HistoryPane.OutputSeen)
    def _output_seen(self, event: HistoryPane.OutputSeen) -> None:
        self.triage.output_seen(event.key)

    # --- the filter

    @on(Input.Changed, "#filter")
    def _filter_typed(self, event: Input.Changed) -> None:
        event.stop()
        self.keyboard.touch()
        self.choosing.typed(event.value)


def _band(breakpoints: list[tuple[int, str]] | None, size: int) -> str:
    """The class of the band `size` lies in."""
    return max((least, name) for least, name in breakpoints or () if least <= size)[1]
