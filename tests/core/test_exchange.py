"""Compare-and-swap against a writer that knows nothing of us, with faults and kills in it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core import fsio
from loop_core.errors import StorageFailed
from loop_core.fsio_calls import calls


def replace_like_loop(path: Path, data: bytes) -> None:
    other = path.with_name(path.name + ".11111111-2222.tmp")
    other.write_bytes(data)
    other.chmod(0o600)
    other.rename(path)


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    path = tmp_path / "meta.json"
    path.write_bytes(b"old")
    path.chmod(0o600)
    return path


def no_strays(path: Path) -> bool:
    return [entry.name for entry in path.parent.iterdir()] == [path.name]


def before_exchange(monkeypatch: pytest.MonkeyPatch, *actions: Callable[[], object]) -> None:
    """Let another program act right before the first, second, … exchange."""
    real, todo = calls.exchange, list(actions)

    def exchange(a: str, b: str) -> None:
        if todo:
            todo.pop(0)()
        real(a, b)

    monkeypatch.setattr(calls, "exchange", exchange)


def test_replaces_what_was_read(meta: Path) -> None:
    meta.chmod(0o640)
    stamp = fsio.exchange(meta, b"new", expected=b"old")
    assert meta.read_bytes() == b"new"
    assert stamp == fsio.stamp_of(meta)
    assert meta.stat().st_mode & 0o777 == 0o640
    assert no_strays(meta)


def test_mode_is_kept_under_a_permissive_umask(meta: Path) -> None:
    """failures row 57"""
    umask = os.umask(0)
    try:
        fsio.exchange(meta, b"new", expected=b"old")
        assert meta.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(umask)


def test_large_content_by_stamp(meta: Path) -> None:
    stamp = fsio.stamp_of(meta)
    assert stamp is not None
    fsio.exchange(meta, iter([b"a" * 10, b"b"]), expected=stamp)
    assert meta.read_bytes() == b"a" * 10 + b"b"
    with pytest.raises(fsio.Changed):
        fsio.exchange(meta, iter([b"x"]), expected=stamp)
    assert meta.read_bytes() == b"a" * 10 + b"b"
    assert no_strays(meta)


def test_a_touched_file_is_no_conflict(meta: Path) -> None:
    """failures row 59: content decides for small files, not the time"""
    os.utime(meta, ns=(1, 1))
    fsio.exchange(meta, b"new", expected=b"old")
    assert meta.read_bytes() == b"new"


def test_changed_before_we_look(meta: Path) -> None:
    replace_like_loop(meta, b"theirs")
    with pytest.raises(fsio.Changed):
        fsio.exchange(meta, b"new", expected=b"old")
    assert meta.read_bytes() == b"theirs"
    assert no_strays(meta)


@pytest.mark.parametrize("by_stamp", [False, True])
@pytest.mark.parametrize("commits", [1, 2, 3, 5])
def test_commits_between_look_and_exchange_survive(
    meta: Path, monkeypatch: pytest.MonkeyPatch, commits: int, by_stamp: bool
) -> None:
    texts = [b"theirs %d" % number for number in range(commits)]
    before_exchange(
        monkeypatch, *(lambda text=text: replace_like_loop(meta, text) for text in texts)
    )
    expected: Any = fsio.stamp_of(meta) if by_stamp else b"old"
    with pytest.raises(fsio.Changed):
        fsio.exchange(meta, b"new", expected=expected)
    assert meta.read_bytes() == texts[-1]
    assert no_strays(meta)


def test_a_writer_that_unlinks_before_it_renames(
    meta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_exchange(monkeypatch, lambda: replace_like_loop(meta, b"theirs"), meta.unlink)
    with pytest.raises(fsio.Changed):
        fsio.exchange(meta, b"new", expected=b"old")
    assert meta.read_bytes() == b"theirs"
    assert no_strays(meta)


def test_vanished_file(meta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before_exchange(monkeypatch, meta.unlink)
    with pytest.raises(fsio.Changed):
        fsio.exchange(meta, b"new", expected=b"old")
    assert list(meta.parent.iterdir()) == []
    with pytest.raises(fsio.Changed):
        fsio.exchange(meta, b"new", expected=b"old")


def test_without_exchange_it_compares_right_before_the_rename(
    meta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(a: str, b: str) -> None:
        raise OSError(errno.EINVAL, "no")

    monkeypatch.setattr(calls, "exchange", refuse)
    monkeypatch.setattr("loop_core.fsio_exchange._refusing", set())
    assert fsio.has_exchange(meta)
    fsio.exchange(meta, b"new", expected=b"old")
    assert meta.read_bytes() == b"new"
    assert not fsio.has_exchange(meta)
    assert no_strays(meta)

    def refuse_late(a: str, b: str) -> None:
        replace_like_loop(meta, b"theirs")
        refuse(a, b)

    monkeypatch.setattr(calls, "exchange", refuse_late)
    with pytest.raises(fsio.Changed):
        fsio.exchange(meta, b"newer", expected=b"new")
    assert meta.read_bytes() == b"theirs"
    assert no_strays(meta)


def test_fault_at_every_call(tmp_path: Path, faults: Any, killed: type[BaseException]) -> None:
    """failures row 47: any failure leaves the state before; a kill, before or after"""
    path = tmp_path / "meta.json"

    def make() -> Callable[[], object]:
        path.write_bytes(b"old")
        return lambda: fsio.exchange(path, b"new", expected=b"old")

    runs = 0
    for what, error in faults.sweep(make):
        runs += 1
        if isinstance(error, killed):
            fsio.recover_temporaries(tmp_path)
            assert path.read_bytes() in (b"old", b"new"), what
        else:
            assert error is None or isinstance(error, StorageFailed), what
            assert path.read_bytes() == (b"new" if error is None else b"old"), what
        assert no_strays(path), what
    assert runs > 60


def test_fault_at_every_call_while_another_program_commits(
    tmp_path: Path, faults: Any, monkeypatch: pytest.MonkeyPatch, killed: type[BaseException]
) -> None:
    """Whatever fails or dies when, the other program's newest file is the one that stays."""
    path = tmp_path / "meta.json"
    real = calls.exchange
    left: list[bytes] = []

    def exchange(a: str, b: str) -> None:
        if left:
            replace_like_loop(path, left.pop(0))
        real(a, b)

    monkeypatch.setattr(calls, "exchange", exchange)

    def make() -> Callable[[], object]:
        path.write_bytes(b"old")
        left[:] = [b"first", b"second"]

        def run() -> None:
            with pytest.raises(fsio.Changed):
                fsio.exchange(path, b"new", expected=b"old")

        return run

    for what, error in faults.sweep(make):
        fsio.recover_temporaries(tmp_path)
        newest = {2: b"old", 1: b"first", 0: b"second"}[len(left)]
        content = path.read_bytes()
        assert content == newest or (newest == b"old" and content == b"new"), (what, error)
        assert no_strays(path), what


