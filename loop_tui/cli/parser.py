"""The argument parser: one tree for parsing, help and shell completion.

The options that say which stores to use stand before or after a command. A subcommand's
copy of them is parsed into names of its own and merged, because argparse would let the copy
overwrite what was given before the command.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from loop_core.sanitize import safe_line
from loop_tui import __version__
from loop_tui.cli.registry import Command, commands

DESCRIPTION = """\
Browse and keep in order the conversations of coding agents. Without a command the browser
opens on the stores found: Loop's agent directory (LOOP_DATA_DIR or ~/.loop) and
Craft-Agents' configuration (CRAFT_CONFIG_DIR, ~/.craft-agent)."""

_LATE = "late_"
_REPEATABLE = ("sessions", "craft_dir")

# Option strings with what argparse is told; `action` "append" marks the repeatable ones.
SHARED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--agent-dir", {"metavar": "DIR", "help": "Loop's agent directory"}),
    (
        "--sessions",
        {"metavar": "DIR", "action": "append", "help": "an explicit Loop collection; repeatable"},
    ),
    ("--trace-dir", {"metavar": "DIR", "help": "where Loop's traces of --sessions are"}),
    (
        "--craft-dir",
        {
            "metavar": "DIR",
            "action": "append",
            "help": "a Craft-Agents configuration directory; repeatable",
        },
    ),
    ("--no-loop", {"action": "store_true", "help": "leave Loop's agent directory out"}),
    ("--no-craft", {"action": "store_true", "help": "leave Craft-Agents out"}),
    ("--read-only", {"action": "store_true", "help": "change nothing, not even read marks"}),
    ("--poll", {"action": "store_true", "help": "look for changes by polling"}),
    ("--ascii", {"action": "store_true", "help": "draw with ASCII characters only"}),
    ("--theme", {"metavar": "NAME", "help": "colours of the browser, e.g. night, day"}),
    ("--demo", {"action": "store_true", "help": "a synthetic store, removed at exit"}),
)


class Parser(argparse.ArgumentParser):
    """Errors in one safe line, and no guessing of abbreviated options."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        settings.setdefault("allow_abbrev", False)
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {safe_line(message)}\nTry '{self.prog} --help'.\n")


def build_parser(chosen: Sequence[Command] | None = None) -> Parser:
    """The whole tree; `chosen` replaces the registered commands in tests."""
    parser = Parser(
        prog="loop-tui",
        description=DESCRIPTION,
        epilog="Every command has an example: loop-tui COMMAND --help",
    )
    parser.add_argument("--version", action="version", version=f"loop-tui {__version__}")
    places = parser.add_argument_group("options before or after a command")
    for flag, settings in SHARED:
        places.add_argument(flag, **settings)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in commands() if chosen is None else chosen:
        sub = subparsers.add_parser(
            command.name,
            help=command.help,
            description=command.help[0].upper() + command.help[1:] + ".",
            epilog=(
                f"example:\n  {command.example}\n\nThe options of 'loop-tui --help' that choose "
                "stores work here too."
            ),
        )
        command.configure(sub)
        for flag, settings in SHARED:
            sub.add_argument(
                flag,
                **{**settings, "help": argparse.SUPPRESS},
                dest=_LATE + _name(flag),
                default=argparse.SUPPRESS,
            )
        sub.set_defaults(run=command.run)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse and merge; exits with SystemExit(2) on a usage error, 0 after --help."""
    arguments = build_parser().parse_args(argv)
    for flag, _ in SHARED:
        name = _name(flag)
        late = arguments.__dict__.pop(_LATE + name, None)
        if late is None:
            continue
        if name in _REPEATABLE:
            late = [*(getattr(arguments, name) or ()), *late]
        setattr(arguments, name, late)
    return arguments


def _name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")
