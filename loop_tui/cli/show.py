"""`loop-tui show`: one page of a history, for reading or as stored."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from loop_tui.cli.context import Context
from loop_tui.cli.listing import positive
from loop_tui.cli.parts import session_argument, tell_damage
from loop_tui.cli.registry import Command

if TYPE_CHECKING:
    from loop_core.model import Page, SessionRow

_WIDTH = 100
# The viewer's roles that mean something without its colours.
_STYLES = {
    "round": "strong",
    "title": "strong",
    "bold": "strong",
    "user.bar": "accent",
    "success": "good",
    "error": "bad",
    "note.error": "bad",
    "warning": "warn",
    "muted": "muted",
    "faint": "muted",
    "round.time": "muted",
    "thinking": "muted",
    "thinking.text": "muted",
}


def configure(parser: ArgumentParser) -> None:
    session_argument(parser)
    parser.add_argument(
        "--before", metavar="N", type=int, help="the rounds that end before message N"
    )
    parser.add_argument(
        "--rounds", metavar="N", type=positive, default=3, help="how many rounds (default: 3)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, messages as stored")


def run(context: Context, arguments: Namespace) -> int:
    context.titles = False
    row = context.find(arguments.session)
    if arguments.json:
        return _as_stored(context, row, arguments)
    page = context.service.page(row.key, before=arguments.before, rounds=arguments.rounds)
    (row,) = context.titled([row])
    _print(context, row, page)
    tell_damage(context, row.path, page.damage)
    return 0


def _as_stored(context: Context, row: SessionRow, arguments: Namespace) -> int:
    page = context.service.raw_page(row.key, before=arguments.before, rounds=arguments.rounds)
    some = page.total_rounds > 0
    context.output.json(
        {
            "path": page.path,
            "revision": page.revision,
            "start": page.start,
            "end": page.end,
            "total": page.total,
            "firstRound": page.first_round + 1 if some else 0,
            "lastRound": page.last_round + 1 if some else 0,
            "totalRounds": page.total_rounds,
            "messages": list(page.messages),
            "damage": [{"line": each.line, "reason": each.reason} for each in page.damage],
        }
    )
    tell_damage(context, page.path, page.damage)
    return 0


def _print(context: Context, row: SessionRow, page: Page) -> None:
    from loop_core.loop.dates import now_ms
    from loop_tui.cli.rows import shown_title
    from loop_tui.layout import Options, layout

    output = context.output
    output.line(shown_title(row), "strong")
    where = f"{row.cwd or row.path} · {row.id}"
    output.line(where, "muted")
    if not page.rounds:
        output.line("No messages.", "muted")
        return
    options = Options(
        tools="clipped", ascii=context.arguments.ascii, now_ms=now_ms(), thinking=True
    )
    laid = layout(page.rounds, min(output.width or _WIDTH, _WIDTH), options)
    for each in laid.rounds:
        for line in each.lines:
            text = "".join(output.styled(part, _style(role)) for part, role in line)
            output.ready(text.rstrip())
    first, last = page.first_round + 1, page.first_round + sum(r.index >= 0 for r in page.rounds)
    output.words(f"Rounds {first}–{last} of {page.total_rounds}." + _earlier(page))


def _earlier(page: Page) -> str:
    return f" Earlier ones: --before {page.start}" if page.start > 0 else ""


def _style(role: str) -> str:
    name = role.partition("@")[0].partition(" ")[0]
    return _STYLES.get(name, "")


COMMANDS = (
    Command(
        name="show",
        help="print one page of a session's history",
        example="loop-tui show 3f9c21d8 --rounds 1",
        configure=configure,
        run=run,
    ),
)
