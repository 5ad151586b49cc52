"""The index and the scan give the same answers, whatever is written and asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_core.search.engine import SearchEngine
from loop_core.search.indexer import update

pytest.importorskip("tantivy")

WORDS = [
    "lock",
    "Lock",
    "update",
    "read_history",
    "archive.delete",
    "E0432",
    "a",
    "b",
    "404",
    "1.50",
    "é",
    "ÉTÉ",
    "straße",
    "ガラス",
    "漢字",
    "漢",
    "文件被锁定",
    "한국어",
    "สวัสดี",
    "हिन्दी",
    "résumé",
    "re\u0301sume\u0301",
    "->",
    "//",
    "\u00a0",
    "x-y",
    "ı",
    "İstanbul",
    "😀",
    "_",
    "core/fsio.py",
]
some_text = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
odd_text = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]) | st.sampled_from("aé漢 가\u0301"),
    max_size=12,
)
any_text = some_text | odd_text


def conversations(speak: Any) -> Any:
    numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.booleans()
    arguments = st.dictionaries(st.sampled_from(["path", "line"]), any_text | numbers, max_size=2)
    blocks = (
        any_text
        | any_text.map(speak.thinking)
        | st.builds(
            lambda name, given: speak.call(name, **given),
            st.sampled_from(["bash", "read", "mcp__fetch_url"]),
            arguments,
        )
    )
    message = (
        any_text.map(speak.user)
        | st.lists(blocks, max_size=3).map(lambda found: speak.agent(*found))
        | st.builds(speak.result, any_text, st.sampled_from(["bash", "read"]))
    )
    return st.lists(st.tuples(some_text, st.lists(message, max_size=6)), max_size=4)


terms = (
    st.sampled_from(WORDS)
    | some_text.map(lambda text: '"' + text.replace('"', "") + '"')
    | st.sampled_from(WORDS).map(lambda word: f"-{word}")
    | odd_text
    | st.sampled_from(["role:user", "role:tool", "role:title", "role:thinking"])
    | st.sampled_from(["tool:bash", "tool:fetch_url", "tool:read"])
)
queries = st.lists(terms, min_size=1, max_size=4).map(" ".join)


@given(st.data(), st.lists(st.tuples(queries, st.booleans()), min_size=1, max_size=12))
@settings(max_examples=50)
def test_index_and_scan_agree(
    memory: Callable[..., Any],
    speak: Any,
    data: st.DataObject,
    asked: list[tuple[str, bool]],
) -> None:
    store = memory(data.draw(conversations(speak)))
    rows = store.rows()
    # In memory where that can be: a commit waits for the disk.
    memory_disk = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory_disk) as directory:
        update(directory, rows, lambda _: store)
        indexed = SearchEngine(directory, lambda _: store)
        scanning = SearchEngine(directory + "/nothing", lambda _: store)
        for text, typing in asked:

            def ask(engine: SearchEngine, text: str = text, typing: bool = typing) -> Any:
                return engine.search(text, rows, project_of=lambda _: "p", typing=typing)

            one, other = ask(indexed), ask(scanning)
            assert _answers(one) == _answers(other), (text, typing)
            assert one.total == other.total
            assert all(s.hits for s in one.sessions if s.count)


def _answers(found: Any) -> list[Any]:
    return sorted((s.key, s.count, sorted(h.round for h in s.hits)) for s in found.sessions)
