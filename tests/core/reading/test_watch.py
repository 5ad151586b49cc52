"""Watching: prompt, coalesced, honest about how, and never blind in silence."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from loop_core import watch as watch_module
from loop_core.model import WatchRoot
from loop_core.mounts import Mounts
from loop_core.watch import Changes, watch, watch_natively
from loop_core.watch_apart import watch_apart


class Watching:
    """A watch in a thread, and what it said so far."""

    def __init__(self, roots: Sequence[WatchRoot], **options: Any) -> None:
        self.said: list[Changes] = []
        self.stop = threading.Event()
        self.news = threading.Condition()
        self.thread = threading.Thread(target=self.run, args=(roots, options))
        self.thread.start()

    def run(self, roots: Sequence[WatchRoot], options: dict[str, Any]) -> None:
        for changes in watch(roots, self.stop, **options):
            with self.news:
                self.said.append(changes)
                self.news.notify_all()

    def until(self, true: Callable[[list[Changes]], bool], seconds: float = 5.0) -> None:
        with self.news:
            assert self.news.wait_for(lambda: true(self.said), seconds), self.said

    def paths(self) -> set[str]:
        return {path for changes in self.said for path in changes.paths}

    def end(self) -> float:
        begin = time.monotonic()
        self.stop.set()
        self.thread.join(5)
        assert not self.thread.is_alive()
        return time.monotonic() - begin


@pytest.fixture
def watching() -> Iterator[Callable[..., Watching]]:
    begun: list[Watching] = []

    def begin(*roots: WatchRoot, **options: Any) -> Watching:
        begun.append(Watching(roots, **options))
        begun[-1].until(bool)
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "sessions"
    path.mkdir()
    return path


def told(path: Path, since: int = 0) -> Callable[[list[Changes]], bool]:
    return lambda said: any(str(path) in changes.paths for changes in said[since:])


def test_changes_are_told_soon_and_stopping_is_quick(
    watching: Callable[..., Watching], root: Path
) -> None:
    seen = watching(WatchRoot(str(root)))
    assert seen.said[0] == Changes(mode="native")
    time.sleep(0.1)
    target = root / "project" / "meta.json"
    target.parent.mkdir()
    seen.until(lambda said: len(said) > 1)
    begin = time.monotonic()
    target.write_text("x")
    seen.until(told(target))
    assert time.monotonic() - begin < 1.0
    assert seen.end() < 0.5


def test_every_replacement_is_seen(watching: Callable[..., Watching], root: Path) -> None:
    """failures row 152: replaced by rename, again and again."""
    target = root / "meta.json"
    target.write_text("0")
    seen = watching(WatchRoot(str(root)))
    time.sleep(0.1)
    for n in range(20):
        aside = root / f"meta.json.{n}.tmp"
        aside.write_text(str(n))
        count = len(seen.said)
        aside.replace(target)
        seen.until(told(target, since=count))


def test_a_burst_is_few_batches_and_our_temporaries_none(
    watching: Callable[..., Watching], root: Path
) -> None:
    seen = watching(WatchRoot(str(root)))
    time.sleep(0.1)
    (root / ".loop-tui-part.x.tmp").write_text("ours")
    for n in range(200):
        (root / f"f{n}").write_text("x")
    seen.until(lambda _: len(seen.paths()) == 200)
    assert len(seen.said) < 20


def test_a_root_that_appears_later_is_watched(
    watching: Callable[..., Watching], tmp_path: Path
) -> None:
    late = tmp_path / "late" / "sessions"
    seen = watching(WatchRoot(str(late), exists=False))
    late.mkdir(parents=True)
    # Once because it appeared, once because it is watched now.
    seen.until(lambda said: sum(changes.everything for changes in said) == 2)
    (late / "new").write_text("x")
    seen.until(told(late / "new"))
    (late / "new").unlink()
    late.rename(tmp_path / "aside")
    late.mkdir()
    seen.until(lambda said: sum(changes.everything for changes in said) >= 4)
    (late / "again").write_text("x")
    seen.until(told(late / "again"))


def test_polling_when_asked_for(watching: Callable[..., Watching], root: Path) -> None:
    """failures row 147: without native events a rescan is asked for again and again."""

    def never(*_: Any) -> Iterator[set[str]]:
        raise AssertionError("native watching was not asked for")

    seen = watching(WatchRoot(str(root)), poll=True, interval=0.05, native=never)
    assert seen.said[0].mode == "polling"
    assert "polling" in (seen.said[0].note or "")
    seen.until(lambda said: sum(changes.everything for changes in said) >= 3)
    assert seen.end() < 0.5


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), RuntimeError("too many watches")]
)
def test_a_failing_watcher_falls_back_once(
    watching: Callable[..., Watching], root: Path, error: Exception
) -> None:
    """failures row 149: the inotify limit."""
    tries = []

    def failing(paths: Sequence[str], *_: Any) -> Iterator[set[str]]:
        tries.append(paths)
        if paths:
            raise error
        yield set()

    seen = watching(WatchRoot(str(root)), interval=0.05, native=failing)
    seen.until(lambda said: sum(changes.everything for changes in said) >= 3)
    assert len(tries) == 1
    assert seen.said[-1].mode == "polling"
    assert "watching failed" in (seen.said[-1].note or "")


def test_a_silently_blind_watcher_is_noticed(
    watching: Callable[..., Watching], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the limit new directories tell nothing; a sweep by stat alone sees them."""
    from loop_core import watch_sweep

    monkeypatch.setattr(watch_sweep, "_SETTLED_NS", 0)

    def blind(_: Sequence[str], __: bool, stop: threading.Event) -> Iterator[set[str]]:
        while not stop.is_set():
            time.sleep(0.02)
            yield set()

    opened: list[Any] = []
    real = os.open

    def opening(*args: Any, **more: Any) -> int:
        opened.append(args)
        return real(*args, **more)

    monkeypatch.setattr(os, "open", opening)
    seen = watching(WatchRoot(str(root)), interval=0.05, sweep=0.3, native=blind)
    time.sleep(0.5)
    assert seen.said[-1].mode == "native"
    assert opened == []
    (root / "unseen").mkdir()
    seen.until(lambda said: said[-1].mode == "polling")
    assert "missed" in (seen.said[-1].note or "")


