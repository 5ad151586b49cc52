"""The history pane, driven as an app would drive it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from textual.app import App, ComposeResult
from textual.color import Color
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Input

import loop_tui
from loop_core.errors import InvalidSession, StorageFailed
from loop_core.model import (
    Damage,
    ImageBlock,
    Round,
    SessionKey,
    SessionRow,
    Stamp,
    TextBlock,
    ToolBlock,
)
from loop_tui import themes
from loop_tui.layout import line_text
from loop_tui.roles import contrast
from loop_tui.widgets.history import HistoryPane
from loop_tui.widgets.window import LIMIT

STYLES = Path(loop_tui.__file__).parent / "styles" / "history.tcss"
KEY = SessionKey("store", "one")
RowOf = Callable[..., SessionRow]
RoundOf = Callable[..., Round]


class Shell(App[None]):
    """The pane alone; what it posts is kept."""

    CSS_PATH = [str(STYLES)]  # noqa: RUF012

    def __init__(self, reader: Any, **options: Any) -> None:
        super().__init__()
        self.reader = reader
        self.options = options
        self.seen: list[tuple[SessionKey, int]] = []
        self.said: list[str] = []
        self.copied: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield HistoryPane(self.reader, id="history", **self.options)

    def on_mount(self) -> None:
        themes.register(self)
        self.theme = "night"

    @property
    def pane(self) -> HistoryPane:
        return self.query_one(HistoryPane)

    def on_history_pane_output_seen(self, event: HistoryPane.OutputSeen) -> None:
        self.seen.append((event.key, event.message_count))

    def on_history_pane_status(self, event: HistoryPane.Status) -> None:
        self.said.append(event.text)

    def on_history_pane_copied(self, event: HistoryPane.Copied) -> None:
        self.copied.append((event.text, event.what))


async def settle(pilot: Pilot[None]) -> None:
    """Until every worker, and everything they post, is done."""
    await pilot.pause()
    while any(not worker.is_finished for worker in pilot.app.workers):
        await pilot.pause(0.01)
    await pilot.pause()


@asynccontextmanager
async def shell(
    reader: Any, row: SessionRow | None, size: tuple[int, int] = (70, 24), **options: Any
) -> AsyncIterator[tuple[Shell, HistoryPane, Pilot[None]]]:
    app = Shell(reader, **options)
    async with app.run_test(size=size) as pilot:
        app.pane.show(row)
        await settle(pilot)
        app.pane.focus()
        await pilot.pause()
        yield app, app.pane, pilot


def screen_text(app: App[Any]) -> list[str]:
    """What is on the screen, line by line."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    assert all(strip.cell_length == width for strip in strips[:height])
    return [strip.text for strip in strips]


def shown_numbers(pane: HistoryPane) -> list[int]:
    return [laid.number for laid in pane.transcript.rounds]


def here(pane: HistoryPane) -> tuple[str, int]:
    """The reader's line and its row on the screen."""
    lines = pane.transcript
    return line_text(lines.lines.line_at(lines.cursor)), lines.cursor - lines.scroll_offset.y


@pytest.fixture
def no_blocking() -> Iterator[BlockBuster]:
    with blockbuster_ctx(scanned_modules=["loop_tui"]) as guard:
        yield guard


async def test_shows_the_latest_three_rounds(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of(title="fix [/x] [@click=app.quit]it[/]")) as (app, pane, _):
        assert shown_numbers(pane) == [9, 10, 11]
        assert pane.transcript.at_end
        text = screen_text(app)
        assert "fix [/x] [@click=app.quit]it[/]" in text[0]  # failures row 89
        assert "rounds 10–12 of 12" in text[-1]
        assert any("tell the watcher about our own writes" in line for line in text)
        assert reader.pages == [(KEY, {"before": None, "before_round": None, "rounds": 3})]


async def test_only_the_last_of_many_highlights_is_read(reader: Any, row_of: RowOf) -> None:
    """failures row 132: a burst of rows reads one page, of the last row."""
    async with shell(reader, None) as (_app, pane, pilot):
        for number in range(50):
            pane.show(row_of(f"s{number}"))
        await settle(pilot)
        assert [key.ref for key, _ in reader.pages] == ["s49"]
        assert pane.showing == SessionKey("store", "s49")


