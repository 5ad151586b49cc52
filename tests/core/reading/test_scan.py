"""The tolerant scan: one row a session, a word for everything else, nothing vanishes."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core.loop import collection, folder_listing
from loop_core.loop.folders import Folders
from loop_core.loop.paths import workspace_hash
from loop_core.loop.store import LoopStore
from loop_core.model import StoreScan

as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")


def kinds(scan: StoreScan) -> dict[str, str]:
    return {os.path.basename(problem.path): problem.kind for problem in scan.problems}


def test_a_row_from_the_metadata_alone(disk: Any, kit: Any) -> None:
    path = disk.v3(
        [kit.user("hi"), kit.assistant("yo")],
        title={"text": "A title", "source": "user", "messageIndices": []},
        model={"provider": "example", "id": "big", "effort": "high"},
        unread=True,
        pinnedAt="2026-10-02T00:00:00.000Z",
    )
    _, row = disk.only_row()
    assert (row.form, row.path, row.title, row.title_source) == (
        "loop3",
        str(path),
        "A title",
        "user",
    )
    assert (row.model, row.permission, row.unread) == ("example/big", "read-only", True)
    assert (row.created_ms, row.updated_ms) == (1_790_845_200_000, 1_790_848_800_000)
    assert (row.pinned_ms, row.message_count) == (1_790_899_200_000, 2)
    assert row.size == len(kit.encoded([kit.user("hi"), kit.assistant("yo")]))
    assert not row.empty
    assert not row.folder_missing
    assert row.problem is None


def test_every_session_of_a_project_is_listed(disk: Any, kit: Any) -> None:
    """failures rows 20, 21, 28, 30: the disk decides, and forks are rows of their own."""
    same = disk.new_id()
    for n in range(118):
        disk.v3([kit.user(f"chat {n}")])
    disk.v3([kit.user("a")], id=same, name="11111111-0000-4000-8000-000000000001")
    disk.v3([kit.user("b")], id=same, name="11111111-0000-4000-8000-000000000002")
    scan = kit.scanned(disk.store())
    assert len(scan.rows) == 120
    assert len({row.key for row in scan.rows}) == 120
    assert scan.complete


def test_fallback_titles_come_in_a_later_step(disk: Any, kit: Any) -> None:
    """failures row 25: Loop's own title rule, wrappers and all."""
    for n in range(300):
        disk.v3([kit.assistant("x"), kit.user(f"<command-name>go {n} one two three four five")])
    steps = list(disk.store().scan())
    assert [step.complete for step in steps[:-1]] == [False] * (len(steps) - 1)
    assert len(steps) > 1
    assert all(row.title is None for row in steps[0].rows)
    titles = {row.title for row in steps[-1].rows}
    assert "<command-name>go 7 one two three four five" in titles
    assert {row.title_source for row in steps[-1].rows} == {"fallback"}


def test_a_title_needs_only_the_head_of_a_long_first_message(
    disk: Any, kit: Any, count_reads: Callable[[], int]
) -> None:
    """failures rows 2, 3, 18: bytes read do not follow the size of what exists."""
    disk.v3([kit.user("short words first " + "x" * 3_000_000)])
    disk.v2([kit.user([{"type": "text", "text": "other words " + "y" * 3_000_000}])])
    store = disk.store()
    count_reads()
    rows = kit.scanned(store).rows
    assert count_reads() < 300_000
    assert {row.title[:11] for row in rows if row.title} == {"short words", "other words"}


def test_a_rescan_reads_only_what_changed(
    disk: Any, kit: Any, count_reads: Callable[[], int]
) -> None:
    """failures row 15: a second look reads no metadata, even of sessions without a folder."""
    gone = disk.cwd("gone")
    for n in range(20):
        disk.v3([kit.user(f"{n}")], cwd=gone if n % 2 else disk.cwd())
    last = disk.v3([kit.user("x")])
    gone.rmdir()
    store = disk.store()
    before = kit.scanned(store)
    count_reads()
    again = kit.scanned(store)
    assert count_reads() == 0
    assert again == before
    meta = json.loads(last.read_text())
    meta["header"]["unread"] = True
    last.write_text(json.dumps(meta))
    told = store.rescan({str(last)})
    assert count_reads() < 5000
    assert sum(row.unread for row in told.rows) == 1
    assert sum(row.folder_missing for row in told.rows) == 10


