"""What opens above the browser: help, palette, details."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from loop_core.errors import LoopError, reason_of
from loop_core.model import Detail, SessionRow
from loop_tui.commands import BY_ID, COMMANDS, Context, commands_in, keys_label
from loop_tui.screens.listing import DetailsScreen, HelpScreen
from loop_tui.screens.palette import Entry, PaletteScreen
from loop_tui.screens.questions import title_of
from loop_tui.state import VIEW_LABELS, VIEWS, fold
from loop_tui.state.projects import SOURCE_LABELS
from loop_tui.state.views import is_stand_in

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler


class Windows:
    """The windows of one browser screen, and the commands of the history viewer."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen

    def handlers(self) -> dict[str, Handler]:
        return {
            "help": self.help,
            "palette": self.palette,
            "details": lambda c: self.details(c.targets[0]) if c.targets else None,
            **{name: self._viewer(action) for name, action in VIEWER_ACTIONS.items()},
        }

    def _viewer(self, action: str) -> Callable[[Context], None]:
        def run(_: Context) -> None:
            getattr(self.screen.history, f"action_{action}")()

        return run

    # --- help and palette

    def help(self, context: Context) -> None:
        screen = self.screen
        screen.app.push_screen(
            HelpScreen(context, screen.owner.keymap, COMMANDS, ascii_only=screen.ascii_only)
        )

    def palette(self, context: Context) -> None:
        screen = self.screen

        def answered(entry: Entry | None) -> None:
            if entry is not None:
                self._do(entry)

        screen.app.push_screen(
            PaletteScreen(self.entries(context), ascii_only=screen.ascii_only), answered
        )

    def entries(self, context: Context) -> list[Entry]:
        """Commands that can be reached from here, views, projects, sessions."""
        screen = self.screen
        here = {command.id for command in commands_in(context.pane)}
        entries: list[Entry] = []
        for command in COMMANDS:
            if command.group in ("Move",) or command.id in ("palette", "back"):
                continue
            if command.scope != "palette" and command.id not in here:
                continue
            keys = keys_label(command, screen.owner.keymap, ascii_only=screen.ascii_only)
            off = command.enabled(context) or ""
            hay = fold(f"{command.help} {command.label} {command.id}")
            entries.append(Entry("command", command.id, command.help, keys, hay, off))
        for view in VIEWS:
            label = f"View: {VIEW_LABELS[view]}"
            entries.append(Entry("view", view, label, "view", fold(label)))
        for project in screen.browse.snapshot.projects:
            name = screen.browse.names.get(project.key, project.name)
            note = SOURCE_LABELS[project.source]
            entries.append(Entry("project", project.key, name, note, fold(f"{name} {note}")))
        for row in screen.browse.rows.values():
            title = title_of(row)
            note = screen.browse.names.get(row.project, "")
            entries.append(Entry("session", row.key, title, note, fold(f"{title} {note} {row.id}")))
        return entries

    def _do(self, entry: Entry) -> None:
        screen = self.screen
        if entry.kind == "session" and not isinstance(entry.target, str):
            screen.places.reveal(entry.target)
            screen.places.go("sessions")
        elif entry.kind == "command" and entry.target in BY_ID:
            screen.keyboard.run(str(entry.target))
        else:
            browse = screen.browse
            if entry.kind == "view":
                view = next(view for view in VIEWS if view == entry.target)
                browse.choose_view(view, keep_project=False)
                browse.commit_view()
            else:
                browse.choose_project(str(entry.target))
            screen.board.show_all(top=True)
            screen.places.go("sessions")

    # --- details

    def details(self, row: SessionRow) -> None:
        self.screen.run_worker(self._details(row), group="details", exclusive=True)

    async def _details(self, row: SessionRow) -> None:
        screen = self.screen
        found: tuple[Detail, ...] = ()
        if is_stand_in(row.key):
            found = (Detail("path", row.path), Detail("problem", row.problem or ""))
        else:
            try:
                found = await asyncio.to_thread(screen.service.details, row.key)
            except LoopError as error:
                found = (Detail("path", row.path), Detail("problem", reason_of(error)))
        if screen.is_current:
            screen.app.push_screen(
                DetailsScreen(title_of(row), found, ascii_only=screen.ascii_only)
            )


VIEWER_ACTIONS = {
    "history.down": "cursor_down",
    "history.up": "cursor_up",
    "history.half_down": "half_page_down",
    "history.half_up": "half_page_up",
    "history.page_down": "page_down",
    "history.page_up": "page_up",
    "history.open": "open_block",
    "history.previous_round": "previous_round",
    "history.next_round": "next_round",
    "history.earlier": "load_earlier",
    "history.first": "first_round",
    "history.latest": "latest",
    "history.tools": "cycle_tools",
    "history.thinking": "toggle_thinking",
    "history.copy_block": "copy_block",
    "history.copy_round": "copy_round",
    "history.where": "where_am_i",
    "find.next": "next_hit",
    "find.previous": "previous_hit",
}
