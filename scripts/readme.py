"""Fills the README's tables from the programs' own: run it after changing a command or key.

python scripts/readme.py          rewrite README.md
python scripts/readme.py --check  only say whether it is up to date (exit status 1: no)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from loop_tui.cli.parser import build_parser
from loop_tui.cli.registry import commands
from loop_tui.commands import COMMANDS, GROUPS

README = Path(__file__).parent.parent / "README.md"

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


def filled(text: str) -> str:
    """The README with its generated parts made anew."""
    for name, table in (("keys", key_table()), ("commands", command_table())):
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda match, table=table: match[1] + table + "\n" + match[2], text)
    return text


def main(arguments: list[str]) -> int:
    before = README.read_text(encoding="utf-8")
    after = filled(before)
    if arguments == ["--check"]:
        return int(before != after)
    README.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
