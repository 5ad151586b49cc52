"""Our metadata writes beside a program that plays Loop, as fast as it can.

The player knows nothing of us: it keeps the header in memory, appends a message, and replaces
meta.json by temporary file and rename, without locks and without ever reading again. Whatever
we do meanwhile, its last commit has to be what is there at the end.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import Conflict
from loop_core.jsonvalue import edit
from loop_core.loop.edits import change_metadata, raw_value
from loop_core.loop.manager import SessionManager
from loop_core.loop.recovery import recover_collection

PLAYER = """
import hashlib, json, os, sys, uuid
folder, count = sys.argv[1], int(sys.argv[2])
meta, log = os.path.join(folder, "meta.json"), os.path.join(folder, "messages.jsonl")
envelope = json.load(open(meta))
digest = hashlib.sha256(open(log, "rb").read())
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    line = json.dumps({"role": "user", "content": str(number), "timestamp": 1}).encode() + b"\\n"
    with open(log, "ab") as file:
        file.write(line)
    digest.update(line)
    envelope["generation"] = digest.hexdigest()
    envelope["bytes"] += len(line)
    envelope["messageCount"] += 1
    temporary = f"{meta}.{uuid.uuid4()}.tmp"
    with open(temporary, "w") as file:
        file.write(json.dumps(envelope, separators=(",", ":")) + "\\n")
    os.rename(temporary, meta)
"""

LEGACY_PLAYER = """
import json, os, sys, uuid
path, count = sys.argv[1], int(sys.argv[2])
text = open(path).read()
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    text += json.dumps({"role": "user", "content": str(number), "timestamp": 1}) + "\\n"
    temporary = f"{path}.{uuid.uuid4()}.tmp"
    with open(temporary, "w") as file:
        file.write(text)
    os.rename(temporary, path)
"""

OURS_THAT_DIES = """
import os, signal, sys
from contextlib import suppress
from loop_core.errors import Conflict
from loop_core.fsio_calls import calls
from loop_core.jsonvalue import edit
from loop_core.loop.edits import change_metadata
meta, left = sys.argv[1], int(sys.argv[2])
real = calls.exchange
calls.fsync = lambda fd: None
def exchange(a, b):
    global left
    real(a, b)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
calls.exchange = exchange
number = 0
print("ready", flush=True)
while True:
    number += 1
    stamp = b'"2026-01-01T00:00:00.%03dZ"' % (number % 1000)
    with suppress(Conflict):  # several commits in a row came between
        change_metadata(meta, "loop3", lambda raw: edit(raw, ("header", "pinnedAt"), stamp))
"""


def play(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


def go(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    child.stdin.write(b"\n")
    child.stdin.flush()


TOGGLES: tuple[tuple[str, bytes, bytes | None], ...] = (
    ("pinnedAt", b'"2026-01-02T03:04:05.678Z"', None),
    ("unread", b"true", b"false"),
)


def toggle(path: Path, form: Any, step: int) -> None:
    """Pin, mark unread, unpin, mark read, … whatever it was before."""
    key, on, off = TOGGLES[step % 2]
    place = ("header", key) if form == "loop3" else (key,)
    value = on if step % 4 < 2 else off
    # A conflict means that several commits in a row came between: honest, nothing written.
    with suppress(Conflict):
        change_metadata(path, form, lambda raw: edit(raw, place, value))


def is_honest(header: dict[str, Any], original: dict[str, Any]) -> bool:
    """The player's header, with our values or its own for the two we change."""
    return {key: value for key, value in header.items() if key not in ("pinnedAt", "unread")} == {
        key: value for key, value in original.items() if key != "unread"
    } and header.get("pinnedAt") in (None, "2026-01-02T03:04:05.678Z")


