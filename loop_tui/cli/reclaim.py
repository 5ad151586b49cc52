"""`loop-tui reclaim`: disk space that Loop itself never frees."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from loop_tui.cli.context import Context, Usage
from loop_tui.cli.registry import Command

if TYPE_CHECKING:
    from loop_core.loop.reclaim import Reclaimable
    from loop_core.model import SessionRow


def configure(parser: ArgumentParser) -> None:
    # `sessions` is what the option --sessions fills.
    parser.add_argument(
        "sessions_named", metavar="SESSION", nargs="*", help="default: every session"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be freed")
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="turn unreachable bytes into a hole: safe beside a running Loop",
    )
    parser.add_argument("--yes", action="store_true", help="no Loop is running; do not ask")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(context: Context, arguments: Namespace) -> int:
    from loop_core.errors import LoopError, reason_of

    rows, status = _rows(context, arguments.sessions_named)
    plans: list[tuple[SessionRow, Reclaimable]] = []
    for row in rows:
        try:
            plan = context.service.plan_reclaim(row.key)
        except LoopError as error:
            context.output.error(f"{row.id}: {reason_of(error)}")
            status = 1
            continue
        if arguments.sessions_named or plan.freed or plan.refused or plan.backup_refused:
            plans.append((row, plan))
    if not arguments.dry_run and not _agreed(context, arguments, [plan for _, plan in plans]):
        return 1
    freed = 0
    for row, plan in plans:
        one, failed = _one(context, arguments, row, plan)
        freed += one
        status |= failed
    _sum_up(context, freed, dry=arguments.dry_run)
    return status


def _sum_up(context: Context, freed: int, *, dry: bool) -> None:
    from loop_tui.text import human_size

    if not freed:
        context.output.words("Nothing to free.")
    elif dry:
        context.output.words(f"{human_size(freed)} would be freed; nothing was changed.")
    else:
        context.output.words(f"{human_size(freed)} freed.")


def _agreed(context: Context, arguments: Namespace, plans: list[Reclaimable]) -> bool:
    """The user's word that no Loop is running, where the work needs it."""
    from loop_core.loop.reclaim import WHY_CLOSED
    from loop_tui.text import human_size

    todo = [plan.freed for plan in plans if plan.freed and plan.refused is None]
    if not todo or arguments.in_place or arguments.yes:
        return True
    context.output.words(
        f"{WHY_CLOSED} --in-place frees the space without moving anything instead."
    )
    try:
        return context.confirm(f"Free {human_size(sum(todo))} in {len(todo):,} session(s)?")
    except Usage:
        raise Usage("no Loop may be running during a reclaim; confirm with --yes") from None


def _one(
    context: Context, arguments: Namespace, row: SessionRow, plan: Reclaimable
) -> tuple[int, int]:
    """Carry out one plan, or only show it; the bytes freed and the exit status."""
    from loop_core.errors import LoopError, reason_of
    from loop_tui.text import human_size

    before, after, note, status = plan.before, plan.after, plan.refused, 0
    if plan.refused is None and plan.freed and not arguments.dry_run:
        try:
            in_place: bool = arguments.in_place
            before, after = context.service.reclaim(row.key, plan, in_place=in_place)
        except LoopError as error:
            after, note, status = before, reason_of(error), 1
    if plan.refused is not None and arguments.sessions_named:
        status = 1
    note = note or plan.backup_refused
    if arguments.json:
        found = {"path": plan.path, "before": before, "after": after, "error": note}
        context.output.json(found)
    else:
        said = "" if note is None else f"  ({note})"
        context.output.line(f"{human_size(before - after):>9}  {plan.path}{said}")
    return before - after, status


def _rows(context: Context, names: list[str]) -> tuple[list[SessionRow], int]:
    """The sessions named, else every published Loop session; 1 when a name is none."""
    if not names:
        rows = context.service.snapshot.rows
        return [r for r in rows if r.form == "loop3" and r.trashed_ms is None], 0
    keys, missed = context.find_all(names)
    for _, reason in missed:
        context.output.error(reason)
    found = [context.service.row(key) for key in keys]
    return [row for row in found if row is not None], 1 if missed else 0


COMMANDS = (
    Command(
        "reclaim",
        "free space: unreachable generations and verified version-2 backups",
        "loop-tui reclaim --dry-run",
        configure,
        run,
    ),
)
