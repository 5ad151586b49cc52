"""Loop's store as the browser uses it: what can be done, planned changes, details."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import (
    Conflict,
    InvalidArgument,
    ReadOnly,
    Refused,
    SessionNotFound,
    TraceLocked,
)
from loop_core.loop.paths import workspace_hash
from loop_core.loop.store import LoopStore
from loop_core.model import SessionKey, SessionRow
from loop_core.plans import Change, Edit, Intent


def header(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text().splitlines()[0])
    inner: dict[str, Any] = found.get("header", found)
    return inner


def do(store: LoopStore, row: SessionRow, what: str, value: str | None = None) -> Change:
    change = store.plan(row.key, Intent(do=what, value=value))  # type: ignore[arg-type]
    store.perform(change)
    return change


@pytest.mark.parametrize("form", ["v3", "v2"])
def test_values_change_alone_and_come_back(disk: Any, kit: Any, form: str) -> None:
    make = disk.v3 if form == "v3" else disk.v2
    path = make([kit.user("a"), kit.assistant("b")], unread=True, extra={"kept": 1.50})
    original = path.read_bytes()
    store, row = disk.only_row()
    done = [
        do(store, row, "pin"),
        do(store, row, "read"),
        do(store, row, "rename", " My \n title "),
    ]
    now = header(path)
    assert now["pinnedAt"].endswith("Z")
    assert now["unread"] is False
    assert now["title"] == {"text": "My title", "source": "user", "messageIndices": []}
    assert now["updatedAt"] == "2026-10-01T10:00:00.000Z"
    seen = store.look(row.key)
    assert seen is not None
    assert (seen.title, seen.unread, seen.pinned_ms is not None) == ("My title", False, True)
    for change in reversed(done):
        store.perform(change.inverse())
    assert path.read_bytes() == original


def test_what_is_already_so_needs_no_edit(disk: Any, kit: Any) -> None:
    disk.v3([kit.user("a")], pinnedAt="2026-10-02T00:00:00.000Z")
    store, row = disk.only_row()
    for what in ("pin", "read", "restore"):
        assert store.plan(row.key, Intent(do=what)).edits == ()
    assert do(store, row, "unpin").edits == (Edit("pinnedAt", '"2026-10-02T00:00:00.000Z"', None),)
    assert do(store, row, "unread").edits == (Edit("unread", "false", "true"),)
    assert store.plan(row.key, Intent(do="unread")).edits == ()


def test_an_absent_value_becomes_absent_again(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")])
    meta = json.loads(path.read_text())
    del meta["header"]["unread"]
    path.write_text(json.dumps(meta))
    before = path.read_bytes()
    store, row = disk.only_row()
    change = do(store, row, "unread")
    assert change.edits == (Edit("unread", None, "true"),)
    store.perform(change.inverse())
    assert path.read_bytes() == before


def test_impossible_intents_say_why(disk: Any, kit: Any) -> None:
    disk.v3([])
    store, row = disk.only_row()
    with pytest.raises(InvalidArgument):
        store.plan(row.key, Intent(do="unread"))
    with pytest.raises(InvalidArgument):
        store.plan(row.key, Intent(do="rename", value=" \x1b[31m "))
    with pytest.raises(Refused):
        store.plan(row.key, Intent(do="status", value="done"))
    with pytest.raises(SessionNotFound):
        store.plan(SessionKey(store.id, "none/such"), Intent(do="pin"))
    with pytest.raises(SessionNotFound):
        store.page(SessionKey(store.id, "../../etc/passwd"))
    assert store.capabilities(row).read == "it has no messages"


def test_another_programs_value_is_not_overwritten(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")])
    store, row = disk.only_row()
    change = store.plan(row.key, Intent(do="rename", value="Mine"))
    meta = json.loads(path.read_text())
    meta["header"]["title"] = {"text": "Theirs", "source": "model", "messageIndices": [0]}
    path.write_text(json.dumps(meta))
    with pytest.raises(Conflict):
        store.perform(change)
    assert header(path)["title"]["text"] == "Theirs"


def test_archive_and_restore_change_membership_only(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")])
    before = path.read_bytes()
    archive = path.parent.parent / "archive.json"
    other = disk.new_id()
    archive.write_text(json.dumps([other]) + "\n")
    store, row = disk.only_row()
    change = do(store, row, "archive")
    assert json.loads(archive.read_text()) == [other, row.id]
    assert (store.look(row.key) or row).archived
    store.perform(change)
    store.perform(change.inverse())
    assert json.loads(archive.read_text()) == [other]
    assert path.read_bytes() == before
    archive.write_text(json.dumps([other, row.id]))
    with pytest.raises(Conflict):
        store.perform(
            Change(
                key=row.key,
                id=row.id,
                path=row.path,
                edits=(Edit("archive.json", "true", None), Edit("archive.json", "true", "true")),
            )
        )


def test_read_only_writes_nothing(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")], unread=True)
    before = path.read_bytes()
    store = disk.store(read_only=True)
    (row,) = kit.scanned(store).rows
    change = store.plan(row.key, Intent(do="read"))
    with pytest.raises(ReadOnly):
        store.perform(change)
    with pytest.raises(ReadOnly):
        store.plan_trash(row.key)
    with pytest.raises(ReadOnly):
        store.recover()
    assert path.read_bytes() == before
    can = store.capabilities(row)
    assert None not in (can.pin, can.archive, can.read, can.rename, can.trash)
    assert can.resume is None


def test_resume_uses_the_sessions_own_folder(disk: Any, kit: Any) -> None:
    """failures row 73."""
    path = disk.v3([kit.user("a")], cwd=disk.cwd("it's a b"))
    store, row = disk.only_row()
    command, cwd = store.resume_command(row)
    assert command == ["loop", "--session", str(path)]
    assert cwd == str(disk.cwd("it's a b"))
    os.rmdir(cwd)
    row = store.look(row.key) or row
    with pytest.raises(Refused, match="folder is gone"):
        store.resume_command(row)


def test_the_trash_takes_the_backup_and_the_traces_too(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")])
    backup = disk.v2([kit.user("old")], id=path.parent.name)
    traces = disk.agent / "traces" / workspace_hash(disk.cwd()) / path.parent.name
    traces.mkdir(parents=True)
    store, row = disk.only_row()
    plan = store.plan_trash(row.key)
    assert [(move.source, move.kind) for move in plan.moves] == [
        (str(path.parent), "session"),
        (str(backup), "backup"),
        (str(traces), "traces"),
    ]
    assert plan.trash_dir == str(disk.agent / "loop-tui-trash")
    assert plan.collection == str(path.parent.parent)
    (traces / "writer.lock").write_text(str(os.getpid()))
    with pytest.raises(TraceLocked):
        store.plan_trash(row.key)
    row = kit.scanned(store).rows[0]
    os.utime(path)
    row = kit.scanned(store).rows[0]
    assert row.owner_live
    assert "in use" in (store.capabilities(row).trash or "")


def test_sessions_in_the_trash_are_rows_that_can_be_read(disk: Any, kit: Any) -> None:
    from loop_core import trash

    disk.v3([kit.user("in the bin"), kit.assistant("still here")])
    disk.v2([kit.user("old bin")])
    store = disk.store()
    for row in kit.scanned(store).rows:
        trash.move_in(store.plan_trash(row.key), store)
    rows = kit.scanned(store).rows
    assert sorted(row.title for row in rows) == ["in the bin", "old bin"]
    for row in rows:
        assert row.trashed_ms is not None
        assert row.key.ref.startswith("trash:")
        assert store.page(row.key).total in (1, 2)
        assert store.details(row.key)
        assert store.capabilities(row).pin == "it is in the trash"
        with pytest.raises(Refused):
            store.plan(row.key, Intent(do="pin"))


def test_details_tell_what_is_on_disk(disk: Any, kit: Any) -> None:
    old = kit.encoded([kit.user("old generation")])
    body = [kit.user("a"), b"not json", kit.assistant("b")]
    path = disk.v3(body, before=old, tail=b"half a line", compactions=[{}], index=None)
    store, row = disk.only_row()
    found = {detail.label: detail.value for detail in store.details(row.key)}
    assert found["Path"] == str(path)
    assert found["Unreachable bytes"] == str(len(old))
    assert found["Uncommitted bytes"] == "11"
    assert found["Bytes"] == str(len(kit.encoded(body)))
    assert (found["Rounds"], found["Messages"]) == ("1", "3")
    assert found["Compactions"] == "1"
    assert found["Damage"].startswith("line 2: not JSON")
    assert found["Traces"] == "none"


def test_a_store_is_an_agent_directory_or_a_collection(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")])
    collection = path.parent.parent
    assert LoopStore(disk.agent).id == f"loop:{disk.agent}"
    named = LoopStore(collection)
    assert named.id == f"loop-collection:{collection}"
    assert len(kit.scanned(named).rows) == 1
    assert named.trash_dirs() == (str(collection.parent / ".loop-tui-trash"),)
    roots = LoopStore(disk.agent).watch_roots()
    assert [root.path for root in roots if root.recursive] == [str(disk.agent / "sessions")]
    assert [root.exists for root in roots] == [True, False, False]


def test_sessions_directly_under_sessions_are_found(disk: Any, kit: Any) -> None:
    folder = disk.agent / "sessions"
    folder.mkdir(parents=True)
    disk.v3([kit.user("direct")], folder=folder)
    disk.v2([kit.user("file")], folder=folder)
    disk.v3([kit.user("usual")])
    store = disk.store()
    scan = kit.scanned(store)
    assert sorted(row.title for row in scan.rows) == ["direct", "file", "usual"]
    assert [p for p in scan.problems if p.kind == "unpublished"] == []
    for row in scan.rows:
        assert store.look(row.key) == row
