"""Texts of any size as rows."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from loop_core.sanitize import safe
from loop_tui.layout.bulk import Bulk, matches

pieces = st.one_of(
    st.characters(),
    st.sampled_from(["\n", "\n\n", "word ", "日本", "👩\u200d👧", "e\u0301", "x" * 30]),
)
anything = st.lists(pieces, max_size=60).map("".join)


@given(anything, st.integers(4, 40))
def test_rows_hold_the_whole_text(text: str, width: int) -> None:
    bulk = Bulk(text, width)
    rows = [bulk.span(row) for row in range(bulk.height)]
    joined = "".join(bulk.text[start:end] for start, end in rows)
    assert joined == bulk.text.replace("\n", "")
    assert bulk.text == safe(text).replace("\t", "    ")
    for row in range(bulk.height):
        shown = bulk.row_text(row)
        assert cell_len(shown) <= bulk.width
        assert "\n" not in shown
    assert bulk.line_count == bulk.text.count("\n") + 1


@given(anything, st.integers(4, 40), st.data())
def test_row_of_finds_the_offset(text: str, width: int, data: st.DataObject) -> None:
    bulk = Bulk(text, width)
    offset = data.draw(st.integers(0, len(bulk.text)))
    row = bulk.row_of(offset)
    start, end = bulk.span(row)
    # Beside a cut cluster the offset may belong to the row before.
    low, _ = bulk.span(max(row - 1, 0))
    assert min(low, start) <= offset <= max(end, start)


@given(anything, st.integers(4, 40), st.integers(4, 40))
def test_another_width_is_the_same_text(text: str, one: int, other: int) -> None:
    resized = Bulk.resized(Bulk(text, one), other)
    fresh = Bulk(text, other)
    assert resized.height == fresh.height
    assert [resized.span(row) for row in range(resized.height)] == [
        fresh.span(row) for row in range(fresh.height)
    ]


def test_matches_across_the_steps() -> None:
    text = "a" * (1 << 20)
    text = text[:-3] + "NEEDLE" + text + "needle"
    found = [at for batch in matches(text, "Needle") for at in batch]
    assert found == [(1 << 20) - 3, len(text) - 6]
    assert list(matches("abc", "")) == []


def test_big_text_opens_in_bounded_time() -> None:
    """failures row 6: 12 MB in one line, and 20 MB in lines: rows anywhere, no layout."""
    line = Bulk("x" * 12_000_000, 100)
    assert line.height == 120_000
    assert line.row_text(119_999) == "x" * 100
    begin = time.process_time()
    bulk = Bulk("some text of a line\n" * 1_000_000, 100)
    assert bulk.height == 1_000_001
    assert bulk.row_text(999_999) == "some text of a line"
    assert time.process_time() - begin < 5
