"""kill -9 at random moments: what was acknowledged is there, and the next start is clean."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loop_core.loop import publish
from loop_core.loop.archive import SessionArchive
from loop_core.loop.manager import SessionManager
from loop_core.loop.recovery import purge_leftover, recover_collection

Say = Callable[[str], None]


def commits(folder: Path, say: Say, start: int) -> None:
    """Appends, replacements and pins; says what was accepted."""
    [info] = SessionManager.list(None, folder)
    manager = SessionManager.open(info.path)
    history = manager.messages
    for number in range(start, start + 10_000):
        if number % 7 == 6:
            history = history[: len(history) // 2]
        history.append({"role": "user", "content": str(number), "timestamp": 1})
        manager.commit(history)
        say(str(number))
        if number % 3 == 0:
            manager.set_pinned(number % 2 == 0)


def archive(folder: Path, say: Say, start: int) -> None:
    store = SessionArchive(folder)
    for number in range(start, start + 10_000):
        store.set([f"0a1b2c3d-0000-4000-8000-{number:012x}"], True)
        say(str(number))


def deletions(folder: Path, say: Say, start: int) -> None:
    store = SessionArchive(folder)
    for number in range(start, start + 10_000):
        manager = SessionManager.create("/tmp", folder)
        manager.commit([{"role": "user", "content": "x", "timestamp": 1}])
        store.set([manager.session_id], True)
        say(f"+{manager.session_id}")
        if number % 3:
            store.delete("/tmp", [manager.session_id])
            say(f"-{manager.session_id}")


def killed_while(work: Callable[[Path, Say, int], None], folder: Path, start: int) -> list[str]:
    """Run `work` in a child until it is killed; what it said before."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            work(folder, lambda text: void(os.write(write, text.encode() + b"\n")), start)
        finally:
            os._exit(1)
    os.close(write)
    time.sleep(random.uniform(0.001, 0.04))
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode().split()
    assert os.WTERMSIG(status) == signal.SIGKILL, "the child failed by itself"
    return said


def void(_: object) -> None:
    """For a lambda that must return nothing."""


def start_clean(folder: Path) -> None:
    for left in recover_collection(folder):
        assert left.state != "stuck", left
        if left.state == "purge":
            purge_leftover(left.path)
    strays = [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.name.startswith(".") or (path.is_file() and path.suffix not in (".json", ".jsonl"))
    ]
    assert strays == []
    assert recover_collection(folder) == ()


def sweep_commits(folder: Path, kills: int) -> None:
    SessionManager.create("/tmp", folder)
    last = -1
    for _ in range(kills):
        said = killed_while(commits, folder, last + 1)
        start_clean(folder)
        [info] = SessionManager.list(None, folder)
        messages = SessionManager.open(info.path).messages
        newest = int(messages[-1]["content"]) if messages else -1
        acknowledged = int(said[-1]) if said else last
        assert newest in (acknowledged, acknowledged + 1), (said, newest)
        numbers = [int(message["content"]) for message in messages]
        assert numbers == sorted(set(numbers))
        last = newest


def sweep_archive(folder: Path, kills: int) -> None:
    folder.mkdir()
    last = -1
    for _ in range(kills):
        said = killed_while(archive, folder, last + 1)
        start_clean(folder)
        members = SessionArchive(folder).list()
        acknowledged = int(said[-1]) if said else last
        assert len(members) in (acknowledged + 1, acknowledged + 2)
        assert members == {f"0a1b2c3d-0000-4000-8000-{n:012x}" for n in range(len(members))}
        last = len(members) - 1


def sweep_deletions(folder: Path, kills: int) -> None:
    folder.mkdir()
    alive: set[str] = set()  # made, archived and acknowledged
    unsaid: set[str] = set()  # made by a child that died before it said so
    for number in range(kills):
        for text in killed_while(deletions, folder, number):
            (alive.add if text[0] == "+" else alive.discard)(text[1:])
        start_clean(folder)
        found = {info.id: info.message_count for info in SessionManager.list(None, folder)}
        members = SessionArchive(folder).list()
        # The last one may be gone already, or be made and not yet said.
        assert len(alive - found.keys()) <= 1
        assert len(found.keys() - alive - unsaid) <= 1
        alive &= found.keys()
        unsaid = found.keys() - alive
        assert all(found[one] == 1 for one in alive)
        assert alive <= members <= found.keys()
        if len(found) > 10:
            SessionArchive(folder).delete("/tmp", list(found), archived_only=False)
            alive, unsaid = set(), set()


SWEEPS = {"commits": sweep_commits, "archive": sweep_archive, "deletions": sweep_deletions}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch, no_sync: None) -> None:
    """A tail of a killed process may be cut at once; a killed process loses no page cache."""
    monkeypatch.setattr(publish, "TAIL_AGE_NS", 0)


@pytest.mark.parametrize("name", SWEEPS)
def test_some_kills(tmp_path: Path, name: str) -> None:
    """failures row 47"""
    SWEEPS[name](tmp_path / "sessions", 25)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SWEEPS)
def test_many_kills(tmp_path: Path, name: str) -> None:
    SWEEPS[name](tmp_path / "sessions", 200)
