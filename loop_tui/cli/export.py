"""`loop-tui export`: one whole session as Markdown, HTML or JSON."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from loop_tui.cli.context import Context, Usage
from loop_tui.cli.parts import session_argument, tell_damage
from loop_tui.cli.registry import Command


def configure(parser: ArgumentParser) -> None:
    session_argument(parser)
    parser.add_argument(
        "--format",
        choices=("md", "html", "json"),
        help="default: by the file's ending, else Markdown",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="or a folder; default: standard output"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE when it exists")


def run(context: Context, arguments: Namespace) -> int:
    from loop_tui.exporting import damage_of, form_of, text_of, write

    path = arguments.output
    if path == "":
        raise Usage("-o takes the name of a file")
    context.titles = False
    (row,) = context.titled([context.find(arguments.session)])
    form = form_of(path or "", arguments.format)
    if path is not None and path != "-":
        told = _counting(context)
        target = write(context.service, row.key, path, form, force=arguments.force, told=told)
        context.output.progress("")
        context.output.words(f"Written: {target}")
    else:
        for chunk in text_of(context.service, row.key, form):
            context.output.stdout.write(chunk)
    tell_damage(context, row.path, damage_of(context.service, row.key))
    return 0


def _counting(context: Context) -> Callable[[int], None]:
    """Says how much is written, a few times a second."""
    from time import monotonic

    from loop_tui.text import human_size

    said = monotonic()

    def told(written: int) -> None:
        nonlocal said
        if monotonic() - said > 0.2:
            said = monotonic()
            context.output.progress(f"{human_size(written)} …")

    return told


COMMANDS = (
    Command(
        "export",
        "write one whole session as Markdown, HTML or JSON",
        "loop-tui export 0f3c --format html -o session.html",
        configure,
        run,
    ),
)
