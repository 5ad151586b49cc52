"""Every screen of the browser over the hostile store, each row of it looked at."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from loop_tui.app import LoopTui
from loop_tui.service import Options, Service
from loop_tui.settings import SettingsFile
from loop_tui.widgets.history import HistoryPane


class Walker:
    """A running browser whose every picture is looked at for what must not be on it."""

    def __init__(self, app: LoopTui, pilot: Any, clean: Callable[[str], None]) -> None:
        self.app = app
        self.pilot = pilot
        self.clean = clean
        self.pictures = 0

    @property
    def browser(self) -> Any:
        return self.app.browser

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()
            self.look()

    def look(self) -> str:
        """The picture as text; every strip of it is clean."""
        size = self.app.size
        strips = self.app.screen._compositor.render_strips(size)[: size.height]
        for strip in strips:
            self.clean(strip.text)
        self.pictures += 1
        return "\n".join(strip.text for strip in strips)

    async def shown(self) -> None:
        """Until the history shows the row under the cursor, or says why not."""
        pane = self.app.screen.query_one(HistoryPane)
        for _ in range(400):
            await self.pilot.pause(0.01)
            if not (pane._page_busy or pane._edge_busy):
                break
        else:
            raise AssertionError(f"still loading {self.browser.browse.cursor}")
        self.look()


@asynccontextmanager
async def walking(
    base: Path, clean: Callable[[str], None], size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Walker]:
    options = Options(agent_dir=str(base / "loop"), craft_dirs=(str(base / "craft"),))
    settings = SettingsFile(os.path.join(os.environ["XDG_CONFIG_HOME"], "loop-tui"))
    settings.change(hint_seen=True, auto_read=False)
    app = LoopTui(lambda: Service.open(options, recover=False), settings)
    async with app.run_test(size=size) as pilot:
        walker = Walker(app, pilot, clean)
        for _ in range(500):
            await pilot.pause(0.02)
            if _settled(app):
                break
        walker.look()
        yield walker
    if app.service is not None:
        app.service.close()


def _settled(app: LoopTui) -> bool:
    return app.service is not None and not [
        worker for worker in app.workers if worker.group in ("open", "scan")
    ]


@pytest.mark.timeout(240)
async def test_every_row_is_looked_at(
    hostile: Path,
    clean: Callable[[str], None],
    watch_changes: Any,
    tree_of: Any,
    private_home: Path,
) -> None:
    """failures rows 40, 43, 87, 88, 89, 133, 151: each session's history, nothing touched."""
    before = tree_of(hostile)
    with watch_changes() as touched:
        async with walking(hostile, clean) as walker:
            await walker.press("2", "g")
            seen = set()
            for _ in range(len(walker.browser.browse.shown)):
                await walker.shown()
                seen.add(walker.browser.browse.cursor)
                await walker.press("j")
            assert seen == {row.key for row in walker.browser.browse.shown}
            assert len(seen) > 100
            assert walker.pictures > 2 * len(seen)
    assert tree_of(hostile) == before
    assert touched.outside(private_home) == []
    assert touched.programs == touched.network == []


@pytest.mark.timeout(240)
@pytest.mark.parametrize("size", [(120, 40), (60, 16)])
async def test_every_screen_over_the_worst_rows(
    hostile: Path,
    clean: Callable[[str], None],
    watch_changes: Any,
    tree_of: Any,
    private_home: Path,
    size: tuple[int, int],
) -> None:
    """failures rows 83, 84, 87, 88, 89, 90: views, dialogs, details, palette, help, history."""
    before = tree_of(hostile)
    with watch_changes() as touched:
        async with walking(hostile, clean, size) as walker:
            for _ in range(6):
                await walker.press("f", "g", "i", "escape", "G", "i", "escape")
            while walker.browser.browse.view != "active":
                await walker.press("f")
            await walker.press("1", "j", "j", "j", "G", "2", "s", "S", "S")
            for word in ("fix [/]", "owned", "linked", "isolated"):
                await walker.press("slash", *word.replace(" ", "_"), "enter")
                await walker.press("escape", "escape")
            await _each_dialog(walker)
            await walker.press("question_mark", "pagedown", "escape", "colon", *"hostile")
            await walker.press("down", "down", "escape")
            await _the_history(walker)
    assert tree_of(hostile) == before
    assert touched.outside(private_home) == []
    assert touched.programs == touched.network == []


async def _each_dialog(walker: Walker) -> None:
    """Questions about strangely named sessions, none of them answered with yes."""
    rows = walker.browser.browse.shown
    worst = [
        number
        for number, row in enumerate(rows)
        if row.title and any(sign in row.title for sign in ("[/", "\N{REPLACEMENT CHARACTER}", "⟨"))
    ]
    for number in worst[:6] or [0]:
        await walker.press("2", "g", *["j"] * number)
        for key in ("p", "a", "d", "c", "L", "i"):
            await walker.press(key)
            await walker.pilot.pause(0.02)
            walker.look()
            for _ in range(3):
                if walker.app.screen is walker.browser:
                    break
                await walker.press("escape")


async def _the_history(walker: Walker) -> None:
    await walker.press("2", "g")
    for _ in range(6):
        await walker.shown()
        await walker.press("enter", "m", "t", "t", "t", "T", "T", "i", "escape", "g", "]", "enter")
        for _ in range(3):
            if walker.app.screen is not walker.browser:
                await walker.press("G", "escape")
        await walker.press("slash", "a", "enter", "n", "N", "escape", "2", "j")
