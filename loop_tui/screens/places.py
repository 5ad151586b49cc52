"""Going places: cursor, panes, views, projects, and the way back. Changes nothing on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.widget import Widget
from textual.widgets import Input

from loop_core.model import SessionKey
from loop_tui.commands import Pane
from loop_tui.widgets.line_list import LineList
from loop_tui.widgets.projects import PlaceLine

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler

_ORDER: tuple[Pane, ...] = ("projects", "sessions", "history")


class Places:
    """Movement on one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen

    def handlers(self) -> dict[str, Handler]:
        move = self._move
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
            "pane.next": lambda _: self.cycle(1),
            "pane.previous": lambda _: self.cycle(-1),
            "pane.left": lambda _: self.step(-1),
            "pane.right": lambda _: self.step(1),
            "pane.projects": lambda _: self.go("projects"),
            "pane.sessions": lambda _: self.go("sessions"),
            "pane.history": lambda _: self.go("history"),
            "view.next": lambda _: self.view(1),
            "view.previous": lambda _: self.view(-1),
            "back": lambda _: self.back(),
            "close": lambda _: self.close(),
            "quit": lambda _: self.screen.owner.leave(),
        }

    def _move(self, moved: Callable[[], bool]) -> None:
        """Move the cursor of the focused list; the state follows at once, not by message."""
        if moved() and self.screen.pane == "sessions":
            self.screen.browse.move_to(self.screen.session_list.cursor)

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
        screen.set_focus(screen.places.target(pane), scroll_visible=False)
        screen.board.show_footer()

    def entered(self, widget: Widget) -> None:
        """A widget has the focus, however it came to it: its pane is the one in use."""
        screen = self.screen
        pane = self._pane_of(widget)
        if pane is None:
            return
        if screen.pane == "projects" and pane != "projects":
            screen.browse.commit_view()
        screen.pane = pane
        self.arrange()
        screen.board.show_footer()

    def _pane_of(self, widget: Widget) -> Pane | None:
        screen = self.screen
        for node in widget.ancestors_with_self:
            if node is screen.projects_pane:
                return "projects"
            if node is screen.sessions_pane:
                return "sessions"
            if node is screen.history_column:
                return "history"
        return None

    def target(self, pane: Pane) -> Widget:
        """The widget that takes the focus of a pane."""
        if pane == "projects":
            return self.screen.project_list
        if pane == "sessions":
            return self.screen.session_list
        return self.screen.history.transcript

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
            screen.choosing.leave_field()
        elif screen.get_selected_text():
            screen.clear_selection()
        elif screen.pane == "history" and screen.history.finding:
            screen.history.find("")
        elif screen.browse.span:
            screen.choosing.end_range()
        elif screen.browse.text:
            screen.choosing.clear_filter()
        elif screen.browse.marks:
            screen.browse.marks.clear()
            screen.session_list.refresh()
            screen.board.preview_soon()
        elif screen.pane == "projects" and not self._wide and not self._narrow:
            self.go("sessions")
        elif not self._leftmost():
            self.step(-1)

    def close(self) -> None:
        """`q`: back one pane, and out from the leftmost."""
        screen = self.screen
        if screen.keyboard.close_guarded():
            return
        if screen.pane == "projects" and not self._wide and not self._narrow:
            self.go("sessions")
            screen.keyboard.note_closed()
        elif self._leftmost():
            screen.owner.leave()
        else:
            self.step(-1)
            screen.keyboard.note_closed()

    # --- views and projects

    def choose_place(self, place: PlaceLine) -> None:
        """The cursor of the left pane is on a view or a project: show it."""
        browse = self.screen.browse
        if place.view is not None:
            browse.choose_view(place.view, keep_project=False)
        elif place.project is not None:
            browse.choose_project(place.project)
        self.screen.board.show_all(top=True)

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
        self.screen.board.show_all(top=True)

    # --- a session

    def reveal(self, key: SessionKey) -> bool:
        """Put the cursor on a session, wherever it is listed; False: it is nowhere."""
        screen = self.screen
        if not screen.browse.reveal(key):
            return False
        text = screen.browse.text
        if screen.sessions_pane.field.value != text:
            screen.sessions_pane.field.value = text
            screen.sessions_pane.show_filter(shown=bool(text))
        screen.board.show_all(keep_line=False)
        return True
