"""`loop-tui paths`: every directory the program reads or writes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from loop_tui.cli.context import Context
from loop_tui.cli.registry import Command


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(context: Context, arguments: Namespace) -> int:
    paths = context.open_service().paths()
    if arguments.json:
        for name, path in paths:
            context.output.json({"name": name, "path": path})
    else:
        context.output.table(("name", "path"), paths)
    return 0


COMMANDS = (
    Command(
        name="paths",
        help="name every directory the program reads or writes",
        example="loop-tui paths --json",
        configure=configure,
        run=run,
    ),
)
