"""What the browser shows of its state: rows, counts, titles, status line, footer, preview.

Everything here is drawn from `loop_tui.state.Browse`; nothing here changes it but the cursor,
which a list that starts anew puts on its first row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input

from loop_core.sanitize import safe_line
from loop_tui.commands import BY_ID, FOOTER, FOOTER_TRASH
from loop_tui.places import short_path
from loop_tui.screens.empty import why_empty
from loop_tui.state import VIEW_LABELS
from loop_tui.state.projects import project_lines
from loop_tui.state.views import is_stand_in
from loop_tui.widgets.projects import place_lines
from loop_tui.widgets.session_lines import UNTITLED

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen

__all__ = ["Board"]

PREVIEW_S = 0.04  # the cursor rests that long before its history loads


class Board:
    """The lists and bars of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen
        self._preview: Timer | None = None

    # --- rows and counts

    def show_all(self, *, top: bool = False, keep_line: bool = True) -> None:
        """Put rows, counts and titles on the screen after any change of what is chosen.

        `keep_line`: the cursor's row stays where it is on the screen; after a jump the rows
        stay instead, as far as they show the cursor.
        """
        self.show_rows(top=top, keep_line=keep_line)
        self.show_counts()

    def show_rows(self, *, top: bool = False, keep_line: bool = True) -> None:
        """The list alone, as after a filter's keystroke."""
        screen = self.screen
        browse, listing = screen.browse, screen.session_list
        if top and browse.shown:
            browse.move_to(0)
        listing.names = browse.names
        listing.problems = browse.view == "problems"
        listing.unread_view = browse.view == "unread"
        listing.empty = why_empty(screen) if not browse.shown else ()
        listing.set_rows(browse.shown, browse.position, keep_line=keep_line, top=top)
        self.preview_soon()

    def show_counts(self) -> None:
        """Views, projects, header: always from the rows the list is made of."""
        screen = self.screen
        browse = screen.browse
        counts = browse.counts(browse.project)
        screen.strip.update(counts, browse.view)
        view = browse.view if browse.project is not None else browse.base_view
        lines = place_lines(
            counts,
            project_lines(
                browse.snapshot.projects, browse.tally, view, show_hidden=browse.show_hidden
            ),
        )
        listing = screen.project_list
        listing.view, listing.project = browse.view, browse.project
        listing.set_rows(lines, screen.places.place_index(lines))
        everywhere = browse.counts()
        screen.header.update(
            places=screen.owner.place_names(),
            sessions=everywhere["active"],
            unread=everywhere["unread"],
            running=browse.running(screen.now_ms),
            scanning=screen.scanning,
        )
        self.show_status()

    # --- preview, titles, status

    def preview_soon(self) -> None:
        """Show the cursor's history, title and position, once the cursor rests."""
        if self._preview is not None:
            self._preview.stop()
        self._preview = self.screen.set_timer(PREVIEW_S, self._preview_now)

    def _preview_now(self) -> None:
        self._preview = None
        row = self.screen.browse.row
        history = self.screen.history
        wanted = history.wanted
        if row is not None and is_stand_in(row.key):
            history.show(None)
            history.say(f"{row.problem}\n\n{safe_line(row.path)}", error=True)
        elif (row and row.key) != (wanted and wanted.key):
            history.show(row)
        self.show_titles()
        self.show_footer()

    def show_around(self) -> None:
        """What depends on the width of the screen."""
        self.show_titles()
        self.show_status()

    def show_titles(self) -> None:
        """Border titles, the status line's left side."""
        screen = self.screen
        browse, gap = screen.browse, f" {screen.glyphs.separator} "
        row = browse.row
        name = browse.names.get(browse.project or "", "All projects")
        if browse.view != "active":
            name = f"{name}{gap}{VIEW_LABELS[browse.view]}"
        position = self._position()
        pane = screen.sessions_pane
        if screen.has_class("-wide"):
            pane.border_title, pane.border_subtitle = Content(name), Content(position)
        else:
            pane.border_title = Content(f"{name}{gap}{position}")
            pane.border_subtitle = None
        folder = ""
        title = ""
        if row is not None:
            title = row.title or UNTITLED
            folder = short_path(row.cwd or row.path)
        screen.status.update(title_text=title, folder=folder)

    def _position(self) -> str:
        browse = self.screen.browse
        if len(browse.span) > 1:
            position = f"{len(browse.span):,} in the range"
        elif browse.marks:
            position = f"{len(browse.marks):,} marked"
        elif not browse.shown:
            position = "0"
        else:
            position = f"{browse.position + 1:,} of {len(browse.shown):,}"
        if browse.sort != "activity" or browse.reverse:
            order = f"{browse.sort}{' reversed' if browse.reverse else ''}"
            position = f"{order} {self.screen.glyphs.separator} {position}"
        return position

    def show_footer(self) -> None:
        """The keys of the pane that has the focus."""
        screen = self.screen
        if isinstance(screen.focused, Input):
            entries = [("", "Enter", "keep"), ("", "Esc", "leave"), ("help", "F1", "help")]
            screen.footer.update(entries)
            return
        context = screen.keyboard.context()
        trash = screen.pane == "sessions" and context.view == "trash"
        names = FOOTER_TRASH if trash else FOOTER[screen.pane]
        screen.footer.update(
            [(name, screen.keyboard.key_of(name), BY_ID[name].label_in(context)) for name in names]
        )

    def show_status(self) -> None:
        """The right side of the status line: how we watch, read-only, problems."""
        screen = self.screen
        notes: list[tuple[tuple[str, str], ...]] = []
        if screen.has_class("-wide"):
            if problems := screen.browse.counts()["problems"]:
                noun = "problem" if problems == 1 else "problems"
                notes.append(((f"{problems:,} {noun}", "error"),))
            if unsupported := screen.browse.snapshot.unsupported:
                notes.append(((f"{unsupported:,} of other formats", "muted"),))
            if screen.searching.note:
                notes.append(((screen.searching.note, "muted"),))
        if screen.read_only:
            notes.append((("read-only", "warning"),))
        state = screen.watch_state
        if state.mode == "off":
            notes.append((("not watching", "warning"),))
        elif state.mode:
            sign = (screen.glyphs.watching, "success")
            if state.mode == "native" and screen.has_class("-narrow"):
                notes.append((sign,))
            else:
                notes.append((sign, (" watching", "muted")))
                notes.append(((state.mode, "muted"),))
        screen.status.update(notes=tuple(notes))
