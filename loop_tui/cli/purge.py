"""`loop-tui purge`: permanent removal, the one thing undo cannot take back."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from loop_tui.cli.change import report
from loop_tui.cli.context import Context
from loop_tui.cli.parts import sessions_argument
from loop_tui.cli.registry import Command


def configure(parser: ArgumentParser) -> None:
    sessions_argument(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--force", action="store_true", help="also sessions neither in the trash nor archived"
    )


def run(context: Context, arguments: Namespace) -> int:
    from loop_core.outcome import Outcome

    keys, missed = context.find_all(arguments.sessions_named)
    if keys and not arguments.yes:
        _name_them(context, arguments.sessions_named, {text for text, _ in missed})
        if not context.confirm("This cannot be undone."):
            context.output.words("Nothing was removed.")
            return 1
    outcome = (
        context.service.purge(keys, force=arguments.force) if keys else Outcome(action="purge")
    )
    return report(context, outcome, missed, as_json=arguments.json)


def _name_them(context: Context, texts: list[str], missed: set[str]) -> None:
    from loop_tui.cli.rows import shown_title

    for text in texts:
        if text not in missed:
            row = context.find(text)
            context.output.words(f"  {row.id}  {shown_title(row)}")


COMMANDS = (
    Command(
        name="purge",
        help="remove trashed or archived sessions for good",
        example="loop-tui purge 3f9c21d8 --yes",
        configure=configure,
        run=run,
    ),
)
