"""Whether the indexed search finds every session that reading the files finds.

Queries of every kind are drawn from the corpus of `benchmarks.search` itself: words, beginnings
of words, phrases, identifiers, paths, Chinese and Thai from the middle of a run, accents left
out, several words at once, one word without another. Each is asked of the index and of the
files; reading them takes long, so this runs alone:

    python -m benchmarks.recall [MB] [QUERIES]
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
import unicodedata
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.search import build
from loop_core.loop.store import LoopStore
from loop_core.model import SessionRow
from loop_core.search.engine import SearchEngine
from loop_core.search.indexer import update

_DENSE = ("\u0e01", "\u5e00")  # from Thai to Chinese
Found = tuple[str, ...]


def _bare(word: str) -> str:
    parts = unicodedata.normalize("NFD", word)
    return "".join(part for part in parts if not unicodedata.combining(part))


def queries(texts: list[str], number: int, rng: random.Random) -> list[str]:
    """`number` questions drawn from `texts`, the kinds in turn."""
    lines = [line for line in (text.split() for text in texts) if len(line) > 8]
    words = [word for line in rng.sample(lines, min(len(lines), 4_000)) for word in line]
    plain = [word for word in words if word.isascii() and word.isalpha() and len(word) > 2]
    names = [word for word in words if "_" in word]
    paths = [word for word in words if "/" in word]
    dense = [word for word in words if _DENSE[0] <= word[0] <= _DENSE[1]]
    marked = [word for word in words if not word.isascii() and word not in dense]

    def phrase(length: int) -> str:
        line = rng.choice(lines)
        at = rng.randrange(len(line) - length)
        return " ".join(line[at : at + length])

    kinds = (
        lambda: rng.choice(plain),
        lambda: rng.choice(plain)[:3],
        lambda: f'"{phrase(2)}"',
        lambda: f'"{phrase(3)}"',
        lambda: rng.choice(names),
        lambda: rng.choice(paths),
        lambda: rng.choice(dense)[2:5],
        lambda: rng.choice(dense),
        lambda: rng.choice(marked),
        lambda: _bare(rng.choice(marked)),
        lambda: phrase(3),
        lambda: f"{rng.choice(plain)} -{rng.choice(plain)}",
        lambda: f"role:assistant {rng.choice(plain).upper()}",
    )
    return [kinds[n % len(kinds)]() for n in range(number)]


def _ask(agent: str, cache: str, rows: tuple[SessionRow, ...], query: str) -> Found:
    """Ids of the sessions found, in order of id; an empty cache means the files."""
    store = LoopStore(Path(agent), cache_dir=Path(cache + ".rounds"))
    engine = SearchEngine(cache, lambda _: store)
    found = engine.search(query, rows, project_of=lambda _: "", limit=len(rows))
    return tuple(sorted(session.key.ref for session in found.sessions))


def run(size_mb: int = 100, number: int = 200) -> dict[str, Any]:
    """Counts of sessions found by both, of those the index missed and those it has more."""
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory)
        size = build(base, size_mb, session_kb=100)
        agent, cache, none = (str(base / name) for name in ("agent", "search", "none"))
        store = LoopStore(Path(agent), cache_dir=base / "rounds")
        *_, scan = store.scan()
        rows = tuple(scan.rows)
        texts = [piece.text for row in rows[::11] for piece in store.texts(row.key)]
        asked = queries(texts, number, rng)
        update(cache, rows, lambda _: store)
        began = time.perf_counter()
        indexed = [_ask(agent, cache, rows, query) for query in asked]
        index_s = time.perf_counter() - began
        began = time.perf_counter()
        with ProcessPoolExecutor() as pool:
            read = list(pool.map(partial(_ask, agent, none, rows), asked))
        read_s = time.perf_counter() - began
    pairs = [(q, set(a), set(b)) for q, a, b in zip(asked, indexed, read, strict=True)]
    return {
        "size_mb": size >> 20,
        "sessions": len(rows),
        "queries": number,
        "queries_with_hits": sum(map(bool, read)),
        "sessions_found": sum(len(b) for _, _, b in pairs),
        "missed": sum(len(b - a) for _, a, b in pairs),
        "more": sum(len(a - b) for _, a, b in pairs),
        "different": [query for query, a, b in pairs if a != b],
        "index_s": round(index_s, 2),
        "files_s": round(read_s, 2),
    }


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:])), indent=2, ensure_ascii=False))
