"""Craft-Agents sessions through the browser's actions: bulk, undo, trash, reverted changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loop_core.actions import Actions
from loop_core.craft.store import CraftStore
from loop_core.journal import Journal
from loop_core.jsonvalue import dumps, loads
from loop_core.library import Library
from loop_core.model import SessionKey
from loop_core.plans import Intent

USER = {"id": "u1", "content": "Where is the pump?", "type": "user"}
ANSWER = {"id": "a1", "content": "In the shed.", "type": "assistant"}
NAMES = ("261201-calm-pond", "261202-calm-pond", "261203-calm-pond")
DATA = Path(__file__).parents[1] / "data" / "craft"
Make = Callable[..., Path]


class Desk(NamedTuple):
    store: CraftStore
    library: Library
    actions: Actions
    files: list[Path]

    @property
    def keys(self) -> list[SessionKey]:
        return [SessionKey(self.store.id, str(file.parent)) for file in self.files]


@pytest.fixture
def desk(app: Any, make_session: Make, tmp_path: Path) -> Desk:
    files = [make_session(name, USER, ANSWER, name=name, hasUnread=True) for name in NAMES]
    store = app.store()
    library = Library([store])
    library.scan()
    return Desk(store, library, Actions(library, Journal(tmp_path / "journal.jsonl")), files)


def header_of(file: Path) -> dict[str, Any]:
    value = loads(file.read_bytes().partition(b"\n")[0])
    assert isinstance(value, dict)
    return value


def test_bulk_archive_is_one_step_of_undo(desk: Desk) -> None:
    before = [header_of(file) for file in desk.files]
    assert desk.actions.perform(desk.keys, Intent(do="archive")).ok
    assert [header_of(file)["isArchived"] for file in desk.files] == [True] * 3
    assert desk.actions.undo().ok
    assert [header_of(file) for file in desk.files] == before
    assert desk.actions.redo().ok
    assert all("archivedAt" in header_of(file) for file in desk.files)


def test_trash_and_back_with_everything_in_the_folder(desk: Desk) -> None:
    file = desk.files[0]
    (file.parent / "attachments").mkdir()
    (file.parent / "attachments" / "plan.pdf").write_bytes(b"%PDF")
    data = file.read_bytes()
    outcome = desk.actions.trash(desk.keys[:1])
    assert outcome.ok
    assert not file.parent.exists()
    rows = desk.library.scan().rows
    trashed = [row for row in rows if row.trashed_ms is not None]
    assert [row.title for row in trashed] == [NAMES[0]]
    assert desk.store.page(trashed[0].key).total == 2
    assert desk.actions.restore([trashed[0].key]).ok
    assert file.read_bytes() == data
    assert (file.parent / "attachments" / "plan.pdf").read_bytes() == b"%PDF"


def test_the_running_application_is_respected_one_by_one(desk: Desk, app: Any) -> None:
    app.run()
    outcome = desk.actions.perform(desk.keys, Intent(do="archive"))
    assert len(outcome.failed) == 3
    assert all("undo" in one.reason for one in outcome.failed)
    assert desk.actions.perform(desk.keys, Intent(do="pin")).ok
    assert len(desk.actions.trash(desk.keys).failed) == 3
    forced = desk.actions.perform(desk.keys[:1], Intent(do="archive"), force=True)
    assert forced.ok
    assert header_of(desk.files[0])["isArchived"] is True
    assert forced.at_risk == tuple(desk.keys[:1])
    assert forced.text.endswith("; forced, the running application will likely undo it")


def test_only_what_had_to_be_forced_is_at_risk(desk: Desk, app: Any) -> None:
    """With nothing running, or for what the application keeps, "anyway" changes nothing."""
    quiet = desk.actions.perform(desk.keys[:1], Intent(do="read"), force=True)
    assert quiet.at_risk == ()
    assert "forced" not in quiet.text
    app.run()
    assert desk.actions.perform(desk.keys, Intent(do="pin"), force=True).at_risk == ()
    both = desk.actions.perform(desk.keys, Intent(do="read"), force=True)
    assert len(both.at_risk) == 2
    assert "2 sessions: forced" in both.text


def test_what_a_crash_left_comes_back_and_stays(desk: Desk) -> None:
    """Giving the file its name again has no inverse, so no undo is offered for it."""
    file = desk.files[0]
    lone = file.rename(file.with_name("session.jsonl.tmp"))
    os.utime(lone, (1_700_000_000, 1_700_000_000))
    desk.library.scan()
    outcome = desk.actions.perform(desk.keys[:1], Intent(do="restore"))
    assert outcome.ok
    assert not outcome.undoable
    assert file.exists()
    assert desk.actions.peek_undo() is None
    lone = desk.files[1].rename(desk.files[1].with_name("session.jsonl.tmp"))
    os.utime(lone, (1_700_000_000, 1_700_000_000))
    assert desk.actions.perform(desk.keys[2:], Intent(do="archive")).ok
    assert desk.actions.perform(desk.keys[1:], Intent(do="restore")).undoable


def test_a_revert_is_told_once(desk: Desk, app: Any) -> None:
    """failures row 51: a fake writer takes the archive back; the look after the write says so."""
    app.run()
    assert desk.actions.perform(desk.keys, Intent(do="archive", force=True)).ok
    file = desk.files[1]
    head, _, rest = file.read_bytes().partition(b"\n")
    header = loads(head)
    del header["isArchived"], header["archivedAt"]
    file.write_bytes(dumps(header) + b"\n" + rest)
    told = desk.actions.look(desk.keys)
    assert [one.key for one in told] == [desk.keys[1]]
    assert desk.actions.look(desk.keys) == []


KEPT = {"flag": "pin", "rename": "rename", "after-status-set": "pin"}
UNDONE = {"archive": "archive", "unarchive": "restore", "read-with-status": "read"}


def test_what_is_offered_is_what_the_application_keeps(desk: Desk, app: Any) -> None:
    """Every recorded case of `app-running.json` that one of our keys can cause."""
    cases = json.loads((DATA / "app-running.json").read_text())["results"]
    app.run()
    row = desk.store.look(desk.keys[0])
    assert row is not None
    able = desk.store.capabilities(row)
    field = {"restore": "archive"}
    for case in cases:
        if case["id"] in KEPT:
            assert getattr(able, KEPT[case["id"]]) is None, case["steps"]
        elif case["id"] in UNDONE:
            do = UNDONE[case["id"]]
            assert getattr(able, field.get(do, do)), case["steps"]
        elif case["id"] == "deleted":
            assert able.trash, case["steps"]
    assert KEPT.keys() | UNDONE.keys() <= {case["id"] for case in cases}
