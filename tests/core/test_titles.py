"""Titles: normal form, fallback, stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.loop.titles import (
    fallback_text,
    fallback_title,
    normalize_title,
    stored_title_problem,
    text_of_user,
)

DATA = Path(__file__).parent.parent / "data" / "javascript"


def test_the_table_of_the_real_program(loop_data: Path) -> None:
    for row in json.loads((loop_data / "tables.json").read_bytes())["normalizeTitle"]:
        text = row["input"]
        assert normalize_title(text, 120) == row["out120"], ascii(text)
        assert (fallback_text(text) or None) == row["fallback"], ascii(text)
        stored = {"text": text, "source": "user", "messageIndices": []}
        assert (stored_title_problem(stored) is None) is row["validAsStoredTitle"], ascii(text)


def test_odd_texts_as_javascript_cleans_them() -> None:
    inputs = json.loads((DATA / "inputs.json").read_text())["titles"]
    outputs = json.loads((DATA / "outputs.json").read_text())["titles"]
    for text, answer in zip(inputs, outputs, strict=True):
        assert [normalize_title(text), fallback_text(text)] == answer, ascii(text)


TEXTS = st.lists(
    st.sampled_from(
        ["\x1b]", "\x1b[", "\x1b\\", "\x07", "m", "\u200b", " ", "\ud83d", "\ude00", "漢"]
    )
    | st.characters(),
    max_size=80,
).map("".join)


@given(TEXTS, st.integers(1, 130))
def test_a_title_fits_and_has_single_spaces(text: str, limit: int) -> None:
    title = normalize_title(text, limit)
    assert len(title.encode("utf-8", "surrogatepass")) <= limit
    assert "  " not in title
    assert title == title.strip()  # nothing Python calls space either, at the ends
    assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in title)


def test_unfinished_controls_take_linear_time() -> None:
    assert normalize_title("\x1b]" * 200_000).startswith("]]")
    assert normalize_title("\x1b[1" * 200_000).startswith("[1[1")
    assert normalize_title("\x1b]x\x1b\\" * 100_000) == ""


def test_the_first_eligible_text_gives_the_fallback() -> None:
    texts = [(0, " \n"), (2, "\u200b"), (4, "one  two 3 4 5 6 7 8 9"), (6, "later")]
    assert fallback_title(texts) == {
        "text": "one two 3 4 5 6 7 8",
        "source": "fallback",
        "messageIndices": [4],
    }
    assert fallback_title(texts[:2]) is None


def test_text_blocks_are_joined_by_line_feeds() -> None:
    content = [
        {"type": "text", "text": "a"},
        {"type": "image", "data": "", "mimeType": "image/png"},
        {"type": "text", "text": "b"},
    ]
    assert text_of_user(content) == "a\nb"
    assert text_of_user("as it is") == "as it is"


@pytest.mark.parametrize(
    "change",
    [
        {"text": None},
        {"text": ""},
        {"text": " a"},
        {"text": "a\u200db"},
        {"text": "x" * 121},
        {"source": "other"},
        {"source": None},
        {"messageIndices": None},
        {"messageIndices": [1, 1]},
        {"messageIndices": [True]},
        {"messageIndices": [-1]},
        {"messageIndices": [2**53]},
        {"messageIndices": [0.5]},
        {"model": None},
        {"model": {"provider": "p"}},
        {"model": {"provider": "p", "id": 1}},
    ],
)
def test_stored_titles_that_are_refused(change: dict[str, Any]) -> None:
    good = {"text": "a b", "source": "model", "messageIndices": [0, 2.0], "extra": 1}
    assert stored_title_problem(good) is None
    assert stored_title_problem({**good, **change}) is not None


@pytest.mark.parametrize("value", [None, "text", [], 1])
def test_a_stored_title_is_an_object(value: Any) -> None:
    assert stored_title_problem(value) == "title is not an object"