async def test_a_late_result_for_another_row_is_dropped(reader: Any, row_of: RowOf) -> None:
    """failures row 46: the slow read of the first row arrives after the second is shown."""
    slow = threading.Event()
    reader.rounds[SessionKey("store", "slow")] = []
    page = reader.page

    def gated(key: SessionKey, **wanted: Any) -> Any:
        if key.ref == "slow":
            slow.wait(5)
        return page(key, **wanted)

    reader.page = gated
    async with shell(reader, None) as (app, pane, pilot):
        pane.show(row_of("slow"))
        await pilot.pause(0.1)
        pane.show(row_of("fast"))
        await settle(pilot)
        assert pane.showing == SessionKey("store", "fast")
        slow.set()
        await pilot.pause(0.1)
        assert pane.showing == SessionKey("store", "fast")
        assert shown_numbers(pane) == [9, 10, 11]
        assert "Session fast" in screen_text(app)[0]


async def test_slow_load_says_so_and_shows_nothing_of_another(reader: Any, row_of: RowOf) -> None:
    """failures row 46: while reading, the former session's text is gone."""
    async with shell(reader, row_of("one")) as (app, pane, pilot):
        reader.gate = threading.Event()
        pane.show(row_of("two"))
        await pilot.pause(0.4)
        text = screen_text(app)
        assert "Session two" in text[0]
        assert any("Reading…" in line for line in text)
        assert not any("watcher" in line for line in text)
        reader.gate.set()
        await settle(pilot)
        assert shown_numbers(pane) == [9, 10, 11]


async def test_errors_and_emptiness_in_words(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, None) as (app, pane, pilot):
        assert any("No session selected." in line for line in screen_text(app))
        reader.error = InvalidSession("/store/x.jsonl", "not JSON", 7)
        pane.show(row_of("bad"))
        await settle(pilot)
        text = "\n".join(screen_text(app))
        assert "This session cannot be read: not JSON" in text
        assert "/store/x.jsonl, line 7" in text
        reader.error = None
        reader.rounds[SessionKey("store", "empty")] = []
        pane.show(row_of("empty"))
        await settle(pilot)
        assert any("Nothing has been said here yet." in line for line in screen_text(app))


async def test_earlier_rounds_join_without_moving_the_line(reader: Any, row_of: RowOf) -> None:
    """failures rows 134, 137: the reader's line keeps its row; the edge loads by itself."""
    async with shell(reader, row_of()) as (_app, pane, pilot):
        pane.action_previous_round()
        before = here(pane)
        pane.action_load_earlier()
        await settle(pilot)
        assert shown_numbers(pane) == [6, 7, 8, 9, 10, 11]
        assert here(pane) == before
        loaded = len(reader.pages)
        while pane.transcript.scroll_offset.y > 0:
            y = pane.transcript.scroll_offset.y
            pane.action_page_up()
            assert pane.transcript.scroll_offset.y == max(y - pane.transcript.size.height, 0)
        top = line_text(pane.transcript.lines.line_at(0))
        await settle(pilot)
        assert len(reader.pages) == loaded + 1
        assert shown_numbers(pane)[0] == 3
        y = pane.transcript.scroll_offset.y
        assert line_text(pane.transcript.lines.line_at(y)) == top


async def test_paging_back_while_the_session_grows(
    reader: Any, row_of: RowOf, round_of: RoundOf
) -> None:
    """failures rows 134, 138: growth below moves nothing and is counted."""
    async with shell(reader, row_of()) as (app, pane, pilot):
        pane.transcript.move_to(0, top=True)
        await settle(pilot)
        for number in (12, 13):
            before = here(pane)
            reader.of(KEY).append(round_of(number))
            pane.refresh_row(row_of(stamp=Stamp(number, 1, 1)))
            await pilot.pause(0.3)
            await settle(pilot)
            assert here(pane) == before
        assert pane.new_below == 20
        assert "20 new below" in screen_text(app)[-1]
        pane.action_load_earlier()
        await settle(pilot)
        assert here(pane) == before
        pane.action_latest()
        await settle(pilot)
        assert pane.new_below == 0
        assert pane.transcript.at_end
        assert shown_numbers(pane)[-1] == 13


