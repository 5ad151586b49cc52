"""Every key of the table, in every pane, and typing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from loop_tui.commands import COMMANDS, SCOPES, Command, Pane, commands_in
from loop_tui.keys import _LONG

CASES = [
    (pane, command)
    for pane in SCOPES
    for command in commands_in(pane)
    if command.keys and command.id not in ("quit",)
]


@pytest.mark.parametrize("pane", list(SCOPES))
async def test_every_key_runs_its_command_or_says_why(app: Any, drive: Any, pane: Pane) -> None:
    """Each key reaches exactly the command the table names, in every pane (keys.md rules 1, 5)."""
    async with drive(app) as d:
        ran: list[str] = []
        for name in list(d.screen.keyboard.handlers):
            d.screen.keyboard.handlers[name] = lambda _, name=name: ran.append(name)
        d.screen.pane = pane
        d.screen.set_focus(d.screen.places.target(pane))
        await d.pilot.pause()
        for command in commands_in(pane):
            for key in command.keys:
                if command.id == "quit":
                    continue
                ran.clear()
                d.screen.clear_toast()
                await d.pilot.press(_LONG.get(key, key))
                reason = command.enabled(d.screen.keyboard.context())
                if reason is None:
                    assert ran == [command.id], (key, command.id)
                else:
                    assert ran == [], (key, command.id)
                    assert d.toast == reason
    assert {c.id for _, c in CASES} >= {c.id for c in COMMANDS if c.keys and c.id != "quit"}


async def test_letters_typed_into_the_filter_are_text(app: Any, service: Any, drive: Any) -> None:
    """failures rows 128, 129: `dqxu` is text, and nothing happens to a session."""
    async with drive(app) as d:
        await d.press("slash", *"dqxujk")
        assert d.screen.sessions_pane.field.value == "dqxujk"
        assert d.app.screen is d.screen
        assert service.calls == []
        await d.press("escape", "escape")
        assert d.screen.browse.text == ""
        await d.press("j", "k")
        assert d.screen.sessions_pane.field.value == ""


async def test_modifiers_are_matched_exactly(app: Any, service: Any, drive: Any) -> None:
    """ctrl+d, alt+d, ctrl+w, Backspace never delete or quit (failures rows 98, 108, 130)."""
    async with drive(app) as d:
        for key in ("ctrl+d", "alt+d", "ctrl+shift+d", "backspace", "ctrl+w", "ctrl+x", "x"):
            await d.press(key)
            assert d.app.screen is d.screen, key
        assert d.app.is_running
        assert service.calls == []


async def test_esc_goes_back_one_layer_at_a_time_and_never_quits(app: Any, drive: Any) -> None:
    """Field, filter, marks, pane to the left (keys.md section 1)."""
    async with drive(app) as d:
        await d.press("space", "slash", "s", "escape")
        assert (d.screen.browse.text, len(d.screen.browse.marks)) == ("s", 1)
        await d.press("escape")
        assert (d.screen.browse.text, len(d.screen.browse.marks)) == ("", 1)
        await d.press("escape")
        assert d.screen.browse.marks == set()
        await d.press("escape")
        assert d.screen.pane == "projects"
        await d.press("escape", "escape")
        assert d.app.is_running


async def test_q_goes_back_and_quits_from_the_leftmost_pane(app: Any, drive: Any) -> None:
    """A held `q` does not run through: 300 ms after it closed something it is ignored."""
    async with drive(app) as d:
        await d.press("3", "q")
        assert d.screen.pane == "sessions"
        d.screen.keyboard._closed_at = time.monotonic() + 5.0
        await d.press("q")
        assert d.screen.pane == "sessions"
        d.screen.keyboard._closed_at = 0.0
        await d.press("q")
        assert d.screen.pane == "projects"
        d.screen.keyboard._closed_at = 0.0
        await d.press("q")
        assert d.app._exit is not False or not d.app.is_running


async def test_q_that_closed_a_dialog_does_not_quit(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("1", "question_mark")
        assert d.app.screen is not d.screen
        d.burst("q", "q")
        await d.pilot.pause()
        assert d.app.screen is d.screen
        assert d.app.is_running


async def test_ctrl_q_quits_from_anywhere(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("d", "ctrl+q")
        assert d.app._exit


async def test_panes_are_reached_by_number_tab_and_arrows(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        walked = []
        for key in ("1", "2", "3", "tab", "tab", "shift+tab", "l", "right", "h", "left", "left"):
            await d.press(key)
            walked.append(d.screen.pane)
        assert walked == [
            "projects",
            "sessions",
            "history",
            "projects",
            "sessions",
            "projects",
            "sessions",
            "history",
            "sessions",
            "projects",
            "projects",
        ]


async def test_a_remapped_key_is_followed_by_footer_and_help(make_app: Any, drive: Any) -> None:
    """failures row 131; a clash is reported and dropped."""
    app = make_app({"keymap": {"pin": "P", "read": "a"}})
    async with drive(app) as d:
        assert "read: a belongs to archive" in d.toast
        keys = {entry[0]: entry[1] for entry in d.screen.footer.entries}
        assert (keys["pin"], keys["read"]) == ("P", "u")
        await d.press("p")
        assert d.app.screen is d.screen
        await d.press("P")
        assert d.app.screen is not d.screen
        await d.press("P")
        await d.acted()
        assert d.app.service.calls[0][0] == "unpin"


async def test_help_opens_on_both_keys_and_closes(app: Any, drive: Any) -> None:
    async with drive(app, (120, 60)) as d:
        for key in ("question_mark", "f1"):
            await d.press(key)
            assert "Mark and go down" in d.text()
            await d.press("G", "g", "pagedown", "escape")
            assert d.app.screen is d.screen


async def test_the_palette_reaches_commands_projects_and_sessions(app: Any, drive: Any) -> None:
    """Everything by name (keys.md section 5): also what is not listed now."""
    async with drive(app) as d:
        await d.press("colon", *"s003", "enter")
        assert (d.screen.browse.view, d.cursor) == ("archived", "s003")
        await d.press("ctrl+p", *"team-notes", "enter")
        assert d.screen.browse.project == "craft:/ws/team-notes"
        await d.press("ctrl+p", *"view: unread", "enter")
        assert (d.screen.browse.view, d.screen.browse.project) == ("unread", None)
        await d.press("colon", *"reverse the", "enter")
        assert d.screen.browse.reverse
        await d.press("colon", "down", "up", "pagedown", "pageup", "escape")
        assert d.app.screen is d.screen


def test_cases_cover_the_table() -> None:
    assert all(isinstance(command, Command) for _, command in CASES)
