"""Watching the stores: a thread that turns changes on disk into snapshots for the screen.

The watcher blocks in its own daemon thread, never in the pool the browser reads with, and
posts messages, the one thing that is safe from a thread. A change that leaves the snapshot
as it was (the echo of our own write) posts nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loop_core.errors import LoopError, reason_of
from loop_tui.messages import SnapshotReady, WatchState

if TYPE_CHECKING:
    from textual.message import Message

    from loop_tui.service import Service

Post = Callable[["Message"], Any]


class Live:
    """Start it once the stores are open; `stop` returns at once and the thread follows."""

    def __init__(self, service: Service, post: Post) -> None:
        self._service = service
        self._post = post
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        told: tuple[str, str] | None = None
        try:
            for changes in self._service.watch(self._stop):
                if self._stop.is_set():
                    return
                state = (changes.mode, changes.note or "")
                if state != told:
                    told = state
                    self._post(WatchState(*state))
                self._refresh(changes)
        except (LoopError, OSError, ImportError) as error:
            self._post(WatchState("off", reason_of(error)))

    def _refresh(self, changes: Any) -> None:
        before = self._service.snapshot.generation
        if changes.everything:
            self._service.scan()
        elif changes.paths:
            self._service.refresh(changes.paths)
        snapshot = self._service.snapshot
        if snapshot.generation != before:
            self._post(SnapshotReady(snapshot))
