"""The demo: the same every time, valid where it should be, damaged where it says so."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from loop_core.check import check
from loop_core.craft import read_session_header, read_session_jsonl
from loop_core.errors import InvalidArgument
from loop_core.loop.manager import SessionManager
from loop_tui.demo import write_demo
from loop_tui.demo.script import read_bank
from loop_tui.demo.session import GROWING, grow, temporary_demo

NOW_MS = 1_796_000_000_000


def fingerprint(base: Path) -> dict[str, tuple[str, int]]:
    """Content hash and mtime (seconds) of every file of the stores."""
    found = {}
    for part in ("loop", "craft"):
        for path in sorted((base / part).rglob("*")):
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[str(path.relative_to(base))] = digest, int(path.stat().st_mtime)
    return found


def test_the_same_place_and_time_give_the_same_bytes(tmp_path: Path) -> None:
    base = tmp_path / "demo"
    write_demo(base, NOW_MS)
    first = fingerprint(base)
    shutil.rmtree(base)
    write_demo(base, NOW_MS)
    second = fingerprint(base)
    assert first.keys() == second.keys()
    assert {n: d for n, (d, _) in first.items()} == {n: d for n, (d, _) in second.items()}
    assert len([name for name in first if name.endswith("meta.json")]) > 50


def test_it_is_written_at_once(tmp_path: Path) -> None:
    """Not a measurement of the machine: a guard against something going wrong by ten times."""
    began = time.perf_counter()
    write_demo(tmp_path / "demo")
    assert time.perf_counter() - began < 10


def test_only_the_sessions_meant_to_be_bad_are_bad(shared_demo: Path) -> None:
    bad: dict[str, int] = {}
    good = 0
    for meta in (shared_demo / "loop" / "sessions").glob("*/*/meta.json"):
        result = check(meta)
        if result.ok:
            good += 1
        else:
            reason = "folder" if "directory" in str(result.error) else "damage"
            bad[reason] = bad.get(reason, 0) + 1
    for legacy in (shared_demo / "loop" / "sessions").glob("*/*.jsonl"):
        result = check(legacy)
        kind = "v2 good" if result.ok else "unsupported" if result.unsupported else "v2 damage"
        bad[kind] = bad.get(kind, 0) + 1
    assert good > 50
    assert bad == {"folder": 2, "damage": 1, "v2 good": 3, "unsupported": 1, "v2 damage": 1}


def test_craft_sessions_read_back(shared_demo: Path) -> None:
    """One header is too long for the application's list, one line is cut; nothing else."""
    hidden = dropped = 0
    files = sorted((shared_demo / "craft" / "workspaces").glob("*/sessions/*/session.jsonl"))
    for file in files:
        header = read_session_header(file)
        session = read_session_jsonl(file)
        assert session is not None
        hidden += header is None
        dropped += len(session.dropped)
        if header is not None and not session.dropped:
            assert header["messageCount"] == len(session.messages)
            assert header["id"] == file.parent.name
    assert (len(files), hidden, dropped) == (14, 1, 1)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(InvalidArgument):
        write_demo(tmp_path)
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_an_agent_at_work(tmp_path: Path) -> None:
    base = tmp_path / "demo"
    write_demo(base)
    stop = threading.Event()

    def published() -> set[Path]:
        found = (base / "loop" / "sessions").glob("*/*/meta.json")
        return {path for path in found if not path.parent.name.startswith(".")}

    before = published()
    worker = threading.Thread(target=grow, args=(base, stop, 0.01))
    worker.start()
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            new = published() - before
            if new and len(SessionManager.open(next(iter(new))).messages) >= 6:
                break
            time.sleep(0.02)
    finally:
        stop.set()
        worker.join(10)
    (meta,) = new
    manager = SessionManager.open(meta)
    assert len(manager.messages) >= 6
    assert manager.get_header()["title"]["text"] == GROWING
    assert manager.unread


def test_a_temporary_demo_leaves_nothing() -> None:
    with temporary_demo() as base:
        assert (base / "loop" / "sessions").is_dir()
        (base / "loop" / "extra").mkdir()
    assert not base.exists()


def test_the_bank_has_no_open_ends() -> None:
    """Every mark is known, every call has arguments, every topic begins with the user."""
    kinds = {"user", "attach", "image", "think", "say", "tool", "also", "fail", "reply"}
    for name in ("topics", "tongues", "followups", "pieces"):
        for topic in read_bank(name).values():
            assert {part.kind for part in topic.parts} <= kinds, topic.slug
            for part in topic.parts:
                if part.kind in ("tool", "also", "fail"):
                    tool, arguments = part.arguments()
                    assert tool
                    assert arguments, (topic.slug, part.head)
            if topic.slug not in ("no-user", "agent-first"):
                assert topic.parts[0].kind == "user"
