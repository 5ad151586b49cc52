"""A user at random keys over 500 sessions, while programs play Loop and Craft-Agents.

SOAK_MINUTES and SOAK_SEED change the long form (``-m soak``).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key
from textual.widgets import Input

from loop_core.fsio import is_our_temporary
from loop_tui.app import LoopTui
from loop_tui.commands import COMMANDS
from loop_tui.screens.dialogs import ConfirmDialog
from loop_tui.service import Service
from loop_tui.settings import SettingsFile

RARE = {"mark.all": 0.15, "purge.all": 0.05, "purge": 0.3, "theme": 0.3, "undo": 4.0, "redo": 1.5}
WEIGHTS = [RARE.get(c.id, 3.0 if c.group == "Move" else 1.0) for c in COMMANDS]
PANE_KEYS = {"projects": "1", "sessions": "2", "session": "2", "history": "3", "list": "2"}
#: No sign that makes a path of it: what is typed into a question for a file stays here.
WORDS = ("answer", "lock", "session 4", "loopword", '"os', "[x] (", "notes", "émoji", "zzz", "*")
FIELD_KEYS = ("enter", "escape", "tab", "backspace", "left", "home", "ctrl+w", "down", "up")
DIALOG_KEYS = ("y", "n", "enter", "escape", "space", "tab", "left", "p", "a")
WINDOW_KEYS = ("j", "k", "G", "g", "pagedown", "n", "y", "slash", "enter", "space", "escape", "q")
SIZES = ((120, 40), (120, 40), (80, 24), (60, 16), (200, 60), (40, 10), (20, 5), (1, 1), (99, 11))


class User:
    """Random keys, mouse and sizes; the same for one seed as far as the timing allows."""

    def __init__(self, app: LoopTui, pilot: Any, seed: int) -> None:
        self.app, self.pilot, self.dice = app, pilot, random.Random(seed)
        self.done: Counter[str] = Counter()

    async def step(self) -> None:
        app, dice = self.app, self.dice
        what = dice.random()
        if what < 0.03:
            self.done["resize"] += 1
            await self.resize(*dice.choice(SIZES))
        elif what < 0.04:
            self.done["click"] += 1
            width, height = app.size
            await self.pilot.click(
                offset=(dice.randrange(width), dice.randrange(height)), times=dice.choice((1, 1, 2))
            )
        elif what < 0.06:
            await self.pilot.pause(dice.random() * 0.3)
        elif isinstance(app.focused, Input):
            self.done["field"] += 1
            if dice.random() < 0.5:
                await self.press(*dice.choice(WORDS))
            await self.press(dice.choice(FIELD_KEYS))
        elif isinstance(app.screen, ConfirmDialog):
            self.done[app.screen.question.heading] += 1
            # Freeing space asks that no Loop runs, and one does.
            frees = app.screen.question.heading == "Free disk space"
            await self.press("n" if frees else dice.choice(DIALOG_KEYS))
        elif app.screen is not app.browser:
            self.done[type(app.screen).__name__] += 1
            await self.press(dice.choice(WINDOW_KEYS))
        elif not app.browser.browse.shown and dice.random() < 0.4:
            # A filter or a view that holds nothing is left again, as a person does.
            await self.press("2", "escape", "escape", "escape", "f")
        else:
            await self.command()

    async def press(self, *keys: str) -> None:
        """As `Pilot.press`, but it does not wait for a processor that is never idle here."""
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
            self.app.post_message(events.Key(name, key if len(key) == 1 else None))
            await self.pilot.pause(0.0)

    async def resize(self, width: int, height: int) -> None:
        size = Size(width, height)
        self.app._driver._size = size  # type: ignore[union-attr]
        self.app.post_message(events.Resize(size, size))
        await self.pilot.pause(0.0)

    async def command(self) -> None:
        """A command of the table: by its key where it can be reached, else by the palette."""
        (command,) = self.dice.choices(COMMANDS, WEIGHTS)
        self.done[command.id] += 1
        if command.scope in PANE_KEYS:
            await self.press(PANE_KEYS[command.scope])
        if command.keys:
            for _ in range(self.dice.choice((1, 1, 1, 1, 3, 8))):
                key = self.dice.choice(command.keys)
                if isinstance(self.app.focused, Input):
                    return
                await self.press(key)
        else:
            await self.press("ctrl+p")
            if isinstance(self.app.focused, Input):
                await self.press(*command.help[:12])
                await self.press("enter")


class Watch:
    """What must not happen meanwhile, and the curve of the memory."""

    def __init__(self, rss_kib: Any) -> None:
        self.rss_kib = rss_kib
        self.curve: list[tuple[float, int]] = []
        self.faults: list[str] = []
        self.toasts: Counter[str] = Counter()
        self.purged: set[str] = set()

    def thread(self, arguments: Any) -> None:
        self.faults.append(f"thread: {arguments.exc_value!r}")

    def loop(self, _: Any, context: dict[str, Any]) -> None:
        self.faults.append(f"loop: {context.get('exception') or context.get('message')!r}")

    def attach(self, app: LoopTui) -> None:
        """Note what is removed for good, and what is said about failures."""
        purge, toast = app.service.purge, app.browser.toast

        def purging(*args: Any, **more: Any) -> Any:
            outcome = purge(*args, **more)
            self.purged.update(done.id for done in outcome.done)
            return outcome

        def telling(words: str, tone: Any = "info", **more: Any) -> None:
            if tone in ("error", "warning"):
                self.toasts[words[:160]] += 1
            toast(words, tone, **more)

        app.service.purge = purging
        app.browser.toast = telling  # type: ignore[method-assign]


async def use(ground: Any, seconds: float, seed: int, watch: Watch) -> Counter[str]:
    settings = SettingsFile(str(ground.base / "own" / "settings"))
    settings.change(hint_seen=True)
    app = LoopTui(lambda: Service.open(ground.options, recover=False), settings)
    app.leave = lambda: None  # type: ignore[method-assign]  # the keys that leave do nothing
    asyncio.get_running_loop().set_exception_handler(watch.loop)
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(500):
            await pilot.pause(0.02)
            if app.live is not None:
                break
        watch.attach(app)
        user = User(app, pilot, seed)
        begun = time.monotonic()
        every = max(1.0, seconds / 200)
        while (at := time.monotonic() - begun) < seconds:
            await user.step()
            if app._exception is not None:
                break  # leaving the block raises it
            if not watch.curve or at - watch.curve[-1][0] >= every:
                watch.curve.append((round(at, 1), watch.rss_kib()))
        for _ in range(20):
            if app.screen is app.browser:
                break
            await pilot.press("escape")
        await pilot.pause(0.5)
    app.service.close()
    return user.done


def kept(ground: Any, logs: list[Path], purged: set[str]) -> list[str]:
    """Words of messages that were saved and are in no session, live or in the trash."""
    wanted: dict[str, str] = {}
    gone = set(purged)
    for log in logs:
        for line in log.read_text().splitlines():
            sign, *rest = line.split()
            if sign == "+":
                wanted[rest[1]] = rest[0]
            elif sign == "-":
                wanted.pop(rest[1], None)
            elif sign == "x":
                gone.add(rest[0])
    found: set[str] = set()
    with Service.open(ground.options) as service:
        for row in service.scan().rows:
            for _, message in service.messages(row.key):
                text = json.dumps(message)
                found.update(w for w in text.replace("*", " ").split() if w[:8] in ("loopword",))
                found.update(w for w in text.split() if w.startswith("craftword"))
    return [f"{i} {word}" for word, i in wanted.items() if word not in found and i not in gone]


def strays(ground: Any, logs: list[Path]) -> list[str]:
    """Temporaries nobody answers for; those Loop lost with a moved directory are its own."""
    lost = {
        line.split()[1]
        for log in logs
        for line in log.read_text().splitlines()
        if line.startswith("t ")
    }
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(ground.base)
        for name in names
        if (name.endswith(".tmp") or is_our_temporary(name)) and name not in lost
    ]


def checked(ground: Any) -> subprocess.CompletedProcess[str]:
    options = ground.options
    places = ["--agent-dir", options.agent_dir, "--craft-dir", *options.craft_dirs]
    return subprocess.run(
        [sys.executable, "-m", "loop_tui", *places, "check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def soak(
    ground: Any,
    players: Any,
    left: Any,
    rss_kib: Any,
    seconds: float,
    seed: int,
    most: float = 1.1,
) -> None:
    """Use, then judge; memory grows by the factor `most` at most after the first third."""
    before = left.now()
    watch = Watch(rss_kib)
    hook, threading.excepthook = threading.excepthook, watch.thread
    try:
        with players(ground, 30.0, seed) as logs:
            done = asyncio.run(use(ground, seconds, seed, watch))
    finally:
        threading.excepthook = hook
    assert watch.faults == []
    assert before.stays() == {}
    assert list((ground.base / "own").rglob("crash-*")) == []
    report = {
        "seed": seed,
        "seconds": seconds,
        "saves": [log.read_text().count("+ ") for log in logs],
        "curve": watch.curve[:: max(1, len(watch.curve) // 40)],
        "done": done.most_common(),
        "toasts": watch.toasts.most_common(40),
    }
    if path := os.environ.get("SOAK_REPORT"):
        Path(path).write_text(json.dumps(report, indent=1))
    assert sum(done.values()) > seconds  # it was used
    assert kept(ground, logs, watch.purged) == []
    assert strays(ground, logs) == []
    verdict = checked(ground)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    sizes = [size for _, size in watch.curve]
    third = sizes[len(sizes) // 6 : len(sizes) // 3 + 1]  # what is kept at all is there by then
    growth = statistics.median(sizes[-len(third) :]) / statistics.median(third)
    assert 0.9 < growth < most, watch.curve


@pytest.mark.timeout(120)
def test_half_a_minute_of_use(
    ground: Any, players: Any, left: Any, rss_kib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No fault, no leak, and nothing either program saved is lost."""
    monkeypatch.chdir(ground.base)
    # So short a time still meets windows for the first time, with all they load.
    soak(ground, players, left, rss_kib, 20.0, 7, most=1.25)


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_long_use(
    ground: Any, players: Any, left: Any, rss_kib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ground.base)
    minutes = float(os.environ.get("SOAK_MINUTES", "30"))
    seed = int(os.environ.get("SOAK_SEED", "1"))
    soak(ground, players, left, rss_kib, minutes * 60, seed)
