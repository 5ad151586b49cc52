"""A fault at every operating-system call of a save: before or after, nothing in between.

After each fault the manager is used on: its pending save is flushed, or it is opened again.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import LoopError, StorageFailed
from loop_core.loop import publish
from loop_core.loop.manager import SessionManager
from loop_core.loop.recovery import recover_collection

pytestmark = pytest.mark.usefixtures("no_sync")
Act = Callable[[SessionManager, Any], object]


def replace(manager: SessionManager, say: Any) -> None:
    manager.commit([say.user("other"), say.agent()])


ACTS: dict[str, Act] = {
    "append": lambda m, say: m.commit([say.user("one"), say.agent(), say.user("two")]),
    "replace": replace,
    "truncate": lambda m, say: m.commit([say.user("one")]),
    "pin": lambda m, say: m.set_pinned(True),
    "read": lambda m, say: m.mark_read(2),
    "title": lambda m, say: m.set_title({"text": "T", "source": "user", "messageIndices": []}),
    "model": lambda m, say: m.set_model("p", "m"),
}


@pytest.fixture
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tail of a process that died a moment ago may be cut at once."""
    monkeypatch.setattr(publish, "TAIL_AGE_NS", 0)


def strays(folder: Path) -> list[str]:
    return [
        path.name
        for path in folder.rglob("*")
        if path.name not in ("meta.json", "messages.jsonl", "index.json") and path.is_file()
    ] + [path.name for path in folder.iterdir() if path.name.startswith(".")]


def seen(manager: SessionManager) -> tuple[Any, ...]:
    header = manager.get_header()
    times = (header.pop("updatedAt"), header.pop("pinnedAt", None) is not None)
    return manager.messages, header, times[1], manager.read_history()


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", ACTS)
def test_fault_at_every_call(
    tmp_path: Path,
    faults: Any,
    say: Any,
    killed: type[BaseException],
    no_clock: None,
    name: str,
    every: int,
) -> None:
    """failures row 47"""
    number = itertools.count()
    current: list[SessionManager] = []

    def make() -> Callable[[], object]:
        folder = tmp_path / str(next(number))
        manager = SessionManager.create("/tmp", folder)
        manager.commit([say.user("one"), say.agent()])
        current[:] = [manager]
        return lambda: ACTS[name](manager, say)

    make()()
    model = SessionManager.in_memory("/tmp")
    model.commit([say.user("one"), say.agent()])
    before = model.messages, model.unread
    ACTS[name](model, say)
    after = model.messages, model.unread

    runs = 0
    for what, error in faults.sweep(make, every=every):
        runs += 1
        [manager] = current
        file = manager.session_file
        assert file is not None
        assert isinstance(error, killed | StorageFailed | None), (what, error)
        if isinstance(error, killed):
            recover_collection(file.parent.parent)
            manager = SessionManager.open(file)
            assert (manager.messages, manager.unread) in (before, after), what
            ACTS[name](manager, say)
        elif error is not None:
            disk = SessionManager.open(file)
            assert (disk.messages, disk.unread) == before, what
            assert "pinnedAt" not in disk.get_header(), what
            assert strays(file.parent.parent) == [], what
            envelope = json.loads(file.read_bytes())
            size = file.with_name("messages.jsonl").stat().st_size
            assert size == envelope["start"] + envelope["bytes"], what  # no tail stays
            if manager.has_pending_save:
                manager.flush()
            else:
                ACTS[name](manager, say)
        assert not manager.has_pending_save
        assert (manager.messages, manager.unread) == after, what
        assert seen(SessionManager.open(file)) == seen(manager), what
        assert strays(file.parent.parent) == [], what
    assert runs > 60 / every


