"""`loop-tui demo`: the synthetic store, to keep."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace

from loop_tui.cli.context import Context
from loop_tui.cli.registry import Command


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", help="a new or empty directory")
    parser.add_argument(
        "--hostile",
        action="store_true",
        help="instead: everything that can lie in a store to harm a reader (docs/HOSTILE.md)",
    )


def run(context: Context, arguments: Namespace) -> int:
    directory = os.path.abspath(os.path.expanduser(arguments.directory))
    if arguments.hostile:
        from loop_tui.demo.hostile import write_hostile

        write_hostile(directory)
    else:
        from loop_tui.demo import write_demo

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