async def test_growth_is_followed_at_the_end(reader: Any, row_of: RowOf, round_of: RoundOf) -> None:
    async with shell(reader, row_of()) as (_app, pane, pilot):
        for number in range(12, 20):
            reader.of(KEY).append(round_of(number))
            pane.refresh_row(row_of(stamp=Stamp(number, 1, 1)))
            await pilot.pause(0.02)
        await pilot.pause(0.4)
        await settle(pilot)
        assert pane.transcript.at_end
        assert shown_numbers(pane)[-1] == 19
        # Coalesced: the first at once, the rest together.
        assert len(reader.pages) < 8


async def test_a_tall_pane_is_filled(reader: Any, row_of: RowOf, round_of: RoundOf) -> None:
    """Three short rounds leave no room blank: earlier ones join, the latest stays last."""
    reader.rounds[KEY] = [round_of(n, text="short") for n in range(40)]
    async with shell(reader, row_of(), size=(70, 60)) as (_app, pane, pilot):
        lines = pane.transcript
        assert lines.height >= lines.size.height > 40
        assert shown_numbers(pane)[-1] == 39
        assert lines.at_end
        await pilot.resize_terminal(70, 90)
        await settle(pilot)
        assert lines.height >= lines.size.height > 80
        assert lines.at_end
        pane.action_first_round()
        await settle(pilot)
        assert shown_numbers(pane)[0] == 0
        assert lines.height >= lines.size.height
        pane.go_to(205)
        await settle(pilot)
        assert lines.height >= lines.size.height


async def test_folding_what_filled_the_pane_reads_on(
    reader: Any, row_of: RowOf, round_of: RoundOf
) -> None:
    calls = tuple(
        ToolBlock(name="b", verb="Ran", target=f"{n}", status="ok", call_id=f"{n}", message=1)
        for n in range(20)
    )
    reader.rounds[KEY] = [round_of(n, text="short", extra=calls) for n in range(40)]
    async with shell(reader, row_of(), size=(70, 60)) as (_app, pane, pilot):
        assert shown_numbers(pane) == [37, 38, 39]
        while pane.options.tools != "off":
            pane.action_cycle_tools()
            await settle(pilot)
        assert pane.transcript.height >= pane.transcript.size.height
        assert shown_numbers(pane)[0] < 37


async def test_short_rounds_at_20_hz_leave_no_room_blank(
    reader: Any, row_of: RowOf, round_of: RoundOf
) -> None:
    """failures row 138: five rounds between two looks join those here; no reload."""
    reader.rounds[KEY] = [round_of(n, text="short") for n in range(20)]
    async with shell(reader, row_of(), size=(70, 60)) as (_app, pane, pilot):
        lines, first = pane.transcript, shown_numbers(pane)[0]
        window = pane.window
        for turn in range(4):
            at = 20 + turn * 5
            reader.of(KEY).extend(round_of(n, text="short") for n in range(at, at + 5))
            pane.refresh_row(row_of(stamp=Stamp(at, 1, 1)))
            for _ in range(30):
                await pilot.pause(0.01)
                assert lines.height >= lines.size.height
            await settle(pilot)
            assert lines.at_end
        assert pane.window is window
        assert shown_numbers(pane) == list(range(first, 40))
        # More than a window holds: the latest ones, and as many as fit.
        reader.of(KEY).extend(round_of(n, text="short") for n in range(40, 140))
        pane.refresh_row(row_of(stamp=Stamp(140, 1, 1)))
        await pilot.pause(0.3)
        await settle(pilot)
        assert shown_numbers(pane)[-1] == 139
        assert lines.height >= lines.size.height


async def test_a_grown_round_replaces_itself(reader: Any, row_of: RowOf, round_of: RoundOf) -> None:
    async with shell(reader, row_of()) as (app, pane, pilot):
        old = pane.transcript.rounds
        reader.of(KEY)[-1] = round_of(11, text="A longer answer.\n\nAnd its end.")
        pane.refresh_row(row_of(stamp=Stamp(2, 1, 1)))
        await settle(pilot)
        assert shown_numbers(pane) == [9, 10, 11]
        assert pane.transcript.rounds[0] is old[0]
        assert any("And its end." in line for line in screen_text(app))


