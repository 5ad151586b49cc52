"""A service in memory with the interface of `loop_tui.service.Service`, and apps on it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pytest
from blockbuster import BlockBuster
from textual import events

from loop_core.errors import LoopError, Refused, StorageFailed
from loop_core.model import Problem, Project, SessionKey, SessionRow, Snapshot
from loop_core.outcome import Done, Failed, Outcome, Progress, Reverted
from loop_core.plans import Capabilities, Intent
from loop_tui.app import LoopTui
from loop_tui.settings import SettingsFile
from loop_tui.state.views import ordered

NOW_MS = 1_790_000_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def _project(source: Any, name: str, parent: str) -> Project:
    path = f"/{parent}/{name}"
    kind: Any = "folder" if source == "loop" else "workspace"
    return Project(
        key=f"{source}:{path}",
        source=source,
        store=source,
        name=name,
        cwd=path,
        parent=parent,
        kind=kind,
    )


PROJECTS = (
    _project("loop", "loop-tui", "src"),
    _project("loop", "api", "src"),
    _project("loop", "api", "old"),
    _project("craft", "team-notes", "ws"),
)


class Changes(NamedTuple):
    paths: frozenset[str] = frozenset()
    everything: bool = False
    mode: str = "native"
    note: str = ""


def make_session(number: int, **fields: Any) -> SessionRow:
    """Session `number`: the higher, the older; spread over the projects."""
    project = PROJECTS[number % len(PROJECTS)]
    ref = f"s{number:03}"
    values: dict[str, Any] = {
        "key": SessionKey(project.store, ref),
        "source": project.source,
        "form": "craft" if project.source == "craft" else "loop3",
        "id": f"{ref}-id",
        "path": f"/store/{ref}/meta.json",
        "project": project.key,
        "cwd": project.cwd,
        "title": f"Session number {number}",
        "created_ms": NOW_MS - number * HOUR - DAY,
        "updated_ms": NOW_MS - number * HOUR - 2 * MINUTE,
        "changed_ms": NOW_MS - number * HOUR - 2 * MINUTE,
        "message_count": 10 + number,
        "size": 4_000 * (number + 1),
        "model": "anthropic/opus-4.8",
    }
    return SessionRow(**(values | fields))


_FIELDS: dict[str, Callable[[SessionRow, Intent], dict[str, Any]]] = {
    "pin": lambda row, intent: {"pinned_ms": NOW_MS},
    "unpin": lambda row, intent: {"pinned_ms": None},
    "archive": lambda row, intent: {"archived": True},
    "restore": lambda row, intent: {"archived": False},
    "read": lambda row, intent: {"unread": False},
    "unread": lambda row, intent: {"unread": True},
    "rename": lambda row, intent: {"title": intent.value},
    "status": lambda row, intent: {"status": intent.value},
    "labels": lambda row, intent: {"labels": intent.value},
}


class FakeService:
    """Rows in memory; `calls` records every change asked for."""

    def __init__(self, rows: Iterable[SessionRow], reader: Any) -> None:
        self.rows = {row.key: row for row in rows}
        self.problems: tuple[Problem, ...] = ()
        self.projects = PROJECTS
        self.reader = reader
        self.read_only = False
        self.recovered: tuple[str, ...] = ()
        self.stores = (
            SimpleNamespace(root=Path("/home/me/.loop")),
            SimpleNamespace(root=Path("/home/me/.craft-agent")),
        )
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.fail: dict[str, LoopError] = {}
        self.forced: frozenset[str] = frozenset()
        self.reverted: list[Reverted] = []
        self.resume: tuple[list[str], str] | LoopError = (["loop", "--resume", "x"], "/tmp")
        self.reason: str | None = None
        self.changes: queue.Queue[Changes] = queue.Queue()
        self.closed = False
        self._done: list[tuple[str, dict[SessionKey, SessionRow]]] = []
        self._undone: list[tuple[str, dict[SessionKey, SessionRow]]] = []
        self._generation = 0
        self._lock = threading.Lock()
        self.snapshot = Snapshot()

    # --- lists

    def publish(self, *, complete: bool = True) -> Snapshot:
        self._generation += 1
        self.snapshot = Snapshot(
            generation=self._generation,
            rows=tuple(ordered(list(self.rows.values()))),
            projects=self.projects,
            problems=self.problems,
            complete=complete,
        )
        return self.snapshot

    def scan(self, on_step: Callable[[Snapshot], None] | None = None) -> Snapshot:
        with self._lock:
            snapshot = self.publish()
        if on_step is not None:
            on_step(snapshot)
        return snapshot

    def recover(self) -> tuple[str, ...]:
        return self.recovered

    def refresh(self, paths: Iterable[str]) -> Snapshot:
        with self._lock:
            return self.publish()

    def outside(self, *rows: SessionRow, gone: Iterable[SessionKey] = ()) -> None:
        """Another program changed `rows` and removed `gone`; the watcher tells."""
        for row in rows:
            self.rows[row.key] = row
        for key in gone:
            self.rows.pop(key, None)
        self.changes.put(Changes(frozenset(("/store",))))

    def watch(self, stop: threading.Event) -> Iterator[Changes]:
        yield Changes()
        while not stop.is_set():
            try:
                yield self.changes.get(timeout=0.05)
            except queue.Empty:
                continue

    def empty_reason(self) -> str | None:
        return self.reason

    def close(self) -> None:
        self.closed = True

    # --- one session

    def page(self, key: SessionKey, *, cancelled: Any = None, **wanted: Any) -> Any:
        return self.reader.page(key, **wanted)

    def message(self, key: SessionKey, index: int, revision: str | None = None) -> Any:
        return self.reader.message(key, index, revision)

    def find(self, key: SessionKey, text: str, **wanted: Any) -> Any:
        return self.reader.find(key, text, **wanted)

    def details(self, key: SessionKey) -> Any:
        return self.reader.details(key)

    def capabilities(self, key: SessionKey) -> Capabilities:
        return Capabilities(forced=self.forced)

    def resume_command(self, key: SessionKey) -> tuple[list[str], str]:
        if isinstance(self.resume, LoopError):
            raise self.resume
        return self.resume

    # --- changes

    def _change(
        self,
        action: Any,
        keys: Iterable[SessionKey],
        new: Callable[[SessionRow], SessionRow | None],
        progress: Any,
        *,
        step: bool = True,
    ) -> Outcome:
        keys = list(keys)
        self.calls.append((action, tuple(key.ref for key in keys)))
        if self.read_only:
            raise Refused("read-only")
        done: list[Done] = []
        failed: list[Failed] = []
        before: dict[SessionKey, SessionRow] = {}
        with self._lock:
            for number, key in enumerate(keys):
                row = self.rows.get(key)
                if row is None or key.ref in self.fail:
                    error = self.fail.get(key.ref)
                    failed.append(Failed(key, key.ref, error.reason if error else "gone"))
                else:
                    before[key] = row
                    fresh = new(row)
                    if fresh is None:
                        del self.rows[key]
                    else:
                        self.rows[key] = fresh
                    done.append(Done(key, row.id, row.title))
                if progress is not None:
                    progress(Progress(number + 1, len(keys)))
            if done and step and action != "purge":
                self._done.append((action, before))
                self._undone.clear()
            self.publish()
        noun = "session" if len(done) == 1 else f"{len(done)} sessions"
        name = (done[0].title or "") if len(done) == 1 else ""
        return Outcome(
            action=action,
            done=tuple(done),
            failed=tuple(failed),
            text=f"Did {action}: {name or noun}",
            undoable=bool(done) and step and action != "purge",
        )

    def act(
        self,
        keys: Any,
        intent: Intent,
        progress: Any = None,
        *,
        force: bool = False,
        step: bool = True,
    ) -> Outcome:
        if force:
            self.fail.clear()
        change = _FIELDS[intent.do]
        return self._change(
            intent.do,
            keys,
            lambda row: msgspec.structs.replace(row, **change(row, intent)),
            progress,
            step=step,
        )

    def trash(self, keys: Any, progress: Any = None, *, force: bool = False) -> Outcome:
        return self._change(
            "trash", keys, lambda row: msgspec.structs.replace(row, trashed_ms=NOW_MS), progress
        )

    def trash_warnings(self, keys: Any) -> list[str]:
        return []

    def restore(self, keys: Any, progress: Any = None) -> Outcome:
        return self._change(
            "restore", keys, lambda row: msgspec.structs.replace(row, trashed_ms=None), progress
        )

    def purge(self, keys: Any, progress: Any = None, *, force: bool = False) -> Outcome:
        return self._change("purge", keys, lambda row: None, progress)

    def _travel(self, way: Any, source: Any, target: Any) -> Outcome:
        self.calls.append((way, ()))
        if not source:
            return Outcome(action=way, text=f"Nothing to {way}")
        with self._lock:
            action, rows = source.pop()
            target.append((action, {key: self.rows[key] for key in rows if key in self.rows}))
            self.rows.update(rows)
            self.publish()
        done = tuple(Done(key, row.id, row.title) for key, row in rows.items())
        return Outcome(action=way, done=done, text=f"{way} {action}", undoable=True, of=action)

    def undo(self) -> Outcome:
        return self._travel("undo", self._done, self._undone)

    def redo(self) -> Outcome:
        return self._travel("redo", self._undone, self._done)

    def look(self, keys: Any) -> list[Reverted]:
        return self.reverted


def make_settings(**values: Any) -> SettingsFile:
    """A settings file in the test's own home, without the first-start hint."""
    import os

    file = SettingsFile(os.path.join(os.environ["XDG_CONFIG_HOME"], "loop-tui"))
    file.change(hint_seen=True, **values)
    return file


