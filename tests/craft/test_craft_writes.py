"""Writes by the recipe: what changes, what never does, and what is refused when."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core import fsio
from loop_core.craft import writes
from loop_core.craft.store import CraftStore
from loop_core.errors import (
    Conflict,
    InvalidArgument,
    ReadOnly,
    Refused,
    SessionNotFound,
)
from loop_core.jsonvalue import dumps, loads
from loop_core.model import SessionKey
from loop_core.plans import Change, Edit, Intent

DATA = Path(__file__).parents[1] / "data" / "craft"
WRITES: dict[str, Any] = json.loads((DATA / "writes.json").read_text("utf-8"))["sessions"]
INTENTS = {
    "flag": Intent(do="pin"),
    "unflag": Intent(do="unpin"),
    "archive": Intent(do="archive"),
    "unarchive": Intent(do="restore"),
    "markRead": Intent(do="read"),
    "markUnread": Intent(do="unread"),
    "setLabels": Intent(do="labels", value=("bug", "priority::1")),
    "setStatus": Intent(do="status", value="done"),
    "rename": Intent(do="rename", value="New name"),
}
#: Where the recipe departs from the application (craft-format section 14, step 4): these keys
#: it computes anew, cleans or drops at every write, and ours leaves alone.
COMPUTED = {"lastUsedAt", "preview", "permissionMode", "sdkCwd"}
DROPPED = {
    "todoState",
    "previousPermissionMode",
    "parentSessionId",
    "siblingOrder",
    "projectId",
    "kanbanColumn",
    "taskDraft",
    "xOurOwnKey",
}
USER = {"id": "u1", "content": "Where is the pump?", "type": "user"}
ANSWER = {"id": "a1", "content": "In the shed.", "type": "assistant"}
QUEUED = {"id": "u2", "content": "wait", "isQueued": True, "type": "user"}
Make = Callable[..., Path]


def key_of(store: CraftStore, file: Path) -> SessionKey:
    return SessionKey(store.id, str(file.parent))


def act(store: CraftStore, file: Path, intent: Intent) -> Change:
    change = store.plan(key_of(store, file), intent)
    store.perform(change)
    return change


def header_of(file: Path) -> dict[str, Any]:
    value = loads(file.read_bytes().split(b"\n", 1)[0])
    assert isinstance(value, dict)
    return value


#: Undoing these would bring the header over the limit, or take the only name away.
NO_WAY_BACK = {("261110-clear-moor", "rename"), ("my_custom-id_1", "rename")}


@pytest.mark.parametrize("operation", INTENTS)
def test_the_keys_the_application_changes(tree: Any, as_verdict: Any, operation: str) -> None:
    """Issue 4, "Shows it" 2."""
    store = CraftStore(tree.config)
    root = str(tree.root)
    refused: list[str] = []
    for session, operations in WRITES.items():
        expected = operations[operation]
        file = tree.workspace("demo") / "sessions" / session / "session.jsonl"
        before, raw = header_of(file), file.read_bytes()
        try:
            change = act(store, file, INTENTS[operation])
        except Refused:
            refused.append(session)
            assert file.read_bytes() == raw
            continue
        after = header_of(file)
        added = {k: v for k, v in after.items() if k not in before}
        removed = [k for k in before if k not in after]
        changed = {k for k in before if k in after and before[k] != after[k]}
        wanted = {k: v for k, v in expected["added"].items() if k not in COMPUTED}
        assert {k: "now" if k == "archivedAt" else v for k, v in added.items()} == wanted
        assert removed == [k for k in expected["removed"] if k not in DROPPED]
        assert changed == expected["changed"].keys() - COMPUTED
        for name in changed - {"archivedAt"}:
            assert as_verdict(after[name], root) == expected["changed"][name]["to"]
        assert file.read_bytes().split(b"\n", 1)[1] == raw.split(b"\n", 1)[1]
        if (session, operation) in NO_WAY_BACK:
            with pytest.raises(Refused):
                store.perform(change.inverse())
            continue
        store.perform(change.inverse())
        assert header_of(file) == before
        assert file.read_bytes().split(b"\n", 1)[1] == raw.split(b"\n", 1)[1]
    # The one session whose header is at the limit: the application would lose it from its list.
    longer = operation in ("flag", "unflag", "archive", "unarchive", "markRead", "markUnread")
    longer = longer or operation in ("setLabels", "setStatus")
    assert refused == (["261110-pearl-bobcat"] if longer else [])


def test_only_the_values_bytes_change(app: Any, make_session: Make) -> None:
    """Order, spaces, odd numbers, duplicates and unknown keys of the header stay as they are."""
    head = b'\xef\xbb\xbf{ "id":"a", "n":1.0e2,"x":{"isFlagged":1},"isFlagged" : false ,"n":2 }'
    rest = b"\r\n\n  \n" + dumps(USER) + b"\n{cut\n\xff\xfe\n" + dumps(ANSWER)
    file = make_session("261201-calm-pond", raw=head + rest)
    file.chmod(0o640)
    act(app.store(), file, Intent(do="pin"))
    wanted = head.replace(b"false", b"true") + rest
    assert file.read_bytes() == wanted
    assert file.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in file.parent.iterdir()] == ["session.jsonl"]


def test_a_large_file_is_streamed(app: Any, make_session: Make) -> None:
    line = dumps({"type": "tool", "toolResult": "x" * 100_000})
    body = b"\n".join([dumps(USER), *[line] * 40])
    file = make_session("261201-calm-pond", raw=b'{"id":"a"}\n' + body)
    act(app.store(), file, Intent(do="rename", value="Grüße \ud83d"))
    raw = file.read_bytes()
    assert raw.split(b"\n", 1)[0] == '{"id":"a","name":"Grüße \\ud83d"}'.encode()
    assert raw.split(b"\n", 1)[1] == body


def test_archive_writes_when(app: Any, make_session: Make) -> None:
    """failures row 115: a retention job counts from now, not from the last use; row 112: unread
    survives the archive and comes back with it."""
    file = make_session("261201-calm-pond", USER, hasUnread=True, lastUsedAt=5)
    store = app.store()
    act(store, file, Intent(do="archive"))
    header = header_of(file)
    assert header["archivedAt"] > 1_700_000_000_000
    assert header["lastUsedAt"] == 5
    row = store.look(key_of(store, file))
    assert row is not None
    assert row.archived
    assert row.unread
    act(store, file, Intent(do="restore"))
    header = header_of(file)
    assert header["isArchived"] is False
    assert "archivedAt" not in header
    assert header["hasUnread"] is True


def test_read_names_the_last_final_answer(app: Any, make_session: Make) -> None:
    """From the messages, wherever it is; a header that tells another one is not believed."""
    chatter = {"id": "c", "content": "x" * 300_000, "isIntermediate": True, "type": "assistant"}
    file = make_session(
        "261201-calm-pond", USER, ANSWER, chatter, chatter, QUEUED, lastFinalMessageId="wrong"
    )
    act(app.store(), file, Intent(do="read"))
    assert header_of(file)["lastReadMessageId"] == "a1"


@pytest.mark.parametrize("length", [8192, 8193])
def test_the_header_never_grows_over_the_limit(app: Any, make_session: Make, length: int) -> None:
    empty = b'{"id":"a","name":"","isFlagged":false}'
    name = b"n" * (8191 - len(empty))
    raw = empty.replace(b'""', b'"' + name + b'"')
    assert len(raw) == 8191
    file = make_session("261201-calm-pond", raw=raw + b"\n")
    store = app.store()
    act(store, file, Intent(do="pin"))  # true is shorter than false
    wanted = Intent(do="rename", value="m" * (len(name) + 1 + length - 8191))
    if length > 8192:
        with pytest.raises(Refused, match="8192"):
            act(store, file, wanted)
        assert len(file.read_bytes().split(b"\n")[0]) == 8190
    else:
        act(store, file, wanted)
        assert len(file.read_bytes().split(b"\n")[0]) == 8192
        assert file.exists()


def test_a_header_that_was_too_long_may_stay_so(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER, pad="x" * 9000)
    act(app.store(), file, Intent(do="pin"))
    assert header_of(file)["isFlagged"] is True


@pytest.mark.parametrize("name", ["", "   ", "\ufeff\n", None, ("a",)])
def test_an_empty_name_is_refused(app: Any, make_session: Make, name: Any) -> None:
    file = make_session("261201-calm-pond", USER, ANSWER)
    with pytest.raises(InvalidArgument):
        act(app.store(), file, Intent(do="rename", value=name))


def test_undo_never_takes_the_only_name(app: Any, make_session: Make) -> None:
    """Without a final answer and a name the application deletes a session unasked."""
    file = make_session("261201-calm-pond", USER)
    store = app.store()
    change = act(store, file, Intent(do="rename", value="Named"))
    with pytest.raises(Refused, match="deletes"):
        store.perform(change.inverse())
    assert header_of(file)["name"] == "Named"


def test_status_and_labels_are_checked(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER)
    store = app.store()
    with pytest.raises(InvalidArgument):
        act(store, file, Intent(do="status", value="nope"))
    with pytest.raises(InvalidArgument):
        act(store, file, Intent(do="labels", value=("ok", " ")))
    act(store, file, Intent(do="labels", value=()))
    assert header_of(file)["labels"] == []


RUNNING = [
    ("pin", None, True),
    ("rename", "New", True),
    ("labels", ("x",), True),
    ("status", "done", True),
    ("archive", None, False),
    ("restore", None, False),
    ("read", None, False),
    ("unread", None, False),
]


@pytest.mark.parametrize(("do", "value", "allowed"), RUNNING)
def test_while_the_application_runs(
    app: Any, make_session: Make, do: Any, value: Any, allowed: bool
) -> None:
    """craft-format section 8: kept changes are offered, undone ones need "do it anyway"."""
    file = make_session("261201-calm-pond", USER, ANSWER, hasUnread=True)
    app.run()
    store = app.store()
    intent = Intent(do=do, value=value)
    if allowed:
        assert act(store, file, intent).edits
        return
    raw = file.read_bytes()
    with pytest.raises(Refused, match="undo"):
        act(store, file, intent)
    assert file.read_bytes() == raw
    act(store, file, Intent(do=do, value=value, force=True))
    row = store.look(key_of(store, file))
    assert row is not None
    able = store.capabilities(row)
    assert able.forced == {"archive", "read"}
    assert able.archive
    assert able.read
    assert able.pin is None
    assert able.rename is None
    assert able.status is None


def test_delete_is_refused_while_the_application_runs(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER)
    store = app.store()
    key = key_of(store, file)
    app.run()
    with pytest.raises(Refused, match="quit"):
        store.plan_trash(key, force=True)
    row = store.look(key)
    assert row is not None
    assert "trash" not in store.capabilities(row).forced
    app.quit()
    plan = store.plan_trash(key)
    assert plan.trash_dir == str(file.parents[2] / ".loop-tui-trash")
    assert [move.source for move in plan.moves] == [str(file.parent)]


@pytest.mark.parametrize("do", ["pin", "archive"])
def test_a_queued_message_forbids_every_write(app: Any, make_session: Make, do: Any) -> None:
    """craft-format rule 7: a change from outside would send it to the model."""
    file = make_session("261201-calm-pond", USER, ANSWER, QUEUED)
    raw = file.read_bytes()
    store = app.store()
    app.run()
    with pytest.raises(Refused, match="not sent yet"):
        act(store, file, Intent(do=do, force=True))
    assert file.read_bytes() == raw
    row = store.look(key_of(store, file))
    assert row is not None
    assert "not sent yet" in (store.capabilities(row).pin or "")
    app.quit()
    act(store, file, Intent(do=do))
    assert file.read_bytes() != raw


def test_a_missing_file_is_waited_for_and_never_made(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER)
    store = app.store()
    change = store.plan(key_of(store, file), Intent(do="pin"))
    file.unlink()
    with pytest.raises(SessionNotFound):
        store.perform(change)
    assert list(file.parent.iterdir()) == []


def test_a_value_changed_meanwhile_is_a_conflict(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER, title=1)
    store = app.store()
    change = store.plan(key_of(store, file), Intent(do="rename", value="Ours"))
    make_session("261201-calm-pond", USER, ANSWER, title=1, name="Theirs")
    with pytest.raises(Conflict, match="name"):
        store.perform(change)
    assert header_of(file)["name"] == "Theirs"
    # Other values written meanwhile stay, and what is done already is no error.
    change = store.plan(key_of(store, file), Intent(do="pin"))
    make_session("261201-calm-pond", USER, ANSWER, title=1, name="Again")
    store.perform(change)
    store.perform(change)
    assert header_of(file)["name"] == "Again"
    assert header_of(file)["isFlagged"] is True


def test_places_that_are_never_written(app: Any, make_session: Make, tmp_path: Path) -> None:
    store = app.store()
    odd = make_session("a name with blanks", USER)
    linked = make_session("261202-calm-pond", USER)
    target = tmp_path / "elsewhere.jsonl"
    linked.rename(target)
    linked.symlink_to(target)
    broken = make_session("261203-calm-pond", raw=b"7\n")
    message = make_session("261204-calm-pond", raw=dumps(USER) + b"\n")
    (odd.parents[1] / "261205-calm-pond").symlink_to(odd.parent)
    for file in (odd, linked, broken, message, odd.parents[1] / "261205-calm-pond" / "x"):
        with pytest.raises(Refused):
            act(store, file, Intent(do="pin"))
    outside = SessionKey(store.id, str(tmp_path / "ws" / "sessions" / "x"))
    with pytest.raises(SessionNotFound):
        store.plan(outside, Intent(do="pin"))
    with pytest.raises(SessionNotFound):
        store.plan(SessionKey("other", str(odd.parent)), Intent(do="pin"))


def test_read_only_writes_nothing(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER)
    store = app.store(read_only=True)
    with pytest.raises(ReadOnly):
        act(store, file, Intent(do="pin"))
    with pytest.raises(ReadOnly):
        store.plan_trash(key_of(store, file))
    row = store.look(key_of(store, file))
    assert row is not None
    assert "read-only" in (store.capabilities(row).trash or "")


def test_a_shared_session_warns(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER, sharedId="abc", sharedUrl="https://x.invalid/s")
    store = app.store()
    plan = store.plan_trash(key_of(store, file))
    assert "public copy" in plan.row["warning"]
    assert any("public copy" in d.value for d in store.details(plan.key))


def test_a_temporary_of_a_killed_process_is_recovered(
    app: Any, make_session: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill between exchange and look: the application's newest save lies in our temporary."""
    file = make_session("261201-calm-pond", USER)
    store = app.store()
    change = store.plan(key_of(store, file), Intent(do="pin"))
    newest = dumps({"id": "a", "name": "Newest"}) + b"\n" + dumps(USER) + b"\n" + dumps(ANSWER)

    class Killed(BaseException):
        pass

    from loop_core.fsio_calls import calls

    real = calls.exchange

    def exchange(a: Any, b: Any) -> None:
        replacement = file.with_name("session.jsonl.tmp")
        replacement.write_bytes(newest)
        os.unlink(file)
        os.rename(replacement, file)
        real(a, b)
        raise Killed

    monkeypatch.setattr(calls, "exchange", exchange)
    with pytest.raises(Killed):
        store.perform(change)
    monkeypatch.setattr(calls, "exchange", real)
    left = [p.name for p in file.parent.iterdir() if fsio.is_our_temporary(p.name)]
    assert len(left) == 1
    assert store.recover()
    assert file.read_bytes() == newest
    assert [p.name for p in file.parent.iterdir()] == ["session.jsonl"]
    assert store.recover() == ()