@pytest.mark.parametrize("kind", ["create", "draft", "migrate"])
def test_fault_at_every_call_of_a_new_session(
    tmp_path: Path, faults: Any, say: Any, killed: type[BaseException], kind: str
) -> None:
    number = itertools.count()
    place: list[Path] = []
    drafts: list[SessionManager] = []
    session_id = "0a1b2c3d-0000-4000-8000-00000000abcd"
    header = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": session_id,
        "cwd": "/tmp",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z",
    }
    content = "".join(json.dumps(value) + "\n" for value in (header, say.user("one")))

    def make() -> Callable[[], object]:
        folder = tmp_path / str(next(number))
        folder.mkdir()
        place[:] = [folder]
        if kind == "create":
            return lambda: SessionManager.create("/tmp", folder)
        if kind == "draft":
            draft = SessionManager.draft("/tmp", folder)
            drafts.append(draft)
            return lambda: draft.commit([say.user("one")])
        (folder / f"{session_id}.jsonl").write_text(content)
        return lambda: SessionManager.open(folder / f"{session_id}.jsonl")

    for what, error in faults.sweep(make):
        [folder] = place
        assert isinstance(error, killed | LoopError | None), (what, error)
        if isinstance(error, killed):
            recover_collection(folder)
        found = SessionManager.list(None, folder)
        assert error is not None or len(found) == 1, what
        assert len(found) <= 1, what
        names = {path.name for path in folder.iterdir()}
        assert not [name for name in names if name.startswith(".")], what
        if kind == "draft" and not isinstance(error, killed):
            drafts[-1].flush()
            [info] = SessionManager.list(None, folder)
            assert info.id == drafts[-1].session_id, what
        if kind == "migrate":
            assert (folder / f"{session_id}.jsonl").read_text() == content, what
            opened = SessionManager.open(folder / f"{session_id}.jsonl")
            assert opened.messages == [say.user("one")], what


def test_a_full_disk_then_space_again(
    tmp_path: Path, faults: Any, say: Any, no_clock: None
) -> None:
    """Every call that needs space fails for a while; the pending save is flushed later."""
    manager = SessionManager.create("/tmp", tmp_path)
    manager.commit([say.user("one")])
    history = [say.user("one"), say.agent("x" * 5000)]
    with faults.at(None):
        manager.commit([say.user("one"), say.user("probe")])
    place = faults.trace.index("pwrite")
    with faults.at(place, "short"), pytest.raises(StorageFailed):
        manager.commit([say.user("one"), say.user("probe"), *history[1:]])
    assert manager.has_pending_save
    assert manager.unread
    assert manager.set_pinned(True) is not None
    file = manager.session_file
    assert file is not None
    assert not SessionManager.open(file).unread
    manager.flush()
    manager.flush()
    again = SessionManager.open(file)
    assert again.messages == [say.user("one"), say.user("probe"), *history[1:]]
    assert again.get_header()["pinnedAt"] == manager.get_header()["pinnedAt"]


def test_a_save_that_got_through_although_it_failed(
    tmp_path: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system without exchange cannot take a rename back; flush accepts what is there."""
    from loop_core.fsio_calls import calls

    manager = SessionManager.create("/tmp", tmp_path)
    manager.commit([say.user("one")])

    def refuse(a: str, b: str) -> None:
        raise OSError(22, "no")

    real = calls.fsync
    steps: list[str] = []

    def rename(a: str, b: str) -> None:
        os.rename(a, b)
        if str(b).endswith("meta.json"):
            steps.append("published")

    def fsync(fd: int) -> None:
        if steps == ["published"]:
            steps.append("failed once")
            raise OSError(5, "Input/output error")
        real(fd)

    monkeypatch.setattr(calls, "exchange", refuse)
    monkeypatch.setattr(calls, "rename", rename)
    monkeypatch.setattr(calls, "fsync", fsync)
    with pytest.raises(StorageFailed):
        manager.commit([say.user("one"), say.agent()])
    file = manager.session_file
    assert file is not None
    assert SessionManager.open(file).messages == [say.user("one"), say.agent()]
    manager.flush()
    assert not manager.has_pending_save
    manager.commit([say.user("one"), say.agent(), say.user("two")])
    assert SessionManager.open(file).messages == manager.messages
