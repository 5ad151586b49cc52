"""A fault, and a death, at every single system call of a move to the trash and back."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from loop_core import fsio, trash
from loop_core.errors import LoopError
from loop_core.fsio_calls import calls

Tree = Callable[[Path], dict[str, tuple[Any, ...]]]
_CONTAINERS = {"sessions", "traces", "loop-tui-trash", "sessions/archive.json"}
# What undoing needs (removing our own temporary, giving a lock back) may fail as well, but a
# descriptor that cannot be closed is beyond any program.
_NAMES = [
    name
    for name in vars(calls)
    if name not in ("close", "sleep", "read", "pread", "readlink", "symlink", "link")
]


@contextmanager
def tripping(at: int, what: Callable[[], None]) -> Iterator[list[int]]:
    """Call `what` in place of the system call number `at` (1-based); yields the count."""
    count = [0]
    before = {name: getattr(calls, name) for name in _NAMES}

    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kw: Any) -> Any:
            count[0] += 1
            if count[0] == at:
                what()
            return real(*args, **kw)

        return call

    try:
        for name, real in before.items():
            setattr(calls, name, wrap(real))
        yield count
    finally:
        for name, real in before.items():
            setattr(calls, name, real)


def fault() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Scene:
    """One session with everything, archived, and the two honest states of the store."""

    def __init__(self, make_box: Callable[..., Any], tree: Tree, name: str) -> None:
        self.box = make_box(name)
        self._tree = tree
        self.session = self.box.add(backup=True, traced=True)
        self.box.set_membership(str(self.box.collection), [self.session], archived=True)
        self.live = self.files()
        self.entry: Any = None

    def files(self) -> dict[str, tuple[Any, ...]]:
        return {
            name: value
            for name, value in self._tree(self.box.root).items()
            if name not in _CONTAINERS and not name.startswith("loop-tui-trash/")
        }

    def move_in(self) -> None:
        self.entry = trash.move_in(self.box.plan_trash(self.box.key(self.session)), self.box)

    def put_back(self) -> None:
        trash.put_back(self.entry, self.box)

    def purge(self) -> None:
        trash.purge(self.entry, self.box)

    def recover(self) -> None:
        fsio.recover_temporaries(self.box.collection)  # the store's own part
        for _ in range(2):
            trash.recover(self.box.trash_dirs()[0], self.box)

    def verdict(self) -> str:
        """The honest state the store is in; an assertion when it is in none."""
        folder = Path(self.box.trash_dirs()[0])
        held = sorted(os.listdir(folder)) if folder.exists() else []
        listing = trash.read_entries(folder)
        assert listing.problems == []
        assert len(held) == len(listing.entries)
        assert not list(self.box.root.rglob(".*.tmp"))
        if self.files() == self.live:
            assert held == []
            assert self.box.archived() == {self.session}
            return "live"
        assert self.files() == {}
        assert self.box.archived() == set()
        if not held:
            return "gone"
        # In the trash means: it comes back whole.
        self.entry = listing.entries[0]
        self.put_back()
        assert self.files() == self.live
        assert self.box.archived() == {self.session}
        self.move_in()
        return "trash"


def steps_of(make_box: Callable[..., Any], tree: Tree, act: str) -> int:
    scene = Scene(make_box, tree, f"count-{act}")
    if act != "move_in":
        scene.move_in()
    with tripping(-1, fault) as count:
        getattr(scene, act)()
    return count[0]


_HONEST = {
    "move_in": {"live", "trash"},
    "put_back": {"live", "trash"},
    "purge": {"trash", "gone"},
}


@pytest.mark.parametrize("act", list(_HONEST))
def test_a_fault_at_every_call(make_box: Callable[..., Any], tree: Tree, act: str) -> None:
    """failures rows 96, 99, 109: done, or an error with everything in its place."""
    total = steps_of(make_box, tree, act)
    assert total > 20
    seen = set()
    for at in range(1, total + 1):
        scene = Scene(make_box, tree, f"{act}{at}")
        if act != "move_in":
            scene.move_in()
        failed = False
        with tripping(at, fault):
            try:
                getattr(scene, act)()
            except (LoopError, OSError):
                failed = True
        if act != "purge" and not failed:
            after = {"move_in": set(), "put_back": {scene.session}}[act]
            assert scene.box.ids() == after, at
        if act != "purge" and failed:
            before = {"move_in": {scene.session}, "put_back": set()}[act]
            assert scene.box.ids() == before, at
        scene.recover()
        verdict = scene.verdict()
        assert verdict in _HONEST[act], at
        seen.add(verdict)
    assert seen == _HONEST[act]


@pytest.mark.parametrize("act", list(_HONEST))
def test_a_death_at_every_call(make_box: Callable[..., Any], tree: Tree, act: str) -> None:
    """A process killed at any system call: the next start finds one honest state."""
    total = steps_of(make_box, tree, act)
    seen = set()
    for at in range(1, total + 1):
        scene = Scene(make_box, tree, f"dead-{act}{at}")
        if act != "move_in":
            scene.move_in()
        child = os.fork()
        if child == 0:
            with suppress(BaseException), tripping(at, die):
                getattr(scene, act)()
            os._exit(0)
        assert os.waitpid(child, 0)[1] in (0, signal.SIGKILL)
        scene.recover()
        verdict = scene.verdict()
        assert verdict in _HONEST[act], at
        seen.add(verdict)
    assert seen == _HONEST[act]


@pytest.mark.soak
def test_deaths_at_random_times(make_box: Callable[..., Any], tree: Tree) -> None:
    """Long form: 500 kills by the clock during moves of one session to and fro."""
    scene = Scene(make_box, tree, "random")
    random.seed(7)
    for _ in range(500):
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                while True:
                    scene.move_in()
                    scene.put_back()
            os._exit(1)
        time.sleep(random.uniform(0.002, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        scene.recover()
        if scene.verdict() == "trash":
            scene.put_back()
