"""A whole large session exported in every format: memory added, and processor time.

The sessions are the hard case: half of the bytes are one single round of tool calls, some with
a screenshot; the other half is many short rounds. Processor time is a ratio to reading the
file and decoding each of its lines. Run as ``python -m benchmarks.export [MB]``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

_ID = "00000000-0000-4000-8000-00000000e49e"
_CRAFT = "261130-large-river"
_TIME = 1_790_000_000_000
_PICTURE = base64.b64encode(random.Random(4).randbytes(200_000)).decode()
_TEXT = 'def read(path): return "é" + path  # <b>words</b> & more `code`\n' * 140
_PROSE = (
    "## What changed\n\nThe **lock** is taken first, see [the notes](https://example.org/a).\n\n"
    "- one\n- two\n\n```python\nwith lock:\n    write()\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n"
)
_MODEL = {"api": "a", "provider": "p", "model": "m", "usage": {}, "timestamp": _TIME}

# Runs one export in a process of its own; prints kilobytes added and processor seconds.
_CHILD = """
import json, sys, time
from loop_tui import exporting
from loop_tui.service import Options, Service
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
base, source, form, target = sys.argv[1:]
with Service.open(Options(agent_dir=base + "/loop", craft_dirs=(base + "/craft",),
                          base=base + "/own", read_only=True)) as service:
    (row,) = [row for row in service.scan().rows if row.source == source]
    before, start = peak(), time.process_time()
    exporting.write(service, row.key, target, form)
    print(json.dumps([peak() - before, time.process_time() - start]))
"""


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _loop_step(number: int) -> Iterator[bytes]:
    """A thought, a tool call and its result; every fiftieth with a screenshot."""
    call = {"type": "toolCall", "id": f"c{number}", "name": "bash"}
    blocks = [{"type": "thinking", "thinking": "Where is it?"}, call | {"arguments": {"n": number}}]
    yield _encoded({"role": "assistant", "content": blocks, "stopReason": "toolUse"} | _MODEL)
    content: list[dict[str, Any]] = [{"type": "text", "text": _TEXT}]
    if number % 50 == 0:
        content.append({"type": "image", "data": _PICTURE, "mimeType": "image/png"})
    result = {"role": "toolResult", "toolCallId": f"c{number}", "toolName": "bash"}
    yield _encoded(result | {"content": content, "isError": False, "timestamp": _TIME})


def _loop_user(number: int) -> Iterator[bytes]:
    yield _encoded({"role": "user", "content": f"Question {number}?", "timestamp": _TIME})


def _loop_answer(_: int) -> Iterator[bytes]:
    answer = [{"type": "text", "text": _PROSE}]
    yield _encoded({"role": "assistant", "content": answer, "stopReason": "stop"} | _MODEL)


def _craft_step(number: int) -> Iterator[bytes]:
    value = {"id": f"t{number}", "type": "tool", "toolName": "Bash", "toolUseId": f"u{number}"}
    value |= {"toolInput": {"command": f"cat {number}"}, "toolResult": _TEXT}  # type: ignore[dict-item]
    yield _encoded(value | {"toolStatus": "completed", "timestamp": _TIME})


def _craft_user(number: int) -> Iterator[bytes]:
    value: dict[str, Any] = {"id": f"q{number}", "type": "user", "content": f"Question {number}?"}
    if number % 50 == 0:
        picture = {"type": "image", "name": "shot.png", "mimeType": "image/png", "size": 200_000}
        value["attachments"] = [picture | {"resizedBase64": _PICTURE}]
    yield _encoded(value | {"timestamp": _TIME})


def _craft_answer(number: int) -> Iterator[bytes]:
    yield _encoded({"id": f"a{number}", "type": "assistant", "content": _PROSE})


_SHAPES = {
    "loop": (_loop_user, _loop_step, _loop_answer),
    "craft": (_craft_user, _craft_step, _craft_answer),
}


def _lines(source: str, size: int) -> Iterator[bytes]:
    """One round of half the bytes, then short rounds."""
    user, step, answer = _SHAPES[source]
    written = number = 0
    yield from user(0)
    while written < size:
        if written > size // 2:
            yield from user(number)
        for line in step(number):
            written += len(line)
            yield line
        if written > size // 2:
            yield from answer(number)
        number += 1


def make(base: Path, source: str, megabytes: int) -> Path:
    """The session in a store below `base`; the file that holds its messages."""
    if source == "craft":
        folder = base / "craft" / "workspaces" / "bench" / "sessions" / _CRAFT
        folder.mkdir(parents=True)
        (folder.parent.parent / "config.json").write_text('{"id":"ws_bench000","name":"Bench"}')
        file = folder / "session.jsonl"
        with file.open("wb") as out:
            out.write(_encoded({"id": _CRAFT, "createdAt": _TIME, "lastUsedAt": _TIME}))
            out.writelines(_lines(source, megabytes << 20))
        return file
    folder = base / "loop" / "sessions" / "bench" / _ID
    folder.mkdir(parents=True)
    file = folder / "messages.jsonl"
    digest, size, count = hashlib.sha256(), 0, 0
    with file.open("wb") as out:
        for line in _lines(source, megabytes << 20):
            digest.update(line)
            out.write(line)
            size, count = size + len(line), count + 1
    moment = "2026-10-01T09:00:00.000Z"
    header = {"format": "loop-session", "version": 2, "permissionPreset": "read-only", "id": _ID}
    header |= {"cwd": "/tmp", "createdAt": moment, "updatedAt": moment}
    meta = {"format": "loop-session", "version": 3, "header": header}
    meta |= {"generation": digest.hexdigest(), "start": 0, "bytes": size, "messageCount": count}
    (folder / "meta.json").write_text(json.dumps(meta))
    return file


def _bare(file: Path) -> float:
    """Processor seconds of reading the file and decoding each line."""
    before = time.process_time()
    with file.open("rb") as lines:
        for line in lines:
            msgspec.json.decode(line)
    return time.process_time() - before


def _exported(base: Path, source: str, form: str) -> tuple[float, float, int]:
    """Megabytes of memory added, processor seconds, bytes written."""
    target = base / f"out.{form}"
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(base), source, form, str(target)],
        check=True,
        capture_output=True,
        text=True,
    )
    added, seconds = json.loads(done.stdout)
    written = target.stat().st_size
    target.unlink()
    return added / 1024, seconds, written


def run(megabytes: int = 1024) -> dict[str, float]:
    """Memory and ratios of each source and format; the largest memory of all."""
    found: dict[str, float] = {}
    for source in _SHAPES:
        with tempfile.TemporaryDirectory(prefix="loop-tui-export-") as folder:
            base = Path(folder)
            os.environ["HOME"] = folder
            bare = _bare(make(base, source, megabytes))
            for form in ("md", "html", "json"):
                added, seconds, written = _exported(base, source, form)
                found[f"{source} {form}, memory, MB"] = round(added, 1)
                found[f"{source} {form} / (read + decode)"] = round(seconds / bare, 2)
                found[f"{source} {form}, s"] = round(seconds, 2)
                found[f"{source} {form}, MB written"] = round(written / (1 << 20))
    found["memory, MB"] = max(value for name, value in found.items() if "memory" in name)
    found["ratio"] = max(value for name, value in found.items() if "decode" in name)
    return found


if __name__ == "__main__":
    for name, value in run(int(sys.argv[1]) if len(sys.argv) > 1 else 1024).items():
        print(f"{value:10.2f}  {name}")
