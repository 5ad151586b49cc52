"""`loop-tui purge`: permanent removal, the one thing undo cannot take back."""

from __future__ import annotations

import os
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

    rests = [text for text in arguments.sessions_named if _is_rest(text)]
    named = [text for text in arguments.sessions_named if text not in rests]
    keys, missed = context.find_all(named, put_away=True)
    if (keys or rests) and not arguments.yes:
        _name_them(context, named, {text for text, _ in missed})
        for path in rests:
            context.output.words(f"  {path}")
        if not context.confirm("This cannot be undone."):
            context.output.words("Nothing was removed.")
            return 1
    outcome = (
        context.service.purge(keys, force=arguments.force) if keys else Outcome(action="purge")
    )
    status = report(context, outcome, missed, as_json=arguments.json)
    for path in rests:
        status |= _purge_rest(context, path, as_json=arguments.json)
    return status


def _is_rest(text: str) -> bool:
    """Whether the argument is the path of what an interrupted deletion left."""
    return os.path.basename(os.path.normpath(text)).startswith(".delete-")


def _purge_rest(context: Context, path: str, *, as_json: bool) -> int:
    from loop_core.errors import LoopError, reason_of

    fault: str | None = None
    try:
        context.service.purge_leftover(path)
    except LoopError as error:
        fault = reason_of(error)
        context.output.error(f"{path}: {fault}")
    if as_json:
        context.output.json({"id": path, "done": fault is None, "error": fault})
    elif fault is None:
        context.output.line(f"Removed for good: {path}")
    return 0 if fault is None else 1


def _name_them(context: Context, texts: list[str], missed: set[str]) -> None:
    from loop_tui.cli.rows import shown_title

    for text in texts:
        if text not in missed:
            row = context.find(text, put_away=True)
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
