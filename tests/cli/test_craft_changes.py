"""Changing Craft-Agents sessions from the shell: warnings, rescue, what is taken back."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def craft(private_home: Path) -> Path:
    """A configuration directory with one workspace."""
    root = private_home / ".craft-agent" / "workspaces" / "own"
    (root / "sessions").mkdir(parents=True)
    (root / "config.json").write_text(json.dumps({"id": "ws_00000001", "name": "own"}))
    return private_home / ".craft-agent"


def session(craft: Path, name: str, **header: Any) -> Path:
    folder = craft / "workspaces" / "own" / "sessions" / name
    folder.mkdir()
    head = {"id": name, "createdAt": 1, "lastUsedAt": 2, "name": name, **header}
    lines = [head, {"id": "u", "type": "user", "content": "Where?"}]
    file = folder / "session.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def header_of(file: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(file.read_text().split("\n", 1)[0])
    return value


def start(craft: Path) -> None:
    """The lock of a running application."""
    lock = {"pid": os.getpid(), "startedAt": time.time() * 1000}
    (craft / ".server.lock").write_text(json.dumps(lock))


@pytest.mark.parametrize("as_json", [False, True])
def test_trash_names_the_public_copy(run: Run, craft: Path, as_json: bool) -> None:
    """craft-format section 9: our delete cannot revoke a share, so it says so; once."""
    session(craft, "261201-a-shared", sharedId="x", sharedUrl="https://example.invalid/x")
    session(craft, "261202-b-shared", sharedId="y")
    session(craft, "261203-c-private")
    options = ("--no-loop", *(("--json",) if as_json else ()))
    private = run("trash", "261203-c-private", *options)
    assert private.status == 0
    assert "public copy" not in private.err + private.out
    shared = run("trash", "261201-a-shared", "261202-b-shared", *options)
    assert shared.status == 0
    assert (shared.err + shared.out).count("its public copy stays online") == 1


def test_restore_gives_a_lone_temporary_its_name(run: Run, craft: Path) -> None:
    """craft-format rule 2: a crash left only `session.jsonl.tmp`."""
    file = session(craft, "261201-a-crash")
    data = file.read_bytes()
    lone = file.rename(file.with_name("session.jsonl.tmp"))
    os.utime(lone, (1_700_000_000, 1_700_000_000))
    refused = run("pin", "261201-a-crash", "--no-loop")
    assert refused.status == 1
    assert "restore brings it back" in refused.err
    assert lone.exists()
    done = run("restore", "261201-a-crash", "--no-loop")
    assert done.status == 0
    assert "undo" not in done.out + done.err
    assert file.read_bytes() == data
    assert not lone.exists()


def test_a_forced_change_says_what_it_risks(run: Run, craft: Path) -> None:
    file = session(craft, "261201-a-live")
    start(craft)
    refused = run("archive", "261201-a-live", "--no-loop")
    assert refused.status == 1
    assert "undo the change" in refused.err
    assert "isArchived" not in header_of(file)
    forced = run("archive", "261201-a-live", "--no-loop", "--force")
    assert forced.status == 0
    assert "forced, the running application will likely undo it" in forced.out
    assert header_of(file)["isArchived"] is True
    again = run("restore", "261201-a-live", "--no-loop", "--force", "--json")
    assert again.objects == [{"id": "261201-a-live", "done": True, "error": None}]
    assert "will likely undo it" in again.err


def test_a_change_taken_back_within_a_second_is_a_failure(run: Run, craft: Path) -> None:
    """failures row 51: the command looks again while the application runs; exit status 1."""
    file = session(craft, "261201-a-live")
    old = file.read_bytes()
    start(craft)

    def application() -> None:
        for _ in range(400):
            if header_of(file).get("isArchived"):
                break
            time.sleep(0.01)
        aside = file.with_name("aside")
        aside.write_bytes(old)
        aside.replace(file)

    writer = threading.Thread(target=application)
    writer.start()
    result = run("archive", "261201-a-live", "--no-loop", "--force")
    writer.join()
    assert result.status == 1
    assert "has taken back the archive state" in result.err
