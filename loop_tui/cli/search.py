"""`loop-tui search`: full text over every source."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from loop_tui.cli.context import Context, Usage
from loop_tui.cli.listing import positive
from loop_tui.cli.registry import Command

if TYPE_CHECKING:
    from loop_core.model import SessionRow
    from loop_core.search.indexer import IndexProgress
    from loop_core.search.result import RoundHit, SearchResult

_FILTERS = """
words           both in one round, or in the title     lock archive
"a phrase"      in a row                               "lost update"
-word           rounds without it                      lock -draft
project:TEXT    role:user|assistant|thinking|tool|title
tool:NAME       model:TEXT     is:unread|pinned|archived
after:2026-11-01     before:2026-12-01
"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="+", help="what to find:" + _FILTERS)
    parser.add_argument(
        "--exact", action="store_true", help="parts of words too, by reading the files"
    )
    parser.add_argument(
        "--index", action="store_true", help="bring the search index up to date first"
    )
    parser.add_argument(
        "--limit", metavar="N", type=positive, default=20, help="at most N sessions"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(context: Context, arguments: Namespace) -> int:
    service, output = context.service, context.output
    if arguments.index:
        _index(context)
    query = " ".join(arguments.query)
    if not query.strip():
        raise Usage("the query is empty")
    result = service.search(query, exact=arguments.exact, limit=arguments.limit)
    names = {project.key: project.name for project in service.snapshot.projects}
    for session in result.sessions:
        row = service.row(session.key)
        if row is None:
            continue
        if not arguments.json:
            _print_session(context, row, names.get(row.project, ""), session.count)
        for hit in session.hits[:3] or (None,):
            if arguments.json:
                output.json(_object(row, hit, session.score))
            elif hit is not None:
                _print_hit(context, hit)
    _explain(context, result)
    return 0


def _index(context: Context) -> None:
    from loop_core.errors import Conflict, InvalidArgument
    from loop_core.search.index import available
    from loop_tui.indexing import update_index

    if not available():
        raise InvalidArgument("the package tantivy is not installed; searching works without it")

    def said(progress: IndexProgress) -> None:
        share = progress.bytes_done * 100 // max(progress.bytes_total, 1)
        context.output.progress(f"indexing {progress.done:,} of {progress.total:,} · {share} %")

    try:
        done = update_index(context.service, said)
    except Conflict as error:
        context.output.words(f"The index is as it was: {error.reason}.")
        return
    context.output.progress("")
    if done.failed:
        context.output.words(f"{done.failed:,} sessions could not be read for the index.")


def _object(row: SessionRow, hit: RoundHit | None, score: float) -> dict[str, Any]:
    in_round = hit is not None and hit.round >= -1
    return {
        "source": row.source,
        "id": row.id,
        "path": row.path,
        "title": row.title,
        "round": hit.round + 1 if hit is not None and in_round else None,
        "messageIndex": hit.message if hit is not None and in_round else None,
        "snippet": hit.snippet.text if hit is not None else "",
        "score": round(hit.score if hit is not None and hit.score else score, 3),
    }


def _print_session(context: Context, row: SessionRow, project: str, count: int) -> None:
    output = context.output
    title = output.styled(_safe(row.title or "New session"), "strong")
    many = f" · {count:,} rounds" if count > 1 else ""
    output.ready(f"{title}  {output.styled(f'{_safe(project)} · {_safe(row.id)}{many}', 'muted')}")


def _print_hit(context: Context, hit: RoundHit) -> None:
    output = context.output
    place = "title" if hit.round < -1 else f"round {max(hit.round + 1, 0)}"
    parts: list[str] = []
    at = 0
    text = hit.snippet.text
    for start, stop in hit.snippet.spans:
        parts += [text[at:start], output.styled(text[start:stop], "accent")]
        at = stop
    parts.append(text[at:])
    output.ready(f"  {output.styled(f'{place:>9}', 'muted')}  {''.join(parts)}")


def _explain(context: Context, result: SearchResult) -> None:
    words = context.output.words
    if not result.sessions:
        words("Nothing found.")
    elif result.total > len(result.sessions):
        words(f"{result.total:,} sessions answer; --limit shows more.")
    from loop_tui.state.found import left_out

    for line in left_out(result.left_out):
        words(line)


def _safe(text: str) -> str:
    from loop_core.sanitize import safe_line

    return safe_line(text, 120)


COMMANDS = (
    Command(
        "search",
        "find text in titles and conversations of every source",
        "loop-tui search 'lost update' project:shop after:2026-11-01 --json",
        configure,
        run,
    ),
)
