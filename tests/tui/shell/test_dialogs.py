"""The questions: what they say, what confirms, what cannot."""

from __future__ import annotations

from typing import Any

import pytest

from loop_core.errors import Refused
from loop_core.store import Choices
from loop_tui.screens.dialogs import ArchiveDialog, ConfirmDialog, PinDialog
from loop_tui.screens.questions import question, warning_of
from loop_tui.text import glyphs

NOW = 1_790_000_000_000


def calls(service: Any) -> list[tuple[str, tuple[str, ...]]]:
    return list(service.calls)


CONFIRMS = (
    (("p", "p"), "unpin"),
    (("p", "y"), "unpin"),
    (("p", "enter"), "unpin"),
    (("a", "a"), "archive"),
    (("a", "y"), "archive"),
    (("a", "enter"), "archive"),
)
CANCELS = (
    ("p", "n"),
    ("p", "escape"),
    ("p", "a", "escape"),
    ("a", "n"),
    ("a", "p", "escape"),
    ("d", "n"),
    ("d", "escape"),
    ("d", "enter"),
    ("d", "d", "escape"),
    ("d", "delete", "escape"),
    ("d", "tab", "enter"),
)


async def test_what_confirms(app: Any, service: Any, drive: Any) -> None:
    """keys.md section 2: the letter again, `y`, Enter on the button."""
    async with drive(app) as d:
        for keys, action in CONFIRMS:
            service.calls.clear()
            await d.press(*keys)
            await d.acted()
            assert calls(service) == [(action, ("s002",))], keys
            assert d.app.screen is d.screen
            await d.press("z")
            await d.acted()
            assert d.cursor == "s002"


async def test_what_does_not(app: Any, service: Any, drive: Any) -> None:
    """`d` alone, Enter and every way out never change anything
    (failures rows 91, 94, 95, 97)."""
    async with drive(app) as d:
        for keys in CANCELS:
            await d.press(keys[0])
            if keys[0] == "d":
                await d.readable()
            await d.press(*keys[1:])
            assert calls(service) == [], keys
            assert d.app.screen is d.screen, keys


async def test_y_deletes_after_the_dialog_could_be_read(app: Any, service: Any, drive: Any) -> None:
    """failures rows 91, 92: `y`, and the toast names the key that takes it back."""
    async with drive(app) as d:
        await d.press("d")
        assert isinstance(d.app.screen, ConfirmDialog)
        assert d.app.focused is not None
        assert d.app.focused.id == "cancel"
        await d.readable()
        await d.press("y")
        await d.acted()
        assert calls(service) == [("trash", ("s002",))]
        assert "z undoes" in d.toast
        assert "s002" not in d.shown


async def test_keys_typed_ahead_reach_the_dialog(app: Any, service: Any, drive: Any) -> None:
    """`a a` and `p p` without a pause: the dialog is pushed in the action itself."""
    async with drive(app) as d:
        for keys in (("p", "p"), ("a", "a"), ("a", "y"), ("p", "enter")):
            service.calls.clear()
            d.burst(*keys)
            await d.acted()
            assert [refs for _, refs in calls(service)] == [("s002",)], keys
            assert d.app.screen is d.screen
            await d.press("z")
            await d.acted()


async def test_a_delete_typed_ahead_is_dropped(app: Any, service: Any, drive: Any) -> None:
    """Keys queued in the first 200 ms do not answer (keys.md section 2)."""
    async with drive(app) as d:
        d.burst("d", "y")
        await d.pilot.pause(0.1)
        assert calls(service) == []
        assert isinstance(d.app.screen, ConfirmDialog)
        await d.press("escape")


async def test_d_j_j_y_deletes_the_row_d_was_pressed_on(app: Any, service: Any, drive: Any) -> None:
    """failures row 93: keys behind the `d` move nothing and answer nothing by accident."""
    async with drive(app) as d:
        await d.press("j")
        target = d.cursor
        d.burst("d", "j", "j")
        await d.readable()
        await d.press("y")
        await d.acted()
        assert calls(service) == [("trash", (target,))]


