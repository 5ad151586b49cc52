"""Our writes against a process that plays the application at full speed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core import fsio
from loop_core.craft.store import CraftStore
from loop_core.errors import Conflict, LoopError, SessionNotFound
from loop_core.model import SessionKey
from loop_core.plans import Intent

PLAYER = Path(__file__).with_name("craft_player.py")
Make = Callable[..., Path]
INTENTS = [
    Intent(do="pin"),
    Intent(do="archive", force=True),
    Intent(do="read", force=True),
    Intent(do="unpin"),
    Intent(do="restore", force=True),
    Intent(do="unread", force=True),
]


def start(file: Path, seconds: float, pause: float = 0.0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PLAYER), str(file), str(seconds), str(pause)],
        stdout=subprocess.PIPE,
        text=True,
    )


def saved_by(player: subprocess.Popen[str]) -> int:
    out, _ = player.communicate(timeout=30)
    assert player.returncode == 0
    return int(out.split()[0])


def ids_in(file: Path) -> list[str]:
    return [json.loads(line)["id"] for line in file.read_bytes().splitlines()[1:]]


class Watcher(threading.Thread):
    """Scans and pages all the time; keeps what it should never have seen."""

    def __init__(self, store: CraftStore, key: SessionKey) -> None:
        super().__init__()
        self.store, self.key = store, key
        self.stopped = threading.Event()
        self.wrong: list[str] = []
        self.scans = 0

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                found = deque(self.store.scan(), maxlen=1).pop()
                rows = [row for row in found.rows if row.key == self.key]
                if len(rows) != 1 or rows[0].problem or rows[0].title != "Race":
                    self.wrong.append(repr(rows))
                self.store.page(self.key)
            except LoopError as error:
                self.wrong.append(repr(error))
            self.scans += 1


def race(store: CraftStore, file: Path, seconds: float, pause: float) -> tuple[int, int]:
    """One race; how many of our writes were done and how many gave up with a typed error."""
    key = SessionKey(store.id, str(file.parent))
    player = start(file, seconds, pause)
    done = gave_up = turn = 0
    while player.poll() is None:
        try:
            change = store.plan(key, INTENTS[turn % len(INTENTS)])
            store.perform(change)
            done += 1
        except (Conflict, SessionNotFound):
            gave_up += 1
        turn += 1
    count = saved_by(player)
    assert ids_in(file) == [f"m{n}" for n in range(count)]
    left = [p.name for p in file.parent.iterdir() if p.is_file()]
    assert left == ["session.jsonl"]
    return done, gave_up


@pytest.mark.parametrize(
    ("races", "seconds"),
    [(8, 0.35), pytest.param(300, 0.35, marks=pytest.mark.soak, id="300-soak")],
)
def test_no_message_is_lost_and_no_row_flickers(
    app: Any, make_session: Make, races: int, seconds: float
) -> None:
    """Issue 4, "Shows it" 4; failures row 55."""
    store, other = app.store(), app.store()
    file = make_session("261201-calm-pond", name="Race", lastFinalMessageId="a")
    fresh = file.read_bytes()
    watcher = Watcher(other, SessionKey(other.id, str(file.parent)))
    watcher.start()
    total = 0
    try:
        for number in range(races):
            fsio.atomic_write(file, fresh)
            done, _ = race(store, file, seconds, 0.002 * (number % 3))
            total += done
    finally:
        watcher.stopped.set()
        watcher.join()
    assert watcher.wrong == []
    assert watcher.scans > races
    assert total > races


def test_what_the_application_keeps_and_what_it_undoes(app: Any, make_session: Make) -> None:
    """failures row 51: an archive is reverted by the running application, and a look tells."""
    store = app.store()
    file = make_session("261201-calm-pond", name="Race", lastFinalMessageId="a")
    key = SessionKey(store.id, str(file.parent))
    player = start(file, 3.0, 0.15)
    try:
        size = file.stat().st_size
        while file.stat().st_size == size:  # until it has saved, and so knows a signature
            time.sleep(0.01)
        for intent in (Intent(do="pin"), Intent(do="archive", force=True)):
            row = store.perform(store.plan(key, intent))
        assert row.archived
        seen = store.look(key)
        until = time.monotonic() + 2.5
        while seen is not None and seen.archived and time.monotonic() < until:
            time.sleep(0.02)
            seen = store.look(key)
        assert seen is not None
        assert not seen.archived
        assert seen.pinned_ms is not None
    finally:
        saved_by(player)


KILLED = """
import os, sys
from loop_core.fsio_calls import calls
from loop_core.craft.store import CraftStore
from loop_core.model import SessionKey
from loop_core.plans import Intent
store = CraftStore(sys.argv[1])
key = SessionKey(store.id, sys.argv[2])
step, at = int(sys.argv[3]), 0
for name in ("open", "write", "fsync", "rename", "exchange", "unlink"):
    real = getattr(calls, name)
    def counted(*args, _real=real, **options):
        global at
        at += 1
        if at == step:
            os.kill(os.getpid(), 9)
        return _real(*args, **options)
    setattr(calls, name, counted)
store.perform(store.plan(key, Intent(do="rename", value="New")))
"""


def test_a_kill_at_any_step_leaves_one_whole_session(app: Any, make_session: Make) -> None:
    """Killed before every system call in turn: the file is the old or the new one."""
    file = make_session("261201-calm-pond", {"id": "m0", "type": "user"}, name="Old")
    store = app.store()
    old = file.read_bytes()
    new = old.replace(b'"Old"', b'"New"')
    finished = False
    for step in range(1, 60):
        file.write_bytes(old)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(app.config), str(file.parent), str(step)],
            check=False,
            capture_output=True,
            timeout=60,
        )
        assert file.read_bytes() in (old, new)
        store.recover()
        assert file.read_bytes() in (old, new)
        assert not [p for p in file.parent.iterdir() if fsio.is_our_temporary(p.name)]
        if done.returncode == 0:
            finished = True
            break
        assert done.returncode == -9, done.stderr
    assert finished