async def test_a_replaced_history_reloads_and_says_why(
    reader: Any, row_of: RowOf, round_of: RoundOf
) -> None:
    async with shell(reader, row_of()) as (app, pane, pilot):
        reader.revision[KEY] = "r2"
        reader.rounds[KEY] = [round_of(0, text="Another history.")]
        pane.refresh_row(row_of(stamp=Stamp(2, 1, 1)))
        await settle(pilot)
        await settle(pilot)
        assert shown_numbers(pane) == [0]
        assert any("replaced on disk" in text for text in app.said)
        reader.revision[KEY] = "r3"
        reader.rounds[KEY] = [round_of(number) for number in range(9)]
        pane.refresh_row(row_of(stamp=Stamp(3, 1, 1)))
        await pilot.pause(0.3)
        await settle(pilot)
        reader.revision[KEY] = "r4"
        pane.action_load_earlier()
        await settle(pilot)
        await settle(pilot)
        assert pane.window is not None
        assert pane.window.revision == "r4"


async def test_rounds_without_text_are_passed_over(
    reader: Any, row_of: RowOf, round_of: RoundOf
) -> None:
    """failures row 135: pages that render empty go on until something is visible."""
    empty = [
        Round(index=n, start=n * 10, end=n * 10 + 10, time_ms=None, blocks=()) for n in range(2, 12)
    ]
    reader.rounds[KEY] = [round_of(0), round_of(1), *empty]
    async with shell(reader, row_of()) as (_app, pane, pilot):
        assert shown_numbers(pane)[0] <= 1
        assert any(laid.visible for laid in pane.transcript.rounds)
    reader.rounds[KEY] = [round_of(0), *empty[:9], round_of(10), round_of(11)]
    reader.rounds[KEY] = [
        Round(**{name: getattr(one, name) for name in one.__struct_fields__} | {"index": n})
        for n, one in enumerate(reader.rounds[KEY])
    ]
    async with shell(reader, row_of()) as (_app, pane, pilot):
        pane.action_load_earlier()
        await settle(pilot)
        assert shown_numbers(pane)[0] == 0


async def test_memory_is_bounded_however_far_one_reads(
    reader: Any, row_of: RowOf, round_of: RoundOf
) -> None:
    """failures row 19: 400 rounds back to the first; the window stays a window."""
    reader.rounds[KEY] = [round_of(n, text="short") for n in range(400)]
    async with shell(reader, row_of()) as (app, pane, pilot):
        for _ in range(25):
            pane.action_load_earlier()
            await settle(pilot)
            pane.transcript.move_to(0, top=True)
        await settle(pilot)
        numbers = shown_numbers(pane)
        assert len(numbers) <= LIMIT + 6
        assert len(list(app.query("*"))) < 20
        assert numbers[0] < 340
        assert not (pane.window and pane.window.at_end)
        pages = len(reader.pages)
        pane.action_first_round()
        await settle(pilot)
        assert shown_numbers(pane) == [0, 1, 2]
        assert len(reader.pages) == pages + 1
        assert pane.transcript.cursor == 0
        for _ in range(4):
            pane.action_next_round()
            await settle(pilot)
        assert here(pane)[0].startswith("── Round 5")
        pane.action_latest()
        await settle(pilot)
        assert shown_numbers(pane) == [397, 398, 399]
        assert pane.transcript.at_end


async def test_previous_and_next_round(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of()) as (app, pane, pilot):
        seen = []
        for _ in range(6):
            pane.action_previous_round()
            await settle(pilot)
            seen.append(here(pane)[0].split(" ·")[0].strip("─ ").split(" ─")[0])
        assert seen == ["Round 12", "Round 11", "Round 10", "Round 9", "Round 8", "Round 7"]
        pane.action_next_round()
        assert here(pane)[0].startswith("── Round 8")
        pane.action_first_round()
        await settle(pilot)
        pane.action_previous_round()
        assert app.said == [] or app.said[-1]
        await pilot.pause()
        assert app.said[-1] == "This is the first round."


