"""The screen: what shows where, empty stores, filter, counts, previews."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from loop_core.errors import StorageFailed
from loop_core.model import Problem
from loop_tui.app import LoopTui
from loop_tui.commands import keys_markdown


async def test_first_paint_comes_before_the_scan(service: Any, make_app: Any) -> None:
    """Rows appear in steps; keys work while the stores are read (failures rows 1, 5)."""
    gate = threading.Event()
    scan = service.scan

    def slow(on_step: Any = None) -> Any:
        on_step(service.publish(complete=False))
        gate.wait(10)
        return scan(on_step)

    service.scan = slow
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(100):
            await pilot.pause(0.02)
            if app.browser.browse.shown:
                break
        assert app.browser.scanning
        await pilot.press("j", "j")
        assert app.browser.browse.position == 2
        gate.set()
        for _ in range(100):
            await pilot.pause(0.02)
            if not app.browser.scanning:
                break
        assert app.browser.browse.position == 2


async def test_the_newest_row_and_the_sessions_pane_at_start(app: Any, drive: Any) -> None:
    """Every session of the store is in the list (failures rows 20, 139)."""
    async with drive(app) as d:
        assert d.screen.pane == "sessions"
        assert d.cursor == "s002"
        assert len(d.shown) == 10
        await d.press("G")
        assert d.cursor == "s011"


async def test_counts_agree_with_rows_in_every_view_and_project(app: Any, drive: Any) -> None:
    """failures row 125: header, views, projects and strip."""
    async with drive(app) as d:
        for _ in range(6):
            await d.press("f")
            view = d.screen.browse.view
            places = {p.view: p.number for p in d.screen.project_list.items if p.view}
            assert places[view] == len(d.shown) == d.screen.strip.counts[view]
        await d.press("1", "G")
        place = d.screen.project_list.items[d.screen.project_list.cursor]
        assert place.project is not None
        assert place.number == len(d.shown)
        assert d.screen.strip.counts["active"] == len(d.shown)
        assert d.screen.header.sessions == 10


async def test_the_left_pane_shows_what_its_cursor_is_on(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("1", "j")
        assert (d.screen.browse.view, d.shown) == ("unread", ["s001", "s004", "s009"])
        await d.press("j", "j", "j", "j", "j")
        assert d.screen.browse.project is not None
        assert d.screen.browse.view == "active"
        await d.press("k", "k", "k", "k", "k", "enter")
        assert d.screen.pane == "sessions"
        assert d.screen.browse.view == "unread"
        await d.press("1", "G")
        assert d.screen.browse.view == "unread"


async def test_an_empty_store_says_where_it_looked(app: Any, service: Any, drive: Any) -> None:
    """failures row 34: friendly, with how to point it elsewhere; every key is harmless."""
    service.rows.clear()
    service.reason = (
        "No sessions: /home/me/.loop cannot be read; /home/me/.craft is not a directory."
    )
    async with drive(app) as d:
        shown = d.text()
        for word in ("/home/me/.loop cannot be read", "is not a", "--agent-dir", "--demo"):
            assert word in shown
        for key in ("d", "p", "enter", "space", "U", "right_square_bracket", "i", "y"):
            await d.press(key)
        assert d.app.screen is d.screen


async def test_a_store_that_is_a_file_says_so(app: Any, service: Any, drive: Any) -> None:
    """An empty list gives its reason, also where that is a problem; the pane repeats it."""
    service.rows.clear()
    service.problems = tuple(
        Problem(store="loop", path=f"/srv/loop{n}", reason="Not a directory") for n in range(5)
    )
    async with drive(app) as d:
        shown = d.text()
        for words in ("/srv/loop0: Not a directory", "and 2 more problems", "F goes to", "--demo"):
            assert words in shown
        await d.press("F")
        await d.pilot.pause(0.2)
        shown = d.text()
        assert "not there any more" not in shown
        assert shown.count("/srv/loop0") >= 2  # the row's second line, and the pane
        assert shown.count("Not a directory") >= 5


async def test_problems_without_sessions_are_listed(app: Any, service: Any, drive: Any) -> None:
    """Their path and reason are shown, and an action says that there is no session."""
    service.problems = (
        Problem(store="loop", path="/locked/x", reason="permission denied", kind="unreadable"),
    )
    async with drive(app) as d:
        assert "2 problems" in d.text()
        await d.press("F")
        assert d.screen.browse.view == "problems"
        await d.press("G")
        assert "permission denied" in d.text()
        await d.press("d")
        assert "no session to act on" in d.toast
        await d.press("i")
        await d.pilot.pause(0.1)
        assert "/locked/x" in d.text()


async def test_a_store_that_cannot_be_opened(make_app: Any, service: Any) -> None:
    app = make_app()

    def refuse() -> Any:
        raise StorageFailed(PermissionError(13, "Permission denied"), "/home/me/.loop")

    app.opener = refuse
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause(0.3)
        assert app.browser.status.toast is not None
        assert "Permission denied" in app.browser.status.toast.text
        assert app.is_running


async def test_five_hundred_downs_load_one_preview(
    make_app: Any, service: Any, session: Any, reader: Any, drive: Any
) -> None:
    """failures row 132: held arrow; only the row it stops on is read."""
    for n in range(20, 600):
        row = session(n)
        service.rows[row.key] = row
    async with drive(make_app()) as d:
        await d.pilot.pause(0.3)
        reader.pages.clear()
        d.burst(*["down"] * 500)
        for _ in range(200):
            await d.pilot.pause(0.02)
            if d.screen.browse.position == 500 and reader.pages:
                break
        await d.pilot.pause(0.2)
        assert d.screen.browse.position == 500
        assert {key for key, _ in reader.pages} == {d.screen.browse.cursor}
        assert d.screen.history.showing == d.screen.browse.cursor


async def test_the_loop_is_never_blocked(
    app: Any, service: Any, drive: Any, no_blocking: Any
) -> None:
    """No file is touched from the event loop (failures row 5)."""
    async with drive(app) as d:
        await d.press("j", "u", "s", "slash", "s", "escape", "escape", "f", "F", "3", "2")
        await d.press("p", "p", "z", "i", "escape", "y", "R")
        await d.settle()
        assert ("read", ("s001",)) not in service.calls
        assert len(service.calls) >= 3


async def test_filter_line_and_escape(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("slash", "s", "0", "0", "3")
        assert d.shown == []
        assert "matches s003" in d.text()
        await d.press("backspace", "4", "enter")
        assert d.shown == ["s004"]
        assert "/ s004" in d.text() or "/  s004" in d.text()
        await d.press("escape")
        assert len(d.shown) == 10


async def test_keys_typed_ahead_of_enter_in_the_filter(app: Any, service: Any, drive: Any) -> None:
    """A command typed right behind the Enter is a command, not text."""
    async with drive(app) as d:
        await d.press("slash", *"s004")
        d.burst("enter", "u")
        await d.acted()
        assert d.screen.sessions_pane.field.value == "s004"
        assert service.calls == [("read", ("s004",))]


async def test_sort_is_kept_and_shown(app: Any, drive: Any) -> None:
    """Pinned on top in every order (failures row 124)."""
    async with drive(app) as d:
        for sort in ("created", "title", "size", "messages"):
            await d.press("s")
            assert app.settings_file.value.sort == sort
            assert d.shown[0] == "s002"
            assert sort in str(d.screen.sessions_pane.border_subtitle)
        await d.press("S")
        assert d.shown[0] == "s002"
        assert "reversed" in str(d.screen.sessions_pane.border_subtitle)


async def test_the_hint_of_the_first_start(service: Any, drive: Any, tmp_path: Any) -> None:
    from loop_tui.settings import SettingsFile

    for expected in (True, False):
        app = LoopTui(lambda: service, SettingsFile(str(tmp_path)), watch=False)
        async with drive(app) as d:
            assert ("shows every key" in d.toast) is expected
            await asyncio.sleep(0.05)


async def test_mouse_in_bars(app: Any, drive: Any) -> None:
    """A click on the strip picks a view, on the footer runs a command."""
    async with drive(app, (80, 24)) as d:
        await d.pilot.click("#strip", offset=(16, 0))
        assert d.screen.browse.view == "unread"
        await d.pilot.click("#strip", offset=(77, 0))
        assert d.screen.browse.view == "problems"
        await d.pilot.click("#footer", offset=(20, 0))
        assert len(d.screen.browse.marks) == 1
        await d.pilot.click("#project-list") if d.screen.projects_pane.display else None
        await d.press("1")
        await d.pilot.click("#project-list", offset=(5, 1))
        assert d.screen.browse.view == "unread"


@pytest.mark.parametrize("width", [12, 40, 80])
async def test_the_footer_always_has_the_help(app: Any, drive: Any, width: int) -> None:
    async with drive(app, (width, 24)) as d:
        for pane in ("2", "3"):
            await d.press(pane)
            assert "? help" in d.text().splitlines()[-1]


async def test_history_keys_reach_the_viewer(app: Any, drive: Any) -> None:
    """Find, hits and copying go through the viewer's own actions."""
    async with drive(app) as d:
        await d.press("n")
        assert "Nothing was searched" in d.toast
        await d.press("3")
        await d.pilot.pause(0.2)
        await d.press("slash", *"inode", "enter")
        await d.pilot.pause(0.3)
        assert d.screen.keyboard.context().finding
        await d.press("n", "N", "escape")
        assert not d.screen.keyboard.context().finding
        await d.press("Y")
        await d.pilot.pause(0.1)
        assert "Copied" in d.toast
        await d.press("i")
        assert "ound" in d.toast


def test_the_key_table_for_the_readme_names_remapped_keys() -> None:
    assert "| `P` | Pin or unpin |" in keys_markdown({"pin": "P"})
