"""Full-text search against its parts: the engine alone, the text itself, reading the files.

Sessions of Zipf-distributed words, identifiers and some Chinese are written to a temporary
directory, indexed and searched. Each figure is a ratio inside one run; searches and reading
are counted in processor seconds:

* `index_speed`: bytes of text a second through our update, over the engine alone on the same
  extracted text with its own tokenizer and the same writer
* `index_speed_cpu`: the same in processor seconds, for a machine that has other work
* `index_size`: bytes of index over bytes of text
* `query_speed`: seconds of the exact scan over seconds of the indexed search, excerpts
  included, for the same words
* `scan_speed`: bytes a second of the exact scan over those of reading the files

Run as ``python benchmarks/search.py [MB]``.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from loop_core.loop.paths import workspace_hash
from loop_core.loop.store import LoopStore
from loop_core.search.engine import SearchEngine
from loop_core.search.indexer import update

GOAL = {"index_speed": 0.4, "index_size": 0.6, "query_speed": 20.0, "scan_speed": 0.3}
_MB = 1 << 20
_SESSION_KB = 5 << 10
_BASELINE_MB = 150
_PARTS = ("lock", "read", "write", "file", "store", "page", "round", "index", "error", "value")


def _pool(rng: random.Random, words: int = 1_500_000) -> list[str]:
    """A long run of words as a conversation about code might hold them."""
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    weights = list(range(len(letters), 0, -1))
    plain = ["".join(rng.choices(letters, weights, k=rng.randint(2, 11))) for _ in range(60_000)]
    names = [f"{rng.choice(_PARTS)}_{rng.choice(_PARTS)}_{n}" for n in range(3_000)]
    paths = [f"core/{rng.choice(_PARTS)}/{rng.choice(plain)}.py:{n}" for n in range(3_000)]
    dense = ["".join(chr(rng.randint(0x4E00, 0x5E00)) for _ in range(6)) for _ in range(2_000)]
    dense += ["".join(chr(rng.randint(0x0E01, 0x0E2E)) for _ in range(8)) for _ in range(500)]
    accents = str.maketrans("aeiou", "áèîöñ")
    marked = [word.translate(accents) for word in plain[2_000:2_500]]
    vocabulary = [*plain[:2_000], *names, *paths, *dense, *marked, *plain[2_000:]]
    rng.shuffle(vocabulary)
    return rng.choices(vocabulary, [1 / (n + 10) for n in range(len(vocabulary))], k=words)


def _text(rng: random.Random, pool: list[str], words: int) -> str:
    at = rng.randrange(len(pool) - words)
    return " ".join(pool[at : at + words])


def _round(rng: random.Random, pool: list[str], number: int) -> list[dict[str, Any]]:
    stamp = {"timestamp": 1_790_000_000_000 + number}
    model = {"api": "a", "provider": "p", "model": "m", "usage": {}, **stamp}
    command = _text(rng, pool, 12)
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": command}}
    said = {"type": "text", "text": _text(rng, pool, 250)}
    thought = {"type": "thinking", "thinking": _text(rng, pool, 120), "thinkingSignature": ""}
    output = {"type": "text", "text": _text(rng, pool, rng.choice((60, 400, 2_500)))}
    return [
        {"role": "user", "content": _text(rng, pool, 40), **stamp},
        {"role": "assistant", "content": [thought, call], "stopReason": "toolUse", **model},
        {
            "role": "toolResult",
            "toolCallId": "c",
            "toolName": "bash",
            "isError": False,
            "content": [output],
            **stamp,
        },
        {"role": "assistant", "content": [said], "stopReason": "stop", **model},
    ]


def build(base: Path, size_mb: int, seed: int = 1, *, session_kb: int = _SESSION_KB) -> int:
    """An agent directory of about `size_mb` megabytes of messages; the bytes written."""
    rng = random.Random(seed)
    pool = _pool(rng)
    cwd = base / "work"
    cwd.mkdir()
    collection = base / "agent" / "sessions" / workspace_hash(cwd)
    total = number = 0
    while total < size_mb * _MB:
        number += 1
        session = f"{number:08x}-0000-4000-8000-0000000000aa"
        where = collection / session
        where.mkdir(parents=True)
        total += _session(where, rng, pool, cwd, session, session_kb << 10)
    return total


def _session(
    where: Path, rng: random.Random, pool: list[str], cwd: Path, session: str, size: int
) -> int:
    digest, written, messages, rounds = hashlib.sha256(), 0, 0, 0
    with (where / "messages.jsonl").open("wb") as file:
        while written < size:
            for message in _round(rng, pool, rounds):
                line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
                digest.update(line + b"\n")
                written += file.write(line + b"\n")
                messages += 1
            rounds += 1
    header = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": session,
        "cwd": str(cwd),
        "createdAt": "2026-10-01T09:00:00.000Z",
        "updatedAt": "2026-10-01T10:00:00.000Z",
        "unread": False,
        "title": {"text": _text(rng, pool, 6), "source": "user"},
    }
    meta = {"format": "loop-session", "version": 3, "header": header, "start": 0}
    meta |= {"generation": digest.hexdigest(), "bytes": written, "messageCount": messages}
    (where / "meta.json").write_text(json.dumps(meta))
    return written


class _Clock(NamedTuple):
    """Seconds on the wall and of all processors."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> _Clock:
        return cls(time.perf_counter(), time.process_time())

    def since(self) -> _Clock:
        now = self.now()
        return _Clock(now.wall - self.wall, now.cpu - self.cpu)


