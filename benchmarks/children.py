"""Measurements in processes of their own, and a place that is gone when they are.

Every child is the leader of a session of its own, with its temporary files below one
directory. So an interrupted run ends whatever a measurement has started and leaves no file.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent


class Failed(Exception):
    """A measurement ended with an error; its text is the last thing it said."""


@contextlib.contextmanager
def work_dir(place: str | None = None) -> Iterator[Path]:
    """A temporary directory, removed at the end, at Ctrl-C and at a polite kill as well."""

    def ended(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, ended) for number in (signal.SIGTERM, signal.SIGHUP)}
    found = Path(tempfile.mkdtemp(prefix="loop-tui-benchmarks-", dir=place))
    try:
        yield found
    finally:
        shutil.rmtree(found, ignore_errors=True)
        for number, handler in before.items():
            signal.signal(number, handler)


def environment(work: Path) -> dict[str, str]:
    """This process's environment with its home and temporary files below `work`."""
    home = work / "home"
    home.mkdir(exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("XDG_") and name not in ("LOOP_DATA_DIR", "CRAFT_CONFIG_DIR")
    }
    return kept | {"TMPDIR": str(work), "HOME": str(home)}


def output_of(arguments: Sequence[str], env: dict[str, str], *, cwd: Path = ROOT) -> str:
    """What a program printed; raises `Failed`. It ends with this one, whatever ends it."""
    child = subprocess.Popen(
        arguments,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = child.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise
    if child.returncode != 0:
        lines = complained.strip().splitlines() or [f"exit status {child.returncode}"]
        raise Failed(lines[-1])
    return said


def measured(module: str, arguments: str, work: Path) -> dict[str, Any]:
    """The result of one ``run`` of a module of this package; raises `Failed`."""
    code = (
        f"import json, sys; from benchmarks import {module} as m; "
        f"json.dump(m.run({arguments}), sys.stdout)"
    )
    inside = Path(tempfile.mkdtemp(dir=work))
    try:
        said = output_of([sys.executable, "-c", code], environment(inside))
    finally:
        shutil.rmtree(inside, ignore_errors=True)
    found: dict[str, Any] = json.loads(said)
    return found