def race(folder: Path, commits: int) -> None:
    manager = SessionManager.create("/tmp", folder)
    meta = manager.session_file
    assert meta is not None
    child = play(PLAYER, str(meta.parent), str(commits))
    go(child)
    step = 0
    while child.poll() is None:
        toggle(meta, "loop3", step)
        step += 1
    for _ in range(3):
        toggle(meta, "loop3", step)
        step += 1
    child.communicate()
    assert child.returncode == 0
    final = SessionManager.open(meta)  # the checksum over all committed bytes holds
    assert [message["content"] for message in final.messages] == [
        str(number) for number in range(commits)
    ]
    header = json.loads(meta.read_bytes())["header"]
    assert is_honest(header, manager.get_header()), header
    assert not [path.name for path in meta.parent.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("synced", [False, True])
def test_short_races(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: bool) -> None:
    if not synced:
        monkeypatch.setattr("loop_core.fsio_calls.calls.fsync", lambda fd: None)
    for number in range(2):
        race(tmp_path / str(number), 250)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_long_races(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        if number == 20:
            monkeypatch.setattr("loop_core.fsio_calls.calls.fsync", lambda fd: None)
        race(tmp_path / str(number), 250)


def test_a_version_2_file_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loop_core.fsio_calls.calls.fsync", lambda fd: None)
    path = tmp_path / "0a1b2c3d-0000-4000-8000-00000000abcd.jsonl"
    header = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": path.stem,
        "cwd": "/tmp",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "unread": False,
    }
    path.write_text(json.dumps(header) + "\n")
    child = play(LEGACY_PLAYER, str(path), "250")
    go(child)
    step = 0
    while child.poll() is None or step % 4:
        toggle(path, "loop2", step)
        step += 1
    child.communicate()
    lines = path.read_text().splitlines()
    assert [json.loads(line)["content"] for line in lines[1:]] == [str(n) for n in range(250)]
    assert is_honest(json.loads(lines[0]), header)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def race_with_a_kill(folder: Path, commits: int, exchanges: int) -> None:
    """Our process dies right after one of its exchanges, before it could look."""
    manager = SessionManager.create("/tmp", folder)
    meta = manager.session_file
    assert meta is not None
    player = play(PLAYER, str(meta.parent), str(commits))
    ours = play(OURS_THAT_DIES, str(meta), str(exchanges))
    go(player)
    player.communicate()
    deadline = time.monotonic() + 30
    while ours.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    ours.kill()
    ours.communicate()
    assert ours.returncode == -9
    recover_collection(folder)
    final = SessionManager.open(meta)
    assert len(final.messages) == commits
    assert not [path.name for path in meta.parent.iterdir() if path.name.startswith(".")]


def test_killed_inside_the_exchange(tmp_path: Path) -> None:
    for number in range(2):
        race_with_a_kill(tmp_path / str(number), 150, 5 + 30 * number)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_killed_inside_the_exchange_often(tmp_path: Path) -> None:
    dice = random.Random(3)
    for number in range(100):
        race_with_a_kill(tmp_path / str(number), dice.randrange(20, 80), dice.randrange(1, 60))


def test_two_of_our_own_on_one_session(tmp_path: Path) -> None:
    """failures row 48: each changes another value, and neither undoes the other's"""
    manager = SessionManager.create("/tmp", tmp_path)
    meta = manager.session_file
    assert meta is not None
    script = """
import sys
from loop_core.jsonvalue import edit
from loop_core.loop.edits import change_metadata
meta, key = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for number in range(60):
    change_metadata(meta, "loop3", lambda raw: edit(raw, ("header", key), b"%d" % number))
"""
    children = [play(script, str(meta), key) for key in ("a", "b", "c")]
    for child in children:
        go(child)
    for child in children:
        child.communicate()
        assert child.returncode == 0
    header = json.loads(meta.read_bytes())["header"]
    assert [header[key] for key in ("a", "b", "c")] == [59, 59, 59]
    assert raw_value(meta.read_bytes(), "header", "unread") == b"false"


def test_two_of_our_own_on_different_sessions(tmp_path: Path) -> None:
    script = """
import sys
from loop_core.loop.manager import SessionManager
print("ready", flush=True)
sys.stdin.readline()
manager = SessionManager.create("/tmp", sys.argv[1])
history = []
for number in range(40):
    history.append({"role": "user", "content": str(number), "timestamp": 1})
    manager.commit(history)
    manager.set_pinned(number % 2 == 0)
"""
    children = [play(script, str(tmp_path)) for _ in range(2)]
    for child in children:
        go(child)
    for child in children:
        child.communicate()
        assert child.returncode == 0
    found = SessionManager.list(None, tmp_path)
    assert [info.message_count for info in found] == [40, 40]
    assert recover_collection(tmp_path) == ()
