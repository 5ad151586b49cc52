"""The guarded metadata write against a bare durable one (DESIGN "Numbers to reach": ≤ 3).

Baseline: write a temporary file, fsync it, rename it, fsync the directory. Ours: the same
content as a compare-and-swap under the directory lock, and, as the browser does it, with
reading, checking and editing the one value. Interleaved, median of many, in one process.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loop_core import fsio
from loop_core.loop.edits import edit_header
from loop_core.loop.manager import SessionManager
from loop_core.plans import Edit

ROUNDS = 400
PIN = '"2026-01-02T03:04:05.678Z"'


def plain(path: Path, data: bytes) -> None:
    """What every careful program does, and no more."""
    temporary = f"{path}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.rename(temporary, path)
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)


def timed(action: Callable[..., object], *arguments: Any, **named: Any) -> float:
    start = time.perf_counter()
    action(*arguments, **named)
    return time.perf_counter() - start


def run() -> dict[str, float]:
    """Medians in milliseconds, and their ratios to the baseline."""
    with tempfile.TemporaryDirectory() as folder:
        manager = SessionManager.create("/tmp", folder)
        manager.commit([{"role": "user", "content": "hello", "timestamp": 1}])
        meta = manager.session_file
        assert meta is not None
        bare = meta.with_name("bare.json")
        texts = [meta.read_bytes(), meta.read_bytes() + b" "]
        bare.write_bytes(texts[0])
        times: dict[str, list[float]] = {"plain": [], "exchange": [], "edit": []}
        for number in range(ROUNDS):
            now, new = texts[number % 2], texts[1 - number % 2]
            before, after = (None, PIN) if number % 2 == 0 else (PIN, None)
            change = [Edit("pinnedAt", before, after)]
            times["plain"].append(timed(plain, bare, new))
            bare.write_bytes(now)
            times["exchange"].append(timed(fsio.exchange, bare, new, expected=now))
            times["edit"].append(timed(edit_header, meta, change, "loop3"))
        median = {name: statistics.median(values) for name, values in times.items()}
    return {
        "plain_ms": round(median["plain"] * 1000, 3),
        "exchange_ms": round(median["exchange"] * 1000, 3),
        "edit_ms": round(median["edit"] * 1000, 3),
        "exchange_ratio": round(median["exchange"] / median["plain"], 2),
        "edit_ratio": round(median["edit"] / median["plain"], 2),
        "limit": 3,
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
