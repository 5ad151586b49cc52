"""Measures loop-tui: every figure is a ratio to the least work that could do the same, taken in
the same run, or an amount where the table says so.

The table comes at the end, its rows as JSON in a file; progress goes to stderr. Everything is
written below one temporary directory, which is removed, after Ctrl-C as well. Exit status 1:
something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import measures, peers, report
from benchmarks.children import Failed, measured, work_dir
from benchmarks.measures import MEASURES, Measure
from benchmarks.rows import Row, facts, number_at, row


def arguments_of(words: list[str]) -> argparse.Namespace:
    """The options, with the sizes of a quick or a full run filled in."""
    names = [measure.module for measure in MEASURES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two smaller sizes, a few minutes")
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=[*names, "peers"],
        help=f"repeatable: {', '.join(names)}, peers",
    )  # fmt: skip
    parser.add_argument("--sessions", type=_numbers, metavar="N,N,N", help="sizes of the stores")
    parser.add_argument("--megabytes", type=_numbers, metavar="N,N,N", help="sizes of a session")
    parser.add_argument(
        "--peers", action="store_true", help="also other programs, installed from PyPI for it"
    )
    parser.add_argument("--dir", metavar="DIR", help="where the temporary directory is made")
    parser.add_argument(
        "--json", metavar="FILE", default="benchmarks.json", help="default: %(default)s"
    )
    given = parser.parse_args(words)
    quick = given.quick
    given.peer_sessions = given.sessions or measures.PEER_SESSIONS
    given.sessions = given.sessions or (measures.QUICK_SESSIONS if quick else measures.SESSIONS)
    given.megabytes = given.megabytes or (measures.QUICK_MEGABYTES if quick else measures.MEGABYTES)
    return given


def _numbers(text: str) -> tuple[int, ...]:
    found = tuple(int(part) for part in text.split(","))
    if not 1 <= len(found) <= 3 or min(found) < 1:
        raise argparse.ArgumentTypeError("one to three numbers above 0")
    return found


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def rows_of(one: Measure, given: argparse.Namespace, work: Path, failed: list[str]) -> list[Row]:
    """The rows of a measure at every size of this run."""
    rows: list[Row] = []
    for size in range(max([1, *(len(getattr(given, axis)) for axis in one.axes)])):
        sessions, megabytes = (
            sizes[min(size, len(sizes) - 1)] for sizes in (given.sessions, given.megabytes)
        )
        used = min(megabytes, one.cap_mb)
        call = one.call.format(sessions=min(sessions, one.cap), megabytes=used)
        began = time.monotonic()
        try:
            results = [measured(one.module, call, work) for _ in range(one.times[size])]
        except Failed as error:
            failed.append(f"{one.module}({call}): {error}")
            say(f"not measured: {failed[-1]}")
            continue
        say(f"{one.module}({call}): {time.monotonic() - began:.0f} s")
        for figure in one.figures:
            if figure.axis != "sessions" or sessions <= one.cap:
                made = row(figure, size, number_at(figure.axis, sessions, used), results)
                rows.append(made | {"column": number_at(figure.axis, sessions, megabytes)})
    return rows


def main(words: list[str]) -> int:
    """Measure, print the table, write the JSON; 1 when a measurement failed."""
    given = arguments_of(words)
    failed: list[str] = []
    found: dict[str, Any] = {"quick": given.quick, "facts": facts(), "rows": [], "peers": []}
    began = time.monotonic()
    try:
        with work_dir(given.dir) as work:
            for one in MEASURES:
                if given.only is None or one.module in given.only:
                    found["rows"] += rows_of(one, given, work, failed)
            if given.peers or "peers" in (given.only or ()):
                found["peers"], left_out = peers.run(given.peer_sessions, work, say)
                found["left_out"] = left_out
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    found |= {"seconds": round(time.monotonic() - began), "failed": failed}
    if found["rows"]:
        print(report.table(found["rows"]))
    if found["peers"]:
        print("\n" + report.peers_table(found["peers"]))
    Path(given.json).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    for text in failed:
        say(f"not measured: {text}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
