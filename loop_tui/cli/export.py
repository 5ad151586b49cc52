"""`loop-tui export`: one whole session as Markdown, HTML or JSON."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from loop_tui.cli.context import Context, Usage
from loop_tui.cli.registry import Command


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="an id, the start of one, or a path")
    parser.add_argument(
        "--format",
        choices=("md", "html", "json"),
        help="default: by the file's ending, else Markdown",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    parser.add_argument("--force", action="store_true", help="replace FILE when it exists")


def run(context: Context, arguments: Namespace) -> int:
    from loop_tui.exporting import form_of, text_of, write

    path = arguments.output
    if path == "":
        raise Usage("-o takes the name of a file")
    row = context.find(arguments.session)
    form = form_of(path or "", arguments.format)
    if path is not None and path != "-":
        target = write(context.service, row.key, path, form, force=arguments.force)
        context.output.words(f"Written: {target}")
        return 0
    for chunk in text_of(context.service, row.key, form):
        context.output.stdout.write(chunk)
    return 0


COMMANDS = (
    Command(
        "export",
        "write one whole session as Markdown, HTML or JSON",
        "loop-tui export 0f3c --format html -o session.html",
        configure,
        run,
    ),
)
