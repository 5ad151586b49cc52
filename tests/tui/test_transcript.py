"""Lines found by prefix sums, drawn and kept where the reader has them; roles and themes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.color import Color
from textual.geometry import Offset
from textual.selection import Selection
from textual.theme import BUILTIN_THEMES

import loop_tui
from loop_core.model import Round, TextBlock
from loop_tui import themes
from loop_tui.layout import LaidRound, Options, layout_round, line_text
from loop_tui.roles import ROLES, Roles, contrast, roles_of
from loop_tui.widgets.lines import Lines
from loop_tui.widgets.strips import draw, find_spans, selected
from loop_tui.widgets.transcript import Transcript

STYLES = Path(loop_tui.__file__).parent / "styles" / "history.tcss"


def laid(
    number: int, width: int = 60, *, lines: int = 5, options: Options | None = None
) -> LaidRound:
    text = "\n\n".join(
        f"paragraph {n} of round {number}, long enough to wrap" for n in range(lines)
    )
    block = TextBlock(text, number * 10)
    one = Round(
        index=number, start=number * 10, end=number * 10 + 10, time_ms=None, blocks=(block,)
    )
    return layout_round(one, width, Options())


class Shell(App[None]):
    CSS_PATH = [str(STYLES)]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        yield Transcript(id="lines")

    def on_mount(self) -> None:
        themes.register(self)
        self.theme = "night"

    @property
    def lines(self) -> Transcript:
        return self.query_one(Transcript)


def night() -> Roles:
    return Roles(themes.NIGHT.to_color_system().generate())


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_every_line_is_found(sizes: list[int]) -> None:
    rounds = [laid(number, lines=size) for number, size in enumerate(sizes)]
    lines = Lines(rounds)
    flat = [line for one in rounds for line in one.lines]
    assert lines.height == len(flat)
    assert [lines.line_at(n) for n in range(lines.height)] == flat
    assert lines.line_at(-1) == ()
    assert lines.line_at(lines.height) == ()
    for number in range(len(sizes)):
        start = lines.start_of(number)
        assert start is not None
        found = lines.round_at(start)
        assert found is not None
        assert found.number == number
    assert lines.start_of(99) is None


@given(st.integers(0, 200), st.integers(20, 100))
def test_a_place_is_found_again(line: int, width: int) -> None:
    old = Lines([laid(number) for number in range(6)])
    line = min(line, old.height - 1)
    place = old.place_of(line)
    assert place is not None
    assert old.line_of(place) == line
    later = Lines([laid(number) for number in range(-3, 9)])
    again = later.line_of(place)
    assert again is not None
    assert later.line_at(again) == old.line_at(line)
    other = Lines([laid(number, width) for number in range(6)])
    moved = other.line_of(place, exact=False)
    assert moved is not None
    found, before = other.round_at(moved), old.round_at(line)
    assert found is not None
    assert before is not None
    assert found.number == before.number
    assert Lines().place_of(0) is None
    assert Lines([laid(50)]).line_of(place) is None


async def test_changes_around_the_reader_move_nothing() -> None:
    """failures rows 134, 138: rounds join and leave at both ends; the line stays put."""
    app = Shell()
    async with app.run_test(size=(64, 20)) as pilot:
        lines = app.lines
        lines.show([laid(number) for number in range(10, 14)])
        start = lines.lines.start_of(12)
        assert start is not None
        lines.move_to(start + 3)
        before = line_text(lines.lines.line_at(lines.cursor)), lines.cursor - lines.scroll_offset.y
        for first, last in ((7, 14), (7, 20), (4, 14), (10, 14), (0, 60)):
            lines.show([laid(number) for number in range(first, last)])
            row = lines.cursor - lines.scroll_offset.y
            assert (line_text(lines.lines.line_at(lines.cursor)), row) == before
            await pilot.pause()
            assert lines.cursor - lines.scroll_offset.y == row
        lines.show([laid(number) for number in range(3)])
        assert lines.cursor == 0
        lines.show([laid(number) for number in range(3)], follow=True)
        assert lines.at_end
        lines.clear()
        assert lines.height == 0
        await pilot.pause()


async def test_the_cursor_stays_on_the_screen() -> None:
    app = Shell()
    async with app.run_test(size=(64, 20)) as pilot:
        lines = app.lines
        lines.show([laid(number) for number in range(10)])
        lines.focus()
        for step in (1, 5, 300, -2, -1000, 40):
            lines.move_by(step)
            y, room = lines.scroll_offset.y, lines.size.height
            assert y <= lines.cursor < y + room
        lines.scroll_to(y=30, animate=False, force=True)
        assert 30 <= lines.cursor < 30 + lines.size.height
        lines.page_by(1)
        assert lines.scroll_offset.y == 30 + lines.size.height
        lines.page_by(-0.5)
        assert lines.scroll_offset.y == 30 + lines.size.height - lines.size.height // 2
        await pilot.pause()


async def test_every_line_fills_the_width_and_the_cursor_shows() -> None:
    app = Shell()
    async with app.run_test(size=(64, 20)) as pilot:
        lines = app.lines
        lines.show([laid(number) for number in range(4)])
        lines.focus()
        lines.mark("ROUND 2")
        lines.move_to(lines.height // 2)
        await pilot.pause()
        roles = roles_of(app)
        cursor = roles.ground("cursor")
        for y in range(lines.size.height):
            strip = lines.render_line(y)
            assert strip.cell_length == lines.size.width
            grounds = {
                Color.from_rich_color(segment.style.bgcolor)
                for segment in strip
                if segment.style is not None and segment.style.bgcolor is not None
            }
            assert (cursor in grounds) == (y + lines.scroll_offset.y == lines.cursor)
        app.theme = "day"
        await pilot.pause()
        assert roles_of(app) is not roles
        assert lines.render_line(0)


def test_marks_split_a_line_at_its_characters() -> None:
    line = (("say ", "text"), ("Inode", "code"), (" and inode", "text"))
    spans = find_spans("say Inode and inode", "inode", "find")
    strip = draw(line, 30, night(), "", spans)
    assert strip.text == "say Inode and inode" + " " * 11
    assert [segment.text for segment in strip][:4] == ["say ", "Inode", " and ", "inode"]
    assert draw((("日本語", "text"),), 5, night()).cell_length == 5


def test_selected_text_has_no_gutters() -> None:
    rows = ((("│ ", "code.gutter@code"), ("code  ", "code.text@code")), (("plain", "text"),))
    everything = Selection(None, None)
    assert selected(everything, 2, rows.__getitem__) == "code\nplain"
    part = Selection(Offset(3, 0), Offset(2, 1))
    assert selected(part, 2, rows.__getitem__) == "ode\npl"
    assert selected(Selection(Offset(0, 5), Offset(1, 6)), 2, rows.__getitem__) is None


@pytest.mark.parametrize("name", ["night", "day", *BUILTIN_THEMES])
def test_every_role_reads_in_every_theme(name: str) -> None:
    """failures row 141: no theme brings text below 4.5 : 1, on any ground."""
    theme = {"night": themes.NIGHT, "day": themes.DAY, **BUILTIN_THEMES}[name]
    roles = Roles(theme.to_color_system().generate(), dark=theme.dark, ansi=theme.ansi)
    for role, words in ROLES.items():
        for ground in ("", "user", "code", "surface", "cursor", "marked", "find", "find.here"):
            style = roles.style(role, ground)
            assert style.foreground is not None
            assert style.background is not None
            if not theme.ansi and words != "line":
                assert contrast(style.foreground, style.background) >= 4.5, (role, ground)
    assert roles.style("nobody knows") == roles.style("text")
    assert roles.style("text bold").bold
    assert roles.style("code.name@code") == roles.style("code.name", "code")


def test_states_without_colour_differ_by_attributes() -> None:
    """failures row 142: with the terminal's own colours, shades are attributes."""
    theme = BUILTIN_THEMES[themes.NO_COLOR]
    roles = Roles(theme.to_color_system().generate(), ansi=True)
    assert roles.style("muted").dim
    assert not roles.style("text").dim
    assert roles.style("text", "cursor").reverse
    assert roles.style("text", "find").reverse
    assert roles.style("text", "find.here").underline


def test_ascii_scrollbar() -> None:
    bar = themes.AsciiScrollBar.render_bar(10, 100, 20, 80)
    drawn = "".join(segment.text for segment in bar.segments)
    assert drawn == "||||||||##"
    assert "".join(s.text for s in themes.AsciiScrollBar.render_bar(5, 5, 10).segments) == " " * 5


def test_use_ascii_is_taken_back() -> None:
    from textual.scrollbar import ScrollBar, ScrollBarRender

    themes.use_ascii(enabled=True)
    assert ScrollBar.renderer is themes.AsciiScrollBar
    themes.use_ascii(enabled=False)
    assert ScrollBar.renderer is ScrollBarRender
