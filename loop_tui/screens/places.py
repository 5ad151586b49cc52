"""Going places: cursor, panes, views, projects, filter, marks. Changes nothing on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.widgets import Input

from loop_tui.commands import Context, Pane
from loop_tui.state import VIEW_LABELS, select
from loop_tui.text import human_count
from loop_tui.widgets.line_list import LineList
from loop_tui.widgets.projects import PlaceLine

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen

_ORDER: tuple[Pane, ...] = ("projects", "sessions", "history")


class Places:
    """Movement on one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen

    def handlers(self) -> dict[str, Callable[[Context], None]]:
        move = self.screen.move
        current = self._list
        return {
            "move.down": lambda _: move(lambda: current().move_by(1)),
            "move.up": lambda _: move(lambda: current().move_by(-1)),
            "move.half_down": lambda _: move(lambda: current().move_pages(0.5)),
            "move.half_up": lambda _: move(lambda: current().move_pages(-0.5)),
            "move.page_down": lambda _: move(lambda: current().move_pages(1)),
            "move.page_up": lambda _: move(lambda: current().move_pages(-1)),
            "move.first": lambda _: move(lambda: current().move_first()),
            "move.last": lambda _: move(lambda: current().move_last()),
            "open": lambda _: self.open_history(),
            "projects.open": lambda _: self.go("sessions"),
            "mark": lambda _: self.mark(),
            "mark.range": lambda _: self.mark_range(),
            "mark.all": lambda _: self.mark_all(),
            "unread.next": lambda _: self.unread(backwards=False),
            "unread.previous": lambda _: self.unread(backwards=True),
            "pane.next": lambda _: self.cycle(1),
            "pane.previous": lambda _: self.cycle(-1),
            "pane.left": lambda _: self.step(-1),
            "pane.right": lambda _: self.step(1),
            "pane.projects": lambda _: self.go("projects"),
            "pane.sessions": lambda _: self.go("sessions"),
            "pane.history": lambda _: self.go("history"),
            "view.next": lambda _: self.view(1),
            "view.previous": lambda _: self.view(-1),
            "sort": lambda _: self.sort(),
            "sort.reverse": lambda _: self.reverse(),
            "filter": lambda _: self.filter(),
            "back": lambda _: self.back(),
            "close": lambda _: self.close(),
        }

    def _list(self) -> LineList[object]:
        screen = self.screen
        return screen.project_list if screen.pane == "projects" else screen.session_list  # type: ignore[return-value]

    # --- panes

    @property
    def _wide(self) -> bool:
        return self.screen.app.size.width >= 100

    @property
    def _narrow(self) -> bool:
        return self.screen.app.size.width < 60

    def arrange(self) -> None:
        """Show the panes this width has room for (keys.md section 4)."""
        screen, pane = self.screen, self.screen.pane
        screen.projects_pane.display = self._wide or pane == "projects"
        screen.sessions_pane.display = not self._narrow or pane == "sessions"
        screen.history_column.display = not self._narrow or pane == "history"
        screen.projects_pane.set_class(not self._wide and not self._narrow, "-overlay")

    def go(self, pane: Pane) -> None:
        """Give `pane` the focus, showing it where it is hidden."""
        screen = self.screen
        if pane == "history":
            self._opened()
        if screen.pane == "projects" and pane != "projects":
            screen.browse.commit_view()
        screen.pane = pane
        self.arrange()
        screen.set_focus(screen.pane_target(pane), scroll_visible=False)
        screen.show_footer()

    def _opened(self) -> None:
        """The history is entered on purpose: a session kept unread by hand may be read now."""
        row = self.screen.browse.row
        if row is not None:
            self.screen.triage.kept_unread.discard(row.key)

    def open_history(self) -> None:
        self.go("history")

    def cycle(self, by: int) -> None:
        """The next pane, around the end; an overlay is no part of the round."""
        panes = _ORDER if self._wide or self._narrow else _ORDER[1:]
        at = panes.index(self.screen.pane) if self.screen.pane in panes else -1
        self.go(panes[(at + by) % len(panes)])

    def step(self, by: int) -> None:
        """The neighbouring pane; nothing at the edge."""
        at = _ORDER.index(self.screen.pane) + by
        if 0 <= at < len(_ORDER):
            self.go(_ORDER[at])

    def _leftmost(self) -> bool:
        pane = self.screen.pane
        return pane == "projects" if self._wide or self._narrow else pane != "history"

    def back(self) -> None:
        """Esc: one layer, never the program."""
        screen = self.screen
        if isinstance(screen.focused, Input):
            self.leave_field()
        elif screen.get_selected_text():
            screen.clear_selection()
        elif screen.pane == "history" and screen.history.finder is not None:
            screen.history.find("")
        elif screen.range_start is not None:
            screen.range_start = None
            screen.clear_toast()
        elif screen.browse.text:
            self.clear_filter()
        elif screen.browse.marks:
            screen.browse.marks.clear()
            screen.session_list.refresh()
            screen.preview_soon()
        elif screen.pane == "projects" and not self._wide and not self._narrow:
            self.go("sessions")
        elif not self._leftmost():
            self.step(-1)

    def close(self) -> None:
        """`q`: back one pane, and out from the leftmost."""
        screen = self.screen
        if screen.close_guarded():
            return
        if screen.pane == "projects" and not self._wide and not self._narrow:
            self.go("sessions")
            screen.note_closed()
        elif self._leftmost():
            screen.owner.leave()
        else:
            self.step(-1)
            screen.note_closed()

    # --- views and projects

    def choose_place(self, place: PlaceLine) -> None:
        """The cursor of the left pane is on a view or a project: show it."""
        browse = self.screen.browse
        if place.view is not None:
            browse.choose_view(place.view, keep_project=False)
        elif place.project is not None:
            browse.choose_project(place.project)
        self.screen.range_start = None
        self.screen.show_all(top=True)

    def place_index(self, lines: Sequence[PlaceLine]) -> int:
        """The line of what is chosen."""
        browse = self.screen.browse
        for index, line in enumerate(lines):
            if browse.project is not None:
                if line.project == browse.project:
                    return index
            elif line.view == browse.view:
                return index
        return 0

    def view(self, by: int) -> None:
        self.screen.browse.step_view(by)
        self.screen.range_start = None
        self.screen.show_all(top=True)

    def sort(self) -> None:
        screen = self.screen
        screen.browse.step_sort()
        screen.change_settings(sort=screen.browse.sort)
        screen.show_rows()
        screen.toast(f"Sorted by {screen.browse.sort}")

    def reverse(self) -> None:
        screen = self.screen
        browse = screen.browse
        browse.sort_by(browse.sort, reverse=not browse.reverse)
        screen.change_settings(reverse=browse.reverse)
        screen.show_rows()
        screen.toast("Reversed" if browse.reverse else "In the usual direction")

    def empty_words(self) -> tuple[str, ...]:
        """What an empty list says: where we looked, or what would bring rows."""
        screen = self.screen
        browse = screen.browse
        if screen.scanning:
            return (f"Reading the sessions {screen.glyphs.ellipsis}",)
        if not browse.snapshot.rows and browse.view != "problems":
            return screen.owner.empty_words()
        if browse.text:
            words = [f"Nothing here matches {browse.text}"]
            archived = len(
                select(
                    browse.snapshot.rows,
                    "archived",
                    project=browse.project,
                    text=browse.text,
                    show_hidden=browse.show_hidden,
                    names=browse.names,
                )
            )
            if archived and browse.view != "archived":
                words.append(f"{human_count(archived)} in the archive: f goes to the next view")
            return (*words, "Esc takes the filter away")
        if browse.view == "unread":
            return ("Everything is read",)
        if browse.view == "problems":
            return ("No problems", "Every session could be read")
        if browse.view == "trash":
            return ("The trash is empty", "d moves a session here; nothing leaves by itself")
        label = VIEW_LABELS[browse.view].lower()
        return (f"No {label} sessions", "f goes to the next view")

    # --- filter

    def filter(self) -> None:
        """A field above the list; in the history, a find in the whole session."""
        screen = self.screen
        if screen.pane == "history" and screen.browse.row is not None:
            screen.history.action_start_find()
            return
        if screen.pane == "projects":
            self.go("sessions")
        field = screen.sessions_pane.field
        screen.run_worker(asyncio.to_thread(screen.browse.warm), group="warm", exclusive=True)
        screen.sessions_pane.show_filter(shown=True)
        screen.set_focus(field)
        field.cursor_position = len(field.value)
        screen.show_footer()

    def typed(self, value: str) -> None:
        screen = self.screen
        if value != screen.browse.text:
            screen.browse.filter(value)
            screen.show_rows(top=True)

    def leave_field(self) -> None:
        """Out of the filter's field; what was typed stays."""
        screen = self.screen
        if screen.pane == "history":
            screen.set_focus(screen.pane_target("history"), scroll_visible=False)
            return
        field = screen.sessions_pane.field
        screen.sessions_pane.show_filter(shown=bool(field.value))
        screen.set_focus(screen.session_list, scroll_visible=False)
        screen.show_footer()

    def clear_filter(self) -> None:
        screen = self.screen
        field = screen.sessions_pane.field
        field.value = ""
        screen.sessions_pane.show_filter(shown=False)
        screen.browse.filter("")
        screen.show_rows()

    # --- marks

    def mark(self) -> None:
        screen = self.screen
        key = screen.browse.cursor
        if key is None:
            return
        screen.browse.toggle_mark(key)
        screen.session_list.refresh_row(screen.session_list.cursor)
        screen.move(lambda: screen.session_list.move_by(1))
        screen.preview_soon()

    def mark_range(self) -> None:
        screen = self.screen
        browse = screen.browse
        if screen.range_start is None or browse.index_of(screen.range_start) < 0:
            screen.range_start = browse.cursor
            screen.toast(f"Range starts here: move, then {screen.key_of('mark.range')} again")
            return
        if browse.cursor is not None:
            number = browse.mark_range(screen.range_start, browse.cursor)
            screen.toast(f"{human_count(number)} marked")
        screen.range_start = None
        screen.session_list.refresh()
        screen.preview_soon()

    def mark_all(self) -> None:
        screen = self.screen
        number = screen.browse.mark_all()
        screen.toast(f"{human_count(number)} marked" if number else "No marks")
        screen.session_list.refresh()
        screen.preview_soon()

    # --- unread

    def unread(self, *, backwards: bool) -> None:
        screen = self.screen
        key = screen.browse.next_unread(screen.now_ms, backwards=backwards)
        if key is None:
            screen.toast("No other unread session")
        else:
            screen.reveal(key)
