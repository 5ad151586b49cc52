"""Writes docs/BENCHMARKS.md from a run of ``python -m benchmarks --peers``.

python scripts/benchmarks.py FILE     take this run: copy it beside the document, write both
python scripts/benchmarks.py          write the document from the run taken last
python scripts/benchmarks.py --check  only say whether it is up to date (exit status 1: no)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import report  # noqa: E402
from benchmarks.peers import OURS, PEERS  # noqa: E402
from benchmarks.plot import growth_plot  # noqa: E402

DOCUMENT = ROOT / "docs" / "BENCHMARKS.md"
PLOT = ROOT / "docs" / "growth.svg"
RUN = ROOT / "docs" / "benchmarks.json"

_HEAD = """\
# Benchmarks

How long things take, as a ratio to the least work that could do the same, measured in the same
run in turns; or an amount with a limit. Machines differ, ratios less so. ✓ and ✗ stand where a
goal is set for that size; the other sizes show how a figure grows. In brackets: the least and the
greatest of the repetitions. First rows, gaps
and seconds are taken on the wall, where other work of the machine counts as well: a quiet one
(its load is below) says more. Written by `scripts/benchmarks.py` from
[benchmarks.json](benchmarks.json).

```sh
python -m benchmarks --quick          # a few minutes; --only NAME for one part, --help for sizes
python -m benchmarks --peers          # everything, and the other programs
python scripts/benchmarks.py benchmarks.json
```
"""
_PEERS = """\
## Beside other programs

Programs of this kind from PyPI, each over an equal store in its own format: as many sessions in
one project, the same messages (16 a session). Each starts in a terminal of 140 × 40. *First row*
is when a session is on the screen, *last row* when the oldest is, after the program was asked for
the end of its list; *CPU* is what it had used by then. *First start* finds no cache, *again* what
the program left then. They take turns; medians. They do different work: ours reads a metadata
file a session, because Loop keeps one; theirs read the transcripts.
"""


def document(run: dict[str, Any]) -> str:
    """The whole text of docs/BENCHMARKS.md."""
    facts = run["facts"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    kind = (
        "A quick run, with sizes smaller than those the goals are set for"
        if run["quick"]
        else "A full run"
    )
    parts = [
        _HEAD,
        f"{kind}: {facts['system']}, {facts['cores']} cores, Python {facts['python']}, {versions}; "
        f"load {facts['load']} when it began; {run['seconds'] // 60} min "
        f"{run['seconds'] % 60} s.\n",
        f"## Against the least work\n\n{report.growth_tables(run['rows'])}\n",
        f"![Growth of the ratios]({PLOT.name})\n",
        f"### What is missed, and what it costs\n\n{report.shortfalls(run['rows'])}\n",
    ]
    if run["peers"]:
        notes = [f"- {one.name}: {one.note}." for one in (OURS, *PEERS) if one.note]
        notes += [f"- Left out: {text}." for text in run.get("left_out", [])]
        parts += [_PEERS, report.peers_markdown(run["peers"]) + "\n", "\n".join(notes) + "\n"]
    parts += [f"Not measured: {text}\n" for text in run["failed"]]
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    check = arguments == ["--check"]
    if arguments and not check:
        RUN.write_text(Path(arguments[0]).read_text(encoding="utf-8"), encoding="utf-8")
    run = json.loads(RUN.read_text(encoding="utf-8"))
    fresh = {DOCUMENT: document(run), PLOT: growth_plot(run["rows"])}
    stale = False
    for path, text in fresh.items():
        if check:
            stale |= not path.exists() or path.read_text(encoding="utf-8") != text
        else:
            path.write_text(text, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
