"""Full check of one large session against the least work that could answer it.

The base line is one pass of SHA-256 and one typed msgspec decode of each line, over the same
file. Run as ``python benchmarks/full_check.py [MB]``.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = {"ratio": 2.0, "memory_mb": 64}
_ID = "11234567-1001-4101-8201-abc000001eef"
_MB = 1 << 20


def _round(number: int, size: int) -> list[bytes]:
    """One round of four messages, its tool result `size` bytes long."""
    base = {"timestamp": 1_790_000_000_000 + number}
    model = {"api": "a", "provider": "p", "model": "m", "usage": {"input": 1, "output": 2}}
    call = {"type": "toolCall", "id": f"c{number}", "name": "read", "arguments": {"path": "/x"}}
    text = ('def f(x):\n\treturn "é" + x  # ' + "word " * 20 + "\n") * (1 + size // 130)
    messages = [
        {"role": "user", "content": f"Question {number}: " + "why " * 30, **base},
        {"role": "assistant", "content": [call], "stopReason": "toolUse", **model, **base},
        {
            "role": "toolResult",
            "toolCallId": call["id"],
            "toolName": "read",
            "isError": False,
            "content": [{"type": "text", "text": text[:size]}],
            **base,
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Because. " * 60}],
            "stopReason": "stop",
            **model,
            **base,
        },
    ]
    return [
        json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        for message in messages
    ]


def build(directory: Path, size_mb: int, *, result_bytes: int) -> Path:
    """A version-3 session of about `size_mb` megabytes; its meta.json."""
    digest, written, messages, number = hashlib.sha256(), 0, 0, 0
    with (directory / "messages.jsonl").open("wb") as file:
        while written < size_mb * _MB:
            sizes = (result_bytes, result_bytes // 4, result_bytes * 2)
            for line in _round(number, sizes[number % 3]):
                file.write(line)
                digest.update(line)
                written += len(line)
                messages += 1
            number += 1
    header = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": _ID,
        "cwd": "/",
        "createdAt": "2026-10-01T09:00:00.000Z",
        "updatedAt": "2026-10-01T09:00:00.000Z",
        "unread": False,
    }
    meta = directory / "meta.json"
    envelope = {
        "format": "loop-session",
        "version": 3,
        "header": header,
        "generation": digest.hexdigest(),
        "start": 0,
        "bytes": written,
        "messageCount": messages,
    }
    meta.write_text(json.dumps(envelope) + "\n")
    return meta


def _least(path: Path) -> float:
    """Seconds for SHA-256 and a typed decode of each line, read in order."""
    from loop_core.loop._typed import decode

    begun = time.perf_counter()
    digest = hashlib.sha256()
    with path.open("rb", buffering=_MB) as file:
        for line in file:
            digest.update(line)
            decode(line)
    digest.hexdigest()
    return time.perf_counter() - begun


def _checked(meta: Path) -> float:
    from loop_core.loop.check import check

    begun = time.perf_counter()
    result = check(meta)
    taken = time.perf_counter() - begun
    if not result.ok:
        raise SystemExit(f"the check failed: {result.error}")
    return taken


_PEAK = """
from loop_core.loop.check import check
{act}
with open("/proc/self/status") as status:
    print(*(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def _peak_mb(meta: Path | None) -> float:
    """Peak memory of a fresh process that checks `meta` (None: only imports)."""
    code = _PEAK.format(act="" if meta is None else f"check({str(meta)!r})")
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def run(size_mb: int = 200, *, repeats: int = 3) -> dict[str, float]:
    """Ratios and megabytes: `ratio` for lines of a few kilobytes, `ratio_small` for short ones."""
    figures: dict[str, float] = {}
    for name, result_bytes in (("ratio", 8192), ("ratio_small", 400)):
        with tempfile.TemporaryDirectory() as place:
            meta = build(Path(place), size_mb, result_bytes=result_bytes)
            pairs = [
                (_checked(meta), _least(meta.parent / "messages.jsonl")) for _ in range(repeats)
            ]
            check_s, least_s = min(a for a, _ in pairs), min(b for _, b in pairs)
            figures[name] = check_s / least_s
            figures[f"{name}_seconds"] = check_s
            if name == "ratio":
                figures["memory_mb"] = _peak_mb(meta) - _peak_mb(None)
    return figures


if __name__ == "__main__":
    for key, value in run(int(sys.argv[1]) if len(sys.argv) > 1 else 200).items():
        print(f"{key:22} {value:8.2f}")
