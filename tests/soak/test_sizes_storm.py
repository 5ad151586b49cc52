"""Every window at every size of a terminal, one after the other as a window manager drags."""

from __future__ import annotations

import random
from typing import Any

import pytest
from textual import events
from textual.geometry import Size

from loop_tui.app import LoopTui
from loop_tui.service import Service
from loop_tui.settings import SettingsFile

WINDOWS: dict[str, tuple[str, ...]] = {
    "browser": (),
    "history": ("3", "m"),
    "block": ("3", "g", "j", "j", "j", "enter", "enter"),
    "help": ("question_mark",),
    "palette": ("ctrl+p",),
    "details": ("i",),
    "search": ("ctrl+f", "l", "o"),
    "pin": ("p",),
    "delete": ("d",),
    "rename": ("c",),
    "labels": ("L",),
    "theme": ("ctrl+p", *"Choose", "enter"),
    "filter": ("slash", "4"),
}
WORST = ((1, 1), (2, 40), (120, 1), (9, 5))
HUGE = ("browser", "help", "search")  # a picture of 100,000 cells takes its time


@pytest.mark.timeout(120)
async def test_every_window_in_a_storm_of_sizes(ground: Any) -> None:
    """No exception, and at the end each line is as wide as the terminal."""
    settings = SettingsFile(str(ground.base / "own" / "settings"))
    settings.change(hint_seen=True, auto_read=False)
    app = LoopTui(lambda: Service.open(ground.options, recover=False), settings, watch=False)
    dice = random.Random(11)
    async with app.run_test(size=(120, 40)) as pilot:

        async def resize(width: int, height: int) -> None:
            size = Size(width, height)
            app._driver._size = size  # type: ignore[union-attr]
            app.post_message(events.Resize(size, size))
            await pilot.pause(0.0)

        async def press(*keys: str) -> None:
            for key in keys:
                app.post_message(events.Key(key, key if len(key) == 1 else None))
                await pilot.pause(0.01)

        for _ in range(500):
            await pilot.pause(0.02)
            if app.service is not None and not app.browser.scanning:
                break
        where = set()
        for name, keys in WINDOWS.items():
            await press("2", "g", *keys)
            await pilot.pause(0.2)
            sizes = [(dice.randrange(1, 301), dice.randrange(1, 101)) for _ in range(3)]
            huge = [(500, 200)] if name in HUGE else []
            for size in (*WORST, *huge, *sizes, (77, 23)):
                await resize(*size)
            await pilot.pause(0.1)
            where.add(type(app.screen).__name__)
            strips = app.screen._compositor.render_strips(app.size)
            assert len(strips) == 23
            assert {strip.cell_length for strip in strips} == {77}
            for _ in range(6):
                if app.screen is app.browser and app.focused is app.browser.session_list:
                    break
                await press("escape")
            await resize(120, 40)
    app.service.close()
    assert len(where) >= 9, where  # the windows were there
