"""A store of 500 sessions, programs that play its owners, and what is left of a process."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loop_core.fsio_calls import calls
from loop_core.loop.paths import get_session_dir
from loop_tui.demo import loop_files
from loop_tui.service import Options

HERE = Path(__file__).parent
LONG_AGO_MS = 1_700_000_000_000
PARAGRAPH = "The writer takes `flock` on **index.json**, but `os.replace` swaps the inode. "


class Ground(NamedTuple):
    """A store both programs play on, and the instance that looks at it."""

    base: Path
    sessions: Path  # Loop's collections
    workspace: Path
    options: Options


def _messages(number: int, rounds: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for turn in range(rounds):
        stamp = LONG_AGO_MS + number * 60_000 + turn
        found.append({"role": "user", "content": f"Question {number}.{turn}?", "timestamp": stamp})
        found.append(
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"# Answer {turn}\n\n{PARAGRAPH * (turn % 4 + 1)}"},
                    {
                        "type": "toolCall",
                        "id": f"c{turn}",
                        "name": "bash",
                        "arguments": {"command": "pytest -q"},
                    },
                ],
                "api": "a",
                "provider": "p",
                "model": "m",
                "usage": {},
                "stopReason": "toolUse",
                "timestamp": stamp,
            }
        )
        found.append(
            {
                "role": "toolResult",
                "toolCallId": f"c{turn}",
                "toolName": "bash",
                "content": [{"type": "text", "text": "line of output\n" * (turn % 30)}],
                "isError": turn % 5 == 4,
                "timestamp": stamp,
            }
        )
    return found


def _loop(base: Path, number: int, form: loop_files.Form) -> None:
    cwd = base / "projects" / f"p{number % 5}"
    cwd.mkdir(parents=True, exist_ok=True)
    stamp = f"2025-01-{number % 28 + 1:02d}T10:{number % 60:02d}:00.000Z"
    name = f"{number:08x}-0000-4000-8000-{number:012x}"
    title = {"text": f"Session {number}", "source": "user", "messageIndices": []}
    header = loop_files.header(name, str(cwd), stamp, stamp, title=title, unread=number % 7 == 0)
    session = loop_files.Session(
        header, _messages(number, number % 9 + 1), form, changed_ms=LONG_AGO_MS
    )
    collection = get_session_dir(cwd, base / "loop")
    collection.mkdir(parents=True, exist_ok=True, mode=0o700)
    loop_files.write(str(collection), session)


def _craft(workspace: Path, number: int) -> None:
    name = f"261201-calm-pond-{number}"
    folder = workspace / "sessions" / name
    folder.mkdir(parents=True)
    header = {
        "id": name,
        "workspaceRootPath": str(workspace),
        "createdAt": LONG_AGO_MS,
        "lastUsedAt": LONG_AGO_MS + number,
        "name": f"Craft session {number}",
        "messageCount": number % 9 + 1,
    }
    lines = [
        {"id": f"m{n}", "content": PARAGRAPH, "type": "assistant" if n % 2 else "user"}
        for n in range(number % 9 + 1)
    ]
    raw = b"".join(json.dumps(line).encode() + b"\n" for line in [header, *lines])
    (folder / "session.jsonl").write_bytes(raw)


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """300 sessions of version 3, 100 of version 2, 100 of Craft-Agents."""
    workspace = tmp_path / "craft" / "workspaces" / "notes"
    workspace.mkdir(parents=True)
    (workspace / "config.json").write_text(json.dumps({"id": "ws_00000001", "name": "notes"}))
    entry = {"id": "w1", "name": "notes", "slug": "notes", "rootPath": str(workspace)}
    (tmp_path / "craft" / "config.json").write_text(json.dumps({"workspaces": [entry]}))
    with monkeypatch.context() as patch:
        patch.setattr(calls, "fsync", lambda fd: None)
        for number in range(400):
            _loop(tmp_path, number, "v3" if number % 4 else "v2")
        for number in range(100):
            _craft(workspace, number)
    options = Options(
        agent_dir=str(tmp_path / "loop"),
        craft_dirs=(str(tmp_path / "craft"),),
        base=str(tmp_path / "own"),
    )
    return Ground(tmp_path, tmp_path / "loop" / "sessions", workspace, options)


@contextmanager
def _players(ground: Ground, rate: float, seed: int) -> Iterator[list[Path]]:
    """Both programs at work; the paths of their logs. Neither outlives the block."""
    logs = [ground.base / "loop.log", ground.base / "craft.log"]
    craft = HERE.parent / "craft" / "craft_player.py"
    commands = (
        [str(HERE / "loop_player.py"), str(ground.sessions), str(logs[0]), str(rate), str(seed),
         "400"],
        [str(craft), "many", str(ground.base / "craft"), str(ground.workspace / "sessions"),
         str(logs[1]), str(rate / 2), str(seed)],
    )  # fmt: skip
    children = [
        subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        for command in commands
    ]
    try:
        yield logs
        for child in children:
            assert child.poll() is None, child.communicate()[1].decode()
            _, fault = child.communicate(timeout=30)
            assert child.returncode == 0, fault.decode()
    finally:
        for child in children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()


@pytest.fixture
def players() -> Callable[..., Any]:
    """``with players(ground, rate, seed) as logs``: Loop and Craft-Agents play on the store."""
    return _players


def _children() -> set[int]:
    """Processes this one started and that still run."""
    found = set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            stat = Path("/proc", name, "stat").read_text()
        except OSError:
            continue
        state, parent = stat.rpartition(") ")[2].split()[:2]
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(name))
    return found


class Left(NamedTuple):
    """What a process holds; compare one from before with one from after."""

    fds: Counter[str]
    threads: set[str]
    children: set[int]

    @classmethod
    def now(cls) -> Left:
        gc.collect()
        fds: Counter[str] = Counter()
        for name in os.listdir("/proc/self/fd"):
            try:
                target = os.readlink(f"/proc/self/fd/{name}")
            except OSError:
                continue  # the listing's own
            fds[target.partition(":")[0] if ":[" in target else target] += 1
        return cls(fds, {thread.name for thread in threading.enumerate()}, _children())

    def more(self, before: Left) -> dict[str, Any]:
        """What is there now and was not before."""
        found = {
            "fds": dict(self.fds - before.fds),
            "threads": self.threads - before.threads,
            "children": self.children - before.children,
        }
        return {name: value for name, value in found.items() if value}

    def stays(self, seconds: float = 10.0) -> dict[str, Any]:
        """What is more than this after `seconds`, which threads may take to end."""
        end = time.monotonic() + seconds
        while (more := Left.now().more(self)) and time.monotonic() < end:
            time.sleep(0.1)
        return more


@pytest.fixture
def left() -> type[Left]:
    return Left


def _rss_kib() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * (os.sysconf("SC_PAGE_SIZE") // 1024)


@pytest.fixture
def rss_kib() -> Callable[[], int]:
    """Resident memory of this process after a collection, in KiB."""
    return _rss_kib
