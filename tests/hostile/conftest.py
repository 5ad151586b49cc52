"""The hostile store, and what tells whether anything outside was touched."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loop_tui.demo.hostile import FLAVOURS, TRAPS, make_removable, write_hostile

#: C0 but line feed and tab, DEL, C1, bidi marks and half surrogates.
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: What the file outside the store says; no output may hold it.
SECRET = "nobody may show, change or move this"

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Audit events that change something, with the arguments that name it.
_CHANGES = {
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.link": (0, 1),
    "os.mkdir": (0,),
    "os.mkfifo": (0,),
    "os.remove": (0,),
    "os.removexattr": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.setxattr": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.utime": (0,),
}
_PROGRAMS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork"}
_NETWORK = {"socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request"}


class Touched:
    """What this process asked the system to change, while `watching`."""

    def __init__(self) -> None:
        self.paths: list[tuple[str, str]] = []
        self.programs: list[str] = []
        self.network: list[str] = []
        self._lock = threading.Lock()

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING and not isinstance(path, int):
                self._add(event, path)
        elif event in _CHANGES:
            for number in _CHANGES[event]:
                if not isinstance(arguments[number], int):
                    self._add(event, arguments[number])
        elif event in _PROGRAMS:
            self.programs.append(f"{event} {arguments[:2]!r}")
        elif event in _NETWORK:
            self.network.append(f"{event} {arguments[1:]!r}")

    def _add(self, event: str, path: Any) -> None:
        with self._lock:
            self.paths.append((event, os.fsdecode(path)))

    def outside(self, *allowed: str | Path) -> list[tuple[str, str]]:
        """Changes at paths that lie in none of `allowed` (relative ones are of an open folder)."""
        places = [os.fspath(place) for place in allowed]
        return [
            (event, path)
            for event, path in self.paths
            if os.path.isabs(path)
            and path != os.devnull
            and not any(path == p or path.startswith(p + os.sep) for p in places)
        ]


_watchers: list[Touched] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    for watcher in _watchers:
        watcher.note(event, arguments)


_installed = False


@contextmanager
def watching() -> Iterator[Touched]:
    """An audit hook cannot be taken away again: one is installed, once, and switched."""
    global _installed  # noqa: PLW0603
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    touched = Touched()
    _watchers.append(touched)
    try:
        yield touched
    finally:
        _watchers.remove(touched)


def tree(base: Path) -> dict[str, tuple[Any, ...]]:
    """Kind, mode, size, time, inode, link target and content of everything below `base`."""
    found: dict[str, tuple[Any, ...]] = {}
    for folder, names, files in os.walk(base):
        for name in [*names, *files]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            kind = stat.S_IFMT(status.st_mode)
            content = ""
            if kind == stat.S_IFLNK:
                content = os.readlink(path)
            elif kind == stat.S_IFREG:
                with open(path, "rb") as file:
                    content = hashlib.file_digest(file, "blake2b").hexdigest()
            times = status.st_mtime_ns
            found[path] = (status.st_mode, status.st_size, times, status.st_ino, content)
    return found


def _names(*without: str) -> set[str]:
    """All flavours but those that only cost time here (other tests are about them)."""
    names = [flavour.name for flavour in FLAVOURS] + [trap.name for trap in TRAPS]
    return {*names, "many"} - set(without)


@pytest.fixture(scope="session")
def shared_hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("ground") / "hostile"
    write_hostile(base, only=_names("big_line"), count=6)
    yield base
    make_removable(base)


@pytest.fixture
def hostile(shared_hostile: Path) -> Path:
    """A store tests only look at."""
    return shared_hostile


@pytest.fixture
def own_hostile(tmp_path: Path) -> Iterator[Path]:
    """A store the test may change; without the biggest lines."""
    base = tmp_path / "hostile"
    write_hostile(base, only=_names("big_line", "deep"), count=6)
    yield base
    make_removable(base)


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of writes need not reach the disk to be seen."""
    from loop_core.fsio_calls import calls

    monkeypatch.setattr(calls, "fsync", lambda fd: None)


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is replacing files here: what is missing does not come back."""
    monkeypatch.setattr("loop_core.craft.opening.time.sleep", lambda seconds: None)


@pytest.fixture
def watch_changes() -> Callable[[], Any]:
    """``with watch_changes() as touched``: what this process asks the system to change."""
    return watching


@pytest.fixture
def tree_of() -> Callable[[Path], dict[str, tuple[Any, ...]]]:
    return tree


@pytest.fixture
def clean() -> Callable[[str], None]:
    """Fails for text that could reach a terminal as more than text, or that shows the secret."""

    def check(text: str) -> None:
        found = RAW.search(text)
        assert found is None, repr(text[max(0, found.start() - 60) : found.end() + 20])
        assert SECRET not in text

    return check
