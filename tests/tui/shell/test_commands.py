"""The one table: agreement of everything made from it."""

from __future__ import annotations

from typing import Any

import pytest
from textual.binding import Binding

from loop_core.model import SessionKey, SessionRow
from loop_tui import commands
from loop_tui.commands import BY_ID, COMMANDS, FOOTER, FOOTER_TRASH, SCOPES, Context
from loop_tui.keys import bindings_of
from loop_tui.screens.browser import BrowserScreen
from loop_tui.screens.listing import help_lines
from loop_tui.widgets.history_column import HistoryColumn
from loop_tui.widgets.projects import ProjectsPane
from loop_tui.widgets.sessions import SessionsPane


def test_no_two_commands_share_a_key_in_one_pane() -> None:
    """keys.md, rule 1."""
    assert commands.conflicts() == []
    assert len(BY_ID) == len(COMMANDS)


def test_destructive_commands_are_single_keys() -> None:
    """No chord, no Backspace, nothing an editor deletes with (failures rows 97, 98, 108)."""
    destructive = [c for c in COMMANDS if c.destructive]
    assert {c.id for c in destructive} == {"delete", "purge", "purge.all"}
    for command in destructive:
        for key in command.keys:
            assert "+" not in key
            assert key not in ("backspace", "x")
    bound = {key for c in COMMANDS for key in c.keys}
    assert not bound & {"backspace", "x", "ctrl+w", "ctrl+x", "ctrl+s", "ctrl+z", "ctrl+c"}


def test_every_action_is_reached_without_latin_letters() -> None:
    """Arrows, Enter, Delete, F-keys and the palette (keys.md section 5, layouts)."""
    assert {"down", "up", "enter", "delete", "f1", "f5", "ctrl+p"} <= {
        key for c in COMMANDS for key in c.keys
    }


def _bound(cls: Any) -> dict[str, str]:
    return {
        binding.id: binding.key
        for binding in cls.BINDINGS
        if isinstance(binding, Binding) and binding.id is not None
    }


def test_bindings_are_the_table() -> None:
    """Each command with keys is bound once, in the widget of its scope, by its id."""
    places = (BrowserScreen, SessionsPane, ProjectsPane, HistoryColumn)
    bound: dict[str, int] = {}
    for place in places:
        for name in _bound(place):
            bound[name] = bound.get(name, 0) + 1
    wanted = {c.id: 2 if c.scope == "list" else 1 for c in COMMANDS if c.keys and c.id != "quit"}
    assert bound == wanted
    assert "quit" not in {b.id for b in bindings_of("global") if isinstance(b, Binding)}


def test_footer_names_commands_that_work_in_its_pane() -> None:
    for pane, names in FOOTER.items():
        reachable = {c.id for c in commands.commands_in(pane)}
        assert set(names) <= reachable
    assert set(FOOTER_TRASH) <= {c.id for c in commands.commands_in("sessions")}


def _texts(context: Context) -> str:
    return "\n".join("".join(t for t, _ in line.left) for line in help_lines(context, {}))


def test_help_and_readme_hold_every_command_with_a_key() -> None:
    """The help, the palette's table and the README are made from the same rows."""
    shown = _texts(Context())
    table = commands.keys_markdown()
    for command in COMMANDS:
        if not command.keys:
            continue
        assert command.help in shown
        assert f"| {command.help} |" in table
        for key in command.keys:
            assert f"`{commands.key_label(key)}`" in table


def test_help_says_why_a_key_is_off() -> None:
    """keys.md section 1, ``?``."""
    assert "Trash view only (f goes to the next view)" in _texts(Context(view="active"))
    assert "--read-only" in _texts(Context(read_only=True, targets=(_row(),)))


def _row(**fields: Any) -> SessionRow:
    values: dict[str, Any] = {
        "key": SessionKey("s", "a"),
        "source": "loop",
        "form": "loop3",
        "id": "a",
        "path": "/a",
        "project": "p",
    }
    return SessionRow(**(values | fields))


@pytest.mark.parametrize(
    ("name", "context", "word"),
    [
        ("delete", Context(pane="projects", targets=(_row(),)), "sessions first"),
        ("pin", Context(), "No session"),
        ("pin", Context(targets=(_row(),), read_only=True), "--read-only"),
        ("purge", Context(targets=(_row(),)), "Trash view only"),
        ("delete", Context(view="trash", targets=(_row(trashed_ms=1),)), "trash already"),
        ("read", Context(view="trash", targets=(_row(trashed_ms=1),)), "in the trash"),
        ("labels", Context(targets=(_row(),)), "Craft Agents"),
        ("rename", Context(targets=(_row(), _row())), "One session at a time"),
        ("find.next", Context(pane="history"), "Nothing was searched"),
        ("archive", Context(targets=(_row(key=SessionKey("s", "problem:/x")),)), "no session"),
    ],
)
def test_reasons_are_sentences(name: str, context: Context, word: str) -> None:
    """keys.md, rule 5: a key that cannot act says why."""
    reason = BY_ID[name].enabled(context)
    assert reason is not None
    assert word in reason


def test_labels_follow_the_row() -> None:
    """The label flips with the row; mixed marks do it to all."""
    pinned, plain = _row(pinned_ms=1), _row()
    assert BY_ID["pin"].label_in(Context(targets=(pinned,))) == "unpin"
    assert BY_ID["pin"].label_in(Context(targets=(pinned, plain))) == "pin"
    assert BY_ID["archive"].label_in(Context(targets=(_row(archived=True),))) == "restore"
    assert BY_ID["archive"].label_in(Context(targets=(_row(trashed_ms=1),))) == "restore"
    assert BY_ID["read"].label_in(Context(targets=(_row(unread=True), plain))) == "read"
    assert BY_ID["read"].label_in(Context(targets=(plain,))) == "unread"


@pytest.mark.parametrize(
    ("keymap", "good", "fault"),
    [
        ({"pin": "P"}, {"pin": "P"}, ""),
        ({"pin": "P , ctrl+o"}, {"pin": "P,ctrl+o"}, ""),
        ({"pin": "a"}, {}, "a belongs to archive"),
        ({"pin": "a", "archive": "b"}, {"pin": "a", "archive": "b"}, ""),
        ({"nothing": "b"}, {}, "no such command"),
        ({"quit": "b"}, {}, "no such command"),
        ({"delete": "ctrl+k"}, {}, "no chord"),
        ({"delete": "backspace"}, {}, "no chord"),
        ({"pin": " "}, {}, "no key"),
        ({"pin": "b", "archive": "b"}, {"pin": "b"}, "b belongs to pin"),
    ],
)
def test_a_keymap_is_checked(keymap: dict[str, str], good: dict[str, str], fault: str) -> None:
    """A clash drops the entry and says so, instead of the other command vanishing."""
    used, faults = commands.check_keymap(keymap)
    assert used == good
    assert fault in "; ".join(faults)
    assert bool(faults) is bool(fault)
    assert commands.conflicts(COMMANDS, used) == []


def test_every_pane_reaches_help_and_the_way_out() -> None:
    for pane in SCOPES:
        reachable = {c.id for c in commands.commands_in(pane)}
        assert {"help", "palette", "back", "close", "quit"} <= reachable