def _engine_alone(store: LoopStore, rows: Any, directory: str) -> _Clock:
    """Seconds the engine takes by itself for a megabyte of text."""
    import tantivy

    texts: list[str] = []
    size = 0
    for row in rows:
        if size > _BASELINE_MB * _MB:
            break
        found = [piece.text for piece in store.texts(row.key)]
        texts += found
        size += sum(len(text.encode()) for text in found)
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", index_option="position")
    started = _Clock.now()
    index = tantivy.Index(builder.build(), path=directory)
    writer: Any = index.writer(heap_size=192 << 20, num_threads=2)
    for text in texts:
        document = tantivy.Document()
        document.add_text("text", text)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    took = started.since()
    return _Clock(took.wall / size * _MB, took.cpu / size * _MB)


def _size(directory: str) -> int:
    found: Iterator[str] = (
        os.path.join(base, name) for base, _, names in os.walk(directory) for name in names
    )
    return sum(os.path.getsize(path) for path in found)


def _read(base: Path) -> float:
    """Bytes a second of reading every messages file once more."""
    started = _Clock.now()
    size = 0
    for path in base.rglob("messages.jsonl"):
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(_MB):
                size += len(chunk)
    return size / started.since().cpu


def run(size_mb: int = 100) -> dict[str, Any]:
    """Figures for one corpus; speeds in MB a second, times in milliseconds."""
    rng = random.Random(2)
    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory)
        size = build(base, size_mb)
        store = LoopStore(base / "agent", cache_dir=base / "rounds")
        *_, scan = store.scan()
        (base / "alone").mkdir()
        alone = _engine_alone(store, scan.rows, str(base / "alone"))
        text = sum(len(p.text.encode()) for row in scan.rows for p in store.texts(row.key))
        cache = str(base / "search")
        started = _Clock.now()
        done = update(cache, scan.rows, lambda _: store)
        took = started.since()
        engine = SearchEngine(cache, lambda _: store)

        def ask(query: str, *, exact: bool = False) -> float:
            begun = _Clock.now()
            engine.search(query, scan.rows, project_of=lambda _: "", exact=exact, limit=20)
            return begun.since().cpu

        pool = _pool(random.Random(1), 20_000)
        rare = sorted(set(rng.sample(pool, 60)), key=pool.count)[:20]
        ask("warm")
        indexed = statistics.median(ask(word) for word in rare)
        exact = statistics.median(ask(word, exact=True) for word in rare[:3])
        common = statistics.median(ask(word) for word in pool[:10])
        read = _read(base)
        return {
            "size_mb": size // _MB,
            "text_mb": text // _MB,
            "sessions": done.done,
            "engine_alone_mb_s": round(1 / alone.wall, 1),
            "update_mb_s": round(text / _MB / took.wall, 1),
            "index_speed": round(alone.wall * text / _MB / took.wall, 2),
            "index_speed_cpu": round(alone.cpu * text / _MB / took.cpu, 2),
            "index_size": round(_size(cache) / text, 2),
            "indexed_ms": round(indexed * 1000, 1),
            "indexed_common_ms": round(common * 1000, 1),
            "exact_ms": round(exact * 1000),
            "query_speed": round(exact / indexed, 1),
            "exact_mb_s": round(size / exact / _MB),
            "read_mb_s": round(read / _MB),
            "scan_speed": round(size / exact / read, 2),
        }


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]) if len(sys.argv) > 1 else 100), indent=2))
