"""What the browser lists of Craft-Agents: everything, in its own order, with reasons."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core import craft
from loop_core.craft import gaps
from loop_core.craft import rows as full_rows
from loop_core.craft.quick import quick_row
from loop_core.craft.scan import WorkspaceScanner
from loop_core.craft.statuses import BUILT_IN
from loop_core.craft.store import CraftStore, stores_in
from loop_core.errors import Refused, SessionNotFound
from loop_core.jsonvalue import dumps
from loop_core.model import SessionKey, SessionRow

USER = {"id": "u1", "content": "Where is the pump?", "type": "user"}
ANSWER = {"id": "a1", "content": "In the shed.", "type": "assistant"}
Make = Callable[..., Path]


def scan(store: CraftStore) -> Any:
    return deque(store.scan(), maxlen=1).pop()


def test_every_fixture_session_has_a_row(tree: Any, craft_data: Path) -> None:
    """Issue 4, "Shows it" 1: hidden by the application never means hidden here."""
    config = tree.config / "config.json"
    config.write_text(config.read_text().replace("/tmp/craft-golden", str(tree.root)))
    found = scan(CraftStore(tree.config))
    assert found.complete
    listed = {(row.project, os.path.basename(row.key.ref)): row for row in found.rows}
    problems = {problem.path for problem in found.problems}
    for workspace, verdict in tree.verdicts["workspaces"].items():
        root = str(tree.root / workspace)
        for name, session in verdict["sessions"].items():
            if session["kind"] == "file":
                assert f"{root}/sessions/{name}" in problems
                continue
            row = listed[(root, name)]
            if session["listed"]:
                sound = session["readSessionJsonl"] is not None
                first = session["readSessionHeader"]
                assert (row.problem is None) == (sound and "type" not in first), name
            else:
                assert row.problem, name
    assert {p.kind for p in found.projects} == {"workspace", "remote"}
    assert all("EXAMPLE-NOT-A-SECRET" not in repr(p) for p in found.projects)


def test_rows_tell_what_the_header_tells(app: Any, make_session: Make) -> None:
    make_session(
        "261201-calm-pond",
        USER,
        ANSWER,
        name="Pump",
        lastMessageAt=50,
        lastUsedAt=90,
        isFlagged=True,
        isArchived=True,
        hasUnread=True,
        hidden=True,
        labels=["bug", "due::2026-12-24"],
        sessionStatus="done",
        permissionMode="Execute",
        model="example-model-1",
        messageCount=2,
        workingDirectory="/nowhere/at/all",
    )
    row = app.rows()["261201-calm-pond"]
    assert (row.title, row.title_source) == ("Pump", "name")
    assert row.updated_ms == 50
    assert row.pinned_ms == 50
    assert row.archived
    assert row.unread
    assert row.hidden
    assert row.labels == ("bug", "due::2026-12-24")
    assert (row.status, row.permission, row.model) == ("done", "allow-all", "example-model-1")
    assert row.folder_missing
    assert row.problem is None


def test_archive_and_unread_are_told_apart(app: Any, make_session: Make) -> None:
    """failures row 112, 121, 122: only `hasUnread` makes a row unread, and the row says that it
    is archived or hidden so that a total can leave it out."""
    make_session(
        "261201-calm-pond", USER, {**ANSWER, "isIntermediate": True}, lastMessageRole="tool"
    )
    make_session("261202-calm-pond", USER, ANSWER, hasUnread=True, hidden=True)
    make_session("261203-calm-pond", USER, ANSWER, hasUnread=True, isArchived=True)
    rows = app.rows()
    assert not rows["261201-calm-pond"].unread
    assert rows["261202-calm-pond"].unread
    assert rows["261202-calm-pond"].hidden
    assert rows["261203-calm-pond"].unread
    assert rows["261203-calm-pond"].archived


def test_sessions_of_every_age_and_status_are_listed(app: Any, make_session: Make) -> None:
    """failures rows 21 and 22: 85 sessions over 30 days, each status, none left out."""
    states = ["todo", "done", "cancelled", "needs-review", "gone", None]
    for number in range(85):
        state = states[number % len(states)]
        header: dict[str, Any] = {"lastMessageAt": number * 86_400_000 // 3}
        if state is not None:
            header["sessionStatus"] = state
        make_session(f"2611{number % 30 + 1:02}-calm-pond-{number}", USER, **header)
    rows = app.rows()
    assert len(rows) == 85
    assert {row.status for row in rows.values()} == {"todo", "done", "cancelled", "needs-review"}


@pytest.mark.parametrize(
    ("header", "messages", "title"),
    [
        ({"name": "<command-message>go</command-message>"}, [USER], "go"),
        ({"name": "<command-mes…", "preview": "Look"}, [USER], "Look"),
        ({"preview": "<b>Look</b> here"}, [USER], "Look here"),
        ({"name": "  ", "preview": ""}, [USER], "Where is the pump?"),
        ({}, [{"type": "user", "content": "<x>a</x> [skill:demo:sort] b"}], "a b"),
        ({"name": "Fix <Button> now"}, [USER], "Fix <Button> now"),
        ({"name": 42}, [ANSWER], None),
        ({"name": "a\x1b[31mb\u202ec"}, [USER], "a␛[31mb\ufffdc"),
    ],
)
def test_title(
    app: Any, make_session: Make, header: dict[str, Any], messages: list[Any], title: str
) -> None:
    """failures row 76: no wrapper tag as a title; a name a person typed stays."""
    make_session("261201-calm-pond", *messages, **header)
    assert app.rows()["261201-calm-pond"].title == title


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "empty"),
        (b"\0" * 300, "NUL"),
        (b'{"id":"a","name":', "cannot be read"),
        (b"7\n" + dumps(USER) + b"\n", "not an object"),
        (dumps(USER) + b"\n" + dumps(ANSWER) + b"\n", "missing"),
        (b"\n" + b'{"id":"a","name":"N"}\n' + dumps(USER) + b"\n", "blank line"),
        (b'{"id":"a","name":"N","sdkCwd":["x"]}\n', "sdkCwd is not text"),
        (b'{"id":"a","name":"N","x":"' + b"y" * 9000 + b'"}\n', "8192"),
    ],
)
def test_hidden_by_accident_is_listed_with_the_reason(
    app: Any, make_session: Make, raw: bytes, reason: str
) -> None:
    make_session("261201-calm-pond", raw=raw)
    row = app.rows()["261201-calm-pond"]
    assert reason in (row.problem or "")


def test_header_of_any_length_is_read(app: Any, make_session: Make) -> None:
    for size in (8191, 8192, 8193, 300_000):
        head = b'{"id":"a","name":"Long","x":"'
        raw = head + b"y" * (size - len(head) - 2) + b'"}'
        assert len(raw) == size
        file = make_session(f"261201-calm-pond-{size}", raw=raw + b"\n" + dumps(USER) + b"\n")
        row = app.rows()[f"261201-calm-pond-{size}"]
        assert row.title == "Long"
        assert (row.problem is None) == (size <= 8192)
        assert (craft.read_session_header(file) is None) == (size > 8192)


def test_a_lone_tmp_is_listed_and_never_deleted(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER, name="Left over")
    lone = file.with_name("session.jsonl.tmp")
    file.rename(lone)
    store = app.store()
    row = app.rows(store)["261201-calm-pond"]
    assert row.title == "Left over"
    assert "session.jsonl.tmp" in (row.problem or "")
    assert store.page(row.key).total == 1
    assert lone.exists()
    assert store.capabilities(row).pin
    assert store.capabilities(row).trash is None


def test_the_gap_between_unlink_and_rename_keeps_the_row(app: Any, make_session: Make) -> None:
    """failures row 55: a writer with a 50 ms gap; the row stays in every scan and reads."""
    file = make_session("261201-calm-pond", USER, ANSWER, name="Steady")
    data = file.read_bytes()
    store = app.store()
    before = app.rows(store)["261201-calm-pond"]
    stop = threading.Event()

    def writer() -> None:
        tmp = file.with_name("session.jsonl.tmp")
        while not stop.is_set():
            tmp.write_bytes(data)
            file.unlink()
            time.sleep(0.05)
            tmp.rename(file)
            time.sleep(0.02)

    thread = threading.Thread(target=writer)
    thread.start()
    try:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            row = app.rows(store)["261201-calm-pond"]
            assert (row.key, row.title, row.problem) == (before.key, "Steady", None)
            assert store.page(row.key).total == 2
            found = store.rescan({str(file)})
            assert [r.problem for r in found.rows] == [None]
    finally:
        stop.set()
        thread.join()


def test_a_gap_that_lasts_keeps_the_old_row_for_a_while(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER, name="Steady")
    store = app.store()
    app.rows(store)
    file.rename(file.with_name("session.jsonl.tmp"))
    os.utime(file.with_name("session.jsonl.tmp"))
    assert app.rows(store)["261201-calm-pond"].problem is None
    old = time.time() - 60
    os.utime(file.with_name("session.jsonl.tmp"), (old, old))
    assert "crash" in (app.rows(store)["261201-calm-pond"].problem or "")


def test_a_file_gone_from_a_folder_that_stays_is_waited_for(
    app: Any, make_session: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 55: no temporary tells of the writer; the row stays for about a second."""
    file = make_session("261201-calm-pond", USER, name="Steady")
    store = app.store()
    app.rows(store)
    aside = app.config / "aside"
    file.rename(aside)
    told = store.rescan({str(file)})
    assert [(row.title, row.problem) for row in told.rows] == [("Steady", None)]
    assert told.unsettled == (str(file.parent),)
    aside.rename(file)
    told = store.rescan(set(told.unsettled))
    assert [row.title for row in told.rows] == ["Steady"]
    assert told.unsettled == ()
    file.rename(aside)
    store.rescan({str(file)})
    monkeypatch.setattr(gaps, "PATIENCE", 0.0)
    told = store.rescan({str(file)})
    assert told.unsettled == ()
    assert "no session.jsonl" in (told.rows[0].problem or "")
    assert "no session.jsonl" in (app.rows(store)["261201-calm-pond"].problem or "")
    monkeypatch.undo()
    assert "no session.jsonl" in (app.rows(store)["261201-calm-pond"].problem or "")


