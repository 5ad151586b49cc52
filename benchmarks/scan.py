"""Scanning a Loop store, as ratios to the bare work (DESIGN "Numbers to reach").

``python -m benchmarks.scan [sessions]`` prints the ratios of one run.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.timing import in_turns
from loop_core.loop.envelope import EMPTY_GENERATION
from loop_core.loop.paths import workspace_hash
from loop_core.loop.store import LoopStore

_PROJECTS = 12
#: Seconds after which the names in a folder count as settled: before, it is listed every time.
_STEADY = 3.1


class _Envelope(msgspec.Struct, gc=False):
    """A plain typed decode of what a list shows: the yardstick."""

    header: dict[str, Any]
    generation: str
    start: int
    bytes: int
    messageCount: int  # noqa: N815


def make(root: Path, count: int) -> None:
    """`count` sessions with stored titles in a dozen projects, at rest for weeks."""
    for number in range(count):
        cwd = root / "work" / f"project-{number % _PROJECTS}"
        cwd.mkdir(parents=True, exist_ok=True)
        session = f"{number:08x}-0000-4000-8000-{number:012x}"
        folder = root / "agent" / "sessions" / workspace_hash(cwd) / session
        folder.mkdir(parents=True)
        moment = f"2026-10-{number % 28 + 1:02}T09:{number % 60:02}:00.000Z"
        header = {
            "format": "loop-session",
            "version": 2,
            "permissionPreset": "workspace-write",
            "id": session,
            "cwd": str(cwd),
            "createdAt": moment,
            "updatedAt": moment,
            "unread": number % 5 == 0,
            "title": {"text": f"Chat {number}", "source": "model", "messageIndices": [0]},
            "model": {"provider": "example", "id": "example-model"},
        }
        meta = {"format": "loop-session", "version": 3, "header": header}
        meta |= {"generation": EMPTY_GENERATION, "start": 0, "bytes": 0, "messageCount": 0}
        (folder / "meta.json").write_text(json.dumps(meta, separators=(",", ":")) + "\n")
        (folder / "messages.jsonl").write_bytes(b"")
        # As old as it says: of a store of thousands few sessions are of today.
        seconds = datetime.fromisoformat(moment).timestamp()
        for name in ("meta.json", "messages.jsonl"):
            os.utime(folder / name, (seconds, seconds))


def _metas(root: Path) -> list[str]:
    found = []
    with os.scandir(root / "agent" / "sessions") as collections:
        for collection in collections:
            with os.scandir(collection.path) as sessions:
                found += [f"{session.path}/meta.json" for session in sessions if session.is_dir()]
    return found


def _bare_scan(root: Path, *, messages: bool = False) -> None:
    """The floor of a scan; with `messages` it looks at each message file too, as a scan must.

    That tells whether messages are missing, and whether the session runs.
    """
    decode = msgspec.json.Decoder(_Envelope).decode
    kept = []
    for path in _metas(root):
        fd = os.open(path, os.O_RDONLY)
        raw = os.read(fd, os.fstat(fd).st_size)
        os.close(fd)
        kept.append(decode(raw))
        if messages:
            os.stat(f"{path[:-9]}messages.jsonl")


def _bare_stat(root: Path) -> None:
    for path in _metas(root):
        os.stat(path)


def run(count: int = 10_000) -> dict[str, float]:
    """Ratios: a complete first scan, and a scan in which one session changed."""
    root = Path(tempfile.mkdtemp(prefix="loop-tui-scan-"))
    try:
        make(root, count)
        time.sleep(_STEADY)
        agent = root / "agent"

        def cold() -> None:
            *_, last = LoopStore(agent).scan()
            assert len(last.rows) == count

        store = LoopStore(agent)
        list(store.scan())
        changed = _metas(root)[count // 2]

        def warm() -> None:
            os.utime(changed)
            *_, last = store.scan()
            assert len(last.rows) == count

        def targeted() -> None:
            os.utime(changed)
            store.rescan({changed})

        bare, looked, stats, first, again, told = in_turns(
            lambda: _bare_scan(root),
            lambda: _bare_scan(root, messages=True),
            lambda: _bare_stat(root),
            cold,
            warm,
            targeted,
            times=9 if count < 100_000 else 5,
        )
        return {
            "scan / (scandir + read + decode)": round(first / bare, 2),
            "scan / (the same + stat of messages)": round(first / looked, 2),
            "rescan / (stat of every meta.json)": round(again / stats, 2),
            "told rescan / (stat of every meta.json)": round(told / stats, 2),
        }
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    for name, ratio in run(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000).items():
        print(f"{ratio:8.2f}  {name}")