def test_a_lone_tmp_is_brought_back_by_restore(app: Any, make_session: Make) -> None:
    """craft-format rule 2: the application would delete the only copy."""
    file = make_session("261201-calm-pond", USER, name="Left over")
    data = file.read_bytes()
    lone = file.with_name("session.jsonl.tmp")
    file.rename(lone)
    store = app.store()
    os.utime(lone, (1, 1))
    change = store.plan(key_of(store, file), Intent(do="restore"))
    os.utime(lone)
    with pytest.raises(Refused, match="moment ago"):
        store.perform(change)
    os.utime(lone, (1, 1))
    row = store.perform(change)
    assert (row.title, row.problem) == ("Left over", None)
    assert file.read_bytes() == data
    assert not lone.exists()
    store.perform(change)
    with pytest.raises(Refused, match="stays"):
        store.perform(change.inverse())
    assert file.read_bytes() == data


def test_a_restore_waits_out_a_save(app: Any, make_session: Make) -> None:
    """craft-format rule 1: between unlink and rename the session is no leftover."""
    file = make_session("261201-calm-pond", USER, isArchived=True)
    store = app.store()
    key = key_of(store, file)
    lone = file.with_name("session.jsonl.tmp")
    file.rename(lone)
    renaming = threading.Timer(0.02, lone.rename, (file,))
    renaming.start()
    try:
        change = store.plan(key, Intent(do="restore"))
    finally:
        renaming.join()
    assert "isArchived" in {edit.field for edit in change.edits}


