"""`loop-tui undo` and `redo`: the last action on the stores now open, whoever did it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from loop_tui.cli.context import Context
from loop_tui.cli.registry import Command


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object")


def _again(context: Context, arguments: Namespace, way: str) -> int:
    service, output = context.service, context.output
    outcome = service.undo() if way == "undo" else service.redo()
    errors = [f"{failure.id}: {failure.reason}" for failure in outcome.failed]
    if arguments.json:
        ids = [done.id for done in outcome.done] + [failure.id for failure in outcome.failed]
        output.json(
            {
                "action": outcome.of,
                "ids": ids,
                "done": bool(outcome.done) and not errors,
                "error": "; ".join(errors) if errors else None,
            }
        )
    elif outcome.done:
        output.line(outcome.text)
    if not outcome.done and not errors:
        output.words(outcome.text or f"Nothing to {way}.")
    for error in errors:
        output.error(error)
    return 1 if errors else 0


def _command(way: str, help_text: str) -> Command:
    def run(context: Context, arguments: Namespace) -> int:
        return _again(context, arguments, way)

    return Command(way, help_text, f"loop-tui {way}", configure, run)


COMMANDS = (
    _command("undo", "take the last action on these stores back"),
    _command("redo", "do again what undo took back"),
)
