"""The search screen and the dialogs of export and reclaim, on the demo store."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from loop_tui.app import LoopTui
from loop_tui.demo import write_demo
from loop_tui.screens import searching
from loop_tui.screens.dialogs import ConfirmDialog, PromptDialog
from loop_tui.screens.search import SearchScreen
from loop_tui.service import Options, Service
from loop_tui.settings import SettingsFile
from loop_tui.text import human_size


class Driver:
    """A running browser and what tests ask of it."""

    def __init__(self, app: LoopTui, pilot: Any) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> SearchScreen:
        assert isinstance(self.app.screen, SearchScreen)
        return self.app.screen

    async def until(self, done: Callable[[], Any], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, self.text()
            await self.pilot.pause(0.02)

    async def search(self, text: str) -> None:
        """Open the search and type; until the last answer is there."""
        if not isinstance(self.app.screen, SearchScreen):
            await self.pilot.press("ctrl+f")
            await self.until(lambda: isinstance(self.app.screen, SearchScreen))
        await self.pilot.press(*(key if key != " " else "space" for key in text))
        await self.answered(text)

    async def answered(self, text: str) -> None:
        screen = self.screen
        await self.pilot.pause(0.1)
        await self.until(
            lambda: screen.field.value == text and screen.result is not None and not screen.busy
        )

    @property
    def toast(self) -> str:
        toast = self.app.browser.status.toast
        return toast.text if toast is not None else ""

    def text(self) -> str:
        width, height = self.app.size
        strips = self.app.screen._compositor.render_strips(self.app.size)[:height]
        return "\n".join(strip.text[:width] for strip in strips)


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("search") / "demo"
    write_demo(base)
    return base


@pytest.fixture
def options(demo_store: Path, tmp_path: Path) -> Options:
    return Options(
        agent_dir=str(demo_store / "loop"),
        craft_dirs=(str(demo_store / "craft"),),
        base=str(tmp_path / "own"),
    )


@pytest.fixture
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index process: the files answer."""
    monkeypatch.setattr(searching.Searching, "start_indexing", lambda self: None)


@asynccontextmanager
async def browser(
    options: Options, size: tuple[int, int] = (120, 40), **more: Any
) -> AsyncIterator[Driver]:
    settings = SettingsFile(os.path.join(os.environ["XDG_CONFIG_HOME"], "loop-tui"))
    settings.change(hint_seen=True)
    app = LoopTui(lambda: Service.open(options), settings, watch=False, **more)
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: not app.browser.scanning and app.browser.browse.shown)
        yield driver


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_typing_finds_and_enter_opens_the_match(
    options: Options, no_job: None, size: tuple[int, int]
) -> None:
    async with browser(options, size) as d:
        await d.pilot.press("ctrl+f")
        await d.until(lambda: isinstance(d.app.screen, SearchScreen))
        assert "lock archive" in d.text()
        await d.search("lock")
        assert "from the files" in d.text()
        lines = d.screen.listing.items
        assert lines[0].key is not None
        hit = next(i for i, line in enumerate(lines) if line.hit is not None)
        assert "lock" in d.text().split("\n")[2 + hit].lower()
        for _ in range(hit):
            await d.pilot.press("down")
        wanted = lines[hit]
        await d.pilot.press("enter")
        viewer = d.app.browser.history
        await d.until(lambda: d.app.screen is d.app.browser)
        await d.until(lambda: viewer.shown is not None and viewer.shown.key == wanted.key)
        assert wanted.hit is not None
        message = wanted.hit.message

        def arrived() -> bool:
            part = viewer.transcript.part_here
            return part is not None and part.id[0] == message

        await d.until(arrived)
        assert d.app.browser.pane == "history"
        await d.until(lambda: "lock" in d.text().lower())


def _showing(screen: Any, key: Any) -> bool:
    viewer = screen.history
    return viewer.shown is not None and viewer.shown.key == key and viewer.window is not None


