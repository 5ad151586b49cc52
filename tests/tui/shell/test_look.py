"""How the shell looks: snapshots at a size where only its own panes show."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("list", ["j", "j", "space"]),
        ("unread", ["f", "u"]),
        ("problems", ["F"]),
        ("places", ["1", "j"]),
        ("delete", ["d"]),
        ("ascii", ["j"]),
    ],
)
def test_look(
    make_app: Any, service: Any, session: Any, snap_compare: Any, name: str, keys: list[str]
) -> None:
    """One pane of 50 × 24: rows, marks, dimmed rows, problems, views, a dialog, ASCII."""
    titles = ("日本語の題名でも列がずれないこと", "fix [/] in the parser", None)
    for number, title in zip((4, 0, 8), titles, strict=True):
        row = session(number, title=title, unread=number == 4)
        service.rows[row.key] = row
    gone = session(7, folder_missing=True)
    service.rows[gone.key] = gone

    async def before(pilot: Any) -> None:
        for _ in range(200):
            await pilot.pause(0.02)
            if pilot.app.browser.browse.shown and not pilot.app.browser.scanning:
                break
        await pilot.press(*keys)
        await pilot.pause(0.3)

    app = make_app(ascii_only=name == "ascii")
    assert snap_compare(app, terminal_size=(50, 24), run_before=before)


async def test_another_theme_draws_everything_anew(make_app: Any, drive: Any) -> None:
    """Nothing keeps the colours of before: lists, bars, borders, the open history."""

    async def shown(theme: str, then: str) -> list[list[tuple[str, str]]]:
        async with drive(make_app(theme=theme)) as d:
            await d.press("j", "enter")
            await d.pilot.pause(0.3)
            d.app.theme = then
            await d.pilot.pause(0.3)
            strips = d.app.screen._compositor.render_strips(d.app.size)
            return [[(c, str(s.style)) for s in strip for c in s.text] for strip in strips]

    assert await shown("night", "day") == await shown("day", "day")
