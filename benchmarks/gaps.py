"""How long an event loop did not come round: on the wall, and in its own processor time.

The wall is what a person feels, and on a busy machine it measures the others as well. The
processor time of the longest single round of the loop is what the program is to blame for.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import base_events
from typing import Any

__all__ = ["Gaps"]


class Gaps:
    """Milliseconds, kept from `clear` on. One at a time, in the loop's own thread."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def clear(self) -> None:
        self.wall.clear()
        self.cpu.clear()

    @property
    def longest_cpu(self) -> float:
        return max(self.cpu, default=0.0)

    async def watch(self) -> None:
        """Measure until cancelled."""
        loop: Any = base_events.BaseEventLoop
        real = loop._run_once  # the one place every round passes

        def timed(running: Any) -> None:
            began = time.thread_time()
            real(running)
            self.cpu.append((time.thread_time() - began) * 1000)

        loop._run_once = timed
        try:
            before = time.perf_counter()
            while True:
                await asyncio.sleep(0.001)
                now = time.perf_counter()
                self.wall.append((now - before) * 1000)
                before = now
        finally:
            loop._run_once = real
