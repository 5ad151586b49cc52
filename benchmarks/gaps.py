"""How long an event loop did not come round: on the wall, and in its own processor time.

The wall is what a person feels, and on a busy machine it measures the others as well. The
processor time of the longest single callback is what the program itself is to blame for.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import events
from typing import Any

__all__ = ["Gaps"]


class Gaps:
    """Milliseconds, kept from `clear` on. One at a time, in the loop's own thread."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[tuple[float, str]] = []  # with the callback, where it is worth a look

    def clear(self) -> None:
        self.wall.clear()
        self.cpu.clear()

    @property
    def longest_cpu(self) -> float:
        return max((spent for spent, _ in self.cpu), default=0.0)

    async def watch(self) -> None:
        """Measure until cancelled."""
        real = events.Handle._run
        gaps = self

        def timed(handle: Any) -> None:
            began = time.thread_time()
            real(handle)
            spent = (time.thread_time() - began) * 1000
            if spent > 1.0:
                gaps.cpu.append((spent, repr(handle)))

        events.Handle._run = timed  # type: ignore[method-assign]
        try:
            before = time.perf_counter()
            while True:
                await asyncio.sleep(0.001)
                now = time.perf_counter()
                self.wall.append((now - before) * 1000)
                before = now
        finally:
            events.Handle._run = real  # type: ignore[method-assign]
