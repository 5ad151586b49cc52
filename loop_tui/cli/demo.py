"""`loop-tui demo`: the synthetic store, to keep."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace

from loop_tui.cli.context import Context
from loop_tui.cli.registry import Command


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", help="a new or empty directory")


def run(context: Context, arguments: Namespace) -> int:
    from loop_tui.demo import write_demo

    directory = os.path.abspath(os.path.expanduser(arguments.directory))
    write_demo(directory)
    place = shlex.quote(directory)
    context.output.words(
        f"Written. Open it: loop-tui --agent-dir {place}/loop --craft-dir {place}/craft"
    )
    return 0


COMMANDS = (
    Command(
        name="demo",
        help="write a synthetic store to try things on",
        example="loop-tui demo /tmp/demo && loop-tui --agent-dir /tmp/demo/loop --no-craft",
        configure=configure,
        run=run,
    ),
)
