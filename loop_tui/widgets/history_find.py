"""Finding text in a whole session: hits streamed from a thread, a place among them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from time import monotonic

from loop_core.model import Hit

__all__ = ["Finder", "stream"]

_BATCH_SECONDS = 0.05
_MAX_HITS = 10_000


class Finder:
    """The hits of one search so far and the one the reader is at."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.hits: list[Hit] = []
        self.at = -1
        self.done = False
        self.stopped = threading.Event()

    def step(self, by: int) -> Hit | None:
        """The next or previous hit, around the ends."""
        if not self.hits:
            return None
        self.at = (self.at + by) % len(self.hits) if self.at >= 0 else (0 if by > 0 else -1)
        self.at %= len(self.hits)
        return self.hits[self.at]

    def first_from(self, message: int) -> Hit | None:
        """The first hit at or after a message; None when there is none yet."""
        for index, hit in enumerate(self.hits):
            if hit.message >= message:
                self.at = index
                return hit
        return None

    @property
    def occurrence(self) -> int:
        """How many hits of the same message come before this one."""
        here = self.hits[self.at]
        return sum(1 for hit in self.hits[: self.at] if hit.message == here.message)

    def status(self) -> str:
        """How many hits, and which of them the reader is at."""
        name = f'"{self.text}"'
        if not self.hits:
            return f"{name}: not found" if self.done else f"{name}: searching"
        count = f"{len(self.hits):,}{'' if self.done else '+'}"
        return f"{name}: {count} found" if self.at < 0 else f"{name}: {self.at + 1:,} of {count}"


async def stream(
    finder: Finder, hits: Callable[[Callable[[], bool]], Iterator[Hit]]
) -> AsyncIterator[None]:
    """Take hits in a thread, a batch at a time; yields after each batch."""
    source = hits(finder.stopped.is_set)

    def batch() -> tuple[list[Hit], bool]:
        found: list[Hit] = []
        until = monotonic() + _BATCH_SECONDS
        for hit in source:
            found.append(hit)
            if monotonic() > until or finder.stopped.is_set():
                return found, False
        return found, True

    try:
        while not finder.done and not finder.stopped.is_set():
            found, done = await asyncio.to_thread(batch)
            finder.hits.extend(found)
            finder.done = done or len(finder.hits) >= _MAX_HITS
            yield
    finally:
        finder.stopped.set()
