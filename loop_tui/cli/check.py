"""`loop-tui check`: full verification, nothing written, nothing migrated."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from loop_tui.cli.context import Context
from loop_tui.cli.registry import Command

if TYPE_CHECKING:
    from loop_core.model import SessionRow

_MESSAGES = "messages.jsonl: "


class Verdict(NamedTuple):
    """What `--json` prints of one session (docs/SCHEMA.md)."""

    path: str
    ok: bool
    unsupported: bool = False
    error: str | None = None
    line: int | None = None
    title: str | None = None
    title_source: str | None = None
    message_count: int | None = None
    user_message_count: int | None = None
    unread: bool | None = None
    pinned_at: str | None = None

    def as_object(self) -> dict[str, Any]:
        return {_camel(name): value for name, value in self._asdict().items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="files to judge: meta.json or its directory, a version-2 .jsonl, a session.jsonl "
        "or its folder; none: every session of every store",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(context: Context, arguments: Namespace) -> int:
    verdicts = (
        (judge(context, path) for path in arguments.paths)
        if arguments.paths
        else _judge_stores(context)
    )
    good = bad = skipped = 0
    for verdict in verdicts:
        good += verdict.ok
        skipped += verdict.unsupported
        bad += not verdict.ok and not verdict.unsupported
        context.output.progress("")
        if arguments.json:
            context.output.json(verdict.as_object())
        elif not verdict.ok:
            _print(context, verdict)
        context.output.progress(f"{good + bad + skipped:,} checked …")
    context.output.progress("")
    if not arguments.json:
        _sum_up(context, good, bad, skipped, named=bool(arguments.paths))
    # A file named on purpose that cannot be read is a problem; in a store it is skipped.
    return 1 if bad or (skipped and arguments.paths) else 0


def _print(context: Context, verdict: Verdict) -> None:
    path, error = verdict.path, verdict.error or ""
    if error.startswith(_MESSAGES):
        # The line is one of the file beside the metadata.
        path = os.path.join(os.path.dirname(path), _MESSAGES.removesuffix(": "))
        error = error.removeprefix(_MESSAGES)
    place = path if verdict.line is None else f"{path}:{verdict.line}"
    word = "unsupported" if verdict.unsupported else "bad"
    context.output.line(f"{word}  {place}: {error}", "warn" if word != "bad" else "bad")


def _sum_up(context: Context, good: int, bad: int, skipped: int, *, named: bool) -> None:
    parts = [f"{good:,} good"]
    if bad:
        parts.append(f"{bad:,} bad")
    if skipped:
        parts.append(f"{skipped:,} of an unsupported format")
    if not good and not bad and not skipped and not named:
        context.output.words(context.service.empty_reason() or "Nothing to check.")
    context.output.line(", ".join(parts) + ".")


def judge(context: Context, path: str) -> Verdict:
    """The verdict on one file, whatever it is; never raises for its content."""
    from loop_core.errors import LoopError, reason_of

    try:
        return _judge_craft(context, context.find(path)) if _is_craft(path) else _judge_loop(path)
    except LoopError as error:
        return Verdict(path, ok=False, error=reason_of(error))


def _is_craft(path: str) -> bool:
    if os.path.basename(os.path.abspath(path)) == "session.jsonl":
        return True
    inside = (os.path.lexists(os.path.join(path, name)) for name in ("session.jsonl", "meta.json"))
    return list(inside) == [True, False]


def _judge_loop(path: str) -> Verdict:
    from loop_core.check import check

    result = check(path)
    return Verdict(
        path=os.fspath(result.path),
        ok=result.ok,
        unsupported=result.unsupported,
        error=result.error,
        line=result.line,
        title=result.title,
        title_source=result.title_source,
        message_count=result.message_count,
        user_message_count=result.user_message_count,
        unread=result.unread,
        pinned_at=result.pinned_at,
    )


def _judge_craft(context: Context, row: SessionRow) -> Verdict:
    """One streaming pass of the store, which counts every line it cannot read."""
    from loop_core.errors import LoopError, reason_of
    from loop_tui.cli.rows import iso

    error, line, total, users = row.problem, row.problem_line, None, None
    try:
        page = context.service.raw_page(row.key, rounds=1)
        total, users = page.total, page.total_rounds
        if error is None and page.damage:
            more = f" (and {len(page.damage) - 1} more)" if len(page.damage) > 1 else ""
            error, line = page.damage[0].reason + more, page.damage[0].line
    except LoopError as failure:
        error = error or reason_of(failure)
    return Verdict(
        row.path,
        ok=error is None,
        error=error,
        line=line,
        title=row.title,
        title_source=row.title_source,
        message_count=total,
        user_message_count=users,
        unread=row.unread,
        pinned_at=iso(row.pinned_ms),
    )


def _judge_stores(context: Context) -> Iterator[Verdict]:
    """Every session row of every store, then what has no row."""
    service = context.service
    snapshot = service.snapshot
    rows = [row for row in snapshot.rows if row.trashed_ms is None]
    for row in rows:
        yield _judge_craft(context, row) if row.source == "craft" else judge(context, row.path)
    told = {row.path for row in rows}
    for problem in snapshot.problems:
        if problem.path not in told:
            yield Verdict(
                problem.path,
                ok=False,
                unsupported=problem.kind == "unsupported",
                error=problem.reason,
                line=problem.line,
            )


COMMANDS = (
    Command(
        name="check",
        help="verify sessions completely, without writing anything",
        example="loop-tui check --json | grep '\"ok\":false'",
        configure=configure,
        run=run,
    ),
)
