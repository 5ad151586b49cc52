"""Pages of a large session, as ratios to the bare work (DESIGN "Numbers to reach").

``python -m benchmarks.page [megabytes]`` prints the ratios of one run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.timing import in_turns
from loop_core.loop.store import LoopStore
from loop_core.model import SessionKey

_TIMES = 25
_PASSES = 3
_SESSION = "00000000-0000-4000-8000-000000000000"


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _round(number: int) -> list[bytes]:
    """A question, two tool calls with output, an answer: some 20 KB."""
    stamp = 1_790_000_000_000 + number * 60_000
    base = {"api": "a", "provider": "p", "model": "m", "usage": {}, "timestamp": stamp}
    lines = [_line({"role": "user", "content": f"Question {number}?", "timestamp": stamp})]
    for step in range(2):
        call = {"type": "toolCall", "id": f"c{step}", "name": "bash"}
        call["arguments"] = {"command": f"cat part-{step}"}  # type: ignore[assignment]
        lines.append(
            _line({"role": "assistant", "content": [call], "stopReason": "toolUse"} | base)
        )
        text = (f'{number} line of "output" with some words\n' * 220)[:9000]
        result = {"role": "toolResult", "toolCallId": f"c{step}", "toolName": "bash"}
        content = [{"type": "text", "text": text}]
        lines.append(_line(result | {"content": content, "isError": False, "timestamp": stamp + 5}))
    answer = [{"type": "text", "text": "An answer of a few lines.\n" * 40}]
    lines.append(_line({"role": "assistant", "content": answer, "stopReason": "stop"} | base))
    return lines


def make(agent: Path, megabytes: int) -> Path:
    """A session of that size with its index; gives its directory."""
    folder = agent / "sessions" / "bench" / _SESSION
    folder.mkdir(parents=True)
    digest, size, count, rounds = hashlib.sha256(), 0, 0, []
    with (folder / "messages.jsonl").open("wb") as file:
        while size < megabytes << 20:
            rounds.append({"messageIndex": count, "byteOffset": size})
            lines = _round(len(rounds))
            block = b"".join(lines)
            digest.update(block)
            file.write(block)
            size, count = size + len(block), count + len(lines)
    moment = "2026-10-01T09:00:00.000Z"
    header = {"format": "loop-session", "version": 2, "permissionPreset": "read-only"}
    header |= {"id": _SESSION, "cwd": "/tmp", "createdAt": moment, "updatedAt": moment}
    meta = {"format": "loop-session", "version": 3, "header": header}
    meta |= {"generation": digest.hexdigest(), "start": 0, "bytes": size, "messageCount": count}
    (folder / "meta.json").write_text(json.dumps(meta))
    index = {"generation": meta["generation"], "rounds": rounds}
    (folder / "index.json").write_bytes(msgspec.json.encode(index))
    return folder


def _bare_page(folder: Path) -> None:
    """Decode the metadata, the index and the lines of the last three rounds."""
    meta = msgspec.json.decode((folder / "meta.json").read_bytes())
    index = msgspec.json.decode((folder / "index.json").read_bytes())
    start = index["rounds"][-3]["byteOffset"]
    fd = os.open(folder / "messages.jsonl", os.O_RDONLY)
    data = os.pread(fd, meta["bytes"] - start, start)
    os.close(fd)
    for line in data.splitlines():
        msgspec.json.decode(line)


def _needed(folder: Path) -> int:
    """Bytes of the metadata, the index and the last three rounds."""
    meta, index = folder / "meta.json", folder / "index.json"
    start: int = msgspec.json.decode(index.read_bytes())["rounds"][-3]["byteOffset"]
    messages = (folder / "messages.jsonl").stat().st_size
    return meta.stat().st_size + index.stat().st_size + messages - start


def _bytes_read(work: Callable[[], object]) -> int:
    """All that this process reads for `work`."""

    def so_far() -> int:
        return int(Path("/proc/self/io").read_text().split("rchar:")[1].split()[0])

    first, second = so_far(), so_far()  # what the question itself reads
    work()
    return so_far() - second - (second - first)


def _bare_pass(folder: Path) -> None:
    """Read the whole file and split it into lines."""
    with (folder / "messages.jsonl").open("rb") as file:
        while block := file.read(1 << 20):
            block.split(b"\n")


def _memory_mb(field: str) -> float:
    """`VmRSS` or `VmHWM` of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def run(megabytes: int = 1024) -> dict[str, float]:
    """Ratios of a page with and without an index, and the memory the latter adds."""
    base = Path(tempfile.mkdtemp(prefix="loop-tui-page-"))
    try:
        folder = make(base / "agent", megabytes)

        def opened(number: int) -> LoopStore:
            """A store that knows the session's row and nothing of its history."""
            store = LoopStore(base / "agent", collection=False, cache_dir=base / str(number))
            assert store.look(SessionKey(store.id, f"bench/{_SESSION}")) is not None
            return store

        stores = map(opened, range(_TIMES + _PASSES + 1))

        def page() -> None:
            store = waiting.pop()
            assert len(store.page(SessionKey(store.id, f"bench/{_SESSION}")).rounds) == 3

        waiting = [next(stores) for _ in range(_TIMES)]
        bare, with_index = in_turns(lambda: _bare_page(folder), page, times=_TIMES)
        waiting = [next(stores)]
        read = _bytes_read(page) / _needed(folder)
        (folder / "index.json").unlink()
        waiting = list(stores)
        _forget_peak()
        before = _memory_mb("VmRSS")
        bare_pass, without = in_turns(lambda: _bare_pass(folder), page, times=_PASSES)
        return {
            "page with index / (pread + decode)": round(with_index / bare, 2),
            "bytes read / (metadata + index + page)": round(read, 4),
            "page without index / (read + split)": round(without / bare_pass, 2),
            "memory added without index, MB": round(_memory_mb("VmHWM") - before, 1),
        }
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    for name, value in run(int(sys.argv[1]) if len(sys.argv) > 1 else 1024).items():
        print(f"{value:8.2f}  {name}")