@pytest.fixture
def session() -> Callable[..., SessionRow]:
    return make_session


@pytest.fixture
def service(reader: Any) -> FakeService:
    """Twelve sessions: s001 unread, s002 pinned, s003 archived, s005 damaged, s006 in the trash."""
    special: dict[int, dict[str, Any]] = {
        1: {"unread": True},
        2: {"pinned_ms": NOW_MS - DAY},
        3: {"archived": True},
        4: {"unread": True},
        5: {"problem": "the header is no JSON", "problem_line": 1, "message_count": None},
        6: {"trashed_ms": NOW_MS - HOUR},
        9: {"unread": True},
    }
    return FakeService([make_session(n, **special.get(n, {})) for n in range(12)], reader)


@pytest.fixture
def make_app(service: FakeService) -> Callable[..., LoopTui]:
    """An app on the fake service; the clock stands still."""

    def make(settings: dict[str, Any] | None = None, **options: Any) -> LoopTui:
        options.setdefault("watch", False)
        return LoopTui(
            lambda: service,  # type: ignore[arg-type, return-value]
            make_settings(**(settings or {})),
            clock=lambda: NOW_MS / 1000,
            **options,
        )

    return make


@pytest.fixture
def app(make_app: Callable[..., LoopTui]) -> LoopTui:
    return make_app()


