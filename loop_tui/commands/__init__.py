"""Every command of the browser, once: the source of bindings, footer, help, palette and docs.

A command belongs to a *scope*: the panes it is bound in. Two commands that can meet in one
pane never share a key (`conflicts`). Whether a command can act now is `enabled`'s answer:
None, or the reason a person is told in the toast line and in the help (keys.md, rules 1 to 5).
This package knows nothing of Textual; `loop_tui.keys` turns the table into bindings.
"""

from __future__ import annotations

from loop_tui.commands.docs import keys_markdown
from loop_tui.commands.keymap import (
    Keymap,
    check_keymap,
    conflicts,
    elsewhere,
    key_label,
    keys_label,
    keys_of,
)
from loop_tui.commands.model import GROUPS, SCOPES, Command, Context, Group, Pane, Reason, Scope
from loop_tui.commands.table import BY_ID, COMMANDS, FOOTER, FOOTER_TRASH, commands_in

__all__ = [
    "BY_ID",
    "COMMANDS",
    "FOOTER",
    "FOOTER_TRASH",
    "GROUPS",
    "SCOPES",
    "Command",
    "Context",
    "Group",
    "Keymap",
    "Pane",
    "Reason",
    "Scope",
    "check_keymap",
    "commands_in",
    "conflicts",
    "elsewhere",
    "key_label",
    "keys_label",
    "keys_markdown",
    "keys_of",
]