def test_version_2_behind_a_published_directory_is_not_listed_twice(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("new")])
    session = path.parent.name
    disk.v2([kit.user("old")], id=session)
    disk.v2([kit.user("old")], id=session, name="another-name")
    scan = kit.scanned(disk.store())
    assert [row.title for row in scan.rows] == ["new"]
    broken = disk.v3([kit.user("x")])
    disk.v2([kit.user("old")], id=broken.parent.name)
    broken.write_text("{")
    rows = {row.id: row for row in kit.scanned(disk.store()).rows}
    assert rows[broken.parent.name].form == "loop3"
    assert rows[broken.parent.name].problem is not None


def test_broken_sessions_are_rows_with_the_reason(disk: Any, kit: Any) -> None:
    """failures rows 29, 44, 49, 151: listed, with a reason, still to be looked at."""
    bad: dict[str, Path] = {}
    for name, text in {
        "not json": "{",
        "no header": '{"format":"loop-session","version":3}',
        "bad preset": None,
        "bad range": None,
    }.items():
        path = bad[name] = disk.v3([kit.user(name)])
        meta = json.loads(path.read_text())
        if name == "bad preset":
            meta["header"]["permissionPreset"] = "everything"
        if name == "bad range":
            meta["bytes"] = -1
        path.write_text(json.dumps(meta) if text is None else text)
    legacy = disk.v2([kit.user("x")])
    legacy.write_bytes(
        b'{"format":"loop-session","version":2,"id":7}\n' + kit.encoded([kit.user("legacy")])
    )
    empty = disk.v2()
    empty.write_bytes(b"")
    store = disk.store()
    scan = kit.scanned(store)
    rows = {row.path: row for row in scan.rows}
    assert scan.unsupported == 1
    assert set(rows) == {str(p) for n, p in bad.items() if n != "no header"} | {
        str(legacy),
        str(empty),
    }
    assert all(row.problem for row in rows.values())
    for name in ("not json", "bad preset", "bad range"):
        page = store.page(rows[str(bad[name])].key)
        assert page.rounds[0].blocks[0].text == name
    assert store.page(rows[str(legacy)].key).total == 1
    assert store.page(rows[str(empty)].key).rounds == ()


@pytest.mark.parametrize(
    "raw",
    [
        "null",
        "[]",
        '"x"',
        '{"format":"other","version":3}',
        '{"format":"loop-session","version":4,"header":{}}',
    ],
)
def test_other_formats_are_counted(disk: Any, kit: Any, raw: str) -> None:
    disk.v3([kit.user("x")]).write_text(raw)
    disk.v2().write_text('{"format":"loop-session","version":1}\n')
    store = disk.store()
    for _ in range(2):
        scan = kit.scanned(store)
        assert (len(scan.rows), scan.unsupported) == (0, 2)


def test_what_is_no_session_has_a_problem(disk: Any, kit: Any) -> None:
    folder = disk.collection()
    disk.v3([kit.user("fine")])
    (folder / disk.new_id()).mkdir()
    (folder / ".delete-0000").mkdir()
    (folder / ".migrate-0000").mkdir()
    (folder / "x.jsonl.0000.tmp").write_text("")
    (folder / "folder.jsonl").mkdir()
    (folder / "dangling.jsonl").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "notes.txt").write_text("mine")
    scan = kit.scanned(disk.store())
    found = kinds(scan)
    unpublished = [name for name, kind in found.items() if kind == "unpublished"]
    assert len(unpublished) == 2  # the empty directory, and the one named like a file
    assert found[".delete-0000"] == "leftover"
    assert found["x.jsonl.0000.tmp"] == "leftover"
    assert {"dangling.jsonl", "pipe.jsonl", "loop"} <= set(found)
    assert not {".migrate-0000", "notes.txt"} & set(found)
    assert len(scan.rows) == 1


