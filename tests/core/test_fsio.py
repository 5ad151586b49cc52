"""The file layer: private modes, durable order, no hanging reads, no following, no traces."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loop_core import fsio
from loop_core.errors import Conflict, StorageFailed
from loop_core.fsio_calls import calls


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o177])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_private_modes_under_any_umask(tmp_path: Path, umask: int) -> None:
    os.chmod(tmp_path, 0o700)
    folder = tmp_path / "a" / "b"
    fsio.make_private_dir(folder)
    fsio.write_new(folder / "new", b"x")
    fsio.atomic_write(folder / "whole", b"x")
    fsio.create_by_link(folder / "linked", b"x")
    fsio.append(folder / "log", 0, b"x")
    fsio.append_line(folder / "lines", b"x")
    assert mode(tmp_path / "a") == mode(folder) == 0o700
    assert {mode(path) for path in folder.iterdir()} == {0o600}


def test_existing_modes_are_kept(tmp_path: Path) -> None:
    """failures row 57"""
    folder, file = tmp_path / "open", tmp_path / "open" / "file"
    folder.mkdir(0o755)
    file.write_bytes(b"old")
    file.chmod(0o640)
    fsio.make_private_dir(folder)
    fsio.atomic_write(file, b"new")
    assert mode(folder) == 0o755
    assert mode(file) == 0o640


def test_a_link_is_replaced_or_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    fsio.atomic_write(link, b"followed", follow=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"followed"
    fsio.atomic_write(link, b"replaced")
    assert not link.is_symlink()
    assert target.read_bytes() == b"followed"


@pytest.mark.parametrize("kind", ["fifo", "socket", "directory", "device", "missing", "link"])
def test_reading_something_else_fails_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    server = socket.socket(socket.AF_UNIX)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        server.bind(str(path))
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/tty")
    elif kind == "link":
        path.symlink_to("/dev/zero")
    before = time.monotonic()
    with pytest.raises(StorageFailed) as caught:
        fsio.read_file(path)
    assert time.monotonic() - before < 1
    assert caught.value.path == str(path)
    server.close()


def test_reads(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert fsio.read_file(path, limit=4) == b"0123"
    assert fsio.read_range(path, 3, 4) == b"3456"
    assert fsio.read_range(path, 8, 100) == b"89"
    assert fsio.read_file_stamped(path) == (b"0123456789", fsio.stamp_of(path))
    assert fsio.read_optional(tmp_path / "none") is None
    assert fsio.stamp_of(tmp_path / "none") is None
    assert fsio.stamp_of(path / "below") is None


def test_append_cuts_the_tail_and_never_follows(tmp_path: Path) -> None:
    path = tmp_path / "log"
    fsio.append(path, 0, b"one\n")
    path.write_bytes(b"one\n" + b"tail" * 100)
    fsio.append(path, 4, iter([b"two\n", b"three\n"]))
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    with pytest.raises(StorageFailed):
        fsio.append(path, 100, b"x")
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(StorageFailed):
        fsio.append(link, 0, b"x")
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_a_torn_log_line_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log"
    fsio.append_line(path, b"one")
    path.write_bytes(path.read_bytes() + b'{"torn')
    fsio.append_line(path, b"two")
    assert path.read_bytes() == b'one\n{"torn\ntwo\n'


def test_created_by_link_never_over_an_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "archive.json"
    assert fsio.create_by_link(path, b"first")
    assert not fsio.create_by_link(path, b"second")
    assert path.read_bytes() == b"first"
    assert len(list(tmp_path.iterdir())) == 1


def test_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(calls, "link", refuse)
    test_created_by_link_never_over_an_existing_file(tmp_path)


def test_rename_never_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"a")
    b.write_bytes(b"b")

    def refuse(*_: object) -> None:
        raise OSError(errno.EINVAL, "no")

    for conditional in (True, False):
        if not conditional:
            monkeypatch.setattr(calls, "rename_new", refuse)
        with pytest.raises(StorageFailed) as caught:
            fsio.rename(a, b)
        assert isinstance(caught.value.error, FileExistsError)
        assert (a.read_bytes(), b.read_bytes()) == (b"a", b"b")
    fsio.rename(a, b, replace=True)
    assert b.read_bytes() == b"a"


def make_tree(root: Path) -> Path:
    outside = root.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "keep").write_bytes(b"keep")
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "file").write_bytes(b"content")
    (root / "deep" / "file").chmod(0o640)
    (root / "link").symlink_to(outside)
    os.utime(root / "deep" / "file", ns=(10**18, 10**18 + 7))
    (root / "deep").chmod(0o500)
    os.utime(root / "deep", ns=(10**18, 10**18 + 9))
    return outside


def snapshot(root: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            0 if path.is_symlink() else path.lstat().st_mtime_ns,
            os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes(),
        )
        for path in sorted(root.rglob("*"))
    }


@pytest.mark.parametrize("across", [False, True])
def test_trees_move_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, across: bool) -> None:
    root, moved = tmp_path / "root", tmp_path / "moved"
    make_tree(root)
    before = snapshot(root)
    if across:
        real = calls.rename_new

        def other_device(a: str, b: str) -> None:
            if str(a) == str(root):
                raise OSError(errno.EXDEV, "another device")
            real(a, b)

        monkeypatch.setattr(calls, "rename_new", other_device)
    fsio.move_tree(root, moved)
    assert snapshot(moved) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["moved", "outside"]


def test_removal_follows_no_link_and_opens_closed_folders(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = make_tree(root)
    assert fsio.tree_size(root) == len(b"content")
    assert fsio.remove_tree(root)
    assert not root.exists()
    assert (outside / "keep").read_bytes() == b"keep"
    assert not fsio.remove_tree(root)
    link = tmp_path / "link"
    link.symlink_to(outside)
    assert fsio.remove_tree(link)
    assert (outside / "keep").exists()


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    make_tree(root)
    os.mkfifo(root / "pipe")
    with pytest.raises(StorageFailed):
        fsio.copy_tree(root, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


# --- faults


Action = Callable[[Path], object]
ACTIONS: dict[str, tuple[Action, bytes]] = {
    "atomic_write": (lambda path: fsio.atomic_write(path, b"new"), b"new"),
    "append": (lambda path: fsio.append(path, 3, b"new"), b"oldnew"),
    "append_line": (lambda path: fsio.append_line(path, b"new"), b"old\nnew\n"),
    "remove_file": (fsio.remove_file, b""),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_fault_at_every_call(
    tmp_path: Path, faults: Any, killed: type[BaseException], name: str
) -> None:
    """failures row 47"""
    path = tmp_path / "file"
    action, after = ACTIONS[name]

    def make() -> Callable[[], object]:
        path.write_bytes(b"old")
        return lambda: action(path)

    runs = 0
    for what, error in faults.sweep(make):
        runs += 1
        content = path.read_bytes() if path.exists() else b""
        if isinstance(error, killed):
            fsio.recover_temporaries(tmp_path)
            whole = content in (b"old", after)
            # Appends by a process that dies may be torn; whoever reads knows where they end.
            assert whole or (name.startswith("append") and content.startswith(b"old")), what
        else:
            assert error is None or isinstance(error, StorageFailed), what
            assert content in (b"old", after), what
            assert content == after or error is not None, what
        assert {entry.name for entry in tmp_path.iterdir()} <= {"file"}, what
    assert runs > 10


def test_faults_in_creation(tmp_path: Path, faults: Any, killed: type[BaseException]) -> None:
    path = tmp_path / "file"

    def make() -> Callable[[], object]:
        path.unlink(missing_ok=True)
        return lambda: fsio.create_by_link(path, b"whole")

    for what, _ in faults.sweep(make):
        fsio.recover_temporaries(tmp_path)
        assert not path.exists() or path.read_bytes() == b"whole", what
        assert {entry.name for entry in tmp_path.iterdir()} <= {"file"}, what


def test_data_is_synced_before_its_name(tmp_path: Path, faults: Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    actions: list[Callable[[], object]] = [
        lambda: fsio.atomic_write(path, b"new"),
        lambda: fsio.exchange(path, b"newer", expected=b"new"),
    ]
    for action in actions:
        with faults.at(None):
            action()
        names = [name for name in faults.trace if name in ("write", "fsync", "rename", "exchange")]
        assert names[0:2] == ["write", "fsync"]
        assert names[2] in ("rename", "exchange")
        assert names[3] == "fsync"


# --- locks

HOLD = """
import sys
from loop_core import fsio
with fsio.lock_dir(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_the_lock_excludes_other_processes_and_threads(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(Conflict), fsio.lock_dir(tmp_path, timeout=0.05):
        pass
    child.kill()
    child.communicate()
    with fsio.lock_dir(tmp_path, timeout=1), fsio.lock_dir(tmp_path):
        seen: list[str] = []

        def other() -> None:
            try:
                with fsio.lock_dir(tmp_path, timeout=0.05):
                    seen.append("in")
            except Conflict:
                seen.append("out")

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert seen == ["out"]
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_directory_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed), fsio.lock_dir(tmp_path / "none"):
        pass
    with (
        fsio.lock_dir(tmp_path, shared=True),
        fsio.lock_dir(tmp_path, shared=True),
        pytest.raises(Conflict),
        fsio.lock_dir(tmp_path),
    ):
        pass