async def test_a_row_inserted_above_does_not_change_the_target(
    make_app: Any, service: Any, session: Any, drive: Any
) -> None:
    """failures row 93: open on A, a newer B arrives above, confirm: A goes, B stays."""
    app = make_app(watch=True)
    async with drive(app) as d:
        await d.press("j")
        target = d.cursor
        await d.press("d")
        service.outside(session(90, updated_ms=NOW + 5, pinned_ms=NOW + 5))
        await d.pilot.pause(0.4)
        assert "s090" in {row.key.ref for row in d.screen.browse.shown}
        await d.press("y")
        await d.acted()
        assert calls(service) == [("trash", (target,))]
        assert "s090" in d.shown


async def test_dont_ask_again_is_kept_and_can_be_taken_back(
    app: Any, service: Any, drive: Any
) -> None:
    """Then the key acts at once and the toast names session and undo key."""
    async with drive(app) as d:
        await d.press("a", "space")
        assert "[x] don't ask again" in d.text()
        await d.press("a")
        await d.acted()
        assert not app.settings_file.value.ask_archive
        await d.press("a")
        await d.acted()
        assert [name for name, _ in calls(service)] == ["archive", "archive"]
        assert "z undoes" in d.toast
        await d.press("colon", *"archiving", "enter")
        assert app.settings_file.value.ask_archive
        await d.press("d", "space", "escape")
        assert "ask" not in str(d.app.screen)


async def test_purging_several_needs_the_word(
    app: Any, service: Any, session: Any, drive: Any
) -> None:
    """Delete for good: in the trash only, typed when more than one."""
    extra = session(20, trashed_ms=NOW)
    service.rows[extra.key] = extra
    async with drive(app) as d:
        await d.press("D")
        assert "Trash view only" in d.toast
        await d.press("f", "f", "f", "f")
        assert d.screen.browse.view == "trash"
        await d.press("asterisk", "D")
        await d.readable()
        await d.press(*"delet", "enter")
        assert calls(service) == []
        await d.press("e", "enter")
        await d.acted()
        assert calls(service) == [("purge", ("s020", "s006"))]
        assert "undoes" not in d.toast
        assert d.shown == []


