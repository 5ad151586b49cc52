"""The benchmark's table and document, without measuring anything."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "scripts" / "benchmarks.py"
    spec = importlib.util.spec_from_file_location("benchmarks_script", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # puts the project's folder on the path
    return module


def test_the_document_is_that_of_the_run_beside_it(script: ModuleType) -> None:
    """When this fails: python scripts/benchmarks.py"""
    assert script.main(["--check"]) == 0


@pytest.mark.usefixtures("script")
def test_a_row_has_the_median_and_the_spread_and_a_verdict_where_a_goal_is_set() -> None:
    from benchmarks.measures import Figure
    from benchmarks.rows import row

    figure = Figure("work", "part/ratio", 2.0, "a floor", at=(1,), axis="sessions", short="why")
    results = [{"part": {"ratio": value}} for value in (3.0, 1.0, 2.5)]
    over = row(figure, 1, 10_000, results)
    assert (over["value"], over["low"], over["high"], over["reached"]) == (2.5, 1.0, 3.0, False)
    assert over["short"] == "why"
    assert row(figure, 0, 100, results)["reached"] is None
    assert row(figure._replace(most=False), 1, 10_000, results)["reached"] is True
    missing = row(figure, 1, 10_000, [{}])
    assert (missing["value"], missing["reached"]) == (None, None)


@pytest.mark.usefixtures("script")
def test_no_two_rows_of_a_table_share_a_name() -> None:
    from benchmarks.measures import MEASURES

    names = [(figure.axis, figure.work) for one in MEASURES for figure in one.figures]
    assert len(names) == len(set(names))


def test_an_interrupted_run_leaves_no_file(tmp_path: Path) -> None:
    # A shell's background job ignores the signal, and what it starts inherits that.
    heed = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL)"
    child = subprocess.Popen(
        [
            *(sys.executable, "-c", f"{heed}; os.execv(sys.executable, sys.argv[1:])"),
            *(sys.executable, "-m", "benchmarks", "--only", "page", "--megabytes", "512"),
            *("--dir", str(tmp_path), "--json", str(tmp_path / "out.json")),
        ],
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("loop-tui-benchmarks-*/*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert os.listdir(tmp_path)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (130, b"interrupted\n")
    assert os.listdir(tmp_path) == []