async def test_n_walks_the_hits_across_sessions(options: Options, no_job: None) -> None:
    async with browser(options) as d:
        screen = d.app.browser
        assert screen.keyboard.context().finding is False
        await d.search("lock")
        await d.pilot.press("enter")
        await d.until(lambda: d.app.screen is screen)
        walk = screen.searching.places
        assert len({place.key for place in walk}) > 1
        assert screen.keyboard.context().finding
        seen = []
        for number, place in enumerate(walk[:7]):
            await d.pilot.press("n")
            await d.until(partial(_showing, screen, place.key))
            assert screen.searching.at == number
            assert f"hit {number + 1} of {len(walk)}" in d.toast
            seen.append(screen.browse.cursor)
        assert len(set(seen)) > 1
        await d.pilot.press("N")
        assert screen.searching.at == 5


async def test_escape_keeps_the_question(options: Options, no_job: None) -> None:
    async with browser(options) as d:
        await d.search("lock -windows")
        before = [(line.key, line.hit and line.hit.round) for line in d.screen.listing.items]
        await d.pilot.press("down", "down")
        at = d.screen.listing.cursor
        await d.pilot.press("escape")
        await d.until(lambda: d.app.screen is d.app.browser)
        await d.pilot.press("ctrl+f")
        await d.until(lambda: isinstance(d.app.screen, SearchScreen))
        assert d.screen.field.value == "lock -windows"
        await d.answered("lock -windows")
        assert [(n.key, n.hit and n.hit.round) for n in d.screen.listing.items] == before
        assert d.screen.listing.cursor == at


async def test_parts_of_words_and_nothing_found(options: Options, no_job: None) -> None:
    async with browser(options) as d:
        await d.search("omman")
        assert "Nothing found" in d.text()
        assert "Tab looks for parts of words" in d.text()
        await d.pilot.press("tab")
        await d.answered("omman")
        await d.until(lambda: d.screen.result is not None and d.screen.result.total > 0)
        assert "parts of words, from the files" in d.text()


async def test_a_filter_that_is_not_understood_is_said(options: Options, no_job: None) -> None:
    async with browser(options) as d:
        await d.search("lock")
        await d.pilot.press("space", *"role:nobody", "space")
        await d.until(lambda: "role:nobody is not known" in d.text())
        await d.pilot.press(*["backspace"] * 13)
        await d.answered("lock")
        assert "sessions" in d.text()