@pytest.fixture
def os_error() -> StorageFailed:
    return StorageFailed(PermissionError(1, "Operation not permitted"), "/store/x", "moving")


@pytest.fixture
def no_blocking() -> Iterator[BlockBuster]:
    """Fails on file access from the event loop by our own code."""
    guard = BlockBuster("loop_tui")
    guard.activate()
    yield guard
    guard.deactivate()


class Driver:
    """A running app and what tests ask of it."""

    def __init__(self, app: LoopTui, pilot: Any) -> None:
        self.app = app
        self.pilot = pilot
        self._state: tuple[int, Any] = (0, None)

    @property
    def screen(self) -> Any:
        return self.app.browser

    @property
    def toast(self) -> str:
        toast = self.screen.status.toast
        return toast.text if toast is not None else ""

    @property
    def shown(self) -> list[str]:
        return [row.key.ref for row in self.screen.browse.shown]

    @property
    def cursor(self) -> str:
        key = self.screen.browse.cursor
        return key.ref if key is not None else ""

    async def press(self, *keys: str) -> None:
        self._before()
        await self.pilot.press(*keys)
        await self.pilot.pause()

    def _before(self) -> None:
        self._state = (len(self.app.service.calls), self.screen.status.toast)

    async def settle(self) -> None:
        """Wait until the first scan and the background work that changes things are done."""
        for _ in range(500):
            await self.pilot.pause(0.02)
            busy = [w for w in self.app.workers if w.group in ("act", "open", "scan", "details")]
            if self.app.service is not None and not self.screen.scanning and not busy:
                return
        raise AssertionError("still busy")

    async def acted(self) -> None:
        """Wait until what the last keys did is on the screen (its check later aside)."""
        calls, toast = self._state
        for _ in range(200):
            await self.pilot.pause(0.02)
            if len(self.app.service.calls) > calls or self.screen.status.toast is not toast:
                break
        await self.pilot.pause(0.08)

    async def readable(self) -> None:
        """Wait until a dialog takes keys."""
        for _ in range(200):
            await self.pilot.pause(0.02)
            painted = getattr(self.app.screen, "_painted", None)
            if painted is not None:
                await self.pilot.pause(max(0.0, painted + 0.21 - time.monotonic()))
                return
        raise AssertionError("no dialog")

    def burst(self, *keys: str) -> None:
        """Keys as a terminal delivers them when they were typed ahead: all at once."""
        self._before()
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))

    def text(self) -> str:
        """What is on the screen, as lines of text."""
        width, height = self.app.size
        lines = []
        for strip in self.app.screen._compositor.render_strips(self.app.size)[:height]:
            lines.append(strip.text[:width])
        return "\n".join(lines)


@pytest.fixture
def drive() -> Callable[..., Any]:
    """``async with drive(app, size) as d``: the app after its first scan."""

    @asynccontextmanager
    async def driving(app: LoopTui, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Driver]:
        async with app.run_test(size=size, notifications=True) as pilot:
            driver = Driver(app, pilot)
            await driver.settle()
            yield driver

    return driving
