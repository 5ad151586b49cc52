"""The list that draws only what is visible, and the two lines of a session."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from loop_core.model import SessionKey, SessionRow
from loop_tui.text import cell_width, glyphs
from loop_tui.widgets.line_list import LineList, Span
from loop_tui.widgets.session_lines import RowLook, first_line, second_line

NOW = 1_790_000_000_000


class Numbers(LineList[int]):
    row_height = 2
    drawn: list[int]

    def spans(self, index: int, line: int, width: int) -> list[Span]:
        self.drawn.append(index)
        return [(f"{index}.{line}".ljust(width), "text")]

    def selectable(self, index: int) -> bool:
        return super().selectable(index) and self.items[index] >= 0


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.listing = Numbers(id="numbers")
        self.listing.drawn = []
        self.moved: list[int] = []
        self.chosen: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.listing

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        self.moved.append(event.index)

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        self.chosen.append(event.index)


async def test_a_hundred_thousand_rows_draw_what_is_visible() -> None:
    """failures row 17: `G` and 500 downs cost rows on screen, not rows in the list."""
    app = Host()
    async with app.run_test(size=(40, 20)) as pilot:
        listing = app.listing
        listing.set_rows(range(100_000), 0)
        await pilot.pause()
        assert len(set(listing.drawn)) <= 11
        listing.drawn.clear()
        listing.move_last()
        await pilot.pause()
        assert listing.cursor == 99_999
        assert len(set(listing.drawn)) <= 12
        listing.drawn.clear()
        listing.move_first()
        for _ in range(500):
            listing.move_by(1)
        await pilot.pause()
        assert listing.cursor == 500
        assert len(set(listing.drawn)) <= 30
        assert app.moved[-1] == 500


async def test_moving_and_revealing() -> None:
    app = Host()
    async with app.run_test(size=(40, 21)) as pilot:
        listing = app.listing
        listing.set_rows([-1, 1, 2, -3, 4, *range(5, 60), -1], 1)
        await pilot.pause()
        assert not listing.move_by(-1)
        assert listing.move_by(2)
        assert listing.cursor == 4
        assert listing.move_by(-1)
        assert listing.cursor == 2
        listing.move_pages(1)
        assert listing.cursor == 12
        listing.move_pages(-0.5)
        assert listing.cursor == 7
        listing.move_last()
        assert listing.cursor == 59
        top = listing.scroll_offset.y
        assert top <= listing.cursor * 2 < top + 21
        listing.move_first()
        assert listing.cursor == 1
        listing.set_rows([], -1)
        assert not listing.move_by(1)
        assert listing.cursor == -1


async def test_the_cursor_keeps_its_line_of_the_screen() -> None:
    """Rows inserted above shift nothing for the eye (failures rows 63, 138)."""
    app = Host()
    async with app.run_test(size=(40, 20)) as pilot:
        listing = app.listing
        listing.set_rows(range(100), 0)
        listing.move_to(30)
        await pilot.pause()
        line = listing.cursor * 2 - listing.scroll_offset.y
        listing.set_rows(range(110), 40)
        await pilot.pause()
        assert listing.cursor * 2 - listing.scroll_offset.y == line
        listing.set_rows(range(5), 2)
        assert listing.scroll_offset.y == 0


async def test_the_mouse_mirrors_the_keys() -> None:
    """A click moves, a click on the cursor opens, the wheel scrolls."""
    app = Host()
    async with app.run_test(size=(40, 20)) as pilot:
        app.listing.set_rows(range(100), 0)
        await pilot.pause()
        await pilot.click("#numbers", offset=(3, 7))
        assert app.listing.cursor == 3
        await pilot.pause(0.6)
        await pilot.click("#numbers", offset=(3, 7))
        assert app.chosen == [3]
        await pilot.double_click("#numbers", offset=(3, 11))
        await pilot.pause()
        assert 5 in app.chosen
        app.listing.set_rows([-1, 1], 1)
        await pilot.click("#numbers", offset=(3, 0))
        assert app.listing.cursor == 1
        await pilot.click("#numbers", offset=(3, 15))
        assert app.listing.cursor == 1


# --- the two lines


def row(**fields: Any) -> SessionRow:
    values: dict[str, Any] = {
        "key": SessionKey("loop", "a"),
        "source": "loop",
        "form": "loop3",
        "id": "a",
        "path": "/a",
        "project": "p",
        "title": "A title",
        "updated_ms": NOW - 120_000,
        "message_count": 12,
        "size": 4_000,
        "model": "opus-4.8",
    }
    return SessionRow(**(values | fields))


def texts(spans: list[Span]) -> str:
    return "".join(text for text, _ in spans)


NASTY = [
    "👨‍👩‍👧‍👦 family",
    "🇩🇪🇯🇵 flags",
    "日本語の題名でも列がずれないこと",
    "e\u0301\u0301 combining",
    "a" * 5_000,
    "👍🏽" * 30,
    "",
    "ends in a joiner \u200d",
]


@given(
    st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["C"]))),
    st.integers(8, 130),
    st.booleans(),
    st.sampled_from(["x", "日報アプリ", "infra/deploy"]),
)
def test_rows_are_exact_at_every_width(
    title: str, width: int, ascii_only: bool, project: str
) -> None:
    """failures rows 83, 84, 90: one row, exactly as wide as the pane, whatever the title."""
    table = glyphs(ascii_only)
    for fields in ({}, {"folder_missing": True}, {"problem": "broken", "message_count": None}):
        one = row(title=title, labels=("bug",), status="todo", **fields)
        for line in (
            first_line(one, RowLook(NOW), width, table),
            second_line(one, RowLook(NOW), width, table, project),
        ):
            assert cell_width(texts(line)) == width
            assert "\n" not in texts(line)


def test_narrow_rows_drop_messages_then_the_model() -> None:
    table = glyphs(False)

    def at(width: int) -> str:
        return texts(second_line(row(), RowLook(NOW), width, table, "loop-tui")).rstrip()

    assert "loop-tui · opus-4.8 · 12 msgs" in at(48)
    assert "loop-tui · opus-4.8 " in at(34)
    assert "msgs" not in at(34)
    assert "opus" not in at(22)
    assert "loop-tui" in at(22)


@pytest.mark.parametrize("ascii_only", [False, True])
def test_every_state_has_a_sign_of_its_own(ascii_only: bool) -> None:
    """Shapes tell states apart without colour (failures rows 142, 143)."""
    table = glyphs(ascii_only)
    look = RowLook(NOW)

    def head(one: SessionRow, look: RowLook = look) -> str:
        first = texts(first_line(one, look, 40, table))[:3]
        return first + texts(second_line(one, look, 40, table, "p"))[:5]

    states = {
        "plain": head(row()),
        "unread": head(row(unread=True)),
        "running": head(row(changed_ms=NOW)),
        "damaged": head(row(problem="x")),
        "pinned": head(row(pinned_ms=1)),
        "archived": head(row(archived=True)),
        "trashed": head(row(trashed_ms=1)),
        "missing": head(row(folder_missing=True)),
        "marked": head(row(), RowLook(NOW, marked=True)),
        "cursor": head(row(), RowLook(NOW, cursor=True, focused=True)),
    }
    assert len(set(states.values())) == len(states)
    if ascii_only:
        assert "".join(states.values()).isascii()


def test_what_a_row_says() -> None:
    table, look = glyphs(False), RowLook(NOW)
    assert "New session" in texts(first_line(row(title=None), look, 40, table))
    assert "empty" in texts(second_line(row(empty=True), look, 40, table, "p"))
    assert texts(first_line(row(changed_ms=NOW, updated_ms=NOW), look, 40, table)).endswith("now")
    problem = second_line(
        row(problem="no header", problem_line=3), RowLook(NOW, problems=True), 60, table, "p"
    )
    assert "line 3: no header" in texts(problem)
    roles = {role for _, role in first_line(row(), RowLook(NOW, dimmed=True), 40, table)}
    assert "faint" in roles
    assert ("A title", "bold") in first_line(row(unread=True), look, 40, table)
