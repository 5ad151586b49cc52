"""The table as Markdown, for documents."""

from __future__ import annotations

from collections.abc import Sequence

from loop_tui.commands.keymap import Keymap, key_label, keys_of
from loop_tui.commands.model import GROUPS, Command
from loop_tui.commands.table import COMMANDS

__all__ = ["keys_markdown"]


def keys_markdown(keymap: Keymap | None = None, commands: Sequence[Command] = COMMANDS) -> str:
    """The key table of the README, in Markdown."""
    lines: list[str] = []
    for group in GROUPS:
        rows = [c for c in commands if c.group == group and keys_of(c, keymap)]
        if not rows:
            continue
        lines += [f"**{group}**", "", "| key | action |", "|---|---|"]
        for command in rows:
            keys = " ".join(
                f"`{key_label(key)}`".replace("|", "\\|") for key in keys_of(command, keymap)
            )
            lines.append(f"| {keys} | {command.help} |")
        lines.append("")
    return "\n".join(lines)