def test_recovery_puts_a_foreign_commit_back(
    meta: Path, monkeypatch: pytest.MonkeyPatch, faults: Any, killed: type[BaseException]
) -> None:
    replace = calls.exchange

    def exchange_and_die(a: str, b: str) -> None:
        replace_like_loop(meta, b"theirs")
        replace(a, b)
        raise killed

    monkeypatch.setattr(calls, "exchange", exchange_and_die)
    monkeypatch.setattr("loop_core.fsio_exchange.discard", lambda path: None)
    monkeypatch.setattr("loop_core.fsio_swap.discard", lambda path: None)
    with pytest.raises(killed):
        fsio.exchange(meta, b"new", expected=b"old")
    assert meta.read_bytes() == b"new"
    monkeypatch.undo()
    [temporary] = [entry for entry in meta.parent.iterdir() if entry != meta]
    assert fsio.is_our_temporary(temporary.name)
    assert not temporary.name.endswith(".jsonl")
    done = fsio.recover_temporaries(meta.parent, meta)
    assert meta.read_bytes() == b"theirs"
    assert no_strays(meta)
    assert "put back" in done[0]


def leave(meta: Path, read: bytes, written: bytes, content: bytes) -> Path:
    from hashlib import sha256

    name = (
        f".loop-tui-swap.{sha256(b'meta.json').hexdigest()[:12]}-{sha256(read).hexdigest()}"
        f"-{sha256(written).hexdigest()}.{'0' * 32}.tmp"
    )
    path = meta.with_name(name)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "now", "after"),
    [
        (b"read", b"written", b"written"),  # finished, only not cleaned up
        (b"written", b"read", b"read"),  # not begun, or already taken back
        (b"theirs", b"written", b"theirs"),  # died between exchange and look
        (b"theirs", b"even newer", b"even newer"),  # Loop went on since
    ],
)
def test_recovery_table(meta: Path, content: bytes, now: bytes, after: bytes) -> None:
    meta.write_bytes(now)
    leave(meta, b"read", b"written", content)
    fsio.recover_temporaries(meta.parent)
    assert meta.read_bytes() == after
    assert no_strays(meta)


def test_recovery_runs_before_the_next_write(meta: Path) -> None:
    meta.write_bytes(b"written")
    leave(meta, b"read", b"written", b"theirs")
    with pytest.raises(fsio.Changed):
        fsio.exchange(meta, b"next", expected=b"written")
    assert meta.read_bytes() == b"theirs"


def test_recovery_leaves_what_is_not_ours(meta: Path) -> None:
    foreign = [
        meta.with_name("meta.json.6e1e4a9c-0000-4000-8000-000000000000.tmp"),
        meta.with_name(".loop-tui-trash"),
        meta.with_name("session.jsonl.tmp"),
    ]
    for path in foreign:
        path.write_bytes(b"x")
    link = meta.with_name(".loop-tui-part.link.tmp")
    link.symlink_to(meta)
    gone = leave(meta, b"read", b"written", b"theirs")
    meta.unlink()
    assert fsio.recover_temporaries(meta.parent) == []
    assert all(path.exists() for path in [*foreign, gone])
    assert link.is_symlink()


def test_a_link_is_refused_or_followed_once(tmp_path: Path) -> None:
    """failures row 56: the link stays a link, its target is updated where it lives"""
    target = tmp_path / "elsewhere" / "real.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link = tmp_path / "meta.json"
    link.symlink_to(target)
    with pytest.raises(StorageFailed):
        fsio.exchange(link, b"new", expected=b"old")
    assert target.read_bytes() == b"old"
    fsio.exchange(link, b"new", expected=b"old", follow=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert no_strays(target)
    assert no_strays(tmp_path / "meta.json") is False  # the folder and the link, nothing else
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["elsewhere", "meta.json"]


def test_a_link_to_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    link = tmp_path / "meta.json"
    link.symlink_to(tmp_path / "pipe")
    with pytest.raises(StorageFailed):
        fsio.exchange(link, b"new", expected=b"", follow=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises((StorageFailed, fsio.Changed)):
        fsio.exchange(tmp_path / "dangling", b"new", expected=b"", follow=True)
