"""Marks, bulk, undo, read marks, copying, resuming: through the screen."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from loop_core.errors import Refused, StorageFailed
from loop_core.outcome import Reverted
from loop_tui import clipboard
from loop_tui.screens import changes
from loop_tui.screens.resuming import run_program
from loop_tui.widgets.history import HistoryPane


async def test_u_toggles_without_opening(app: Any, service: Any, drive: Any) -> None:
    """failures row 117: the viewer does not get the focus, only that header changes."""
    async with drive(app) as d:
        await d.press("u")
        await d.acted()
        await d.press("u")
        await d.acted()
        assert service.calls == [("unread", ("s002",)), ("read", ("s002",))]
        assert d.screen.pane == "sessions"


async def test_bulk_read_and_all_shown(app: Any, service: Any, drive: Any) -> None:
    """failures row 118: all three marked ones; `U` is the visible set, one step."""
    async with drive(app) as d:
        await d.press("f", "asterisk", "u")
        await d.acted()
        assert service.calls == [("read", ("s001", "s004", "s009"))]
        assert d.screen.browse.marks == set()
        assert d.shown == ["s001", "s004", "s009"]
        await d.press("z")
        await d.acted()
        await d.press("slash", *"s004", "enter", "U")
        await d.acted()
        assert service.calls[-1] == ("read", ("s004",))
        await d.press("U")
        assert "Nothing unread" in d.toast


async def test_read_rows_stay_in_the_unread_view_until_it_is_left(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("f", "u")
        await d.acted()
        assert d.shown == ["s001", "s004", "s009"]
        assert d.screen.strip.counts["unread"] == 2
        await d.press("F", "f")
        assert d.shown == ["s004", "s009"]


async def test_mixed_marks_do_it_to_all(app: Any, service: Any, drive: Any) -> None:
    """If any is not yet archived, archive; else restore all (keys.md, Sessions)."""
    async with drive(app) as d:
        await d.press("space", "space", "a", "a")
        await d.acted()
        assert service.calls[-1] == ("archive", ("s002", "s000"))
        assert d.screen.browse.marks == set()
        await d.press("f", "f", "f", "asterisk", "a", "a")
        await d.acted()
        assert service.calls[-1][0] == "restore"
        assert len(service.calls[-1][1]) == 3


async def test_thirty_sessions_are_archived_with_one_question(
    make_app: Any, service: Any, session: Any, drive: Any
) -> None:
    """failures row 114: by marks, one dialog, one call, one undo step."""
    for n in range(20, 50):
        row = session(n, title=f"aged {n}")
        service.rows[row.key] = row
    async with drive(make_app()) as d:
        await d.press("slash", *"aged", "enter", "asterisk", "a")
        assert "30 sessions" in d.text()
        assert "and 25 more" in d.text()
        await d.press("a")
        await d.acted()
        assert [len(refs) for _, refs in service.calls] == [30]
        await d.press("escape", "z")
        await d.acted()
        assert not any(row.archived for row in service.rows.values() if "aged" in row.title)


async def test_failed_ones_keep_their_mark_and_say_why(
    app: Any, service: Any, drive: Any, os_error: StorageFailed
) -> None:
    """failures rows 99, 103: two go, one stays marked, with the reason."""
    service.fail["s001"] = os_error
    async with drive(app) as d:
        await d.press("space", "space", "space", "d")
        await d.readable()
        await d.press("y")
        await d.acted()
        assert {key.ref for key in d.screen.browse.marks} == {"s001"}
        assert "Operation not permitted" in d.toast
        assert "Session number 1" in d.toast
        assert "s001" in d.shown
        assert "s002" not in d.shown


async def test_two_undos_bring_two_deletes_back_into_sight(
    app: Any, service: Any, drive: Any
) -> None:
    """failures rows 104, 106: both come back, selected, whatever is filtered."""
    async with drive(app) as d:
        for _ in range(2):
            await d.press("d")
            await d.readable()
            await d.press("y")
            await d.acted()
        assert [refs for _, refs in service.calls] == [("s002",), ("s000",)]
        await d.press("slash", *"s009", "enter", "f")
        await d.press("z")
        await d.acted()
        assert d.cursor == "s000"
        await d.press("z")
        await d.acted()
        assert d.cursor == "s002"
        assert d.screen.browse.view == "active"
        await d.press("Z")
        await d.acted()
        assert "redo" in d.toast
        await d.press("z", "z", "z")
        await d.acted()
        assert "Nothing to undo" in d.toast


async def test_restore_in_the_trash_view(app: Any, service: Any, drive: Any) -> None:
    """`a` in the Trash view takes a session out of it."""
    async with drive(app) as d:
        await d.press("f", "f", "f", "f", "a", "a")
        await d.acted()
        assert service.calls == [("restore", ("s006",))]


async def test_read_only_changes_nothing(make_app: Any, service: Any, drive: Any) -> None:
    service.read_only = True
    async with drive(make_app()) as d:
        for key in ("p", "a", "d", "u", "U", "z", "Z", "c"):
            d.screen.clear_toast()
            await d.press(key)
            assert "--read-only" in d.toast
            assert d.app.screen is d.screen
        d.screen.triage.output_seen(d.screen.browse.shown[2].key)
        await d.pilot.pause()
        assert service.calls == []
        assert "read-only" in d.text()


async def test_looking_marks_read_by_loops_rule(
    app: Any, service: Any, session: Any, drive: Any
) -> None:
    """Only what was on screen in the history; not what was kept unread by hand, not Craft
    while its application runs, not with the setting off (failures row 54)."""
    live = session(11, unread=True, owner_live=True)
    service.rows[live.key] = live
    async with drive(app) as d:
        seen = d.screen.history.post_message
        for ref in ("s001", "s011", "s000"):
            key = next(k for k in service.rows if k.ref == ref)
            seen(HistoryPane.OutputSeen(key, 3))
        await d.acted()
        assert service.calls == [("read", ("s001",))]
        d.screen.places.reveal(session(1).key)
        await d.press("u")
        await d.acted()
        seen(HistoryPane.OutputSeen(session(1).key, 3))
        await d.pilot.pause(0.1)
        assert service.calls[-1] == ("unread", ("s001",))
        await d.press("enter")
        seen(HistoryPane.OutputSeen(session(1).key, 3))
        await d.acted()
        assert service.calls[-1] == ("read", ("s001",))
        d.screen.preferences.change(auto_read=False)
        seen(HistoryPane.OutputSeen(session(4).key, 3))
        await d.pilot.pause(0.1)
        assert service.calls[-1] == ("read", ("s001",))


async def test_a_change_the_owner_took_back_is_said(
    app: Any, service: Any, drive: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About a second after a write we look again (failures row 51)."""
    monkeypatch.setattr(changes, "LOOK_AFTER_S", 0.05)
    key = session(2).key
    service.reverted = [Reverted(key, "x", "t", "Craft Agents took the archive back")]
    async with drive(app) as d:
        await d.press("a", "a")
        await d.acted()
        await d.pilot.pause(0.2)
        assert d.toast == "Craft Agents took the archive back"


