"""`loop-tui list`: the rows of a view, in the browser's order."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loop_tui.cli.context import Context
from loop_tui.cli.registry import Command

if TYPE_CHECKING:
    from loop_core.model import SessionRow

_VIEWS = ("active", "unread", "pinned", "archived", "trash", "problems", "all")


def positive(text: str) -> int:
    """An argument type: a whole number above zero."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return number


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--view", choices=_VIEWS, default="active", help="which sessions (default: active)"
    )
    parser.add_argument(
        "--project", metavar="TEXT", help="only projects whose name or folder contains TEXT"
    )
    parser.add_argument("--limit", metavar="N", type=positive, help="at most N rows")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(context: Context, arguments: Namespace) -> int:
    from loop_tui.cli.rows import project_names, row_object
    from loop_tui.state import select

    context.titles = arguments.limit is None
    service, output = context.service, context.output
    snapshot = service.snapshot
    names = project_names(snapshot.projects)
    rows = select(
        snapshot.rows, arguments.view, problems=snapshot.problems, names=names, show_hidden=True
    )
    if arguments.project is not None:
        rows = _of_project(rows, names, arguments.project)
    rows = context.titled(rows[: arguments.limit])
    if arguments.json:
        for row in rows:
            output.json(row_object(row, names.get(row.project, "")))
    elif arguments.view == "problems" and rows:
        _print_problems(context, rows)
    elif rows:
        _print(context, rows, names)
    _explain(context, rows)
    return 0


def _of_project(
    rows: Sequence[SessionRow], names: dict[str, str], text: str
) -> tuple[SessionRow, ...]:
    from loop_tui.state import fold

    wanted = fold(text)
    return tuple(
        row
        for row in rows
        if wanted in fold(names.get(row.project, "")) or wanted in fold(row.cwd or "")
    )


def _print(context: Context, rows: Sequence[SessionRow], names: dict[str, str]) -> None:
    from loop_core.loop.dates import now_ms
    from loop_tui.cli.rows import marks, shown_title
    from loop_tui.text import human_count, human_size, relative_time

    now = now_ms()
    short = context.output.width is not None
    context.output.table(
        ("", "age", "messages", "size", "project", "title", "id"),
        [
            (
                marks(row, now, ascii_only=context.arguments.ascii),
                relative_time(row.updated_ms or None, now),
                "" if row.message_count is None else human_count(row.message_count),
                human_size(row.size),
                names.get(row.project, ""),
                shown_title(row),
                row.id[:8] if short and row.source == "loop" else row.id,
            )
            for row in rows
        ],
        flexible=5,
        right=(1, 2, 3),
        styles=["strong" if row.unread else "muted" if row.archived else "" for row in rows],
    )


def _print_problems(context: Context, rows: Sequence[SessionRow]) -> None:
    """What is wrong and where, not what the session is about."""
    context.output.table(
        ("problem", "line", "path"),
        [
            (row.problem or "", "" if row.problem_line is None else str(row.problem_line), row.path)
            for row in rows
        ],
        flexible=0,
        right=(1,),
    )


def _explain(context: Context, rows: Sequence[SessionRow]) -> None:
    """What the rows alone do not tell: nothing is left out in silence."""
    service, output = context.service, context.output
    snapshot = service.snapshot
    if not rows:
        output.words(service.empty_reason() or "No session in this view.")
    if snapshot.unsupported:
        output.words(f"{snapshot.unsupported} of a format or version that is not supported.")
    if context.arguments.view != "problems":
        from loop_tui.state import problem_rows

        count = len(problem_rows(snapshot.problems, snapshot.rows))
        if count:
            output.words(f"{count} could not be read: loop-tui list --view problems")


COMMANDS = (
    Command(
        name="list",
        help="list sessions in the browser's order",
        example="loop-tui list --view unread --project api --json | head -3",
        configure=configure,
        run=run,
    ),
)
