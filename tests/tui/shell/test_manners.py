"""What a person notices first: the top of the list, reasons, early keys, words."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from loop_core.model import Detail, Project
from loop_tui.commands import COMMANDS, SCOPES, Context, commands_in, elsewhere
from loop_tui.screens.dialogs import ConfirmDialog
from loop_tui.screens.listing import DetailsScreen, help_lines
from loop_tui.screens.questions import question
from loop_tui.state.projects import project_lines
from loop_tui.state.tally import Tally
from loop_tui.text import cell_width, glyphs

NOW_MS = 1_900_000_000_000


class Steps:
    """A scan that finds the older half first and waits to be let on."""

    def __init__(self, service: Any) -> None:
        self.service = service
        self.gate = threading.Event()
        self.whole = service.scan
        service.scan = self.scan

    def scan(self, on_step: Any = None) -> Any:
        rows = dict(self.service.rows)
        self.service.rows = dict(list(rows.items())[7:])
        step = self.service.publish(complete=False)
        self.service.rows = rows
        on_step(step)
        self.gate.wait(10)
        return self.whole(on_step)


async def until(pilot: Any, true: Any) -> None:
    for _ in range(200):
        await pilot.pause(0.02)
        if true():
            return
    raise AssertionError("never came")


@pytest.mark.parametrize("touched", ["", "j", "click"])
async def test_the_top_of_the_list_at_start(service: Any, make_app: Any, touched: str) -> None:
    """Rows that a later step of the first scan puts on top are not scrolled out of sight,
    unless somebody has chosen a row by then."""
    steps = Steps(service)
    app = make_app()
    async with app.run_test(size=(120, 20)) as pilot:
        browse, listing = app.browser.browse, app.browser.session_list
        await until(pilot, lambda: browse.shown)
        first = browse.cursor
        if touched == "j":
            await pilot.press("j", "k")
        elif touched == "click":
            await pilot.click(listing, offset=(4, 0))
        steps.gate.set()
        await until(pilot, lambda: not app.browser.scanning)
        await pilot.pause()
        if touched:
            assert browse.cursor == first
        else:
            assert browse.position == 0
            assert listing.cursor == 0
            assert listing.scroll_offset.y == 0


async def test_a_key_of_another_pane_says_so(app: Any, drive: Any) -> None:
    """keys.md, rule 5: never silence."""
    async with drive(app) as d:
        await d.press("m")
        assert "earlier" in d.toast
        assert "in the history only (3" in d.toast
        await d.press("3", "space")
        assert "in the sessions only (2" in d.toast
        await d.press("1")
        for key in ("right_square_bracket", "asterisk", "i", "y"):
            d.screen.clear_toast()
            await d.press(key)
            assert "in the sessions only (2" in d.toast, key
        for key in ("x", "backspace", "ctrl+w"):
            d.screen.clear_toast()
            await d.press(key)
            assert d.toast == ""
        await d.press("slash", *"m ]")
        assert d.toast == ""
        assert d.screen.sessions_pane.field.value == "m ]"


@pytest.mark.parametrize("pane", list(SCOPES))
def test_every_key_acts_or_has_a_place(pane: Any) -> None:
    here = {key for command in commands_in(pane) for key in command.keys}
    for command in COMMANDS:
        for key in command.keys:
            assert (elsewhere(pane, key) is None) == (key in here), key


def test_the_place_follows_a_remapped_key() -> None:
    keymap = {"history.earlier": "M", "pane.history": "9"}
    assert elsewhere("sessions", "m", keymap) is None
    assert "(9 goes there)" in (elsewhere("sessions", "M", keymap) or "")


async def test_a_reason_goes_when_the_next_key_works(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("D")
        assert "Trash view" in d.toast
        await d.press("j")
        assert d.toast == ""


async def test_an_enter_typed_ahead_leaves_the_delete_dialog_open(
    app: Any, service: Any, drive: Any
) -> None:
    """failures row 95: a queued Enter does nothing at all, not even to the Cancel button."""
    async with drive(app) as d:
        d.burst("d", "enter")
        await d.pilot.pause(0.1)
        assert isinstance(d.app.screen, ConfirmDialog)
        await d.readable()
        await d.press("enter")
        await d.pilot.pause(0.1)
        assert d.app.screen is d.screen
        assert service.calls == []


def test_the_words_of_deleting_for_good(session: Any) -> None:
    """What is in the trash was put there by us: no warning about that change."""
    rows = [session(n, trashed_ms=NOW_MS - 5_000, changed_ms=NOW_MS - 5_000) for n in (1, 2)]
    one = question("purge", rows[:1], {}, now_ms=NOW_MS, glyphs=glyphs(False))
    two = question("purge", rows, {}, now_ms=NOW_MS, glyphs=glyphs(False))
    assert one.heading == "Delete session for good"
    assert two.heading == "Delete 2 sessions for good"
    assert one.warning == two.warning == ""


def test_labels_in_the_trash_and_in_the_projects(session: Any) -> None:
    by_id = {command.id: command for command in COMMANDS}
    assert by_id["archive"].label_in(Context(view="trash")) == "restore"
    row = session(1, source="loop")
    why = by_id["labels"].enabled(Context(pane="projects", targets=(row,)))
    assert why is not None
    assert "sessions first" in why


@pytest.mark.parametrize("width", [67, 35, 20])
def test_a_long_reason_of_the_help_goes_on_below(session: Any, width: int) -> None:
    context = Context(pane="sessions", targets=(session(1, source="loop"),))
    lines = ["".join(t for t, _ in line.left) for line in help_lines(context, {}, width=width)]
    words = " ".join(" ".join(lines).split())
    for command in commands_in("sessions"):
        reason = command.enabled(context)
        assert reason is None or reason in words
    if width == 67:
        assert max(map(cell_width, lines)) <= width


async def test_the_help_is_not_cut(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("question_mark")
        listing = d.app.screen.listing
        room = listing.size.width - 2
        cut = [line for line in listing.items if sum(cell_width(t) for t, _ in line.left) > room]
        assert cut == []


def test_the_trash_lists_only_projects_it_holds_something_of(session: Any) -> None:
    projects = [Project(key=k, source="loop", store="s", name=k) for k in "ab"]
    rows = [session(1, project="a"), session(2, project="b", trashed_ms=NOW_MS)]
    assert [line.key for line in project_lines(projects, Tally(rows), "active")] == ["a"]
    assert [line.key for line in project_lines(projects, Tally(rows), "trash")] == ["b"]


async def test_an_undo_of_many_leaves_a_cursor_that_is_on_one_of_them(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("f", "G")
        at = d.screen.browse.cursor
        await d.press("U")
        await d.acted()
        await d.press("z")
        await d.acted()
        assert d.screen.browse.cursor == at
        assert d.shown == ["s001", "s004", "s009"]
        await d.press("k", "u", "G")
        await d.acted()
        await d.press("z")
        await d.acted()
        assert d.screen.browse.cursor != at


@pytest.mark.parametrize("size", [(120, 30), (60, 20), (40, 12)])
async def test_details_show_a_long_path_whole(app: Any, size: tuple[int, int]) -> None:
    path = "/srv/" + "x-日報" * 60 + "/meta.json"
    async with app.run_test(size=size) as pilot:
        app.push_screen(DetailsScreen("Details", [Detail("Path", path)], ascii_only=False))
        await pilot.pause()
        listing = app.screen.listing
        lines = [line.left for line in listing.items]
        assert "".join(spans[1][0] for spans in lines if len(spans) > 1) == path
        assert (
            max(sum(cell_width(t) for t, _ in spans) for spans in lines) <= listing.size.width - 2
        )