async def test_unfold_and_fold_under_the_cursor(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of()) as (_app, pane, pilot):
        lines = pane.transcript
        line = next(
            number
            for number in range(lines.height)
            if "▸ Read" in line_text(lines.lines.line_at(number))
        )
        lines.move_to(line)
        height, row = lines.height, here(pane)[1]
        pane.action_open_block()
        await settle(pilot)
        assert lines.height > height + 15
        assert here(pane)[0].startswith("  ▾ Read")
        assert here(pane)[1] == row
        pane.action_open_block()
        await settle(pilot)
        assert lines.height == height
        assert here(pane)[0].startswith("  ▸ Read")


async def test_tool_levels_keep_the_line(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of()) as (app, pane, pilot):
        pane.action_previous_round()
        rule = here(pane)
        heights = []
        for _ in range(4):
            pane.action_cycle_tools()
            await settle(pilot)
            heights.append(pane.transcript.height)
            assert here(pane)[0] == rule[0]
        clipped, full, off, line = heights
        assert off < line < clipped < full
        pane.action_toggle_thinking()
        await settle(pilot)
        assert pane.transcript.height > line
        assert len(app.said) == 5


async def test_resize_keeps_the_anchor_and_never_overlaps(reader: Any, row_of: RowOf) -> None:
    """failures rows 90, 133: sizes from 1×1 to 300×100, no exception, exact lines."""
    async with shell(reader, row_of(), size=(120, 40)) as (app, pane, pilot):
        pane.action_previous_round()
        pane.action_cursor_down()
        pane.action_cursor_down()
        anchor = here(pane)[0][:10]
        for size in ((40, 12), (20, 5), (1, 1), (79, 24), (300, 100), (12, 3), (120, 40)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            screen_text(app)
            for action in (pane.action_page_up, pane.action_cursor_down, pane.action_open_block):
                action()
            pane.action_latest()
            await settle(pilot)
            pane.action_previous_round()
            pane.action_cursor_down()
            pane.action_cursor_down()
        assert here(pane)[0][:10] == anchor


async def test_find_streams_and_goes_around(reader: Any, row_of: RowOf, round_of: RoundOf) -> None:
    reader.rounds[KEY] = [
        round_of(n, text=f"The marker{n} is here." if n % 5 == 0 else "plain") for n in range(30)
    ]
    async with shell(reader, row_of()) as (app, pane, pilot):
        pane.action_start_find()
        await pilot.pause()
        assert isinstance(app.focused, Input)
        await pilot.press(*"MARKER", "enter")
        await settle(pilot)
        assert "marker0" in here(pane)[0]  # none after the end: around to the first
        assert app.said[-1] == '"MARKER": 1 of 6'
        pane.action_next_hit()
        await settle(pilot)
        assert "marker5" in here(pane)[0]
        pane.action_previous_hit()
        pane.action_previous_hit()
        await settle(pilot)
        assert "marker25" in here(pane)[0]
        assert pane.transcript.has_focus
        pane.action_start_find()
        await pilot.press("escape")
        assert pane.transcript.has_focus
        pane.find("nowhere at all")
        await settle(pilot)
        assert app.said[-1] == '"nowhere at all": not found'


async def test_find_unfolds_what_hides_the_match(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of()) as (_app, pane, pilot):
        pane.find("line 5 of the file")
        await settle(pilot)
        await settle(pilot)
        assert "line 5 of the file" in here(pane)[0]


async def test_go_to_a_message_of_a_search(reader: Any, row_of: RowOf, round_of: RoundOf) -> None:
    reader.rounds[KEY] = [round_of(n) for n in range(40)]
    async with shell(reader, row_of()) as (_app, pane, pilot):
        pane.go_to(55, "second writer")
        await settle(pilot)
        assert shown_numbers(pane) == [3, 4, 5]
        lines = pane.transcript
        laid = lines.lines.round_at(lines.cursor)
        assert laid is not None
        assert laid.number == 5
        assert "second" in here(pane)[0]
        assert not pane.following


async def test_another_session_is_shown_at_a_message(reader: Any, row_of: RowOf) -> None:
    """A hit of the search: read there at once, and nothing asked for before comes after it."""
    async with shell(reader, row_of()) as (app, pane, pilot):
        reader.pages.clear()
        two = row_of("two", stamp=Stamp(1, 1, 1))
        pane.show_at(two, 55, "second writer")
        await settle(pilot)
        assert pane.showing == two.key
        assert reader.pages[0][1]["before"] == 56
        assert {key for key, _ in reader.pages} == {two.key}
        assert "second writer" in here(pane)[0]
        assert not pane.following
        asked = len(reader.pages)
        pane.show_at(two, 55, "two writers")
        await settle(pilot)
        assert len(reader.pages) == asked
        pane.show(row_of("three"))
        pane.show_at(two, 25, "second writer")
        await pilot.pause(0.1)
        await settle(pilot)
        assert pane.showing == two.key
        assert 2 in shown_numbers(pane)
        assert "Session two" in screen_text(app)[0]


async def test_output_seen_after_a_second_in_the_focused_pane(reader: Any, row_of: RowOf) -> None:
    class Over(ModalScreen[None]):
        pass

    assert HistoryPane(reader).seen_after == 1.0
    app = Shell(reader, seen_after=0.4)
    async with app.run_test(size=(70, 24)) as pilot:
        pane = app.pane
        pane.show(row_of())
        await settle(pilot)
        await pilot.pause(0.6)
        assert app.seen == []  # not focused
        app.push_screen(Over())
        await pilot.pause()
        pane.focus()
        await pilot.pause(0.6)
        assert app.seen == []  # another screen is on top
        app.pop_screen()
        pane.focus()
        await pilot.pause(0.15)
        assert app.seen == []  # not yet long enough
        await pilot.pause(0.5)
        assert app.seen == [(KEY, 120)]
        await pilot.pause(0.6)
        assert len(app.seen) == 1


async def test_output_is_not_seen_further_up(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of(), seen_after=0.3) as (app, pane, pilot):
        pane.transcript.move_to(0, top=True)
        await settle(pilot)
        await pilot.pause(0.5)
        assert app.seen == []
        pane.action_latest()
        await pilot.pause(0.6)
        assert app.seen == [(KEY, 120)]


async def test_copy_block_round_and_where(reader: Any, row_of: RowOf) -> None:
    reader.damage = (Damage(12, "not JSON"), Damage(40, "not JSON"), Damage(77, "a number"))
    async with shell(reader, row_of()) as (app, pane, pilot):
        pane.action_copy_block()
        pane.action_copy_round()
        pane.action_where_am_i()
        await pilot.pause()
        (block, what), (whole, name) = app.copied
        assert what == "block"
        assert block.startswith("## Where the lock goes wrong")
        assert name == "round 12"
        assert whole.startswith("> Question 11")
        assert "Round 12 of 12" in app.said[-1]
        # failures row 44: the header names the damaged lines
        assert "3 damaged lines: 12, 40, 77" in app.said[-1]
        assert any("! 3 damaged lines: 12, 40, 77" in line for line in screen_text(app))


async def test_mouse_places_the_cursor_and_opens(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of(), size=(70, 40)) as (_app, pane, pilot):
        lines = pane.transcript
        rows = [line_text(lines.lines.line_at(lines.scroll_offset.y + y)) for y in range(30)]
        y = next(number for number, text in enumerate(rows) if "▸ Ran" in text)
        await pilot.click(lines, offset=(6, y))
        assert here(pane)[0] == rows[y]
        await pilot.click(lines, offset=(6, y), times=2)
        await settle(pilot)
        assert here(pane)[0].startswith("  ▾ Ran")


async def test_selected_text_moves_with_its_lines(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of()) as (app, pane, pilot):
        lines = pane.transcript
        y = lines.scroll_offset.y
        await pilot.mouse_down(lines, offset=(4, 3))
        await pilot.hover(lines, offset=(30, 5))
        await pilot.mouse_up(lines, offset=(30, 5))
        before = app.screen.get_selected_text()
        assert before
        assert line_text(lines.lines.line_at(y + 4)).strip("│↳ ") in before
        pane.action_load_earlier()
        await settle(pilot)
        assert app.screen.get_selected_text() == before


async def test_no_blocking_call_in_the_event_loop(
    no_blocking: BlockBuster, reader: Any, row_of: RowOf
) -> None:
    async with shell(reader, row_of()) as (_app, pane, pilot):
        reader.delay = 0.01
        pane.show(row_of("two"))
        await settle(pilot)
        pane.action_load_earlier()
        pane.find("inode")
        await settle(pilot)
        pane.action_cycle_tools()
        await settle(pilot)
        assert pane.showing == SessionKey("store", "two")


@pytest.mark.parametrize("theme", ["night", "day", "textual-light", "nord", "solarized-light"])
async def test_contrast_of_all_text(
    theme: str, reader: Any, row_of: RowOf, round_of: RoundOf
) -> None:
    """failures row 141: at least 4.5 : 1 for every letter, in our themes and in others."""
    reader.of(KEY)[-1] = round_of(11, extra=(ImageBlock("image/png", 9, 116),))
    async with shell(reader, row_of(), size=(80, 40)) as (app, pane, pilot):
        app.theme = theme
        pane.action_cycle_tools()
        await settle(pilot)
        pane.find("inode")
        await settle(pilot)
        lines = pane.transcript
        checked = 0
        for y in range(lines.size.height):
            for segment in lines.render_line(y):
                if not any(char.isalnum() for char in segment.text):
                    continue
                style = segment.style
                assert style is not None
                assert style.color is not None
                assert style.bgcolor is not None
                front, back = map(Color.from_rich_color, (style.color, style.bgcolor))
                assert contrast(front, back) >= 4.5, (segment.text, front, back)
                checked += 1
        assert checked > 30


async def test_no_color_leaves_shape_only(
    reader: Any, row_of: RowOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 142: no colour at all; cursor and match are told by reversed text."""
    monkeypatch.setenv("NO_COLOR", "1")

    class Plain(Shell):
        def __init__(self, reader: Any) -> None:
            App.__init__(self, ansi_color=True)
            self.reader, self.options = reader, {}
            self.seen, self.said, self.copied = [], [], []

        def on_mount(self) -> None:
            self.theme = themes.NO_COLOR

    app = Plain(reader)
    async with app.run_test(size=(70, 24)) as pilot:
        app.pane.show(row_of())
        await settle(pilot)
        app.pane.focus()
        await pilot.pause()
        lines = app.pane.transcript
        strip = lines.render_line(lines.cursor - lines.scroll_offset.y)
        filtered = strip.apply_filter(app._filters[-1], Color(0, 0, 0))
        assert all(
            segment.style is None or segment.style.color is None or segment.style.color.is_default
            for segment in filtered
        )
        assert all(segment.style is not None and segment.style.reverse for segment in filtered)


async def test_ascii_screen(reader: Any, row_of: RowOf) -> None:
    themes.use_ascii(enabled=True)
    try:
        long = row_of(title="A title that is much longer than the pane is wide, so it is cut")
        async with shell(reader, long, size=(44, 20), ascii=True) as (app, _pane, _pilot):
            assert all(line.isascii() for line in screen_text(app))
            assert "~" in screen_text(app)[0]
    finally:
        themes.use_ascii(enabled=False)


async def test_hostile_text_never_reaches_the_screen_raw(
    reader: Any, row_of: RowOf, round_of: RoundOf
) -> None:
    """failures rows 43, 87, 88: strips hold no C0, no C1, no bidi override, no surrogate."""
    evil = "\x1b[2J\x1b]0;x\x07\x9b31m\u202eevil\ud83d [/] [@click=app.quit]x[/]"
    call = ToolBlock(
        name="b", verb="Ran", target=evil, status="ok", call_id="c", message=116, result=evil
    )
    reader.of(KEY)[-1] = round_of(11, text=evil, extra=(call, TextBlock(evil, 117, role="user")))
    async with shell(reader, row_of(title="t"), size=(90, 40)) as (app, pane, pilot):
        pane.action_cycle_tools()
        await settle(pilot)
        for line in screen_text(app):
            line.encode("utf-8")
            assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in line)
            assert "\u202e" not in line


async def test_a_read_that_fails_further_up_is_said(reader: Any, row_of: RowOf) -> None:
    async with shell(reader, row_of()) as (app, pane, pilot):
        reader.error = StorageFailed(OSError(5, "Input/output error"), "/store/one")
        pane.action_load_earlier()
        await settle(pilot)
        assert shown_numbers(pane) == [9, 10, 11]
        assert any("Input/output error" in text for text in app.said)
        reader.error = None
        pane.action_load_earlier()
        await settle(pilot)
        assert shown_numbers(pane)[0] == 6
