"""The one table: every command in order, by id, and those the footer shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loop_tui.commands.everywhere import GLOBAL, PANES, SETTINGS
from loop_tui.commands.history import HISTORY
from loop_tui.commands.model import SCOPES, Command, Pane
from loop_tui.commands.sessions import MOVE, SESSIONS

__all__ = ["BY_ID", "COMMANDS", "FOOTER", "FOOTER_TRASH", "commands_in"]

COMMANDS: tuple[Command, ...] = (
    *MOVE,
    *SESSIONS,
    *HISTORY,
    *PANES,
    *GLOBAL,
    *SETTINGS,
)
BY_ID: Mapping[str, Command] = {command.id: command for command in COMMANDS}

FOOTER: Mapping[Pane, tuple[str, ...]] = {
    "projects": (
        "projects.open",
        "pane.right",
        "view.next",
        "filter",
        "undo",
        "refresh",
        "palette",
        "help",
        "close",
    ),
    "sessions": (
        "open",
        "mark",
        "read",
        "pin",
        "archive",
        "delete",
        "resume",
        "filter",
        "undo",
        "help",
        "unread.next",
        "view.next",
    ),
    "history": (
        "history.open",
        "history.previous_round",
        "history.next_round",
        "history.earlier",
        "history.tools",
        "history.latest",
        "filter",
        "undo",
        "help",
        "history.copy_block",
        "close",
    ),
}
FOOTER_TRASH = ("archive", "purge", "mark", "open", "filter", "undo", "help", "view.next")


def commands_in(pane: Pane, commands: Sequence[Command] = COMMANDS) -> Iterator[Command]:
    """The commands a key can reach while `pane` has the focus."""
    scopes = SCOPES[pane]
    return (command for command in commands if command.scope in scopes)
