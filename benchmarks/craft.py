"""Craft-Agents sessions: the list against reading 8 KB of each, a long history against its bytes.

Run: ``python -m benchmarks.craft [sessions] [megabytes]``. Every ratio is of processor time
inside one run, the best of several rounds each, in turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path
from typing import Any

from benchmarks.timing import in_turns
from loop_core.craft import StoredSession, write_session_jsonl
from loop_core.craft.store import CraftStore
from loop_core.model import SessionKey


def make_store(base: Path, sessions: int) -> list[str]:
    """A configuration with one workspace of `sessions` sessions; returns their files."""
    root = base / "workspaces" / "bench"
    files = []
    for number in range(sessions):
        folder = root / "sessions" / f"26{1 + number % 12:02}{1 + number % 28:02}-bench-{number}"
        folder.mkdir(parents=True)
        header = {
            "id": folder.name,
            "workspaceRootPath": str(root),
            "sdkCwd": str(folder),
            "createdAt": 1793610000000 + number,
            "lastUsedAt": 1793610003000 + number,
            "lastMessageAt": 1793610003000 + number,
            "name": f"Session number {number}",
            "labels": ["bug", "priority::3"],
            "permissionMode": "ask",
            "model": "example-model-1",
            "tokenUsage": {"inputTokens": 1200, "outputTokens": 340, "costUsd": 0.0087},
        }
        messages = [
            {"id": "m1", "content": f"Question {number} " + "x" * 900, "type": "user"},
            {"id": "m2", "content": "Answer " + "y" * 9000, "type": "assistant"},
        ]
        file = folder / "session.jsonl"
        write_session_jsonl(file, StoredSession(header, messages))
        files.append(str(file))
    (root / "config.json").write_text(json.dumps({"id": "ws_bench000", "name": "Bench"}))
    return files


def make_long(base: Path, megabytes: int) -> Path:
    """One session of many megabytes in rounds of about 200 kB."""
    folder = base / "workspaces" / "bench" / "sessions" / "261231-long-river"
    folder.mkdir(parents=True)
    file = folder / "session.jsonl"
    answer = json.dumps({"id": "a", "content": "word " * 8000, "type": "assistant"}) + "\n"
    tool = json.dumps({"toolName": "Bash", "toolResult": "line\n" * 30000, "type": "tool"}) + "\n"
    with file.open("w") as out:
        out.write('{"id":"261231-long-river","createdAt":1,"lastUsedAt":2}\n')
        while out.tell() < megabytes << 20:
            out.write('{"id":"u","content":"go on","type":"user"}\n' + answer + tool)
    return file


def read_heads(files: list[str]) -> None:
    for file in files:
        with open(file, "rb") as handle:
            handle.read(8192)


def split_file(file: Path) -> None:
    """Reading and splitting the file, a megabyte at a time."""
    held = b""
    with file.open("rb", buffering=0) as handle:
        while chunk := handle.read(1 << 20):
            held = (held + chunk).split(b"\n")[-1]


def scan(store: CraftStore) -> None:
    deque(store.scan(), maxlen=1)


_CHILD = """
import resource, sys
from loop_core.craft.store import CraftStore
from loop_core.model import SessionKey
def peak():
    try:  # ru_maxrss of a child begins with its parent's
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
store = CraftStore(sys.argv[1])
before = peak()
store.page(SessionKey(store.id, sys.argv[2]))
print(peak() - before)
"""


def grown_mb(base: Path, folder: Path) -> float:
    """Megabytes of memory one cold page takes in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(base), str(folder)],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout) / 1024


def run(sessions: int = 5000, megabytes: int = 500) -> dict[str, Any]:
    """All measurements: seconds, and ratios to what is measured beside them."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        os.environ["HOME"] = folder
        files = make_store(base, sessions)
        store = CraftStore(base)
        scan(store)
        heads, first, again, stats = in_turns(
            lambda: read_heads(files),
            lambda: scan(CraftStore(base)),
            lambda: scan(store),
            lambda: [os.stat(file) for file in files],
        )

        long = make_long(base, megabytes)
        key = SessionKey(store.id, str(long.parent))
        split, cold = in_turns(
            lambda: split_file(long), lambda: CraftStore(base).page(key), times=3
        )
        store.page(key)
        (warm,) = in_turns(lambda: store.page(key))
        return {
            "sessions": sessions,
            "list_seconds": first,
            "list_to_8k_reads": first / heads,
            "rescan_to_stats": again / stats,
            "long_megabytes": megabytes,
            "page_cold_to_split": cold / split,
            "page_warm_seconds": warm,
            "page_memory_mb": grown_mb(base, long.parent),
        }


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:3]]
    for name, value in run(*numbers).items():
        print(f"{name:>20}: {value:.4g}")