def test_a_watcher_that_sees_is_trusted(
    watching: Callable[..., Watching], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loop_core import watch_sweep

    monkeypatch.setattr(watch_sweep, "_SETTLED_NS", 200_000_000)
    seen = watching(WatchRoot(str(root)), sweep=0.3)
    time.sleep(0.1)
    for n in range(12):
        (root / f"p{n}").mkdir()
        (root / f"p{n}" / ".loop-tui-x.tmp").write_text("ours")
        time.sleep(0.1)
    assert seen.said[-1].mode == "native"


def test_file_systems_that_tell_nothing_are_known(tmp_path: Path) -> None:
    """failures rows 147, 148: WSL's own disk is watched natively, its mounts are polled."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
        "2 1 0:5 / /mnt/c rw - 9p drvfs rw\n"
        "3 1 0:6 / /net\\040share rw shared:1 - nfs4 host:/x rw\n"
        "4 1 0:7 / /sshfs rw - fuse.sshfs x rw\n"
        "broken line\n"
    )
    table = Mounts(str(mounts))
    kinds = {}
    for path in ("/home/me", "/mnt/c/Users", "/mnt/cd", "/net share/a", "/sshfs", "/"):
        found = table.of(path)
        kinds[path] = found.kind if found is not None and found.remote else None
    assert kinds == {
        "/home/me": None,
        "/mnt/c/Users": "9p",
        "/mnt/cd": None,
        "/net share/a": "nfs4",
        "/sshfs": "fuse.sshfs",
        "/": None,
    }
    assert table.any_remote
    assert Mounts(str(tmp_path / "none")).of("/home/me") is None


def test_silent_file_systems_are_polled_beside_native_ones(
    watching: Callable[..., Watching],
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    monkeypatch.setattr(
        watch_module,
        "_remote_kinds",
        lambda roots: {r.path: "nfs4" if r.path == str(far) else None for r in roots},
    )
    seen = watching(WatchRoot(str(root)), WatchRoot(str(far)), interval=0.1)
    assert "nfs4" in (seen.said[0].note or "")
    seen.until(told(far))
    (root / "new").write_text("x")
    seen.until(told(root / "new"))
    assert sum(changes.everything for changes in seen.said) <= 1  # when it is watched


def test_what_is_unsettled_is_told_until_it_is_settled(
    watching: Callable[..., Watching], root: Path
) -> None:
    """failures row 55: a file that was missing at the last look is looked for again."""
    unsettled = frozenset({str(root / "one")})
    left = [unsettled, unsettled]
    seen = watching(WatchRoot(str(root)), unsettled=lambda: left.pop() if left else frozenset())
    seen.until(lambda said: sum(changes.paths == unsettled for changes in said) == 2)
    assert sum(changes.everything for changes in seen.said) <= 1  # when it is watched


@pytest.mark.parametrize("apart", [False, True])
def test_what_changed_before_the_watches_were_placed_is_looked_for(
    watching: Callable[..., Watching], root: Path, apart: bool
) -> None:
    """Placing 10,000 watches takes a while in which a session may change."""
    began = threading.Event()

    def slow(paths: Sequence[str], recursive: bool, stop: threading.Event) -> Iterator[set[str]]:
        began.wait(5)
        watched = watch_apart if apart else watch_natively
        yield from watched(paths, recursive, stop)

    seen = watching(WatchRoot(str(root)), native=slow, sweep=1.0)
    (root / "early").mkdir()
    assert not any(changes.everything or changes.paths for changes in seen.said)
    began.set()
    seen.until(lambda said: any(changes.everything for changes in said))
    (root / "later").write_text("x")
    seen.until(told(root / "later"))
    time.sleep(1.2)
    assert {changes.mode for changes in seen.said} == {"native"}  # nothing was missed


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Those a test starts."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*given: Any, **named: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*given, **named))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


def test_a_watching_process_that_dies_is_replaced_by_polling(
    watching: Callable[..., Watching], root: Path, processes: list[subprocess.Popen[bytes]]
) -> None:
    seen = watching(WatchRoot(str(root)), native=watch_apart, interval=0.05)
    seen.until(lambda said: any(changes.everything for changes in said))
    processes[0].kill()
    seen.until(lambda said: said[-1].mode == "polling")
    assert "process ended" in (seen.said[-1].note or "")


def test_a_watching_process_ends_with_the_watch(
    watching: Callable[..., Watching], root: Path, processes: list[subprocess.Popen[bytes]]
) -> None:
    seen = watching(WatchRoot(str(root)), native=watch_apart)
    seen.until(lambda said: any(changes.everything for changes in said))
    seen.end()
    assert processes[0].wait(5) == 0
