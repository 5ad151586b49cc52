"""Choosing rows: the filter, the order, the marks, the next unread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from loop_tui.text import human_count

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler

__all__ = ["Choosing"]


class Choosing:
    """What one browser screen lists, and what is marked in it."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen

    def handlers(self) -> dict[str, Handler]:
        return {
            "mark": lambda _: self.mark(),
            "mark.range": lambda _: self.mark_range(),
            "mark.all": lambda _: self.mark_all(),
            "unread.next": lambda _: self.unread(backwards=False),
            "unread.previous": lambda _: self.unread(backwards=True),
            "sort": lambda _: self.sort(),
            "sort.reverse": lambda _: self.reverse(),
            "filter": lambda _: self.filter(),
        }

    # --- order

    def sort(self) -> None:
        screen = self.screen
        screen.browse.step_sort()
        screen.preferences.change(sort=screen.browse.sort)
        screen.board.show_rows()
        screen.toast(f"Sorted by {screen.browse.sort}")

    def reverse(self) -> None:
        screen = self.screen
        browse = screen.browse
        browse.sort_by(browse.sort, reverse=not browse.reverse)
        screen.preferences.change(reverse=browse.reverse)
        screen.board.show_rows()
        screen.toast("Reversed" if browse.reverse else "In the usual direction")

    # --- filter

    def filter(self) -> None:
        """A field above the list; in the history, a find in the whole session."""
        screen = self.screen
        if screen.pane == "history" and screen.browse.row is not None:
            screen.history.action_start_find()
            return
        if screen.pane == "projects":
            screen.places.go("sessions")
        field = screen.sessions_pane.field
        screen.run_worker(asyncio.to_thread(screen.browse.warm), group="warm", exclusive=True)
        screen.sessions_pane.show_filter(shown=True)
        screen.set_focus(field)
        field.cursor_position = len(field.value)
        screen.board.show_footer()

    def typed(self, value: str) -> None:
        screen = self.screen
        if value != screen.browse.text:
            screen.browse.filter(value)
            screen.board.show_rows(top=True)

    def leave_field(self) -> None:
        """Out of the filter's field; what was typed stays."""
        screen = self.screen
        if screen.pane == "history":
            screen.set_focus(screen.places.target("history"), scroll_visible=False)
            return
        field = screen.sessions_pane.field
        screen.sessions_pane.show_filter(shown=bool(field.value))
        screen.set_focus(screen.session_list, scroll_visible=False)
        screen.board.show_footer()

    def clear_filter(self) -> None:
        screen = self.screen
        field = screen.sessions_pane.field
        field.value = ""
        screen.sessions_pane.show_filter(shown=False)
        screen.browse.filter("")
        screen.board.show_rows()

    # --- marks

    def mark(self) -> None:
        screen = self.screen
        browse = screen.browse
        key = browse.cursor
        if key is None:
            return
        browse.toggle_mark(key)
        screen.session_list.refresh_row(screen.session_list.cursor)
        if screen.session_list.move_by(1):
            browse.move_to(screen.session_list.cursor)
        screen.board.preview_soon()

    def mark_range(self) -> None:
        """The first time a range begins at the cursor, the second time it is marked."""
        screen = self.screen
        browse = screen.browse
        if not browse.span:
            browse.range_start = browse.cursor
            key = screen.keyboard.key_of("mark.range")
            screen.toast(f"Range starts here: move, then {key} again")
            return
        number = browse.mark_span()
        self.end_range()
        screen.toast(f"{human_count(number)} marked")

    def end_range(self) -> None:
        """No range is open any more."""
        screen = self.screen
        screen.browse.range_start = None
        screen.clear_toast()
        screen.session_list.refresh()
        screen.board.preview_soon()

    def mark_all(self) -> None:
        screen = self.screen
        number = screen.browse.mark_all()
        screen.toast(f"{human_count(number)} marked" if number else "No marks")
        screen.session_list.refresh()
        screen.board.preview_soon()

    # --- unread

    def unread(self, *, backwards: bool) -> None:
        screen = self.screen
        key = screen.browse.next_unread(screen.now_ms, backwards=backwards)
        if key is None:
            screen.toast("No other unread session")
        else:
            screen.places.reveal(key)