async def test_a_jump_within_the_list_moves_the_cursor_and_not_the_list(
    app: Any, drive: Any
) -> None:
    async with drive(app, size=(100, 16)) as d:
        assert d.screen.session_list.max_scroll_y > 0
        before = d.cursor
        await d.press("right_square_bracket")
        assert d.cursor != before
        assert d.screen.session_list.scroll_offset.y == 0


async def test_next_unread_skips_nothing_and_says_when_there_is_none(app: Any, drive: Any) -> None:
    """Twenty unread sessions take three keys each at most: `]` and `u`."""
    async with drive(app) as d:
        refs = []
        for _ in range(3):
            await d.press("right_square_bracket")
            refs.append(d.cursor)
            await d.press("u")
            await d.acted()
        assert refs == ["s001", "s004", "s009"]
        await d.press("right_square_bracket")
        assert "No other unread" in d.toast


async def test_range_marks(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("v", "j", "j")
        listing = d.screen.session_list
        assert [listing.ground(row) for row in range(4)] == ["marked", "marked", "cursor", ""]
        await d.pilot.pause(0.1)
        assert "3 in the range" in d.text()
        await d.press("v")
        assert len(d.screen.browse.marks) == 3
        assert "3 marked" in d.text()
        await d.press("v", "escape", "asterisk")
        assert len(d.screen.browse.marks) == len(d.shown)
        await d.press("ctrl+a")
        assert d.screen.browse.marks == set()


async def test_copying_goes_through_the_terminal_or_tmux(
    app: Any, drive: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 145: OSC 52, inside tmux its buffer; the toast says which."""
    async with drive(app) as d:
        await d.press("y")
        await d.pilot.pause(0.1)
        assert d.app.clipboard == "s002-id"
        assert "OSC 52" in d.toast
        loaded: list[str] = []
        monkeypatch.setenv("TMUX", "/tmp/x,1,0")
        monkeypatch.setattr(clipboard, "to_tmux", loaded.append)
        await d.press("Y")
        await d.pilot.pause(0.1)
        assert loaded == ["cd /tmp && loop --resume x"]
        assert "tmux" in d.toast


async def test_what_a_terminal_would_drop_goes_to_a_file(
    app: Any, drive: Any, private_home: Any
) -> None:
    """Above 70 kB a file is offered; it is private."""
    async with drive(app) as d:
        d.screen.history.post_message(HistoryPane.Copied("x" * 80_000, "block"))
        await d.pilot.pause(0.1)
        assert "Too long for the clipboard" in d.text()
        await d.press("enter")
        await d.pilot.pause(0.1)
        path = private_home / "loop-tui-copy.txt"
        assert path.read_text() == "x" * 80_000
        assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_a_terminal_acts_on_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """failures row 87: escape sequences from a conversation do not reach the clipboard."""
    taken: list[str] = []

    class Terminal:
        def copy_to_clipboard(self, text: str) -> None:
            taken.append(text)

    import asyncio

    asyncio.run(clipboard.copy(Terminal(), "a\x1b]0;x\x07b"))  # type: ignore[arg-type]
    assert taken == ["a␛]0;x␇b"]


@pytest.fixture
def agent_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of the agent's name that can be found."""
    program = tmp_path / "bin" / "loop"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


async def test_resume_without_the_agent_copies_its_command(
    app: Any, service: Any, drive: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is suspended for a program that is not there (failures row 146)."""
    monkeypatch.setenv("PATH", "/nowhere")
    async with drive(app) as d:
        service.resume = (["loop", "--session", "a b"], "/tmp/a b")
        await d.press("r")
        await d.settle()
        assert "not installed" in d.toast
        assert d.app.clipboard == "cd '/tmp/a b' && loop --session 'a b'"


def test_a_program_that_does_not_start_is_a_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(run_program(["loop-tui-no-such-program"], str(tmp_path)), OSError)
    assert run_program(["true"], str(tmp_path), "It will be migrated.\n") == 0
    assert capsys.readouterr().out == "It will be migrated.\n"  # before the program's own


@pytest.mark.usefixtures("agent_installed")
async def test_resume_says_why_it_cannot(app: Any, service: Any, drive: Any) -> None:
    """`r` runs the agent in the session's folder, or names the reason (failures row 146)."""
    async with drive(app) as d:
        service.resume = Refused("its folder is gone")
        await d.press("r")
        await d.settle()
        assert "its folder is gone" in d.toast
        service.resume = (["loop", "--resume", "a b'$(x)"], "/tmp/a b")
        await d.press("Y")
        await d.pilot.pause(0.1)
        assert d.app.clipboard == "cd '/tmp/a b' && loop --resume 'a b'\"'\"'$(x)'"
        await d.press("r")
        await d.settle()
        assert "cannot be handed" in d.toast


@pytest.mark.usefixtures("agent_installed")
async def test_resume_asks_while_the_session_runs(
    app: Any, service: Any, session: Any, drive: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = session(2, pinned_ms=5, changed_ms=1_790_000_000_000)
    service.rows[running.key] = running
    started: list[Any] = []

    def run(argv: Any, **_: Any) -> _Done:
        started.append(argv)
        return _Done()

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(App, "suspend", lambda self: _Nothing())
    async with drive(app) as d:
        await d.press("r")
        assert "running it now" in d.text()
        await d.press("escape")
        assert started == []
        await d.press("r")
        await d.readable()
        await d.press("y")
        await d.settle()
        assert started == [["loop", "--resume", "x"]]


class _Done:
    returncode = 0


class _Nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


async def test_details_and_empty_views(app: Any, service: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("i")
        await d.pilot.pause(0.1)
        assert "/somewhere" in d.text()
        await d.press("i")
        assert d.app.screen is d.screen
        await d.press("slash", *"s003", "enter")
        assert "1 in the archive" in d.text()
        await d.press("escape", "f", "U")
        await d.acted()
        await d.press("f", "f", "F", "F")
        assert "Everything is read" in d.text()


async def test_settings_from_the_palette(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("colon", *"a theme", "enter")
        assert "ours, light" in d.text()
        await d.press("j", "enter")
        assert d.app.theme == app.settings_file.value.theme != "night"
        await d.press("colon", *"helper", "enter")
        assert app.settings_file.value.show_hidden
        await d.press("colon", *"auto", "enter")
        assert not app.settings_file.value.auto_read
        await d.press("colon", *"empty", "enter")
        await d.readable()
        await d.press("y")
        await d.acted()
        assert d.app.service.calls == [("purge", ("s006",))]
