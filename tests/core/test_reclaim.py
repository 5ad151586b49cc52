"""Reclaim: bytes freed as previewed, nothing lost, whatever happens in between."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from loop_core import SessionManager, check, fsio_space
from loop_core.errors import Conflict, Refused, StorageFailed
from loop_core.fsio_calls import calls
from loop_core.loop.publish import is_staging_name
from loop_core.loop.reclaim import PURPOSE, plan_reclaim, reclaim, recover_reclaim


def age(directory: Path, seconds: int = 3600) -> None:
    """As if nobody had touched the session for a while."""
    then = time.time() - seconds
    for path in [*directory.iterdir(), directory]:
        os.utime(path, (then, then))


@pytest.fixture
def replaced(tmp_path: Path, say: Any) -> Path:
    """A session of three generations: two of them unreachable."""
    manager = SessionManager.create(tmp_path, tmp_path / "store")
    manager.commit([say.user("one"), say.agent("x" * 50_000)])
    manager.commit([say.user("two"), say.agent("y" * 50_000)])
    manager.commit([say.user("three"), say.agent("kept")])
    directory = Path(str(manager.session_file)).parent
    age(directory)
    return directory


def test_a_rewrite_frees_what_was_previewed_and_keeps_every_message(replaced: Path) -> None:
    meta = replaced / "meta.json"
    before = SessionManager.open(meta).messages
    raw = meta.read_bytes()
    age(replaced)
    times = meta.stat().st_mtime_ns
    plan = plan_reclaim(str(meta))
    assert plan.refused is None
    assert plan.unreachable > 100_000
    assert reclaim(plan) == (plan.before, plan.after)
    assert check(meta).ok
    assert SessionManager.open(meta).messages == before
    assert (replaced / "messages.jsonl").stat().st_size == plan.after - sum(
        path.stat().st_size for path in replaced.iterdir() if path.name != "messages.jsonl"
    )
    assert meta.stat().st_mtime_ns == times
    assert meta.read_bytes() == raw.replace(_start_of(raw), b'"start":0')
    assert not [name for name in os.listdir(replaced.parent) if is_staging_name(name, PURPOSE)]


def _start_of(raw: bytes) -> bytes:
    at = raw.index(b'"start":')
    return raw[at : raw.index(b",", at)]


def test_a_hole_moves_nothing(replaced: Path) -> None:
    meta = replaced / "meta.json"
    raw, size = meta.read_bytes(), (replaced / "messages.jsonl").stat().st_size
    taken = fsio_space.allocated(replaced / "messages.jsonl")
    plan = plan_reclaim(str(meta))
    try:
        before, after = reclaim(plan, in_place=True)
    except StorageFailed:
        pytest.skip("this file system makes no holes")
    assert before - after == taken - fsio_space.allocated(replaced / "messages.jsonl") > 0
    assert meta.read_bytes() == raw
    assert (replaced / "messages.jsonl").stat().st_size == size
    assert check(meta).ok


def test_refused_after_a_recent_change(replaced: Path) -> None:
    os.utime(replaced / "messages.jsonl")
    plan = plan_reclaim(str(replaced / "meta.json"))
    assert plan.refused is not None
    assert "ten minutes" in plan.refused
    assert plan.freed == 0
    with pytest.raises(Refused):
        reclaim(plan)


def test_refused_when_the_directory_holds_anything_else(replaced: Path) -> None:
    (replaced / "notes.txt").write_text("mine")
    age(replaced)
    plan = plan_reclaim(str(replaced / "meta.json"))
    assert plan.refused is not None
    assert "notes.txt" in plan.refused


def test_refused_for_a_session_that_is_not_valid(replaced: Path) -> None:
    messages = replaced / "messages.jsonl"
    data = messages.read_bytes()
    messages.write_bytes(data.replace(b"kept", b"kept"[::-1]))
    age(replaced)
    assert plan_reclaim(str(replaced / "meta.json")).refused is not None


class TestBackup:
    @pytest.fixture
    def migrated(self, tmp_path: Path, loop_data: Path) -> Path:
        source = loop_data / "valid" / "31-twelve-rounds.jsonl"
        store = tmp_path / "store"
        store.mkdir()
        header = json.loads(source.read_bytes().split(b"\n")[0])
        legacy = store / f"{header['id']}.jsonl"
        legacy.write_bytes(source.read_bytes())
        SessionManager.open(legacy)
        directory = store / str(header["id"])
        age(directory)
        os.utime(legacy, (1, 1))
        return directory

    def test_goes_once_the_published_session_holds_it(self, migrated: Path) -> None:
        backup = migrated.with_name(migrated.name + ".jsonl")
        plan = plan_reclaim(str(migrated / "meta.json"))
        assert plan.backup == str(backup)
        assert plan.freed == backup.stat().st_size
        assert reclaim(plan) == (plan.before, plan.after)
        assert not backup.exists()
        assert check(migrated / "meta.json").ok

    def test_stays_when_a_message_of_it_is_nowhere_else(self, migrated: Path) -> None:
        backup = migrated.with_name(migrated.name + ".jsonl")
        extra = b'{"role":"user","content":"only here","timestamp":1}\n'
        backup.write_bytes(backup.read_bytes() + extra)
        os.utime(backup, (1, 1))
        plan = plan_reclaim(str(migrated / "meta.json"))
        assert plan.backup is None
        assert plan.backup_refused is not None
        assert plan.freed == 0


def test_a_commit_in_the_middle_wins(replaced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loop publishes right before the exchange: its commit is what stays."""
    meta = replaced / "meta.json"
    plan = plan_reclaim(str(meta))
    real = calls.exchange
    done: list[bool] = []

    def exchange(a: str, b: str) -> None:
        if not done:
            done.append(True)
            line = b'{"role":"user","content":"late","timestamp":3}\n'
            with (replaced / "messages.jsonl").open("ab") as file:
                file.write(line)
        real(a, b)

    monkeypatch.setattr(calls, "exchange", exchange)
    with pytest.raises(Conflict):
        reclaim(plan)
    assert (replaced / "messages.jsonl").read_bytes().endswith(b'"late","timestamp":3}\n')
    assert check(meta).ok
    assert not [name for name in os.listdir(replaced.parent) if is_staging_name(name, PURPOSE)]


@pytest.mark.parametrize("fail_at", range(0, 60, 3))
def test_killed_at_any_call_the_session_is_whole(
    replaced: Path, monkeypatch: pytest.MonkeyPatch, fail_at: int
) -> None:
    class Killed(BaseException):
        pass

    meta = replaced / "meta.json"
    before = SessionManager.open(meta).messages
    age(replaced)
    plan = plan_reclaim(str(meta))
    count = [0]
    dead: list[bool] = []

    def wrap(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if dead:
                raise Killed
            count[0] += 1
            if count[0] == fail_at + 1:
                dead.append(True)
                raise Killed
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("mkdir", "write", "pwrite", "fsync", "exchange", "unlink", "rmdir", "rename"):
            patch.setattr(calls, name, wrap(getattr(calls, name)))
        with contextlib.suppress(Killed):
            reclaim(plan)
    assert check(meta).ok
    assert SessionManager.open(meta).messages == before
    recover_reclaim(str(replaced.parent))
    assert not [name for name in os.listdir(replaced.parent) if is_staging_name(name, PURPOSE)]
    assert check(meta).ok