async def test_the_latest_question_wins(
    options: Options, no_job: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow answer to an older question never replaces a newer one."""
    asked: list[str] = []
    real = Service.search

    def slow(self: Service, text: str, **more: Any) -> Any:
        asked.append(text)
        if text == "lock":
            time.sleep(0.6)
        return real(self, text, **more)

    monkeypatch.setattr(Service, "search", slow)
    async with browser(options) as d:
        await d.pilot.press("ctrl+f")
        await d.until(lambda: isinstance(d.app.screen, SearchScreen))
        await d.pilot.press(*"lock")
        await d.until(lambda: "lock" in asked)
        await d.pilot.press(*"smith")
        await d.answered("locksmith")
        shown = d.screen.listing.items
        await asyncio.sleep(0.7)
        await d.pilot.pause()
        assert d.screen.listing.items is shown
        assert "Nothing found" in d.text()


async def test_a_hostile_title_is_only_text(
    options: Options, no_job: None, demo_store: Path, tmp_path: Path
) -> None:
    from loop_tui.demo.hostile import make_removable, write_hostile

    base = tmp_path / "hostile"
    write_hostile(base, count=5)
    hostile = Options(
        agent_dir=str(base / "loop"), craft_dirs=(str(base / "craft"),), base=str(tmp_path / "o")
    )
    try:
        async with browser(hostile) as d:
            await d.search("script")
            assert "onerror" in d.text()
            assert not any(ord(c) < 32 and c != "\n" for c in d.text())
    finally:
        make_removable(base)


async def test_the_index_is_built_beside_the_browser(options: Options) -> None:
    pytest.importorskip("tantivy")
    gaps: list[float] = []

    async def watch_gaps() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.01)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    async with browser(options) as d:
        watcher = asyncio.create_task(watch_gaps())
        await d.search("lock")
        await d.until(lambda: d.app.browser.searching.job is not None)
        job = d.app.browser.searching.job
        assert job is not None
        await d.until(lambda: not job.running, 60)
        await d.until(lambda: d.app.browser.searching.note == "")
        await d.until(lambda: "from the index" in d.text())
        assert d.screen.result is not None
        assert d.screen.result.engine == "index"
        watcher.cancel()
        assert len(gaps) > 10
    assert os.path.isdir(os.path.join(str(options.base), "cache", "search"))


async def test_the_index_process_ends_with_the_browser(options: Options) -> None:
    pytest.importorskip("tantivy")
    async with browser(options) as d:
        await d.pilot.press("ctrl+f")
        await d.until(lambda: d.app.browser.searching.job is not None)
        job = d.app.browser.searching.job
    assert job is not None
    assert not job.running


async def test_export_asks_where_and_before_it_replaces(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with browser(options) as d:
        await d.pilot.press("e")
        assert isinstance(d.app.screen, PromptDialog)
        field = d.app.screen.query_one("#prompt", Input)
        assert field.value.startswith(str(tmp_path))
        assert field.value.endswith(".md")
        end = field.value[-12:]  # the path is longer than the field
        await d.until(lambda: end in d.text())
        field.value = "out.html"
        await d.pilot.press("enter")
        target = tmp_path / "out.html"
        await d.until(target.exists)
        await d.until(lambda: "Exported to" in d.toast)
        assert target.read_text().startswith("<!doctype html>")

        target.write_text("mine")
        await d.pilot.press("e")
        d.app.screen.query_one("#prompt", Input).value = "out.html"
        await d.pilot.press("enter")
        await d.until(lambda: isinstance(d.app.screen, ConfirmDialog))
        await d.pilot.press("escape")
        assert target.read_text() == "mine"

        await d.pilot.press("e")
        d.app.screen.query_one("#prompt", Input).value = "out.html"
        await d.pilot.press("enter")
        await d.until(lambda: isinstance(d.app.screen, ConfirmDialog))
        await d.pilot.pause(0.3)
        await d.pilot.press("y")
        await d.until(lambda: target.read_text() != "mine")


async def test_reclaim_shows_what_it_frees_and_why(tmp_path: Path) -> None:
    base = tmp_path / "demo"
    write_demo(base)
    for meta in sorted((base / "loop" / "sessions").glob("*/*/meta.json")):
        value = json.loads(meta.read_bytes())
        # A gone working directory is a fault of its own; the demo has one.
        if value.get("version") == 3 and os.path.isdir(value["header"]["cwd"]):
            break
    messages = meta.parent / "messages.jsonl"
    old = b'{"an":"unreachable generation"}\n' * 1_000
    messages.write_bytes(old + messages.read_bytes())
    value["start"] += len(old)
    meta.write_text(json.dumps(value))
    long_ago = time.time() - 5_000
    for path in (meta, messages):
        os.utime(path, (long_ago, long_ago))
    options = Options(agent_dir=str(base / "loop"), no_craft=True, base=str(tmp_path / "own"))
    async with browser(options) as d:
        d.app.browser.keyboard.run("reclaim")
        await d.until(lambda: isinstance(d.app.screen, ConfirmDialog))
        await d.until(lambda: human_size(len(old)) in d.text())
        await d.pilot.pause(0.3)  # keys that come before it can be read are dropped
        dialog = d.app.screen
        assert isinstance(dialog, ConfirmDialog)
        assert "Close every Loop" in dialog.question.warning
        assert "(terminal, web) first" in d.text()
        assert messages.stat().st_size > len(old)
        await d.pilot.press("y")
        await d.until(lambda: d.toast.startswith("Freed ") and "not done" not in d.toast)
        assert messages.stat().st_size == value["bytes"]
        d.app.browser.keyboard.run("reclaim")
        await d.until(lambda: "Nothing to free" in d.toast)


async def test_read_only_searches_and_exports_but_frees_nothing(
    options: Options, no_job: None
) -> None:
    async with browser(options, read_only=True) as d:
        d.app.browser.keyboard.run("reclaim")
        await d.pilot.pause()
        assert "--read-only" in d.toast
        await d.search("lock")
        assert d.screen.result is not None
        assert d.screen.result.total > 0