@pytest.mark.parametrize("raw", [b"", b'{"cut', dumps(USER) + b"\n"])
def test_half_a_tmp_is_not_brought_back(app: Any, make_session: Make, raw: bytes) -> None:
    file = make_session("261201-calm-pond", raw=raw)
    lone = file.with_name("session.jsonl.tmp")
    file.rename(lone)
    os.utime(lone, (1, 1))
    store = app.store()
    with pytest.raises(Refused):
        act(store, file, Intent(do="restore"))
    assert lone.read_bytes() == raw
    assert not file.exists()


FIELDS = st.sampled_from(["isFlagged", "name", "labels", "hasUnread", "other"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(FIELDS, JSON), JSON, st.lists(st.binary(max_size=20), max_size=4))
def test_any_edit_is_undone_to_the_same_values(
    app: Any, make_session: Make, header: dict[str, Any], value: Any, lines: list[bytes]
) -> None:
    body = b"\n".join(lines)
    raw = dumps({"id": "a", "lastFinalMessageId": "m", **header}) + b"\n" + body
    file = make_session("261201-calm-pond", raw=raw)
    store = app.store()
    before = dumps(header["isFlagged"]).decode() if "isFlagged" in header else None
    change = Change(
        key=key_of(store, file),
        id="x",
        path=str(file),
        edits=(Edit("isFlagged", before, dumps(value).decode()),),
    )
    store.perform(change)
    assert header_of(file)["isFlagged"] == value
    assert file.read_bytes().partition(b"\n")[2] == body
    store.perform(change.inverse())
    assert header_of(file) == loads(raw.partition(b"\n")[0])
    assert file.read_bytes().partition(b"\n")[2] == body


def test_a_change_of_what_has_no_file_says_why(app: Any, make_session: Make) -> None:
    file = make_session()
    store = app.store()
    key = key_of(store, file)
    lone = file.rename(file.with_name("session.jsonl.tmp"))
    os.utime(lone, (1, 1))
    with pytest.raises(Refused, match="restore brings it back"):
        store.plan(key, Intent(do="pin"))
    file.with_name("session.jsonl.tmp").unlink()
    with pytest.raises(Refused, match=r"no session\.jsonl"):
        store.plan(key, Intent(do="pin"))


def test_a_save_seen_under_way_is_waited_for(
    app: Any, make_session: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 55: on a busy machine the gap lasts longer than usual; a young `.tmp` tells."""
    file = make_session("261201-calm-pond", USER, name="x")
    monkeypatch.setattr(writes, "_WAITS", (0.01,))
    store = app.store()
    (row,) = app.rows(store).values()
    aside = file.rename(file.with_name("session.jsonl.tmp"))
    os.utime(aside)
    finish = threading.Timer(0.6, aside.rename, (file,))
    finish.start()
    assert store.plan(row.key, Intent(do="pin")).edits
    finish.join()
    file.rename(aside)
    os.utime(aside)
    monkeypatch.setattr(writes, "_MORE", 0.3)
    with pytest.raises(Refused, match="has not finished; try again"):
        store.plan(row.key, Intent(do="pin"))
    assert aside.exists()
