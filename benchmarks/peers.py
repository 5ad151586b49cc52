"""Time to the first row and to the last, beside other programs that list such sessions.

They are installed from PyPI, each into an environment of its own below the temporary
directory, and are no dependency of anything. Every program starts in a pseudo-terminal over an
equal store in its own format, with an empty home: once with no cache of its own (``first
start``), once after that (``again``). The programs take turns.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import peer_stores
from benchmarks.children import Failed, environment, output_of

_SCRIPT = Path(__file__).with_name("pty_screen.py")
_END, _CTRL_END = "\x1b[F", "\x1b[1;5F"
_TITLE = r"task\d{6}"
_LIMIT_S = 60
#: A larger list is not asked of a program that took longer than this to its last row.
_PATIENCE_S = 15


class Program(NamedTuple):
    """How a program is started and asked for the end of its list.

    In `command`, ``{bin}`` is where it was installed and ``{project}`` its transcripts. `last`
    may hold ``{count}``.
    """

    name: str
    command: tuple[str, ...]
    keys: str = _CTRL_END
    once: str = ""
    first: str = _TITLE
    last: str = "task000000"
    note: str = ""


OURS = Program("loop-tui", (sys.executable, "-m", "loop_tui", "--no-craft"), keys="G")
PEERS = (
    Program(
        "ccsessions-tui",
        ("{bin}/ccsessions",),
        once="\t",
        first=r"8000-\w{12}",
        last="8000-000000000000",
    ),
    Program(
        "fast-resume",
        ("{bin}/fr", "--no-images", "--theme", "dark"),
        last="{count} indexed",
        note="a compiled program; indexes all text at its first start; its list holds the newest "
        "100, so its last row is the moment it says that all are indexed",
    ),
    Program("claude-code-log", ("{bin}/claude-code-log", "--tui", "{project}")),
    Program("claude-resume", ("{bin}/claude-resume", "--global")),
)


def install(package: str, place: Path, env: dict[str, str]) -> Path:
    """The `bin` of a new environment that holds a package; raises `Failed`."""
    venv.create(place, with_pip=True)
    found = place / "bin"
    quiet = ("--quiet", "--disable-pip-version-check")
    output_of([str(found / "pip"), "install", *quiet, package], env)
    return found


class Field:
    """The stores of one size, and the programs that run over them."""

    def __init__(self, work: Path, count: int, reader: Path) -> None:
        self.count, self.reader = count, reader
        self.base = work / f"peers-{count}"
        self.cwd = self.base / "work" / "project"
        self.cwd.mkdir(parents=True)
        self.env = environment(self.base)
        self.home = Path(self.env["HOME"])
        peer_stores.make_loop(self.base / "agent", self.cwd, count)
        self.project = peer_stores.make_claude(self.home, self.cwd, count)
        self.env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.env |= {"LOOP_DATA_DIR": str(self.base / "agent")}
        # As an installed program has them: compiled once, kept beside the stores.
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)
        self.env["PYTHONPYCACHEPREFIX"] = str(work / "compiled")

    def forget(self) -> None:
        """Take away whatever a program keeps for its next start."""
        for entry in self.home.iterdir():
            if entry.name != ".claude":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for entry in [*self.project.parent.iterdir(), *self.project.iterdir()]:
            if entry != self.project and entry.suffix != ".jsonl":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def start(self, program: Program, place: Path | None) -> dict[str, float]:
        """One start; raises `Failed` when its rows do not come."""
        given = {
            "arguments": [part.format(bin=place, project=self.project) for part in program.command],
            "env": self.env,
            "cwd": str(self.cwd),
            "first": program.first,
            "last": program.last.format(count=self.count),
            "once": program.once,
            "keys": program.keys,
            "limit": _LIMIT_S,
        }
        done = subprocess.run(
            [str(self.reader / "python"), str(_SCRIPT)],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Failed((done.stderr.splitlines() or ["failed"])[0])
        found: dict[str, float] = json.loads(done.stdout)
        return found


def _figure(values: Sequence[float]) -> dict[str, Any]:
    return {
        "value": statistics.median(values),
        "low": min(values),
        "high": max(values),
        "repetitions": len(values),
    }


def _rows(field: Field, places: dict[Program, Path | None], times: int) -> list[dict[str, Any]]:
    """First and second starts of every program, in turns; one row a program and start."""
    taken: dict[tuple[Program, str], list[dict[str, float]]] = {}
    for _ in range(times):
        for program, place in places.items():
            field.forget()
            for start in ("first start", "again"):
                taken.setdefault((program, start), []).append(field.start(program, place))
    return [
        {
            "program": program.name,
            "start": start,
            "sessions": field.count,
            **{name: _figure([one[name] for one in found]) for name in ("first", "last", "cpu")},
        }
        for (program, start), found in taken.items()
    ]


def _ready(
    field: Field, places: dict[Program, Path | None], left_out: list[str]
) -> dict[Program, Path | None]:
    """The programs that list this store in time; the start that shows it compiles them too."""
    found: dict[Program, Path | None] = {}
    for program, place in places.items():
        field.forget()
        try:
            took = field.start(program, place)
        except Failed as error:
            left_out.append(f"{program.name}, {field.count:,} sessions: {error}")
            continue
        found[program] = place
        if took["last"] > _PATIENCE_S and program is not OURS:
            left_out.append(
                f"{program.name}, {field.count:,} sessions: {took['last']:.0f} s, not repeated"
            )
            del found[program]
    return found


def run(
    sizes: Sequence[int], work: Path, say: Callable[[str], None], *, times: int = 3
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows, and what was left out and why. Sizes above 10,000 are measured at 10,000."""
    left_out: list[str] = []
    places: dict[Program, Path | None] = {OURS: None}
    env = environment(work)
    try:
        reader = install("pyte", work / "reader", env)
    except (Failed, subprocess.CalledProcessError) as error:
        return [], [f"pyte, to read the screen: {error}"]
    for program in PEERS:
        try:
            places[program] = install(program.name, work / program.name, env)
        except (Failed, subprocess.CalledProcessError) as error:
            left_out.append(f"{program.name}: not installed: {error}")
    rows: list[dict[str, Any]] = []
    for count in sorted({min(size, 10_000) for size in sizes}):
        field = Field(work, count, reader)
        places = _ready(field, places, left_out)
        rows += _rows(field, places, times)
        say(f"peers, {count:,} sessions: {', '.join(program.name for program in places)}")
        shutil.rmtree(field.base)
    return rows, left_out
