"""The one screen of the browser: three panes, and the commands that act on them.

It holds the view state (`loop_tui.state.Browse`), turns commands of the table into calls and
puts what changed on the widgets. Changes to sessions are `loop_tui.screens.triage`'s.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from loop_core.errors import LoopError, reason_of
from loop_core.model import SessionKey, Snapshot
from loop_core.sanitize import safe_line
from loop_tui import text
from loop_tui.commands import (
    BY_ID,
    FOOTER,
    FOOTER_TRASH,
    Context,
    Pane,
    elsewhere,
    key_label,
    keys_of,
)
from loop_tui.keys import bindings_of
from loop_tui.messages import Progressed, SnapshotReady, WatchState
from loop_tui.screens.places import Places
from loop_tui.screens.saving import Saving
from loop_tui.screens.searching import Indexed, IndexEnded, Searching
from loop_tui.screens.triage import Triage, copy_text
from loop_tui.screens.windows import Windows
from loop_tui.settings import Settings
from loop_tui.state import VIEW_LABELS, Browse
from loop_tui.state.projects import project_lines
from loop_tui.state.views import members
from loop_tui.text import cell_width, clip
from loop_tui.widgets.bars import FooterBar, HeaderBar, StatusBar, Toast, ViewStrip
from loop_tui.widgets.history import HistoryPane
from loop_tui.widgets.line_list import LineList
from loop_tui.widgets.projects import ProjectList, ProjectsPane, place_lines
from loop_tui.widgets.session_lines import UNTITLED
from loop_tui.widgets.sessions import SessionList, SessionsPane

if TYPE_CHECKING:
    from loop_tui.app import LoopTui
    from loop_tui.widgets.bars import Tone

PREVIEW_S = 0.04  # the cursor rests that long before its history loads
IDLE_S = 2.0  # without a key for that long, rows may change places
TOAST_S = {"info": 6.0, "good": 6.0, "warning": 10.0, "error": 12.0}
HINT = "? shows every key · Enter opens · / filters · f changes the view · q goes back"


class Viewer(HistoryPane):
    """The history viewer; without a bottom border its range joins the title."""

    def _title(self) -> None:
        super()._title()
        if self.screen.has_class("-wide") or not self.border_subtitle:
            return
        gap = f" {self.glyphs.separator} "
        title, where = str(self.border_title or ""), str(self.border_subtitle)
        room = self.size.width - 4 - cell_width(gap) - cell_width(where)
        self.border_title = Content(
            f"{clip(title, max(room, 8), self.glyphs.ellipsis)}{gap}{where}"
        )


class HistoryColumn(Vertical):
    """Holds the history viewer; the keys of the history scope are bound here."""

    BINDINGS = bindings_of("history")

    def __init__(self, viewer: HistoryPane) -> None:
        super().__init__(id="history", classes="pane")
        self.viewer = viewer

    def compose(self) -> ComposeResult:
        yield self.viewer


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
        self.settings: Settings = app.settings_file.value
        self.ascii_only = app.ascii_only
        self.glyphs = text.glyphs(app.ascii_only)
        self.browse = Browse(
            sort=self.settings.sort,
            reverse=self.settings.reverse,
            show_hidden=self.settings.show_hidden,
        )
        self.header = HeaderBar(ascii_only=app.ascii_only)
        self.strip = ViewStrip(ascii_only=app.ascii_only)
        self.status = StatusBar(ascii_only=app.ascii_only)
        self.footer = FooterBar(ascii_only=app.ascii_only)
        self.project_list = ProjectList(ascii_only=app.ascii_only)
        self.session_list = SessionList(
            self.browse.marks, ascii_only=app.ascii_only, clock=app.clock
        )
        self.projects_pane = ProjectsPane(self.project_list)
        self.sessions_pane = SessionsPane(self.session_list)
        self.history_column = HistoryColumn(
            Viewer(app.reader, ascii=app.ascii_only, now_ms=lambda: app.clock() * 1000)
        )
        self.pane: Pane = "sessions"
        self.scanning = True
        self.range_start: SessionKey | None = None
        self.watch_state = WatchState("")
        self._last_key = 0.0
        self._closed_at = 0.0
        self._covered = False  # a dialog lies above
        self._refusal: Toast | None = None
        self._arranged = Size(0, 0)
        self._preview: Timer | None = None
        self._toast_timer: Timer | None = None
        self._settle_timer: Timer | None = None
        self.triage = Triage(self)
        self.places = Places(self)
        self.windows = Windows(self)
        self.searching = Searching(self)
        self.saving = Saving(self)
        self._handlers: dict[str, Callable[[Context], None]] = {
            **self.places.handlers(),
            **self.windows.handlers(),
            **self.triage.handlers(),
            **self.searching.handlers(),
            **self.saving.handlers(),
            "refresh": lambda _: self.rescan(said=True),
            "quit": lambda _: self.owner.leave(),
        }

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
    def now_ms(self) -> int:
        return int(self.owner.clock() * 1000)

    def key_of(self, command: str) -> str:
        """The key of a command as a sentence names it."""
        keys = keys_of(BY_ID[command], self.owner.keymap)
        return key_label(keys[0], ascii_only=self.ascii_only) if keys else ""

    def context(self) -> Context:
        """What the commands may look at now."""
        return Context(
            pane=self.pane,
            view=self.browse.view,
            targets=self.browse.targets(),
            shown=len(self.browse.shown),
            read_only=self.read_only,
            finding=self.history.finder is not None or self.searching.walking,
        )

    # --- composing

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.strip
        with Horizontal(id="panes"):
            yield self.projects_pane
            yield self.sessions_pane
            yield self.history_column
        yield self.status
        yield self.footer

    def on_mount(self) -> None:
        self.set_class(self.ascii_only, "-ascii")
        # The first frame is painted before Textual looks at the breakpoints.
        width, height = self.app.size
        self.add_class(_band(self.HORIZONTAL_BREAKPOINTS, width))
        self.add_class(_band(self.VERTICAL_BREAKPOINTS, height))
        self.projects_pane.border_title = Content("Views")
        self.sessions_pane.field.leave = self.places.leave_field
        self.places.arrange()
        self.set_focus(self.session_list)
        self.show_all()
        if not self.settings.hint_seen:
            self.toast(HINT.replace("·", self.glyphs.separator), seconds=15.0)
            self.change_settings(hint_seen=True)

    def on_resize(self) -> None:
        # A terminal of unknown size reports a resize at every layout: titles would answer
        # with another layout, for ever.
        if self.app.size != self._arranged:
            self._arranged = self.app.size
            self.places.arrange()
            self.call_after_refresh(self.show_titles)

    # --- commands

    def action_command(self, name: str) -> None:
        """Run a command of the table, or say why it cannot run now."""
        self._last_key = time.monotonic()
        context = self.context()
        reason = BY_ID[name].enabled(context)
        if reason is not None:
            self._refuse(reason)
            return
        if self.status.toast is not None and self.status.toast is self._refusal:
            self.clear_toast()  # the next key worked
        self._handlers[name](context)

    def _refuse(self, reason: str) -> None:
        self.toast(reason, "warning")
        self._refusal = self.status.toast

    def on_key(self, event: events.Key) -> None:
        """A key of another pane says so (keys.md, rule 5); the others are the bindings'."""
        self._last_key = time.monotonic()
        if isinstance(self.focused, Input):
            return
        name = event.character if event.is_printable and event.key != "space" else event.key
        if name and (reason := elsewhere(self.pane, name, self.owner.keymap)):
            self._refuse(reason)

    @on(FooterBar.Pressed)
    def _footer_pressed(self, event: FooterBar.Pressed) -> None:
        self.action_command(event.command)

    @on(ViewStrip.Picked)
    def _view_picked(self, event: ViewStrip.Picked) -> None:
        self.browse.choose_view(event.view)
        self.browse.commit_view()
        self.show_all(top=True)

    def on_screen_suspend(self) -> None:
        self._covered = True

    def on_screen_resume(self) -> None:
        """A dialog closed: a second `q` typed in a hurry must not quit."""
        if self._covered:
            self.note_closed()
        self._covered = False

    def close_guarded(self) -> bool:
        """Whether something was closed by the same key a moment ago."""
        return time.monotonic() - self._closed_at < 0.3

    def note_closed(self) -> None:
        self._closed_at = time.monotonic()

    # --- rows

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if event.sender is self.session_list:
            if event.index == self.session_list.cursor:
                self.browse.move_to(event.index)
                self.preview_soon()
        elif event.sender is self.project_list and event.index == self.project_list.cursor:
            self.places.choose_place(self.project_list.items[event.index])

    @on(LineList.Chosen)
    def _chosen(self, event: LineList.Chosen) -> None:
        event.stop()
        if event.sender is self.session_list:
            self.action_command("open")
        elif event.sender is self.project_list:
            self.action_command("projects.open")

    def move(self, moved: Callable[[], bool]) -> None:
        """Move the cursor of the focused list; the state follows at once, not by message."""
        if moved() and self.pane == "sessions":
            self.browse.move_to(self.session_list.cursor)

    def show_all(self, *, top: bool = False) -> None:
        """Put rows, counts and titles on the screen after any change of what is chosen."""
        self.show_rows(top=top)
        self.show_counts()

    def show_rows(self, *, top: bool = False) -> None:
        """The list alone, as after a filter's keystroke."""
        browse, listing = self.browse, self.session_list
        if top and browse.shown:
            browse.move_to(0)
        listing.names = browse.names
        listing.problems = browse.view == "problems"
        listing.unread_view = browse.view == "unread"
        listing.empty = self.places.empty_words() if not browse.shown else ()
        listing.set_rows(browse.shown, browse.position, top=top)
        self.preview_soon()

    def show_counts(self) -> None:
        """Views, projects, header: always from the rows the list is made of."""
        browse = self.browse
        counts = browse.counts(browse.project)
        self.strip.update(counts, browse.view)
        view = browse.view if browse.project is not None else browse.base_view
        lines = place_lines(
            counts,
            project_lines(
                browse.snapshot.projects,
                browse.snapshot.rows,
                view,
                show_hidden=browse.show_hidden,
            ),
        )
        listing = self.project_list
        listing.view, listing.project = browse.view, browse.project
        at = self.places.place_index(lines)
        listing.set_rows(lines, at)
        active = members(browse.snapshot.rows, "active", show_hidden=browse.show_hidden)
        now = self.now_ms
        self.header.update(
            places=self.owner.place_names(),
            sessions=len(active),
            unread=sum(row.unread for row in active),
            running=sum(row.running(now) for row in active),
            scanning=self.scanning,
        )
        self.show_status()

    # --- preview, titles, status

    def preview_soon(self) -> None:
        """Show the cursor's history, title and position, once the cursor rests."""
        if self._preview is not None:
            self._preview.stop()
        self._preview = self.set_timer(PREVIEW_S, self._preview_now)

    def _preview_now(self) -> None:
        self._preview = None
        row = self.browse.row
        wanted = self.history.wanted
        if (row and row.key) != (wanted and wanted.key):
            self.history.show(row)
        self.show_titles()
        self.show_footer()

    def show_titles(self) -> None:
        """Border titles, the status line's left side."""
        browse = self.browse
        row = browse.row
        name = browse.names.get(browse.project or "", "All projects")
        if browse.view != "active":
            name = f"{name} {self.glyphs.separator} {VIEW_LABELS[browse.view]}"
        position = self._position()
        pane = self.sessions_pane
        if self.has_class("-wide"):
            pane.border_title, pane.border_subtitle = Content(name), Content(position)
        else:
            pane.border_title = Content(f"{name} {self.glyphs.separator} {position}")
            pane.border_subtitle = None
        folder = ""
        title = ""
        if row is not None:
            title = row.title or UNTITLED
            folder = short_path(row.cwd or row.path)
        self.status.update(title_text=title, folder=folder)

    def _position(self) -> str:
        browse = self.browse
        if browse.marks:
            position = f"{len(browse.marks):,} marked"
        elif not browse.shown:
            position = "0"
        else:
            position = f"{browse.position + 1:,} of {len(browse.shown):,}"
        if browse.sort != "activity" or browse.reverse:
            order = f"{browse.sort}{' reversed' if browse.reverse else ''}"
            position = f"{order} {self.glyphs.separator} {position}"
        return position

    def show_footer(self) -> None:
        context = self.context()
        if isinstance(self.focused, Input):
            entries = [("", "Enter", "keep"), ("", "Esc", "leave"), ("help", "F1", "help")]
            self.footer.update(entries)
            return
        trash = self.pane == "sessions" and context.view == "trash"
        names = FOOTER_TRASH if trash else FOOTER[self.pane]
        self.footer.update(
            [(name, self.key_of(name), BY_ID[name].label_in(context)) for name in names]
        )

    def show_status(self) -> None:
        """The right side of the status line: how we watch, read-only, problems."""
        g = self.glyphs
        notes: list[tuple[tuple[str, str], ...]] = []
        problems = self.browse.counts()["problems"]
        if problems and self.has_class("-wide"):
            noun = "problem" if problems == 1 else "problems"
            notes.append(((f"{problems:,} {noun}", "error"),))
        unsupported = self.browse.snapshot.unsupported
        if unsupported and self.has_class("-wide"):
            notes.append(((f"{unsupported:,} of other formats", "muted"),))
        if self.searching.note and self.has_class("-wide"):
            notes.append(((self.searching.note, "muted"),))
        if self.read_only:
            notes.append((("read-only", "warning"),))
        state = self.watch_state
        if state.mode == "off":
            notes.append((("not watching", "warning"),))
        elif state.mode:
            notes.append(((f"{g.watching} ", "success"), ("watching", "muted")))
            notes.append(((state.mode, "muted"),))
        self.status.update(notes=tuple(notes))

    def toast(self, words: str, tone: Tone = "info", *, seconds: float | None = None) -> None:
        """Say something in the status line for a while."""
        if self._toast_timer is not None:
            self._toast_timer.stop()
        self.status.update(toast=Toast(safe_line(words), tone))
        self._toast_timer = self.set_timer(
            TOAST_S[tone] if seconds is None else seconds, self.clear_toast
        )

    def clear_toast(self) -> None:
        self.status.update(toast=None)

    # --- snapshots

    @property
    def _last_touch(self) -> float:
        """When somebody last did something here, by key or mouse; 0.0 when nobody did."""
        return max(self._last_key, self.session_list.touched)

    @on(SnapshotReady)
    def _snapshot_ready(self, event: SnapshotReady) -> None:
        self.apply(event.snapshot)

    def apply(self, snapshot: Snapshot) -> None:
        """Take a snapshot; rows change places only when nobody is at the keys."""
        browse = self.browse
        if snapshot.generation < browse.snapshot.generation:
            return
        before = browse.row
        first = not browse.snapshot.rows
        idle = time.monotonic() - self._last_touch > IDLE_S
        browse.apply(snapshot, settle=first or idle)
        # What the first scan finds goes above what it found before: until somebody is
        # there, the top of the list is what they look at.
        top = first or (self.scanning and not self._last_touch)
        self.scanning = self.scanning and not snapshot.complete
        self.show_all(top=top)
        row = browse.row
        if row is not None and before is not None and row.key == before.key and row != before:
            self.history.refresh_row(row)
        if browse.pending:
            self._settle_later()

    def finish_scan(self) -> None:
        """The first scan is over, whatever it found."""
        self.scanning = False
        self.show_all()

    def _settle_later(self) -> None:
        if self._settle_timer is None:
            self._settle_timer = self.set_timer(IDLE_S, self._settle_if_idle)

    def _settle_if_idle(self) -> None:
        self._settle_timer = None
        if not self.browse.pending:
            return
        if time.monotonic() - self._last_touch < IDLE_S:
            self._settle_later()
            return
        self.browse.settle()
        self.show_rows()

    def reveal(self, key: SessionKey) -> bool:
        """Put the cursor on a session, wherever it is listed."""
        if not self.browse.reveal(key):
            return False
        if self.sessions_pane.field.value != self.browse.text:
            self.sessions_pane.field.value = self.browse.text
            self.sessions_pane.show_filter(shown=bool(self.browse.text))
        self.show_all()
        return True

    def rescan(self, *, said: bool = False) -> None:
        """Read the stores again, and put the rows in order."""
        self.run_worker(self._rescan(said=said), group="scan", exclusive=True)

    async def _rescan(self, *, said: bool) -> None:
        if self.service is None:
            return
        try:
            snapshot = await asyncio.to_thread(self.service.scan)
        except LoopError as error:
            self.toast(reason_of(error), "error")
            return
        self.apply(snapshot)
        self.browse.settle()
        self.show_rows()
        if said:
            self.toast(f"Read again: {self.header.sessions:,} active sessions")

    # --- messages from background work

    @on(WatchState)
    def _watching(self, event: WatchState) -> None:
        self.watch_state = event
        if event.note:
            self.toast(event.note, "warning")
        self.show_status()

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

    # --- settings, copying

    def change_settings(self, **values: Any) -> None:
        """Keep a setting; a file that cannot be written is said once (failures row 154)."""
        changed = self.owner.settings_file.change(**values)
        self.settings = self.owner.settings_file.value
        if changed:
            self.run_worker(self._save_settings(), group="settings")

    async def _save_settings(self) -> None:
        why = await asyncio.to_thread(self.owner.settings_file.save)
        if why is not None:
            self.toast(why, "warning")

    def copy(self, words: str, what: str) -> None:
        self.run_worker(copy_text(self, words, what), group="copy")

    def offer_file(self, words: str, what: str) -> None:
        """Text a terminal would drop goes to a file, if the user likes."""
        self.windows.offer_file(words, what)

    # --- focus

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        pane = self._pane_of(event.widget)
        if pane is None:
            return
        if self.pane == "projects" and pane != "projects":
            self.browse.commit_view()
        self.pane = pane
        self.places.arrange()
        self.show_footer()

    def _pane_of(self, widget: Widget) -> Pane | None:
        for node in widget.ancestors_with_self:
            if node is self.projects_pane:
                return "projects"
            if node is self.sessions_pane:
                return "sessions"
            if node is self.history_column:
                return "history"
        return None

    def pane_target(self, pane: Pane) -> Widget:
        """The widget that takes the focus of a pane."""
        if pane == "projects":
            return self.project_list
        if pane == "sessions":
            return self.session_list
        return self.history.transcript

    # --- the history viewer

    @on(HistoryPane.Status)
    def _history_says(self, event: HistoryPane.Status) -> None:
        self.toast(event.text)

    @on(HistoryPane.Copied)
    def _history_copied(self, event: HistoryPane.Copied) -> None:
        self.copy(event.text, event.what)

    @on(HistoryPane.OutputSeen)
    def _output_seen(self, event: HistoryPane.OutputSeen) -> None:
        self.triage.output_seen(event.key)

    # --- the filter

    @on(Input.Changed, "#filter")
    def _filter_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._last_key = time.monotonic()
        self.places.typed(event.value)


def _band(breakpoints: list[tuple[int, str]] | None, size: int) -> str:
    """The class of the band `size` lies in."""
    return max((least, name) for least, name in breakpoints or () if least <= size)[1]


def short_path(path: str) -> str:
    """A path as a person reads it: `~` for the home folder, nothing a terminal acts on."""
    home = os.path.expanduser("~")
    if path == home or path.startswith(home.rstrip("/") + "/"):
        path = "~" + path[len(home.rstrip("/")) :]
    return safe_line(path)
