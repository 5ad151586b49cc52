"""The commands that change sessions as the browser does: journalled, undone by `undo`."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from loop_core.errors import ReadOnly
from loop_tui.cli.context import Context
from loop_tui.cli.parts import sessions_argument
from loop_tui.cli.registry import Command

if TYPE_CHECKING:
    from loop_core.outcome import Outcome

Do = Literal["pin", "unpin", "archive", "restore", "read", "unread"]
_LOOK_AFTER_S = 1.0  # Craft-Agents writes its own state back within half a second


def report(
    context: Context, outcome: Outcome, missed: Iterable[tuple[str, str]], *, as_json: bool
) -> int:
    """Say what became of each session; the exit status."""
    output, failed = context.output, False
    for text, reason in missed:
        failed = True
        if as_json:
            output.json({"id": text, "done": False, "error": reason})
        output.error(reason)
    for done in outcome.done:
        if as_json:
            output.json({"id": done.id, "done": True, "error": None})
    if outcome.at_risk and as_json:
        from loop_core.wording import risk

        output.words(risk(len(outcome.at_risk), len(outcome.done)))
    for failure in outcome.failed:
        failed = True
        if as_json:
            output.json({"id": failure.id, "done": False, "error": failure.reason})
        output.error(f"{failure.id}: {failure.reason}")
    if outcome.done and not as_json:
        output.line(outcome.text)
        if outcome.undoable:
            output.words("loop-tui undo takes it back.")
    return 1 if failed else 0


def _progress(context: Context) -> Callable[[object], None]:
    def show(progress: object) -> None:
        context.output.progress(f"{getattr(progress, 'done', 0):,} …")

    return show


def _apply(context: Context, arguments: Namespace, do: str) -> int:
    from loop_core.outcome import Outcome
    from loop_core.plans import Intent

    keys, missed = context.find_all(arguments.sessions_named, put_away=do == "restore")
    service, progress = context.service, _progress(context)
    force = getattr(arguments, "force", False)
    warnings = service.trash_warnings(keys) if do == "trash" else []
    outcome = Outcome(action="read")
    try:
        if keys and do == "trash":
            outcome = service.trash(keys, progress, force=force)
        elif keys:
            intent = Intent(do=do, force=force)  # type: ignore[arg-type]
            outcome = service.act(keys, intent, progress, force=force)
    except ReadOnly as error:
        known = {text for text, _ in missed}
        missed += [(t, error.reason) for t in arguments.sessions_named if t not in known]
    context.output.progress("")
    status = report(context, outcome, missed, as_json=arguments.json)
    for text in dict.fromkeys(warnings):
        context.output.words(text)
    return max(status, _look_again(context, outcome))


def _look_again(context: Context, outcome: Outcome) -> int:
    """Whether a running Craft-Agents took the change back, about a second later."""
    rows = (context.service.library.row(done.key) for done in outcome.done)
    keys = [row.key for row in rows if row is not None and row.owner_live and row.source == "craft"]
    if not keys:
        return 0
    time.sleep(_LOOK_AFTER_S)
    undone = context.service.look(keys)
    for one in undone:
        context.output.error(f"{one.id}: {one.text}")
    return 1 if undone else 0


def _command(do: str, help_text: str, example: str, *, forced: str = "") -> Command:
    def configure(parser: ArgumentParser) -> None:
        sessions_argument(parser)
        if forced:
            parser.add_argument("--force", action="store_true", help=forced)

    def run(context: Context, arguments: Namespace) -> int:
        return _apply(context, arguments, do)

    return Command(do, help_text, f"loop-tui {example}", configure, run)


_ANYWAY = "also while the agent's application runs, which will likely undo it"

COMMANDS = (
    _command("pin", "pin sessions (flag them, for Craft-Agents)", "pin 3f9c21d8"),
    _command("unpin", "take pins away", "unpin 3f9c21d8 261130-calm-harbor"),
    _command("archive", "archive sessions", "archive 3f9c21d8 77d0a1c4", forced=_ANYWAY),
    _command(
        "restore",
        "bring sessions back from the archive, the trash, or a crash of Craft-Agents that left "
        "only session.jsonl.tmp",
        "restore 3f9c21d8",
        forced=_ANYWAY,
    ),
    _command("read", "mark sessions as read", "read 3f9c21d8", forced=_ANYWAY),
    _command("unread", "mark sessions as unread", "unread 3f9c21d8", forced=_ANYWAY),
    _command(
        "trash",
        "move sessions to the trash, from where restore brings them back",
        "trash 3f9c21d8 && loop-tui undo",
    ),
)