def test_a_fifo_as_metadata_does_not_hang(disk: Any) -> None:
    where = disk.collection() / disk.new_id()
    where.mkdir()
    os.mkfifo(where / "meta.json")
    (row,) = kit_rows(disk)
    assert row.problem is not None
    assert "regular" in row.problem
    fd = os.open(where / "meta.json", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(fd, b"for somebody else")
        kit_rows(disk)
        assert os.read(fd, 100) == b"for somebody else"
    finally:
        os.close(fd)


def kit_rows(disk: Any) -> Any:
    *_, last = disk.store().scan()
    return last.rows


@as_root
def test_locked_things_are_marked_and_stop_nothing(disk: Any, kit: Any) -> None:
    """failures row 151: chmod 000 on a project, a session and a file."""
    locked = disk.v3([kit.user("a")])
    file = disk.v2([kit.user("b")])
    disk.v3([kit.user("fine")])
    other = disk.v3([kit.user("c")], cwd=disk.cwd("other"))
    store = disk.store()
    before = kit.scanned(store)
    paths = [locked.parent, file, other.parent.parent]
    try:
        for path in paths:
            path.chmod(0)
        scan = kit.scanned(disk.store())
        rows = {row.path: row for row in scan.rows}
        assert "Permission denied" in (rows[str(locked)].problem or "")
        assert "Permission denied" in (rows[str(file)].problem or "")
        assert len(rows) == 3
        assert kinds(scan)[other.parent.parent.name] == "unreadable"
        # A store that knew the rows keeps those of the folder it cannot list.
        kept = kit.scanned(store)
        assert len(kept.rows) == len(before.rows) == 4
    finally:
        for path in paths:
            path.chmod(0o700)


def test_refusals_of_the_system_are_marked_and_stop_nothing(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 151, where the tests run as root: the same errors, made."""
    locked = disk.v3([kit.user("a")])
    disk.v3([kit.user("fine")])
    other = disk.v3([kit.user("c")], cwd=disk.cwd("other"))
    store = disk.store()
    kit.scanned(store)
    real_open = os.open

    def refusing_open(path: Any, *args: Any, **more: Any) -> int:
        if str(path).startswith(locked.parent.name) or path == str(other.parent.parent):
            raise PermissionError(13, "Permission denied", path)
        return real_open(path, *args, **more)

    monkeypatch.setattr(os, "open", refusing_open)
    scan = kit.scanned(disk.store())
    rows = {row.path: row for row in scan.rows}
    assert "Permission denied" in (rows[str(locked)].problem or "")
    assert len(rows) == 2
    assert kinds(scan)[other.parent.parent.name] == "unreadable"
    kept = kit.scanned(store)
    assert len(kept.rows) == 3


def test_an_archive_that_cannot_be_read_leaves_membership_unknown(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")])
    archive = path.parent.parent / "archive.json"
    store = disk.store()
    archive.write_text(json.dumps([path.parent.name, disk.new_id()]) + "\n")
    assert [row.archived for row in kit.scanned(store).rows] == [True]
    archive.write_text('["not an id"]')
    scan = kit.scanned(store)
    assert kinds(scan)["archive.json"] == "invalid"
    archive.unlink()
    assert [row.archived for row in store.rescan({str(archive)}).rows] == [False]


def test_a_missing_folder_is_marked_and_its_history_readable(disk: Any, kit: Any) -> None:
    """failures row 32."""
    cwd = disk.cwd("worktree")
    disk.v3([kit.user("here")], cwd=cwd)
    cwd.rmdir()
    store = disk.store()
    scan = kit.scanned(store)
    (row,), (project,) = scan.rows, scan.projects
    assert row.folder_missing
    assert (project.kind, project.cwd, project.name) == ("folder", str(cwd), "worktree")
    assert store.page(row.key).total == 1
    assert "folder is gone" in (store.capabilities(row).resume or "")


def test_projects_are_real_directories(disk: Any, kit: Any) -> None:
    """failures rows 69, 70, 71, 72, 74."""
    for name in ("a/b-c", "a/b/c", "one/api", "two/api", "日本", "中国"):
        disk.v3([kit.user(name)], cwd=disk.cwd(name))
    link = disk.base / "link"
    link.symlink_to(disk.cwd("one/api"))
    disk.v3([kit.user("through a link")], cwd=link)
    scan = kit.scanned(disk.store())
    projects = {project.key: project for project in scan.projects}
    assert len(projects) == 6
    assert sorted(p.name for p in projects.values()) == ["api", "api", "b-c", "c", "中国", "日本"]
    assert len({p.parent for p in projects.values() if p.name == "api"}) == 2
    assert all(p.kind == "folder" for p in projects.values())
    counts = [sum(row.project == key for row in scan.rows) for key in projects]
    assert sorted(counts) == [1, 1, 1, 1, 1, 2]


def test_a_collection_of_other_folders_is_a_global_project(disk: Any, kit: Any) -> None:
    folder = disk.agent / "sessions" / "chats"
    folder.mkdir(parents=True)
    for name in ("x", "y"):
        disk.v3([kit.user(name)], cwd=disk.cwd(name), folder=folder)
    scan = kit.scanned(disk.store())
    (project,) = scan.projects
    assert (project.kind, project.cwd, project.name) == ("global", None, "chats")
    assert {row.cwd for row in scan.rows} == {str(disk.cwd("x")), str(disk.cwd("y"))}
    named = LoopStore(folder)
    assert sorted(project.name for project in kit.scanned(named).projects) == ["x", "y"]


def test_the_web_interface_names_projects_tolerantly(disk: Any, kit: Any) -> None:
    disk.v3([kit.user("x")])
    web = disk.agent / "web-ui"
    web.mkdir()
    for secret in ("provider.json", "mcp.json"):
        os.mkfifo(web / secret)
    names = [{"id": "1", "cwd": str(disk.cwd()), "name": "My project"}, 7, {"cwd": 3}]
    store = disk.store()
    assert [p.name for p in kit.scanned(store).projects] == ["project"]
    (web / "projects.json").write_text(json.dumps(names))
    assert [p.name for p in kit.scanned(store).projects] == ["My project"]
    (web / "projects.json").write_text("{")
    assert [p.name for p in kit.scanned(store).projects] == ["project"]


def test_an_id_that_is_not_the_name_is_noted(disk: Any, kit: Any) -> None:
    """failures row 33: opened by path, the mismatch said."""
    disk.v3([kit.user("x")], name="somewhere-else")
    store, row = disk.only_row()
    (problem,) = kit.scanned(store).problems
    assert problem.key == row.key
    assert row.id in problem.reason
    assert store.page(row.key).total == 1


def test_links_are_listed_and_marked(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("x")])
    moved = disk.base / "moved"
    path.parent.rename(moved)
    path.parent.symlink_to(moved)
    _, row = disk.only_row()
    assert row.linked
    assert row.title == "x"


@pytest.mark.parametrize("what", ["missing", "empty", "file"])
def test_a_store_without_sessions_is_no_error(tmp_path: Path, kit: Any, what: str) -> None:
    """failures row 34."""
    root = tmp_path / "agent"
    if what == "empty":
        (root / "sessions").mkdir(parents=True)
    if what == "file":
        root.write_text("not a directory")
    store = LoopStore(root)
    scan = kit.scanned(store)
    assert scan.rows == ()
    assert [problem.kind for problem in scan.problems] == (["unreadable"] if what == "file" else [])
    assert store.rescan({str(root)}).rows == ()


def test_touched_files_do_not_move_and_empty_sessions_are_marked(disk: Any, kit: Any) -> None:
    """failures rows 60, 61, 62, 81: the order is the header's, looking changes nothing."""
    path = disk.v3([kit.user("x")])
    disk.v3([])
    store = disk.store()
    before = {row.id: row.updated_ms for row in kit.scanned(store).rows}
    os.utime(path)
    stamp = path.stat()
    scan = kit.scanned(store)
    assert {row.id: row.updated_ms for row in scan.rows} == before
    assert sorted(row.empty for row in scan.rows) == [False, True]
    for row in scan.rows:
        store.page(row.key)
        store.details(row.key)
    assert path.stat() == stamp
    names = sorted(p.name for p in path.parent.iterdir())
    assert names == ["index.json", "messages.jsonl", "meta.json"]


def test_a_file_missing_for_a_moment_is_no_deletion(disk: Any, kit: Any) -> None:
    """failures row 55: unlink, a gap, rename."""
    paths = [disk.v3([kit.user("a")]), disk.v2([kit.user("b")])]
    store = disk.store()
    assert len(kit.scanned(store).rows) == 2
    for path in paths:
        aside = path.with_suffix(".aside")
        path.rename(aside)
        timer = threading.Timer(0.05, aside.rename, (path,))
        timer.start()
        told = store.rescan({str(path)})
        timer.join()
        assert len(told.rows) == 2
        assert {row.title for row in told.rows} == {"a", "b"}


def test_a_gap_longer_than_a_look_keeps_the_row(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 55: the row stays, is looked at again, and goes when nothing comes back."""
    monkeypatch.setattr(collection, "GRACE", 0.02)
    path, legacy = disk.v3([kit.user("a")]), disk.v2([kit.user("b")])
    store = disk.store()
    kit.scanned(store)
    asides = [path.with_suffix(".aside"), legacy.with_name(f".{legacy.name}.1.tmp")]
    for file, aside in zip((path, legacy), asides, strict=True):
        file.rename(aside)
        for told in (store.rescan({str(file)}), kit.scanned(store)):
            assert {row.title for row in told.rows} == {"a", "b"}
            assert set(told.unsettled) <= {str(path.parent), str(legacy.with_suffix(""))}
            assert len(told.unsettled) == 1
        aside.rename(file)
        told = store.rescan(set(told.unsettled))
        assert len(told.rows) == 2
        assert told.unsettled == ()
    path.rename(asides[0])
    assert len(store.rescan({str(path)}).rows) == 2
    monkeypatch.setattr(collection, "PATIENCE", 0.0)
    told = store.rescan({str(path.parent)})
    assert [row.title for row in told.rows] == ["b"]
    assert told.unsettled == ()
    assert [problem.kind for problem in told.problems] == ["unpublished"]


def test_what_is_gone_goes(disk: Any, kit: Any) -> None:
    first, second = disk.v3([kit.user("a")]), disk.v2([kit.user("b")])
    third = disk.v3([kit.user("c")], cwd=disk.cwd("other"))
    store = disk.store()
    assert len(kit.scanned(store).rows) == 3
    shutil.rmtree(first.parent)
    begin = time.monotonic()
    assert len(store.rescan({str(first.parent)}).rows) == 2
    assert time.monotonic() - begin < 0.2
    second.unlink()
    assert len(store.rescan({str(second)}).rows) == 1
    shutil.rmtree(third.parent.parent)
    assert len(store.rescan({str(third.parent.parent)}).rows) == 0


def test_new_sessions_and_projects_appear(disk: Any, kit: Any) -> None:
    store = disk.store()
    assert kit.scanned(store).rows == ()
    path = disk.v3([kit.user("a")])
    assert len(store.rescan({str(path.parent.parent)}).rows) == 1
    path = disk.v3([kit.user("b")])
    assert len(store.rescan({str(path)}).rows) == 2
    path = disk.v2([kit.user("c")])
    assert len(store.rescan({str(path)}).rows) == 3


def test_a_migrated_session_keeps_its_key(disk: Any, kit: Any) -> None:
    path = disk.v2([kit.user("same")])
    store = disk.store()
    (row,) = kit.scanned(store).rows
    new = disk.v3([kit.user("same")], id=row.id)
    scan = store.rescan({str(new.parent)})
    (after,) = scan.rows
    assert after.key == row.key
    assert (row.form, after.form) == ("loop2", "loop3")
    assert store.page(row.key).total == 1
    assert path.exists()


def test_a_cancelled_scan_is_not_complete(disk: Any, kit: Any) -> None:
    for n in range(600):
        disk.v3([], name=f"{n:08x}-0000-4000-8000-000000000000")
    store = disk.store()
    *_, last = store.scan(cancelled=lambda: True)
    assert not last.complete
    assert len(kit.scanned(store).rows) == 600


def test_memory_a_session_is_small(disk: Any, kit: Any) -> None:
    """failures row 4."""
    import tracemalloc

    for n in range(500):
        disk.v3([kit.user(f"chat {n}")])
    store = disk.store()
    tracemalloc.start()
    try:
        scan = kit.scanned(store)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(scan.rows) == 500
    assert held / 500 < 2048


def test_a_link_to_what_is_listed_anyway_is_followed_once(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")])
    sessions = disk.agent / "sessions"
    (sessions / "all-again").symlink_to(sessions)
    (sessions / "again").symlink_to(path.parent.parent)
    elsewhere = disk.base / "elsewhere"
    elsewhere.mkdir()
    disk.v3([kit.user("b")], folder=elsewhere)
    (sessions / "linked").symlink_to(elsewhere)
    scan = kit.scanned(disk.store())
    assert sorted(row.title for row in scan.rows) == ["a", "b"]
    assert scan.problems == ()


@pytest.mark.parametrize("steady", [True, False])
def test_a_folder_is_listed_again_when_its_names_may_have_changed(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch, steady: bool
) -> None:
    """A change within the clock's step of a look cannot be told from none."""
    first = disk.v3([kit.user("a")])
    listed: list[int] = []
    real = folder_listing._list

    def counted(folder: int, only: set[str] | None) -> Any:
        listed.append(folder)
        return real(folder, only)

    monkeypatch.setattr(folder_listing, "_list", counted)
    if steady:
        monkeypatch.setattr(folder_listing, "_STEADY_NS", -1)
    store = disk.store()
    for _ in range(3):
        assert len(kit.scanned(store).rows) == 1
    assert len(listed) == (1 if steady else 3)
    disk.v3([kit.user("b")])
    assert len(kit.scanned(store).rows) == 2
    shutil.rmtree(first.parent)
    assert len(kit.scanned(store).rows) == 1
    outside = disk.base / "outside"
    outside.mkdir()
    link = first.parent.parent / disk.new_id()
    link.symlink_to(outside, target_is_directory=True)
    assert [problem.kind for problem in kit.scanned(store).problems] == ["unpublished"]
    outside.rmdir()
    assert [problem.kind for problem in kit.scanned(store).problems] == ["unreadable"]


def test_a_working_directory_that_changes_is_resolved_again(disk: Any) -> None:
    one, two = disk.cwd("one"), disk.cwd("two")
    link = disk.base / "link"
    known = Folders("store")
    seen = []
    for target in (one, one, None, two, two):
        link.unlink(missing_ok=True)
        if target is not None:
            link.symlink_to(target)
        known.look_again()
        seen.append(known.folder(str(link)))
    assert [(found.real, found.missing) for found in seen] == [
        (str(one), False),
        (str(one), False),
        (str(link), True),
        (str(two), False),
        (str(two), False),
    ]
    assert [found.digest == workspace_hash(link) for found in seen] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert seen[0].digest == workspace_hash(one)
    known.look_again()
    two.rmdir()
    assert known.folder(str(link)).missing


def test_a_folder_on_a_dead_mount_does_not_hold_the_scan(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loop_core.loop import folders

    dead = disk.cwd("dead")
    disk.v3([kit.user("a")], cwd=dead)
    table = disk.base / "mountinfo"
    table.write_text(f"1 0 0:6 / {dead} rw - nfs4 host:/x rw\n")
    from loop_core.mounts import Mounts

    monkeypatch.setattr(folders, "Mounts", lambda: Mounts(str(table)))
    monkeypatch.setattr(folders, "_PATIENCE", 0.05)
    answer = threading.Event()
    real = folders._look
    monkeypatch.setattr(folders, "_look", lambda cwd: (answer.wait(5), real(cwd))[1])
    begin = time.monotonic()
    (row,) = kit.scanned(disk.store()).rows
    assert time.monotonic() - begin < 2
    answer.set()
    assert not row.folder_missing
    assert row.title == "a"
