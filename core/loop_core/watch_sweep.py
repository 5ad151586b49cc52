"""Noticing that a native watcher went silently blind, by stat alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from loop_core.model import WatchRoot

__all__ = ["Sweep"]

_SETTLED_NS = 2 * 10**9
_DEPTH = 2


class Sweep:
    """Compares directories that changed with the changes that were told."""

    def __init__(self, roots: Iterable[WatchRoot], every: float) -> None:
        self._roots = [root for root in roots if root.recursive]
        self._every = every
        self._next = 0.0
        self._since_ns = 0
        self._told: set[str] = set()

    def begin(self) -> None:
        self._told.clear()
        self._since_ns = time.time_ns()
        self._next = time.monotonic() + self._every

    def missed(self, told: set[str]) -> bool:
        """Take in what was told; when a sweep is due, whether a change was not."""
        for path in told:
            self._told.add(path)
            self._told.add(os.path.dirname(path))
        if time.monotonic() < self._next:
            return False
        now = time.time_ns()
        # What changed just now may still be on its way.
        until = now - _SETTLED_NS
        blind = any(
            self._since_ns < changed <= until and path not in self._told
            for root in self._roots
            for path, changed in _directories(root.path, _DEPTH)
        )
        recent, self._told = self._told, set()
        # Changes too young for this sweep are judged by the next; so is what told of them.
        self._told = {path for path in recent if _changed(path) > until}
        self._since_ns = until
        self._next = time.monotonic() + self._every
        return blind


def _directories(root: str, depth: int) -> Iterable[tuple[str, int]]:
    """Directories down to `depth` below `root` with their modification times; no file is read."""
    yield root, _changed(root)
    if depth == 0:
        return
    try:
        with os.scandir(root) as entries:
            found = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for path in found:
        yield from _directories(path, depth - 1)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
