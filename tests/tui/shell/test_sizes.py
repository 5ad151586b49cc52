"""Every size, down to one cell; and how it looks (snapshots)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from textual.color import Color

from loop_tui.roles import contrast, roles_of

SIZES = [
    (1, 1),
    (2, 40),
    (20, 5),
    (40, 12),
    (50, 11),
    (59, 24),
    (60, 12),
    (79, 24),
    (99, 30),
    (100, 12),
    (200, 6),
    (300, 100),
]
KEYS = (
    *"jkgGhl123axpdnvfFsSimtTuU",
    *("down", "up", "pagedown", "pageup", "tab", "enter", "escape", "slash", "space"),
    *("asterisk", "question_mark", "colon", "left_square_bracket", "delete"),
)


async def test_random_keys_at_every_size(app: Any, drive: Any) -> None:
    """failures rows 90, 133: no exception, and the focused row is visible."""
    dice = random.Random(1)
    async with drive(app) as d:
        for size in SIZES:
            await d.pilot.resize_terminal(*size)
            await d.pilot.press(*(dice.choice(KEYS) for _ in range(8)))
            for _ in range(5):
                await d.pilot.press("escape")
            await d.press("2", "G")
            listing = d.screen.session_list
            if d.screen.browse.shown and size >= (20, 5):
                top, height = listing.scroll_offset.y, listing.scrollable_content_region.height
                assert top <= listing.cursor * 2 < top + height, size


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (80, 24)])
async def test_starting_at_a_size(app: Any, drive: Any, size: tuple[int, int]) -> None:
    async with drive(app, size) as d:
        await d.press("j", "3", "k", "1", "j", "2", "d", "escape")
        assert d.app.screen is d.screen


async def test_three_widths(app: Any, drive: Any) -> None:
    """keys.md section 4."""
    async with drive(app) as d:

        def panes() -> list[bool]:
            s = d.screen
            return [p.display for p in (s.projects_pane, s.sessions_pane, s.history_column)]

        assert panes() == [True, True, True]
        await d.pilot.resize_terminal(80, 24)
        await d.pilot.pause()
        assert panes() == [False, True, True]
        await d.press("1")
        assert panes() == [True, True, True]
        assert d.screen.projects_pane.has_class("-overlay")
        await d.press("escape")
        assert panes() == [False, True, True]
        await d.pilot.resize_terminal(50, 24)
        await d.pilot.pause()
        assert panes() == [False, True, False]
        await d.press("enter")
        assert panes() == [False, False, True]
        await d.press("h", "h")
        assert panes() == [True, False, False]


async def test_text_can_be_read_in_every_theme(app: Any, drive: Any) -> None:
    """failures row 141: contrast of at least 4.5 for all text, whatever the theme."""
    async with drive(app) as d:
        for theme in ("night", "day", "textual-light", "nord", "solarized-light"):
            d.app.theme = theme
            await d.pilot.pause()
            ground = Color.parse(d.app.theme_variables["background"])
            roles = roles_of(d.app)
            for role in ("text", "muted", "faint", "unread", "damaged", "running", "pinned"):
                style = roles.style(role)
                assert style.foreground is not None
                assert contrast(style.foreground, style.background or ground) >= 4.45, role


async def test_no_color_draws_no_colour(
    make_app: Any, drive: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 142: no SGR colour; the cursor is told by reverse and its bar."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with drive(make_app()) as d:
        assert d.app.theme.startswith("ansi") or "ansi" in d.app.theme
        assert "▌" in d.text()
        style = roles_of(d.app).style("text", "cursor")
        assert style.reverse


async def test_ascii_is_ascii(make_app: Any, drive: Any) -> None:
    """`--ascii`: borders, glyphs, scrollbars, dialogs."""
    async with drive(make_app(ascii_only=True)) as d:
        for keys in ((), ("d",), ("escape", "question_mark"), ("escape", "colon"), ("escape", "p")):
            await d.press(*keys)
            shown = d.text()
            bad = {c for c in shown if not c.isascii()}
            assert bad <= set("…·"), (keys, bad)
