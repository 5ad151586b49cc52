"""The viewer of one whole block."""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

import loop_tui
from loop_core.errors import LoopError
from loop_core.model import AttachmentBlock, Block, ImageBlock, SessionRow, TextBlock, ToolBlock
from loop_tui import themes
from loop_tui.screens.block_viewer import BlockViewer, decoded
from loop_tui.widgets.history import HistoryPane

ImageData = Callable[[ImageBlock], tuple[str, str] | None]
STYLES = Path(loop_tui.__file__).parent / "styles" / "history.tcss"
PIXEL = b"\x89PNG fake data"


class Shell(App[None]):
    CSS_PATH = [str(STYLES)]  # noqa: RUF012

    def __init__(self, reader: Any = None) -> None:
        super().__init__()
        self.reader = reader
        self.copied: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        if self.reader is not None:
            yield HistoryPane(self.reader, id="history")

    def on_mount(self) -> None:
        themes.register(self)
        self.theme = "night"


async def settle(pilot: Pilot[None]) -> None:
    await pilot.pause()
    while any(not worker.is_finished for worker in pilot.app.workers):
        await pilot.pause(0.01)
    await pilot.pause()


def no_image(_: ImageBlock) -> tuple[str, str] | None:
    raise AssertionError("the data of an image was asked for")


@asynccontextmanager
async def viewer(
    block: Block,
    image: Callable[[ImageBlock], tuple[str, str] | None] = no_image,
    size: tuple[int, int] = (60, 20),
) -> AsyncIterator[tuple[Shell, BlockViewer, Pilot[None]]]:
    app = Shell()
    async with app.run_test(size=size) as pilot:
        screen = BlockViewer(
            block,
            image,
            lambda text, what: app.copied.append((text, what)),
            title="Title [/]",
        )
        app.push_screen(screen)
        await settle(pilot)
        yield app, screen, pilot


def rows(screen: BlockViewer) -> list[str]:
    view = screen.view
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def subtitle(screen: BlockViewer) -> str:
    return screen.frame.border_subtitle or ""


def call(result: str, **fields: Any) -> ToolBlock:
    return ToolBlock(
        name="bash",
        verb="Ran",
        target="make",
        status="ok",
        call_id="c",
        message=1,
        result=result,
        **fields,
    )


async def test_moves_and_says_where(reader: Any) -> None:
    text = "\n".join(f"line {n}" for n in range(500))
    async with viewer(TextBlock(text, 1)) as (_app, screen, pilot):
        assert rows(screen)[0] == "line 0"
        assert "line 1 of 500" in subtitle(screen)
        await pilot.press("j", "j", "pagedown")
        assert rows(screen)[0] == f"line {2 + screen.view.size.height}"
        await pilot.press("G")
        assert rows(screen)[-1] == "line 499"
        await pilot.press("g")
        assert rows(screen)[0] == "line 0"
        await pilot.press("escape")
        assert pilot.app.screen is not screen


async def test_finds_around(reader: Any) -> None:
    text = "\n".join(f"row {n} {'Needle' if n % 100 == 7 else ''}" for n in range(300))
    async with viewer(call(text)) as (_app, screen, pilot):
        await pilot.press("slash", *"needle", "enter")
        await settle(pilot)
        assert '"needle" 1 of 3' in subtitle(screen)
        assert any("row 7 Needle" in row for row in rows(screen))
        await pilot.press("N")
        assert any("row 207 Needle" in row for row in rows(screen))
        await pilot.press("n", "n")
        assert '"needle" 2 of 3' in subtitle(screen)
        await pilot.press("slash", *"absent", "enter")
        await settle(pilot)
        assert "not found" in subtitle(screen)


async def test_copies_all_of_it(reader: Any) -> None:
    async with viewer(call("x" * 100_000)) as (app, _screen, pilot):
        await pilot.press("y")
        await pilot.pause()
        assert app.copied == [("Ran make\n\n" + "x" * 100_000, "block")]


async def test_a_block_of_many_megabytes_opens(reader: Any) -> None:
    """failures rows 6, 12: 20 MB of output, opened, to its end and searched."""
    text = "some words of output in a line\n" * 700_000 + "the end"
    async with viewer(call(text)) as (_app, screen, pilot):
        assert rows(screen)[2] == "some words of output in a line"
        await pilot.press("G")
        assert rows(screen)[-1] == "the end"
        await pilot.press("slash", *"THE END", "enter")
        await settle(pilot)
        assert "1 of 1" in subtitle(screen)


async def test_hostile_text_and_narrow_screens(reader: Any) -> None:
    """failures rows 87, 133: no control characters; any size."""
    hostile = "\x1b[2J\x9b31m\u202e日本\ud83d\t👩\u200d👧 [/] " * 200
    async with viewer(call(hostile)) as (_app, screen, pilot):
        for size in ((60, 20), (1, 1), (9, 4), (200, 60), (60, 20)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            for row in rows(screen):
                row.encode()
                assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in row)
        assert "␛[2J" in "".join(rows(screen))


async def test_saves_an_image_without_overwriting(reader: Any, tmp_path: Path) -> None:
    image = ImageBlock("image/png", len(PIXEL), 4, name="shot.png", block=1)
    asked: list[int] = []

    def data(block: ImageBlock) -> tuple[str, str]:
        asked.append(block.message)
        return "image/png", base64.b64encode(PIXEL).decode()

    async with viewer(image, data) as (_app, screen, pilot):
        assert rows(screen)[0] == "[image shot.png image/png 14 B]"
        await pilot.press("s")
        assert screen.entry.value == os.path.join("~", "shot.png")
        for _ in range(2):
            screen.entry.value = str(tmp_path / "out.png")
            await pilot.press("enter")
            await settle(pilot)
            await pilot.press("s")
        assert (tmp_path / "out.png").read_bytes() == PIXEL
        assert asked == [4, 4]
        assert "not saved" in subtitle(screen)


async def test_a_text_cannot_be_saved_as_an_image(reader: Any) -> None:
    async with viewer(TextBlock("words", 1)) as (_app, screen, pilot):
        await pilot.press("s")
        assert "nothing to save here" in subtitle(screen)
    async with viewer(AttachmentBlock("a.txt", 5, 1, text="hello")) as (_app, screen, pilot):
        assert rows(screen)[0] == "hello"


@pytest.mark.parametrize("data", [None, ("image/png", "x")])
def test_image_data_that_is_not_there(data: tuple[str, str] | None) -> None:
    with pytest.raises(LoopError):
        decoded(data)


async def test_enter_on_a_clipped_block_opens_it_whole(
    reader: Any, row_of: Callable[..., SessionRow]
) -> None:
    """failures row 12: head and tail first, all of it on demand."""
    app = Shell(reader)
    async with app.run_test(size=(70, 30)) as pilot:
        pane = app.query_one(HistoryPane)
        pane.show(row_of())
        await settle(pilot)
        pane.focus()
        lines = pane.transcript
        laid = lines.rounds[-1]
        part = next(p for p in laid.parts if isinstance(p.block, ToolBlock))
        start = lines.lines.start_of(laid.number)
        assert start is not None
        lines.move_to(start + part.first)
        pane.action_open_block()
        await settle(pilot)
        lines.move_by(3)
        pane.action_open_block()
        await settle(pilot)
        assert isinstance(app.screen, BlockViewer)
        shown = rows(app.screen)
        assert shown[0] == "Read core/loop_core/fsio.py"
        await pilot.press("G")
        assert rows(app.screen)[-1] == "line 59 of the file"
