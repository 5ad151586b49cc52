"""SessionArchive: membership, deletion, and what a crash or a fault leaves of them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import (
    Conflict,
    InvalidArchive,
    InvalidArgument,
    InvalidSession,
    LoopError,
    Refused,
    SessionNotFound,
    StorageFailed,
    TraceLocked,
)
from loop_core.fsio_calls import calls
from loop_core.loop.archive import SessionArchive, managed_trace_dir
from loop_core.loop.manager import SessionManager
from loop_core.loop.membership import members_of
from loop_core.loop.recovery import purge_leftover, recover_collection

A, B, C = (f"0a1b2c3d-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "agent" / "sessions" / ("0" * 24)
    path.mkdir(parents=True)
    return path


def tables(loop_data: Path, name: str) -> Any:
    return json.loads((loop_data / "tables.json").read_text())[name]


def test_reading_as_loop_does(loop_data: Path, folder: Path) -> None:
    for name, case in tables(loop_data, "archiveRead").items():
        path = folder / "archive.json"
        path.unlink(missing_ok=True)
        if case["contents"] is not None:
            path.write_text(case["contents"])
        if case["ok"]:
            assert SessionArchive(folder).list() == set(case["ids"]), name
        else:
            with pytest.raises(InvalidArchive):
                SessionArchive(folder).list()
            with pytest.raises(InvalidArchive):
                SessionArchive(folder).set([A], True)
            assert path.read_text() == case["contents"], name


def test_writing_as_loop_does(loop_data: Path, folder: Path) -> None:
    for case in tables(loop_data, "archiveSet"):
        path = folder / "archive.json"
        path.unlink(missing_ok=True)
        if case["initial"] is not None:
            path.write_text(case["initial"])
        archive = SessionArchive(folder)
        for ids, on in case["steps"]:
            if case["error"]:
                with pytest.raises(InvalidArgument):
                    archive.set(ids, on)
            else:
                archive.set(ids, on)
        assert path.read_text() == case["after"], case["name"]
        assert len(list(folder.iterdir())) == 1


def test_membership(folder: Path) -> None:
    archive = SessionArchive(folder / "new")
    assert archive.list() == set()
    assert not (folder / "new").exists()
    archive.set([A, B, A], True)
    before = (folder / "new" / "archive.json").stat()
    assert stat.S_IMODE(before.st_mode) == 0o600
    archive.set([B], True)
    assert (folder / "new" / "archive.json").stat() == before
    archive.set([C, A], False)
    assert archive.list() == {B}
    for wrong in ("../x", A.upper(), A + "\n", 1):
        with pytest.raises(InvalidArgument):
            archive.set([A, wrong], True)  # type: ignore[list-item]
    with pytest.raises(InvalidArgument):
        archive.set(A, True)
    assert archive.list() == {B}


def test_a_linked_index_is_not_written_through(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("[]\n")
    (folder / "archive.json").symlink_to(target)
    with pytest.raises(StorageFailed):
        SessionArchive(folder).set([A], True)
    assert target.read_text() == "[]\n"


def replace_like_loop(path: Path, text: str) -> None:
    other = path.with_name(path.name + ".x.tmp")
    other.write_text(text)
    other.rename(path)


def test_loop_writes_between_our_read_and_our_write(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "archive.json"
    path.write_text(f'["{A}"]\n')
    real = calls.exchange
    left = [f'["{A}","{B}"]\n']

    def exchange(a: str, b: str) -> None:
        if left:
            replace_like_loop(path, left.pop())
        real(a, b)

    monkeypatch.setattr(calls, "exchange", exchange)
    SessionArchive(folder).set([C], True)
    assert members_of(folder) == [A, B, C]


def test_loop_creates_the_index_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "archive.json"
    real = calls.link

    def link(a: str, b: str) -> None:
        if not path.exists():
            path.write_text(f'["{A}"]\n')
        real(a, b)

    monkeypatch.setattr(calls, "link", link)
    SessionArchive(folder).set([C], True)
    assert members_of(folder) == [A, C]


def test_a_writer_without_pause_is_a_conflict(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "archive.json"
    path.write_text("[]\n")
    real = calls.exchange
    monkeypatch.setattr("loop_core.loop.membership.ATTEMPTS", 3)
    count = 0

    def exchange(a: str, b: str) -> None:
        nonlocal count
        if "-back." not in b:
            count += 1
            replace_like_loop(path, "[" + " " * count + "]\n")
        real(a, b)

    monkeypatch.setattr(calls, "exchange", exchange)
    with pytest.raises(Conflict):
        SessionArchive(folder).set([A], True)
    assert path.read_text() == "[   ]\n"
    assert len(list(folder.iterdir())) == 1


TOGGLE = """
import sys
from loop_core.loop.archive import SessionArchive
folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
archive = SessionArchive(folder)
for number in range(count):
    archive.set([f"{name}-0000-4000-8000-{number:012x}"], True)
