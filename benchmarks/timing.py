"""Costs in processor time, measured in turns, so that other work of the machine strikes all."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["in_turns"]


def in_turns(*works: Callable[[], object], times: int = 9) -> list[float]:
    """The fewest seconds of processor time each of `works` took, all threads counted."""
    least = [float("inf")] * len(works)
    for _ in range(times):
        for number, work in enumerate(works):
            begin = time.process_time()
            work()
            least[number] = min(least[number], time.process_time() - begin)
    return least
