"""What stays in memory after rows, windows and views have come and gone."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from typing import Any

import pytest
from textual.message_pump import MessagePump

from loop_tui.app import LoopTui
from loop_tui.service import Service
from loop_tui.settings import SettingsFile

#: Each opens a window of its own kind and leaves it: keys, with None for a short rest.
WINDOWS: tuple[tuple[str | None, ...], ...] = (
    ("p", None, "escape"),
    ("a", None, "escape"),
    ("d", None, "escape"),
    ("c", None, "escape"),
    ("question_mark", None, "escape"),
    ("colon", None, "x", "escape"),
    ("i", None, None, "escape"),
    ("ctrl+f", None, "a", None, "escape"),
    ("e", None, "escape"),
)


def alive(app: LoopTui) -> tuple[Counter[str], int]:
    """Widgets and screens that exist, by class, and how many objects there are.

    Lines drawn lately are kept, up to a number of them; those are none of it.
    """
    browser = app.browser
    for pane in (browser.session_list, browser.project_list, browser.history.transcript):
        pane._strips.clear()
    gc.collect()
    gc.collect()
    found = gc.get_objects()
    return Counter(type(one).__name__ for one in found if isinstance(one, MessagePump)), len(found)


async def press(pilot: Any, keys: tuple[str | None, ...]) -> None:
    for key in keys:
        if key is None:
            await pilot.pause(0.03)
        else:
            pilot.app._driver.send_message(_key(key))
            await pilot.pause(0.0)


def _key(name: str) -> Any:
    from textual import events

    return events.Key(name, name if len(name) == 1 else None)


async def come_and_go(
    ground: Any, rss_kib: Any, rows: int, windows: int, views: int
) -> tuple[list[int], Counter[str], int]:
    """Three equal parts after a warm-up; memory after each, objects and growth at the end."""
    settings = SettingsFile(str(ground.base / "own" / "settings"))
    settings.change(hint_seen=True, auto_read=False)
    app = LoopTui(lambda: Service.open(ground.options, recover=False), settings)
    sizes: list[int] = []
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(500):
            await pilot.pause(0.02)
            if app.live is not None:
                break
        for part in range(4):
            for number in range(rows // 4):
                await press(pilot, ("j" if number % 400 < 200 else "k",))
                if number % 10 == 0:
                    await pilot.pause(0.06)  # the history of this one is loaded
            for number in range(windows // 4):
                await press(pilot, WINDOWS[number % len(WINDOWS)])
            for _ in range(views // 4):
                await press(pilot, ("f",))
            await press(pilot, ("escape", "escape", "2", "g"))
            for _ in range(50):  # the index, and the last answer
                await pilot.pause(0.1)
                job = app.browser.searching.job
                if not app.workers._workers and (job is None or not job.running):
                    break
            sizes.append(rss_kib())
            if part == 0:
                before, objects = alive(app)
        after, more_objects = alive(app)
    app.service.close()
    return sizes, after - before, more_objects - objects


def judge(ground: Any, left: Any, rss_kib: Any, amounts: tuple[int, int, int]) -> None:
    before = left.now()
    sizes, more, grown = asyncio.run(come_and_go(ground, rss_kib, *amounts))
    assert not more
    assert grown < 10_000, (grown, sizes)
    # Not from the first part: what is kept of the lines drawn lately fills up to its limit.
    assert sizes[-1] < sizes[1] * 1.1, sizes
    assert before.stays() == {}


@pytest.mark.timeout(120)
def test_nothing_stays_of_what_has_come_and_gone(ground: Any, left: Any, rss_kib: Any) -> None:
    judge(ground, left, rss_kib, (100, 40, 20))


@pytest.mark.soak
@pytest.mark.timeout(1_200)
def test_nothing_stays_of_much(ground: Any, left: Any, rss_kib: Any) -> None:
    judge(ground, left, rss_kib, (2_000, 500, 300))
