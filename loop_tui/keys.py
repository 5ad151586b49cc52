"""The command table as Textual bindings: one binding a command, named by its id."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from loop_tui.commands import COMMANDS, Scope

_LONG = {
    "/": "slash",
    "?": "question_mark",
    ":": "colon",
    "*": "asterisk",
    "[": "left_square_bracket",
    "]": "right_square_bracket",
}


def bindings_of(*scopes: Scope) -> list[BindingType]:
    """Bindings of the commands in `scopes`; each runs the screen's `command` with its id.

    `quit` is left out: it is the app's own, with priority over any dialog.
    """
    return [
        Binding(
            ",".join(_LONG.get(key, key) for key in command.keys),
            f"screen.command('{command.id}')",
            command.help,
            show=False,
            id=command.id,
        )
        for command in COMMANDS
        if command.scope in scopes and command.keys and command.id != "quit"
    ]
