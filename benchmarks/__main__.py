"""Every row of "Numbers to reach", one table: ``python -m benchmarks [--quick] [--json FILE]``.

Each measurement runs in a process of its own. A figure is a ratio to its floor inside the
same run, or an absolute amount where the table says so; `reach` is what it should stay below.
Growth is visible: lists at 100, 10,000 and 100,000 sessions, pages at 1 MB, 100 MB and 1 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent


class Figure(NamedTuple):
    """One row: what is measured, the key in the result of `run`, and what to stay below.

    A key ``a/b`` is `b` inside `a`. `most` False: what to stay above.
    """

    what: str
    key: str
    reach: float | None = None
    most: bool = True


class Measure(NamedTuple):
    """One call of a module's `run`, in the full and in the quick form."""

    module: str
    size: str
    full: str
    quick: str | None
    figures: tuple[Figure, ...]


SCAN = (
    Figure("complete scan / scandir + read + decode", "scan / (scandir + read + decode)", 1.5),
    Figure("rescan, one change / stat of each", "rescan / (stat of every meta.json)", 3),
    Figure("told rescan / stat of each", "told rescan / (stat of every meta.json)", 3),
)
PAGE = (
    Figure("page with index / pread + decode", "page with index / (pread + decode)", 2),
    Figure("page without / read + split", "page without index / (read + split)", 3),
    Figure("memory added without index, MB", "memory added without index, MB", 64),
)
SCREEN = (
    Figure("first rows / empty Textual app", "first_rows", 2.5),
    Figure("the same in processor time", "first_rows_cpu", 2.5),
    Figure("key repeat, ms of CPU a row", "key_ms", 8),
    Figure("500 downs settle, s", "settle_s", 0.5),
    Figure("pages read by 500 downs", "pages_read", 1),
    Figure("filter keystroke, worst, ms of CPU", "filter_ms", 20),
    Figure("filter keystroke, median, ms of CPU", "filter_median_ms", 20),
    Figure("event-loop gap while loading, ms", "loading_gap_ms", 50),
    Figure("event-loop gap while keys are held, ms", "keys_gap_ms", 50),
    Figure("idle, % of a processor", "idle_percent", 1),
    Figure("idle, session files opened", "idle_opens", 0),
    Figure("list memory, bytes a session", "bytes_a_row", 2048),
)

MEASURES = (
    Measure("screen", "10,000 / 100,000", "10_000, rows=100_000", "2_000, repeats=2", SCREEN),
    Measure("scan", "100", "100", "100", SCAN),
    Measure("scan", "10,000", "10_000", "2_000", SCAN),
    Measure("scan", "100,000", "100_000", None, SCAN),
    Measure("page", "1 MB", "1", "1", PAGE),
    Measure("page", "100 MB", "100", "20", PAGE),
    Measure("page", "1 GB", "1024", None, PAGE),
    Measure(
        "full_check",
        "200 MB",
        "200",
        "20, repeats=1",
        (
            Figure("full check / SHA-256 + typed decode", "ratio", 2),
            Figure("the same, short lines", "ratio_small", 2),
            Figure("memory added, MB", "memory_mb", 64),
        ),
    ),
    Measure(
        "guarded_write",
        "one header",
        "",
        "",
        (
            Figure("exchange / write + fsync + rename + fsync", "exchange_ratio", 3),
            Figure("edit of one value / the same", "edit_ratio", 3),
        ),
    ),
    Measure(
        "transcript",
        "300 rounds",
        "",
        "",
        (
            Figure("event-loop gap while prepending, ms", "event loop/prepend gap, ms", 50),
            Figure("the same, median, ms", "event loop/prepend gap, median, ms", 20),
            Figure("event-loop gap while growing, ms", "event loop/growth at 20 Hz gap, ms", 50),
        ),
    ),
    Measure(
        "craft",
        "5,000 / 500 MB",
        "5_000, 500",
        "500, 20",
        (
            Figure("Craft list / 8 KB of each", "list_to_8k_reads", 2),
            Figure("Craft rescan / stat of each", "rescan_to_stats", 3),
            Figure("Craft page, cold / read + split", "page_cold_to_split", 3),
            Figure("Craft page, memory, MB", "page_memory_mb", 64),
        ),
    ),
    Measure(
        "export",
        "1 GB",
        "1024",
        "32",
        (
            Figure("export of any format, memory added, MB", "memory, MB", 64),
            Figure("export, slowest format / read + decode", "ratio", 25),
        ),
    ),
    Measure(
        "search",
        "1 GB",
        "1024",
        None,
        (
            Figure("indexing / engine alone", "index_speed", 0.4, most=False),
            Figure("index / text", "index_size", 0.6),
            Figure("indexed search / exact scan, times faster", "query_speed", 20, most=False),
        ),
    ),
)


def measure(one: Measure, arguments: str) -> dict[str, Any]:
    """The result of the module's `run`; raises RuntimeError with what it said."""
    code = (
        f"import json, sys; from benchmarks import {one.module} as m; "
        f"json.dump(m.run({arguments}), sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[-1])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def value_of(found: dict[str, Any], key: str) -> float | None:
    """A figure by its key, or None where this run does not have it."""
    if key in found:
        return float(found[key])
    part, _, rest = key.partition("/")
    inner = found.get(part)
    return float(inner[rest]) if isinstance(inner, dict) and rest in inner else None


def row(one: Measure, figure: Figure, value: float | None) -> dict[str, Any]:
    reached = None
    if value is not None and figure.reach is not None:
        reached = value <= figure.reach if figure.most else value >= figure.reach
    return {
        "what": figure.what,
        "size": one.size,
        "value": value,
        "reach": figure.reach,
        "most": figure.most,
        "reached": reached,
    }


def line(found: dict[str, Any]) -> str:
    """One row of the table, as Markdown."""
    value = "–" if found["value"] is None else f"{found['value']:.2f}"
    sign = {True: "", False: " **over**" if found["most"] else " **under**", None: ""}
    limit = f"{'≤' if found['most'] else '≥'} {found['reach']:g}"
    return f"| {found['what']} | {found['size']} | {value}{sign[found['reached']]} | {limit} |"


def main(arguments: list[str]) -> int:
    """Print the table as it grows, write the JSON; 1 when a measurement failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, a few minutes")
    parser.add_argument("--only", action="append", metavar="MODULE", help="repeatable")
    parser.add_argument("--json", metavar="FILE", default="benchmarks.json")
    given = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    print("| work | size | measured | reach |\n|---|---|---|---|")
    for one in MEASURES:
        call = one.quick if given.quick else one.full
        if call is None or (given.only and one.module not in given.only):
            continue
        shown = one._replace(size=f"quick ({call})") if given.quick and call else one
        try:
            found = measure(one, call)
        except RuntimeError as error:
            failed.append(f"{one.module} ({one.size}): {error}")
            continue
        rows += [row(shown, figure, value_of(found, figure.key)) for figure in one.figures]
        for made in rows[-len(one.figures) :]:
            print(line(made), flush=True)
    Path(given.json).write_text(json.dumps({"rows": rows, "failed": failed}, indent=2))
    for text in failed:
        print(f"not measured: {text}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
