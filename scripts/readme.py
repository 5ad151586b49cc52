"""Fills the tables of the documents from the program's own.

Run it after changing a command, a key or a hostile flavour:

    python scripts/readme.py          rewrite README.md and docs/HOSTILE.md
    python scripts/readme.py --check  only say whether they are up to date (exit status 1: no)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from loop_tui.cli.parser import build_parser
from loop_tui.cli.registry import commands
from loop_tui.commands import COMMANDS, GROUPS
from loop_tui.demo.hostile.contents import FLAVOURS, Flavour
from loop_tui.demo.hostile.places import TRAPS, Trap

ROOT = Path(__file__).parent.parent
DOCUMENTS = (ROOT / "README.md", ROOT / "docs" / "HOSTILE.md")

_NAMES = {
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "escape": "Esc",
    "space": "Space",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "delete": "Delete",
    "f1": "F1",
    "f5": "F5",
}


def key_table() -> str:
    """The commands of the browser by group, as Markdown."""
    lines = ["| keys | |", "|---|---|"]
    for group in GROUPS:
        chosen = [command for command in COMMANDS if command.group == group]
        lines.append(f"| **{group}** | |")
        for command in chosen:
            keys = " ".join(f"`{_NAMES.get(key, key)}`" for key in command.keys)
            lines.append(f"| {keys or '*palette*'} | {command.help} |")
    return "\n".join(lines)


def command_table() -> str:
    """The commands of the shell, as Markdown."""
    parser = build_parser()
    lines = ["| command | |", "|---|---|"]
    usages = _usages(parser)
    for command in commands():
        lines.append(f"| `{usages[command.name]}` | {command.help} |")
    return "\n".join(lines)


def _usages(parser: object) -> dict[str, str]:
    from loop_tui.cli.completion import tree

    _, nodes = tree(parser)  # type: ignore[arg-type]
    usages = {}
    for node in nodes:
        operands = [word.metavar for word in node.operands]
        usages[node.name] = " ".join([node.name, *operands])
    return usages


def hostile_table(entries: Iterable[Flavour | Trap]) -> str:
    """The flavours of the hostile store, as Markdown."""
    return "\n".join(["| name | |", "|---|---|", *(f"| `{e.name}` | {e.about} |" for e in entries)])


def filled(text: str) -> str:
    """A document with its generated parts made anew."""
    tables = {
        "keys": key_table(),
        "commands": command_table(),
        "contents": hostile_table(FLAVOURS),
        "places": hostile_table(TRAPS),
    }
    for name, table in tables.items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda match, table=table: match[1] + table + "\n" + match[2], text)
    return text


def main(arguments: list[str]) -> int:
    stale = 0
    for document in DOCUMENTS:
        before = document.read_text(encoding="utf-8")
        after = filled(before)
        stale += before != after
        if arguments != ["--check"]:
            document.write_text(after, encoding="utf-8")
    return int(bool(stale) and arguments == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