"""


def test_two_processes_lose_nothing(folder: Path) -> None:
    """failures row 48"""
    names = ("aaaaaaaa", "bbbbbbbb")
    children = [
        subprocess.Popen([sys.executable, "-c", TOGGLE, str(folder), name, "200"]) for name in names
    ]
    assert [child.wait(60) for child in children] == [0, 0]
    expected = {f"{name}-0000-4000-8000-{n:012x}" for name in names for n in range(200)}
    assert SessionArchive(folder).list() == expected
    assert len(list(folder.iterdir())) == 1


# --- deletion


class Store:
    """A collection with three archived sessions, one of them migrated, and traces."""

    def __init__(self, folder: Path, say: Any, like: Store | None = None) -> None:
        self.folder = folder
        self.traces = folder.parent.parent / "traces" / folder.name
        self.archive = SessionArchive(folder)
        self.ids: list[str] = [] if like is None else like.ids
        self.backup = folder
        if like is not None:
            shutil.copytree(like.folder.parent.parent, folder.parent.parent)
            return
        for number in range(3):
            manager = SessionManager.create("/tmp", folder)
            manager.commit([say.user(f"session {number}"), say.agent()])
            self.ids.append(manager.session_id)
        self.backup = folder / f"{self.ids[0]}.jsonl"
        self.backup.write_text("the version-2 original")
        trace = self.traces / self.ids[0]
        trace.mkdir(parents=True)
        (trace / "segment").write_text("trace")
        self.archive.set(self.ids, True)

    def state(self) -> dict[str, bytes]:
        roots = (self.folder, self.traces)
        return {
            str(path): path.read_bytes() if path.is_file() else b""
            for root in roots
            for path in sorted(root.rglob("*"))
            if path.name not in ("archive.json", "index.json")
        }

    def listed(self) -> set[str]:
        return {info.id for info in SessionManager.list(None, self.folder)}


@pytest.fixture
def store(folder: Path, say: Any) -> Store:
    return Store(folder, say)


def test_traces_of_the_managed_layout(store: Store, tmp_path: Path) -> None:
    assert managed_trace_dir(store.folder) == str(store.traces)
    assert managed_trace_dir(tmp_path) is None
    assert SessionArchive(tmp_path).trace_dir is None
    assert SessionArchive(tmp_path, tmp_path / "t").trace_dir == str(tmp_path / "t")


def test_deleting_removes_all_of_it(store: Store) -> None:
    store.archive.delete("/tmp", store.ids[:2])
    assert store.listed() == {store.ids[2]}
    assert store.archive.list() == {store.ids[2]}
    assert not store.backup.exists()
    assert list(store.traces.iterdir()) == []
    assert sorted(path.name for path in store.folder.iterdir()) == sorted(
        ["archive.json", store.ids[2]]
    )


def test_the_whole_selection_is_checked_first(store: Store) -> None:
    before = store.state()
    store.archive.set([store.ids[1]], False)
    cases: list[tuple[list[str], type[LoopError]]] = [
        ([store.ids[0], A], SessionNotFound),
        ([store.ids[0], store.ids[1]], InvalidArgument),
        ([store.ids[0], "../x"], InvalidArgument),
    ]
    for ids, error in cases:
        with pytest.raises(error):
            store.archive.delete("/tmp", ids)
    with pytest.raises(SessionNotFound):
        store.archive.delete("/", [store.ids[0]])
    store.archive.delete("/tmp", [])
    assert store.state() == before
    store.archive.delete(None, [store.ids[1]], archived_only=False)
    assert store.listed() == {store.ids[0], store.ids[2]}


def test_one_bad_session_blocks_deletion(store: Store) -> None:
    """failures rows 36 and 49: what is damaged is neither listed as gone nor removed"""
    meta = store.folder / store.ids[2] / "meta.json"
    meta.write_text("{")
    before = store.state()
    with pytest.raises(InvalidSession):
        store.archive.delete("/tmp", [store.ids[0]])
    assert store.state() == before
    (store.folder / "archive.json").write_text("[")
    with pytest.raises(InvalidArchive):
        store.archive.delete("/tmp", [store.ids[0]])


@pytest.mark.parametrize(
    ("name", "content", "locked"),
    [
        ("lock", "OWN", True),
        ("writer.lock", '{"pid": OWN}', True),
        ("lock", "what is this", True),
        ("lock", "", True),
        ("lock", "999999999", False),
        ("a.lock", json.dumps({"pid": 999999999}), False),
        ("locked", "what is this", False),
    ],
)
def test_owned_traces(store: Store, name: str, content: str, locked: bool) -> None:
    content = content.replace("OWN", str(os.getpid()))
    (store.traces / store.ids[0] / name).write_text(content)
    before = store.state()
    if locked:
        with pytest.raises(TraceLocked):
            store.archive.delete("/tmp", store.ids)
        assert store.state() == before
        assert store.archive.list() == set(store.ids)
    else:
        store.archive.delete("/tmp", store.ids)
        assert store.listed() == set()


def test_a_lock_that_is_no_file_counts(store: Store) -> None:
    lock = store.traces / store.ids[0] / "lock"
    kinds: list[Callable[[], object]] = [
        lock.mkdir,
        lambda: os.mkfifo(lock),
        lambda: lock.symlink_to("host:12"),
    ]
    for make in kinds:
        make()
        with pytest.raises(TraceLocked):
            store.archive.delete("/tmp", [store.ids[0]])
        lock.rmdir() if lock.is_dir() else lock.unlink()


def test_a_linked_directory_is_not_deleted_through(store: Store, tmp_path: Path) -> None:
    real = tmp_path / "real"
    (store.folder / store.ids[0]).rename(real)
    (store.folder / store.ids[0]).symlink_to(real)
    store.archive.delete("/tmp", [store.ids[0]])
    assert {path.name for path in real.iterdir()} >= {"meta.json", "messages.jsonl"}
    assert not (store.folder / store.ids[0]).is_symlink()


def test_a_purge_that_fails_names_what_remains(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(calls, "rmdir", refuse)
    with pytest.raises(StorageFailed) as caught:
        store.archive.delete("/tmp", store.ids)
    monkeypatch.undo()
    assert caught.value.path is not None
    assert Path(caught.value.path).parent == store.folder
    assert store.archive.list() == set()
    assert store.listed() == set()
    [left] = recover_collection(store.folder)
    assert (left.state, left.path) == ("purge", caught.value.path)
    assert os.path.isdir(left.path)
    purge_leftover(left.path)
    assert recover_collection(store.folder) == ()
    assert [path.name for path in store.folder.iterdir()] == ["archive.json"]


def test_only_ours_is_touched(store: Store) -> None:
    foreign = store.folder / ".delete-6e1e4a9c-0000-4000-8000-000000000000"
    foreign.mkdir()
    (foreign / "x.jsonl").write_text("x")
    (store.folder / "archive.json.6e1e4a9c.tmp").write_text("x")
    assert recover_collection(store.folder) == ()
    assert (foreign / "x.jsonl").exists()
    assert (store.folder / "archive.json.6e1e4a9c.tmp").exists()
    with pytest.raises(Refused):
        purge_leftover(foreign)
    with pytest.raises(Refused):
        purge_leftover(store.folder / store.ids[0])
    assert recover_collection(store.folder / "none") == ()


def test_a_lying_manifest_moves_nothing_elsewhere(store: Store, tmp_path: Path) -> None:
    staging = store.folder / ".delete-loop-tui-x"
    staging.mkdir()
    (staging / "evil").write_text("evil")
    for source, name in (
        (str(tmp_path / "evil"), "evil"),
        (str(store.folder / "x"), "../archive.json"),
        (1, "evil"),
    ):
        moves = [{"source": source, "name": name}]
        manifest = {"ids": [A], "members": [A], "moves": moves}
        (staging / "manifest.json").write_text(json.dumps(manifest))
        store.archive.set([A], True)
        [left] = recover_collection(store.folder)
        assert left.state == "stuck"
        assert (staging / "evil").exists()


def test_recovery_waits_for_a_live_process(store: Store) -> None:
    staging = store.folder / ".create-loop-tui-x"
    staging.mkdir()
    script = (
        "import sys\nfrom loop_core import fsio\nwith fsio.lock_dir(sys.argv[1]):\n"
        "    print(flush=True); sys.stdin.readline()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(store.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    assert recover_collection(store.folder) == ()
    assert staging.exists()
    child.communicate(b"\n")
    assert [left.state for left in recover_collection(store.folder)] == ["done"]
    assert not staging.exists()


# --- faults


def test_fault_at_every_call_of_set(folder: Path, faults: Any, killed: type[BaseException]) -> None:
    path = folder / "archive.json"
    for before in (None, [A]):

        def make(before: list[str] | None = before) -> Callable[[], object]:
            path.unlink(missing_ok=True)
            if before is not None:
                path.write_text(json.dumps(before))
            archive = SessionArchive(folder)
            return lambda: archive.set([B], True)

        for what, error in faults.sweep(make):
            recover_collection(folder)
            members = members_of(folder)
            assert members in (before or [], [*(before or []), B]), what
            assert error is not None or members[-1] == B, what
            assert {entry.name for entry in folder.iterdir()} <= {"archive.json"}, what


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak)])
def test_fault_at_every_call_of_delete(
    tmp_path: Path,
    faults: Any,
    say: Any,
    killed: type[BaseException],
    no_sync: None,
    every: int,
) -> None:
    """failures row 47: after any fault all is there or all is gone, and nothing in between"""
    stores: list[tuple[Store, dict[str, bytes]]] = []
    template = tmp_path / "template" / "sessions" / ("0" * 24)
    template.mkdir(parents=True)
    like = Store(template, say)

    def make() -> Callable[[], object]:
        store = Store(tmp_path / str(len(stores)) / "sessions" / ("0" * 24), say, like)
        stores.append((store, store.state()))
        return lambda: store.archive.delete("/tmp", store.ids[:2])

    runs = 0
    for what, error in faults.sweep(make, kinds=("EIO", "kill", "kill after"), every=every):
        runs += 1
        store, before = stores[-1]
        if isinstance(error, LoopError) and store.archive.list() == set(store.ids):
            assert store.state() == before, what  # put back at once, not by a later start
        left = recover_collection(store.folder)
        gone = store.archive.list() == {store.ids[2]}
        for leftover in left:
            assert leftover.state == "done" or (leftover.state == "purge" and gone), what
            if leftover.state == "purge":
                purge_leftover(leftover.path)
        assert isinstance(error, killed | LoopError | None), what
        if gone:
            assert store.listed() == {store.ids[2]}, what
            names = {path.name for path in store.folder.iterdir()}
            assert names == {"archive.json", store.ids[2]}, what
            assert list(store.traces.iterdir()) == [], what
        else:
            assert error is not None, what
            assert store.archive.list() == set(store.ids), what
            assert store.state() == before, what
            store.archive.delete("/tmp", store.ids)
        assert recover_collection(store.folder) == (), what
    assert runs > 500 / every