async def test_purging_one_needs_y(app: Any, service: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("f", "f", "f", "f", "D")
        await d.readable()
        await d.press("enter")
        assert calls(service) == []
        await d.press("D")
        await d.readable()
        await d.press("y")
        await d.acted()
        assert calls(service) == [("purge", ("s006",))]


async def test_titles_are_never_markup(app: Any, service: Any, session: Any, drive: Any) -> None:
    """failures row 89: `fix [/] parser` in list, dialog, toast, palette and titles."""
    nasty = session(0, title="fix [/] [@click=app.quit]x[/] [foo", pinned_ms=NOW + 9)
    service.rows[nasty.key] = nasty
    async with drive(app, (160, 40)) as d:
        assert "fix [/] [@click" in d.text()
        for key in ("p", "a", "d", "c", "i", "colon"):
            await d.press(key)
            await d.pilot.pause(0.05)
            assert "fix [/]" in d.text()
            await d.press("escape")
        await d.press("u")
        await d.acted()
        assert "fix [/]" in d.toast


async def test_rename_is_a_text_field(app: Any, service: Any, drive: Any) -> None:
    async with drive(app) as d:
        await d.press("c", "escape")
        await d.press("c", "enter")
        assert calls(service) == []
        await d.press("c", *" dq", "enter")
        await d.acted()
        assert calls(service) == [("rename", ("s002",))]
        assert d.screen.browse.row.title == "Session number 2 dq"


async def test_status_and_labels_are_lists(
    app: Any, service: Any, session: Any, drive: Any
) -> None:
    other = session(7, labels=("bug", "idea"), status="odd")
    service.rows[other.key] = other
    service.choices = lambda key: Choices((("todo", "Todo"), ("shipped", "Shipped")), ())
    async with drive(app) as d:
        await d.press("L")
        assert "Craft Agents'" in d.toast
        d.screen.places.reveal(session(7).key)
        await d.press("L", "enter", "k", "enter")
        await d.acted()
        assert calls(service)[-1] == ("status", ("s007",))
        assert d.screen.browse.row.status == "shipped"
        await d.press("L", "j", "enter", "space", "enter")
        await d.acted()
        assert d.screen.browse.row.labels == ("idea",)


async def test_do_it_anyway_is_offered_where_it_is_possible(
    app: Any, service: Any, drive: Any
) -> None:
    """The owner stands in the way: said, and asked once more with the focus on Cancel."""
    service.fail["s002"] = Refused("Craft Agents is running")
    service.forced = frozenset(("archive",))
    async with drive(app) as d:
        await d.press("a", "a")
        await d.acted()
        assert "Craft Agents is running" in d.toast
        await d.readable()
        assert isinstance(d.app.screen, ConfirmDialog)
        await d.press("y")
        await d.pilot.pause(0.2)
        assert [name for name, _ in calls(service)] == ["archive", "archive"]
        assert "s002" not in d.shown


def test_words(session: Any) -> None:
    """A dialog names sessions, says what changes, and warns (keys.md section 2)."""
    names = {session(0).project: "loop-tui"}
    table: dict[str, Any] = {"names": names, "now_ms": NOW, "glyphs": glyphs(False)}
    one = question("trash", [session(0)], **table)
    assert one.subject == ("Session number 0",)
    assert one.facts == "loop-tui · 10 messages · 3.9 KB · 2m ago"
    assert "trash" in one.consequence
    assert "z undoes" in one.consequence
    assert one.danger
    many = question("purge", [session(n) for n in range(9)], **table)
    assert many.subject[-1] == "… and 4 more"
    assert len(many.subject) == 6
    assert many.typed == "delete"
    assert "undoes" not in many.consequence
    for action in ("pin", "unpin", "archive", "restore", "put back"):
        asked = question(action, [session(0), session(3)], **table)
        assert not asked.danger
        assert "2 sessions" in asked.heading


def test_words_for_what_a_crash_left(session: Any) -> None:
    """A lone temporary of Craft-Agents was never in the archive, and its rescue has no inverse."""
    table: dict[str, Any] = {"names": {}, "now_ms": NOW, "glyphs": glyphs(False)}
    lone = session(3, path="/store/s003/session.jsonl.tmp")
    one = question("restore", [lone], **table).consequence
    assert "archive" not in one
    assert "session.jsonl" in one
    assert "undoes" not in one
    mixed = question("restore", [lone, session(7, archived=True)], **table).consequence
    assert "1 from what a crash left, the others from the archive" in mixed
    assert "z undoes" in mixed
    plain = question("restore", [session(7, archived=True)], **table).consequence
    assert plain == "Brings it back from the archive. z undoes."


def test_warnings(session: Any) -> None:
    running = session(1, changed_ms=NOW - 1_000)
    recent = session(1, changed_ms=NOW - 30_000)
    live = session(3, owner_live=True)
    assert warning_of([running], NOW) == "Loop is running it now."
    assert "less than a minute" in warning_of([recent], NOW)
    assert "Craft Agents is running" in warning_of([live], NOW)
    assert warning_of([session(2), running], NOW) == "1 of them is running now."
    assert warning_of([session(2)], NOW) == ""


async def test_the_right_dialog_for_each_key(app: Any, drive: Any) -> None:
    async with drive(app) as d:
        for key, kind in (("p", PinDialog), ("a", ArchiveDialog), ("d", ConfirmDialog)):
            await d.press(key)
            assert type(d.app.screen) is kind
            await d.pilot.pause(0.1)
            assert "12 rounds" in d.text()
            await d.press("escape")


@pytest.mark.parametrize(("size", "all_of_it"), [((40, 12), True), ((30, 7), False)])
async def test_a_short_screen_still_says_which_keys_answer(
    app: Any, drive: Any, size: tuple[int, int], all_of_it: bool
) -> None:
    async with drive(app, size) as d:
        for key, does, button in (("a", "archives", "Archive"), ("d", "deletes", "Delete")):
            await d.press(key)
            await d.pilot.pause(0.1)
            shown = d.text()
            assert f"y {does} · Esc cancels" in shown
            assert ("Cancel " in shown and f" {button}  " in shown) is all_of_it
            await d.press("escape")
        assert d.app.screen is d.screen
