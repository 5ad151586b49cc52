"""The trash: every byte there and back, refusals, broken and hostile entries."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core import fsio, trash
from loop_core.errors import (
    Conflict,
    InvalidArchive,
    LoopError,
    NotUndoable,
    Refused,
    SessionNotFound,
    StorageFailed,
)
from loop_core.plans import TrashPlan

Tree = Callable[[Path], dict[str, tuple[Any, ...]]]


def move(box: Any, session: str) -> trash.TrashEntry:
    return trash.move_in(box.plan_trash(box.key(session)), box)


def edit_manifest(entry: trash.TrashEntry, change: Callable[[dict[str, Any]], None]) -> None:
    path = Path(entry.path, "manifest.json")
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_there_and_back_byte_for_byte(box: Any, tree: Tree) -> None:
    """failures rows 92, 100: files, nested folders, modes and times; nothing orphaned."""
    session = box.add(backup=True, traced=True)
    box.set_membership(str(box.collection), [session, "x"], archived=True)
    folder = box.collection / session
    (folder / "sub" / "agent").mkdir(parents=True)
    (folder / "sub" / "agent" / "log.jsonl").write_bytes(b"\xff\x00\n")
    (folder / "link").symlink_to("/nowhere")
    (folder / "sub").chmod(0o711)
    os.utime(folder / "sub", ns=(1, 1_234_567_890_123_456_789))
    os.utime(folder / "meta.json", ns=(5, 987_654_321_000_000_001))
    before = tree(box.root)
    entry = move(box, session)
    assert not folder.exists()
    assert not (box.collection / f"{session}.jsonl").exists()
    assert not (box.traces / session).exists()
    assert box.archived() == {"x"}
    assert [e.session for e in box.trashed()] == [session]
    assert entry.size == fsio.tree_size(entry.path) - os.path.getsize(
        os.path.join(entry.path, "manifest.json")
    )
    trash.put_back(entry, box)
    after = tree(box.root)
    # The containers' own times and the rewritten index are not the session's.
    ignore = {"sessions", "traces", "loop-tui-trash", "sessions/archive.json"}
    assert {k: v for k, v in after.items() if k not in ignore} == {
        k: v for k, v in before.items() if k not in ignore
    }
    assert box.archived() == {session, "x"}
    assert os.listdir(box.trash_dirs()[0]) == []


def test_entry_is_private_whatever_the_umask(box: Any) -> None:
    session = box.add()
    old = os.umask(0)
    try:
        entry = move(box, session)
    finally:
        os.umask(old)
    assert os.stat(box.trash_dirs()[0]).st_mode & 0o777 == 0o700
    assert os.stat(entry.path).st_mode & 0o777 == 0o700
    assert os.stat(os.path.join(entry.path, "manifest.json")).st_mode & 0o777 == 0o600


def test_restore_refuses_when_the_id_is_there_again(box: Any) -> None:
    """failures row 96: as a directory, and as a version-2 file that the directory would hide."""
    session = box.add("old")
    entry = move(box, session)
    (box.collection / f"{session}.jsonl").write_text("somebody else's")
    with pytest.raises(NotUndoable, match="exists there again"):
        trash.put_back(entry, box)
    os.rename(box.collection / f"{session}.jsonl", box.collection / session)
    with pytest.raises(NotUndoable, match="exists there again"):
        trash.put_back(entry, box)
    assert (box.collection / session).read_text() == "somebody else's"
    assert [e.session for e in box.trashed()] == [session]
    (box.collection / session).unlink()
    trash.put_back(entry, box)
    assert box.meta(session)["title"] == "old"


def test_restore_makes_a_missing_collection_again(box: Any) -> None:
    session = box.add()
    entry = move(box, session)
    box.collection.rmdir()
    trash.put_back(entry, box)
    assert box.ids() == {session}
    assert box.collection.stat().st_mode & 0o777 == 0o700


def test_the_same_entry_is_restored_once(box: Any) -> None:
    entry = move(box, box.add())
    trash.put_back(entry, box)
    with pytest.raises(SessionNotFound, match="not in the trash any more"):
        trash.put_back(entry, box)


def test_changed_since_it_was_planned(box: Any) -> None:
    session = box.add()
    plan = box.plan_trash(box.key(session))
    box.put(session, title="changed under the dialog")
    with pytest.raises(Conflict, match="changed a moment ago"):
        trash.move_in(plan, box)
    assert box.ids() == {session}
    (box.collection / session / "meta.json").unlink()
    with pytest.raises(SessionNotFound):
        trash.move_in(plan, box)


def test_a_broken_index_stops_the_move_and_stays(box: Any) -> None:
    session = box.add(backup=True, traced=True)
    box.set_membership(str(box.collection), [session], archived=True)
    box.membership_fails = InvalidArchive("not a list", "archive.json")
    with pytest.raises(InvalidArchive):
        move(box, session)
    assert box.ids() == {session}
    assert (box.traces / session).exists()
    assert box.archived() == {session}
    assert os.listdir(box.trash_dirs()[0]) == []


def test_a_trash_that_cannot_be_made(box: Any, tmp_path: Path) -> None:
    """failures row 109: a plain error, the session where it was, never an unlink."""
    session = box.add()
    Path(box.trash_dirs()[0]).write_text("a file is in the way")
    with pytest.raises(StorageFailed) as caught:
        move(box, session)
    assert caught.value.path == box.trash_dirs()[0]
    Path(box.trash_dirs()[0]).unlink()
    Path(box.trash_dirs()[0]).symlink_to(tmp_path)
    with pytest.raises(Refused, match="symbolic link"):
        move(box, session)
    assert box.ids() == {session}


def test_somebody_elses_trash(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = box.add()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1000)
    with pytest.raises(Refused, match="another user"):
        move(box, session)
    assert box.ids() == {session}


def other_file_system(monkeypatch: pytest.MonkeyPatch, below: Path, device: int) -> None:
    """Let everything below a directory look as if it lay on another file system."""
    real_lstat, real_rename = os.lstat, fsio_calls().rename_new

    def lstat(path: Any, **kw: Any) -> os.stat_result:
        status = real_lstat(path, **kw)
        if not str(path).startswith(str(below)):
            return status
        fields = list(status)
        fields[2] = device
        return os.stat_result(fields)

    def rename_new(a: str, b: str) -> None:
        if a.startswith(str(below)) != b.startswith(str(below)):
            raise OSError(18, "Invalid cross-device link", a, None, b)
        real_rename(a, b)

    monkeypatch.setattr(os, "lstat", lstat)
    monkeypatch.setattr(fsio_calls(), "rename_new", rename_new)


def fsio_calls() -> Any:
    from loop_core.fsio_calls import calls

    return calls


def test_traces_on_another_file_system(
    box: Any, monkeypatch: pytest.MonkeyPatch, tree: Tree
) -> None:
    """failures row 109: they stay on theirs, as a part of the same entry."""
    session = box.add(traced=True)
    before = tree(box.root)
    other_file_system(monkeypatch, box.traces, 4242)
    entry = move(box, session)
    traces = next(part for part in entry.parts if part.kind == "traces")
    assert traces.place.startswith(str(box.traces))
    assert not (box.traces / session).exists()
    trash.put_back(entry, box)
    after = tree(box.root)
    ignore = {"sessions", "traces", "loop-tui-trash"}
    assert {k: v for k, v in after.items() if k not in ignore} == {
        k: v for k, v in before.items() if k not in ignore
    }
    again = move(box, session)
    trash.purge(again, box)
    assert list(box.traces.rglob("*")) == []


@pytest.mark.parametrize("way", ["in", "out"])
def test_copied_where_renaming_is_impossible(
    box: Any, monkeypatch: pytest.MonkeyPatch, tree: Tree, way: str
) -> None:
    """failures row 109: a mount inside the agent directory; modes and times are kept."""
    session = box.add(traced=True)
    before = tree(box.traces / session)
    real = fsio_calls().rename_new

    def rename_new(a: str, b: str) -> None:
        source, target = (str(box.traces), "loop-tui-trash")[:: 1 if way == "in" else -1]
        if source in a and target in b:
            raise OSError(18, "Invalid cross-device link", a, None, b)
        real(a, b)

    monkeypatch.setattr(fsio_calls(), "rename_new", rename_new)
    entry = move(box, session)
    assert not (box.traces / session).exists()
    trash.put_back(entry, box)
    assert tree(box.traces / session) == before


def test_purge_says_what_it_could_not_remove(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """failures row 99."""
    session = box.add()
    entry = move(box, session)
    real = fsio_calls().unlink

    def unlink(path: Any, **kw: Any) -> None:
        if str(path).endswith("messages.jsonl"):
            raise PermissionError(1, "Operation not permitted", path)
        real(path, **kw)

    monkeypatch.setattr(fsio_calls(), "unlink", unlink)
    with pytest.raises(StorageFailed, match="not permitted") as caught:
        trash.purge(entry, box)
    assert str(entry.path) in str(caught.value.path)
    monkeypatch.undo()
    listing = trash.read_entries(box.trash_dirs()[0])
    assert listing.entries == []
    assert "permanent removal" in listing.problems[0].reason
    assert "finished" in trash.recover(box.trash_dirs()[0], box)[0]
    assert os.listdir(box.trash_dirs()[0]) == []


def test_purge_makes_room_on_a_full_disk(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = move(box, box.add())

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fsio_calls(), "write", full)
    trash.purge(entry, box)
    assert os.listdir(box.trash_dirs()[0]) == []


def test_list_is_tolerant(box: Any) -> None:
    good = move(box, box.add("good"))
    folder = Path(box.trash_dirs()[0])
    names = [trash.new_entry_id() for _ in range(6)]
    (folder / names[0]).mkdir()  # no manifest
    (folder / names[1]).mkdir()
    (folder / names[1] / "manifest.json").write_text('{"version": 1,')
    (folder / names[2]).mkdir()
    (folder / names[2] / "manifest.json").write_text("[" * 100_000)
    (folder / names[3]).mkdir()
    os.mkfifo(folder / names[3] / "manifest.json")
    (folder / names[4]).symlink_to(good.path)
    (folder / names[5]).write_text("a file")
    (folder / "notes.txt").write_text("not ours")
    listing = trash.read_entries(folder, "store")
    assert [entry.title for entry in listing.entries] == ["good"]
    assert sorted(os.path.basename(p.path) for p in listing.problems) == sorted(names)
    assert {p.store for p in listing.problems} == {"store"}
    assert trash.entries_in(folder / "missing") == []
    # What is not an unfinished move of ours stays as it is; an empty folder was one.
    trash.recover(str(folder), box)
    assert sorted(os.listdir(folder)) == sorted(
        ["notes.txt", os.path.basename(good.path), *names[1:]]
    )


def outside(value: dict[str, Any]) -> None:
    value["parts"][0]["source"] = "/etc/passwd"


def dotted(value: dict[str, Any]) -> None:
    value["parts"][0]["source"] += "/../../../../x"


def relative(value: dict[str, Any]) -> None:
    value["parts"][0]["source"] = "x"


def strange_place(value: dict[str, Any]) -> None:
    value["parts"][0]["place"] = "/etc"


def other_id(value: dict[str, Any]) -> None:
    value["id"] = trash.new_entry_id()


def no_session(value: dict[str, Any]) -> None:
    value["parts"] = []


def future(value: dict[str, Any]) -> None:
    value["version"] = 2


@pytest.mark.parametrize(
    "change", [outside, dotted, relative, strange_place, other_id, no_session, future]
)
@pytest.mark.parametrize("act", ["put_back", "purge", "recover"])
def test_a_manifest_is_not_believed(
    box: Any, act: str, change: Callable[[dict[str, Any]], None], tree: Tree
) -> None:
    session = box.add()
    entry = move(box, session)
    edit_manifest(entry, change)
    if act == "recover":
        edit_manifest(entry, lambda value: value.update(state="restoring"))
    before = tree(box.root)
    if act == "recover":
        trash.recover(box.trash_dirs()[0], box)
    elif act == "purge" and change is outside:
        return  # only the entry's own content is removed, whatever it says of its origin
    else:
        with pytest.raises(LoopError):
            (trash.put_back if act == "put_back" else trash.purge)(entry, box)
    assert tree(box.root) == before


def test_a_planted_link_is_not_followed(box: Any, tmp_path: Path) -> None:
    session = box.add()
    entry = move(box, session)
    precious = tmp_path / "precious"
    (precious / session).mkdir(parents=True)
    (precious / session / "file").write_text("mine")
    os.rename(os.path.join(entry.path, "0"), os.path.join(entry.path, "away"))
    os.symlink(precious, os.path.join(entry.path, "0"))
    with pytest.raises(Refused):
        trash.put_back(entry, box)
    with pytest.raises(LoopError):
        trash.purge(entry, box)
    assert (precious / session / "file").read_text() == "mine"


def test_names_that_are_not_unicode(box: Any) -> None:
    session = box.add()
    plan: TrashPlan = box.plan_trash(box.key(session))
    odd = os.fsdecode(os.fsencode(str(box.collection)) + b"/\xff\xfe")
    os.mkdir(odd)
    moves = (*plan.moves, type(plan.moves[0])(odd, "file"))
    import msgspec

    entry = trash.move_in(msgspec.structs.replace(plan, moves=moves, title="\ud800"), box)
    assert not os.path.exists(odd)
    trash.put_back(trash.entry_at(entry.path), box)
    assert os.path.isdir(odd)


def test_another_process_is_busy(box: Any) -> None:
    """Recovery leaves a trash alone that a live process holds."""
    entry = move(box, box.add())
    edit_manifest(entry, lambda value: value.update(state="purging"))
    folder = box.trash_dirs()[0]
    import threading

    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with fsio.lock_dir(folder):
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        assert trash.recover(folder, box) == ()
        assert os.path.exists(entry.path)
    finally:
        done.set()
        thread.join()
