"""Changes on disk, natively where the system can, else by asking for a rescan.

The only importer of watchfiles. A generator for a worker thread: the first change at once,
the rest coalesced every tenth of a second. Polling takes over where native watching cannot
be had: the inotify limit, network and WSL mounts, a failing watcher. Past the limit a watcher
goes silently blind for new directories, so a sweep that only stats compares what changed with
what was told.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from loop_core import fsio
from loop_core.model import WatchRoot
from loop_core.mounts import Mounts
from loop_core.watch_sweep import Sweep

__all__ = ["Changes", "Native", "watch", "watch_natively"]

Mode = Literal["native", "polling"]
Native = Callable[[Sequence[str], bool, threading.Event], Iterator[set[str]]]

#: Seconds between two rescans under polling.
INTERVAL = 2.0
#: Seconds between two looks at the roots themselves, and the longest wait for `stop`.
TICK = 0.2
#: Seconds between two sweeps for what the watcher did not tell.
SWEEP = 60.0
#: Seconds between two looks at what a reader found unsettled.
AGAIN = 0.3
_DEBOUNCE_MS = 100
_STEP_MS = 20
_RUST_TIMEOUT_MS = 200  # an idle watcher says by it that its watches are placed


class Changes(NamedTuple):
    """What changed: raw paths, or `everything` when only a rescan can tell.

    The first value has no paths and says how it is watched; so does every change of `mode`
    or `note` (one line: why it polls).
    """

    paths: frozenset[str] = frozenset()
    everything: bool = False
    mode: Mode = "native"
    note: str | None = None


def watch(
    roots: Iterable[WatchRoot],
    stop: threading.Event,
    *,
    poll: bool = False,
    interval: float = INTERVAL,
    sweep: float = SWEEP,
    native: Native | None = None,
    unsettled: Callable[[], frozenset[str]] = frozenset,
) -> Iterator[Changes]:
    """Yield changes below `roots` until `stop` is set (noticed within `TICK` seconds).

    A root that does not exist yet, or is replaced, is watched from the moment it appears.
    What `unsettled` gives is told every `AGAIN` seconds, changed or not.
    """
    watcher = _Watcher(list(roots), stop, interval, sweep, native or watch_natively)
    watcher.unsettled = unsettled
    if poll:
        watcher.fall_back("asked for")
    try:
        yield from watcher.run()
    finally:
        watcher.restart.set()


class _Watcher:
    """The state of one `watch`."""

    def __init__(
        self,
        roots: list[WatchRoot],
        stop: threading.Event,
        interval: float,
        sweep: float,
        native: Native,
    ) -> None:
        self.roots = roots
        self.stop = stop
        self.interval = interval
        self.native = native
        self.note: str | None = None
        self.polling = False
        self.restart = threading.Event()
        self.news: queue.SimpleQueue[set[str] | str] = queue.SimpleQueue()
        self.identities: dict[str, tuple[int, int] | None] = {}
        self.polled: list[str] = []
        self.sweeps = Sweep(roots, sweep)
        self.next_poll = 0.0
        self.unsettled: Callable[[], frozenset[str]] = frozenset
        self.next_look = 0.0

    def fall_back(self, why: str) -> None:
        self.polling = True
        self.note = f"polling every {self.interval:g} s: {why}"
        self.restart.set()

    def run(self) -> Iterator[Changes]:
        self.begin()
        yield self.say()
        while not self.stop.is_set():
            paths, failure, placed = self.wait()
            if failure is not None:
                self.fall_back(failure)
                yield self.say(everything=True)
                continue
            if placed:
                self.sweeps.begin()
            if not self.polling and self.sweeps.missed(paths):
                self.fall_back("the watcher missed changes, perhaps at its limit")
                yield self.say(everything=True)
                continue
            # The sweep has to know of our own temporaries too; nobody else has.
            paths = {path for path in paths if not _is_ours(path)}
            if placed:
                # What changed before the watches were there was told by nobody.
                yield self.say(frozenset(paths), everything=True)
                continue
            if self.roots_changed():
                self.begin()
                yield self.say(everything=True)
                continue
            paths |= self.due_again()
            due = time.monotonic() >= self.next_poll
            if due and (self.polling or self.polled):
                self.next_poll = time.monotonic() + self.interval
                yield self.say(frozenset(paths | set(self.polled)), everything=self.polling)
            elif paths:
                yield self.say(frozenset(paths))

    def due_again(self) -> frozenset[str]:
        """What is to be looked at again, when the time has come."""
        now = time.monotonic()
        if now < self.next_look or not (paths := self.unsettled()):
            return frozenset()
        self.next_look = now + AGAIN
        return paths

    def say(self, paths: frozenset[str] = frozenset(), *, everything: bool = False) -> Changes:
        mode: Mode = "polling" if self.polling else "native"
        return Changes(paths, everything, mode, self.note)

    def wait(self) -> tuple[set[str], str | None, bool]:
        """Paths that changed within one tick, why a watcher ended, whether one began."""
        timeout = TICK
        if self.polling or self.polled:
            timeout = max(0.0, min(TICK, self.next_poll - time.monotonic()))
        try:
            news = self.news.get(timeout=timeout)
        except queue.Empty:
            return set(), None, False
        paths: set[str] = set()
        placed = False
        while True:
            if isinstance(news, str):
                return paths, news, placed
            placed = placed or not news
            paths |= news
            try:
                news = self.news.get_nowait()
            except queue.Empty:
                return paths, None, placed

    # --- native watchers

    def begin(self) -> None:
        """Start watching what exists; earlier watchers end by themselves."""
        self.restart.set()
        self.restart = threading.Event()
        self.identities = {root.path: _identity(root.path) for root in self.roots}
        self.next_poll = time.monotonic() + self.interval
        self.sweeps.begin()
        if self.polling:
            return
        there = [root for root in self.roots if self.identities[root.path] is not None]
        kinds = _remote_kinds(there)
        self.polled = [root.path for root in there if kinds[root.path] is not None]
        if self.polled:
            kind = kinds[self.polled[0]]
            self.note = f"polling {len(self.polled)} of {len(there)} places: {kind} tells nothing"
            if len(self.polled) == len(there):
                self.polling = True
                return
        for recursive in (True, False):
            paths = [
                root.path
                for root in there
                if root.recursive is recursive and kinds[root.path] is None
            ]
            if paths:
                self.spawn(paths, recursive)

    def spawn(self, paths: list[str], recursive: bool) -> None:
        restart, news, native = _Either(self.stop, self.restart), self.news, self.native

        def run() -> None:
            begun = False
            try:
                for changed in native(paths, recursive, restart):
                    if changed or not begun:
                        news.put(changed)
                    begun = True
            except Exception as error:  # noqa: BLE001 - whatever ends the watcher, polling goes on
                if not restart.is_set():
                    news.put(_why(error))

        threading.Thread(target=run, name="watch", daemon=True).start()

    def roots_changed(self) -> bool:
        """Whether a root appeared, went, or was replaced."""
        if self.polling:
            return False
        return any(_identity(path) != was for path, was in self.identities.items())


class _Either(threading.Event):
    """Set when either of two events is."""

    def __init__(self, one: threading.Event, other: threading.Event) -> None:
        super().__init__()
        self._events = (one, other)

    def is_set(self) -> bool:
        return any(event.is_set() for event in self._events)


def watch_natively(
    paths: Sequence[str], recursive: bool, stop: threading.Event
) -> Iterator[set[str]]:
    """Yield the paths of each batch of changes; an empty one first, when it watches.

    Raises what the watching library raises.
    """
    import watchfiles

    changes = watchfiles.watch(
        *paths,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        stop_event=stop,
        rust_timeout=_RUST_TIMEOUT_MS,
        yield_on_timeout=True,
        raise_interrupt=False,
        # Left to itself it polls on every WSL, also where inotify works.
        force_polling=False,
        recursive=recursive,
        ignore_permission_denied=True,
    )
    begun = False
    for batch in changes:
        if not begun:
            begun = True
            yield set()
        if batch:
            yield {path for _, path in batch}


def _remote_kinds(roots: Iterable[WatchRoot]) -> dict[str, str | None]:
    """The type of each root's file system where that tells of no outside changes, else None."""
    mounts = Mounts()
    found = {root.path: mounts.of(os.path.realpath(root.path)) for root in roots}
    return {path: m.kind if m is not None and m.remote else None for path, m in found.items()}


def _is_ours(path: str) -> bool:
    """A temporary of our own writes."""
    return fsio.is_our_temporary(os.path.basename(path))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"watching failed ({error.strerror})"
    return f"watching failed ({error})"