def test_a_deleted_folder_goes_and_a_new_one_comes(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER)
    store = app.store()
    key = app.rows(store)["261201-calm-pond"].key
    shutil.rmtree(file.parent)
    other = make_session("261202-calm-pond", USER)
    rows = store.rescan({str(file), str(other)}).rows
    assert [row.id for row in rows] == ["261202-calm-pond"]
    assert store.look(key) is None
    with pytest.raises(SessionNotFound):
        store.page(key)


def test_only_what_changed_is_read_again(
    app: Any, make_session: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [make_session(f"261201-calm-pond-{n}", USER, name=f"N{n}") for n in range(20)]
    store = app.store()
    app.rows(store)
    opened: list[str] = []
    real = WorkspaceScanner._read

    def spy(self: Any, name: str, path: str, **options: Any) -> SessionRow:
        opened.append(name)
        return real(self, name, path, **options)

    monkeypatch.setattr(WorkspaceScanner, "_read", spy)
    app.rows(store)
    assert opened == []
    files[3].write_bytes(files[3].read_bytes().replace(b"N3", b"Changed"))
    assert app.rows(store)["261201-calm-pond-3"].title == "Changed"
    assert opened == ["261201-calm-pond-3"]


def test_details_tell_rounds_and_damage(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER, ANSWER, USER, name="x", messageCount=7)
    with file.open("ab") as out:
        out.write(b'{"cut\n')
    store = app.store()
    (row,) = app.rows(store).values()
    told = {one.label: one.value for one in store.details(row.key)}
    assert told["rounds"] == "2"
    assert told["damage"].startswith("line 5: ")
    assert told["messages"] == "7"


def test_a_link_is_listed_marked_and_left_alone(
    app: Any, make_session: Make, tmp_path: Path
) -> None:
    file = make_session("261201-calm-pond", USER)
    away = tmp_path / "away"
    shutil.copytree(file.parent, away)
    (file.parents[1] / "linked").symlink_to(away)
    store = app.store()
    row = app.rows(store)["linked"]
    assert row.linked
    assert "link" in (row.problem or "")
    assert store.page(row.key).total == 1
    assert store.capabilities(row).pin


def test_pipes_and_folders_do_not_hang(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER)
    file.unlink()
    os.mkfifo(file)
    row = app.rows()["261201-calm-pond"]
    assert "not a regular file" in (row.problem or "")


def test_unreadable_workspace_is_a_problem(app: Any, make_session: Make, tmp_path: Path) -> None:
    make_session("261201-calm-pond", USER)
    entries = [
        {"name": "Gone", "rootPath": str(tmp_path / "gone")},
        {"name": "Far", "rootPath": str(tmp_path / "far"), "remoteServer": {"token": "s3cret"}},
        {"name": 3, "rootPath": ["no"]},
        "nonsense",
    ]
    (app.config / "config.json").write_text(json.dumps({"workspaces": entries}))
    store = app.store()
    found = scan(store)
    assert [row.id for row in found.rows] == ["261201-calm-pond"]
    assert ["Gone" in p.reason for p in found.problems] == [True]
    assert [p.name for p in found.projects if p.kind == "remote"] == ["Far (remote)"]
    assert "s3cret" not in repr((found, store.__dict__))


def test_a_workspace_that_does_not_answer_blocks_nobody(
    app: Any, make_session: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_session("261201-calm-pond", USER)
    slow = make_session("261202-calm-pond", USER, workspace="slow")
    release = threading.Event()
    real = WorkspaceScanner.scan

    def scan_slowly(self: WorkspaceScanner, **options: Any) -> Any:
        if self.root.endswith("/slow"):
            release.wait(10)
        yield from real(self, **options)

    monkeypatch.setattr(WorkspaceScanner, "scan", scan_slowly)
    store = CraftStore(app.config, patience=0.2)
    found = scan(store)
    assert [row.id for row in found.rows] == ["261201-calm-pond"]
    assert not found.complete
    assert any("does not answer" in p.reason and p.path in str(slow) for p in found.problems)
    release.set()
    for _ in range(100):
        found = scan(store)
        if found.complete:
            break
        time.sleep(0.02)
    assert len(found.rows) == 2
    assert not found.problems


def test_rows_stay_when_a_workspace_goes_away(app: Any, make_session: Make, tmp_path: Path) -> None:
    file = make_session("261201-calm-pond", USER)
    root = file.parents[2]
    (app.config / "config.json").write_text(
        json.dumps({"workspaces": [{"name": "Own", "rootPath": str(root)}]})
    )
    store = app.store()
    assert len(scan(store).rows) == 1
    root.rename(tmp_path / "away")
    found = scan(store)
    assert not found.complete
    assert len(found.rows) == 1
    assert found.problems


def test_the_default_folder_counts_beside_another_configuration(
    app: Any, make_session: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """craft-format section 1, the trap: CRAFT_CONFIG_DIR does not move the default folder."""
    file = make_session("261201-calm-pond", USER)
    other = tmp_path / "config"
    other.mkdir()
    (other / "config.json").write_text(
        json.dumps({"workspaces": [{"name": "Own", "rootPath": str(file.parents[2])}]})
    )
    make_session("261202-calm-pond", USER, workspace="second")
    monkeypatch.setenv("CRAFT_CONFIG_DIR", str(other))
    assert craft.config_dirs() == [str(other), str(app.config)]
    stores = stores_in(craft.config_dirs())
    assert [[row.id for row in scan(store).rows] for store in stores] == [
        ["261201-calm-pond"],
        ["261202-calm-pond"],
    ]
    # An application with the other configuration owns the default folder's workspaces too.
    (other / ".server.lock").write_text(json.dumps({"pid": os.getpid()}))
    assert [[row.owner_live for row in scan(store).rows] for store in stores] == [[True], [True]]


def test_a_workspace_folder_is_a_store_too(make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER)
    found = scan(CraftStore(file.parents[2]))
    assert [row.id for row in found.rows] == ["261201-calm-pond"]
    assert [p.name for p in found.projects] == ["own"]


def test_a_missing_configuration_is_empty(tmp_path: Path) -> None:
    found = scan(CraftStore(tmp_path / "nothing"))
    assert found.complete
    assert not found.rows


@pytest.mark.parametrize(
    ("content", "live"),
    [
        (lambda: json.dumps({"pid": os.getpid(), "startedAt": time.time() * 1000}), True),
        (lambda: str(os.getpid()), True),
        (lambda: json.dumps({"pid": os.getpid(), "startedAt": 1000}), False),
        (lambda: json.dumps({"pid": 2**22 + 77, "startedAt": time.time() * 1000}), False),
        (lambda: "{", True),
        (lambda: "", True),
        (lambda: json.dumps({"pid": -1}), True),
    ],
)
def test_running_means_a_live_lock(
    app: Any, make_session: Make, content: Callable[[], str], live: bool
) -> None:
    make_session("261201-calm-pond", USER)
    (app.config / ".server.lock").write_text(content())
    assert app.rows()["261201-calm-pond"].owner_live is live


def test_a_status_file_that_changes_changes_the_rows(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER, sessionStatus="later")
    store = app.store()
    assert app.rows(store)["261201-calm-pond"].status == "todo"
    folder = file.parents[2] / "statuses"
    folder.mkdir()
    fixed = [{"id": n, "isFixed": True, "category": "open"} for n in ("todo", "done", "cancelled")]
    (folder / "config.json").write_text(json.dumps({"statuses": [*fixed, {"id": "later"}]}))
    assert app.rows(store)["261201-calm-pond"].status == "later"


def test_resume_is_refused_with_a_reason(app: Any, make_session: Make) -> None:
    make_session("261201-calm-pond", USER)
    store = app.store()
    row = app.rows(store)["261201-calm-pond"]
    with pytest.raises(Refused, match="application"):
        store.resume_command(row)
    assert store.capabilities(row).resume


TEXTS = st.text(max_size=12) | st.sampled_from(["a b", "<b>x</b>", " x", "~/a", "/a/b", "~", "ask"])
VALUES = st.none() | st.booleans() | st.integers(-5, 2**60) | st.floats() | TEXTS
KEYS = (
    *("id", "name", "preview", "createdAt", "lastMessageAt", "lastUsedAt", "isFlagged"),
    *("isArchived", "hasUnread", "hidden", "sessionStatus", "todoState", "messageCount"),
    *("model", "permissionMode", "workingDirectory", "sdkCwd", "type", "labels", "other"),
)
HEADERS = st.dictionaries(st.sampled_from(KEYS), VALUES | st.lists(TEXTS, max_size=3))


@given(HEADERS)
def test_quick_rows_equal_the_full_rules(tmp_path_factory: Any, header: dict[str, Any]) -> None:
    """The fast way answers only where the full rules say the same."""
    line = dumps(header)
    folder = tmp_path_factory.mktemp("s")
    path = str(folder / "session.jsonl")
    with open(path, "wb") as out:
        out.write(line + b"\n" + dumps(USER) + b"\n")
    known = frozenset({"todo", "ask"})
    key = SessionKey("craft:x", str(folder))
    quick = quick_row(line, os.stat(path), key=key, name="n", path=path, project="p", known=known)
    place = full_rows.Place("craft:x", str(folder), str(folder), "n", path, "p", known)
    full = full_rows.row_from(full_rows.read_head(path), place)
    assert quick is None or quick == full


def test_a_configuration_being_rewritten_hides_nothing(
    app: Any, make_session: Make, tmp_path: Path
) -> None:
    file = make_session("261201-calm-pond", USER)
    root = tmp_path / "elsewhere"
    file.parents[2].rename(root)
    config = app.config / "config.json"
    listed = json.dumps({"workspaces": [{"name": "Own", "rootPath": str(root)}]})
    config.write_text(listed)
    store = app.store()
    assert len(scan(store).rows) == 1
    for damaged in ("", listed[:30], '{"workspaces":7}'):
        config.write_text(damaged)
        assert len(scan(store).rows) == 1
    config.unlink()
    assert len(scan(store).rows) == 1
    config.write_text('{"workspaces":[]}')
    assert scan(store).rows == ()


def test_two_scans_at_once_share_the_work(app: Any, make_session: Make) -> None:
    for number in range(30):
        make_session(f"261201-calm-pond-{number}", USER)
    store = app.store()
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(scan(store))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(one.rows) for one in found] == [30] * 6
    assert all(not one.problems for one in found)


def test_the_quick_way_answers_for_an_ordinary_header(make_session: Make, app: Any) -> None:
    file = make_session(
        "261201-calm-pond",
        USER,
        name="Pump",
        sdkCwd="~/.craft-agent/workspaces/own/sessions/261201-calm-pond",
        labels=["bug"],
        hasUnread=True,
        messageCount=1,
    )
    line = file.read_bytes().split(b"\n")[0]
    row = quick_row(
        line,
        os.stat(file),
        key=SessionKey("s", str(file.parent)),
        name=file.parent.name,
        path=str(file),
        project="p",
        known=frozenset({"todo"}),
    )
    assert row is not None
    assert (row.title, row.unread, row.cwd) == ("Pump", True, str(file.parent))


def test_choices_are_what_the_workspace_has_set_up(app: Any, make_session: Make) -> None:
    file = make_session("261201-calm-pond", USER)
    store = app.store()
    key = app.rows(store)["261201-calm-pond"].key
    assert [value for value, _ in store.choices(key).statuses] == [s.id for s in BUILT_IN]
    assert store.choices(key).labels == ()
    labels = file.parents[2] / "labels"
    labels.mkdir(exist_ok=True)
    tree = [{"id": "bug", "name": "Bug\x1b", "children": [{"id": "ui"}]}]
    (labels / "config.json").write_text(json.dumps({"labels": tree}))
    (bug, shown), ui = store.choices(key).labels
    assert (bug, ui) == ("bug", ("ui", "ui"))
    assert "\x1b" not in shown
