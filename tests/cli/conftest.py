"""A demo store and ways to run the program on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loop_tui.__main__ import main
from loop_tui.demo import write_demo
from loop_tui.demo.hostile import make_removable, write_hostile

ROOT = Path(__file__).parent.parent.parent
NOW_MS = 1_796_000_000_000


@dataclass
class Result:
    status: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Result]


@pytest.fixture(scope="session")
def shared_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo that no test changes."""
    base = tmp_path_factory.mktemp("shared") / "demo"
    write_demo(base)
    return base


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A demo of the test's own."""
    base = tmp_path / "demo"
    write_demo(base)
    return base


@pytest.fixture(scope="session")
def shared_hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("shared") / "hostile"
    write_hostile(base, count=20)
    yield base
    make_removable(base)


@pytest.fixture
def hostile(shared_hostile: Path) -> Path:
    """The hostile store; tests only look at it."""
    return shared_hostile


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process: `run("list", "--json", on=demo)`."""

    def call(*arguments: str, on: Path | None = None) -> Result:
        capsys.readouterr()
        status = main([*arguments, *places(on)])
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return call


def places(base: Path | None) -> list[str]:
    if base is None:
        return []
    return ["--agent-dir", str(base / "loop"), "--craft-dir", str(base / "craft")]


@pytest.fixture
def shell() -> Run:
    """Run a command line as a program of its own."""

    def call(*arguments: str, on: Path | None = None, **environ: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "loop_tui", *arguments, *places(on)],
            cwd=ROOT,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return call
