"""Dates as V8 reads and writes them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.loop.dates import (
    canonical_ms,
    is_canonical_iso,
    iso_from_ms,
    now_iso,
    parse_date_ms,
)

DATA = Path(__file__).parent.parent / "data" / "javascript"


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    time.tzset()  # the environment says UTC
    yield
    time.tzset()


def test_the_table_of_the_real_program(loop_data: Path) -> None:
    for row in json.loads((loop_data / "tables.json").read_bytes())["dates"]:
        text = row["input"]
        assert parse_date_ms(text) == row["millis"], text
        assert (parse_date_ms(text) is not None) is row["headerDateOk"], text
        assert is_canonical_iso(text) is row["pinnedAtOk"], text


def test_odd_dates_as_node_reads_them() -> None:
    inputs = json.loads((DATA / "inputs.json").read_text())["dates"]
    outputs = json.loads((DATA / "outputs.json").read_text())["dates"]
    for text, answer in zip(inputs, outputs, strict=True):
        ms = parse_date_ms(text)
        assert ms == (answer and answer[0]), text
        assert (None if ms is None else iso_from_ms(ms)) == (answer and answer[1]), text
        assert is_canonical_iso(text) is bool(answer and answer[1] == text), text


@pytest.mark.parametrize(
    ("zone", "text", "utc"),
    [
        ("Europe/Berlin", "2026-10-01T09:00:00", "2026-10-01T07:00:00.000Z"),
        ("Europe/Berlin", "2026-10-01", "2026-10-01T00:00:00.000Z"),
        ("Europe/Berlin", "Oct 1 2026", "2026-09-30T22:00:00.000Z"),
        # Skipped in spring: counted from before the change. Twice in autumn: the earlier.
        ("Europe/Berlin", "2021-03-28T02:30:00", "2021-03-28T01:30:00.000Z"),
        ("Europe/Berlin", "2021-10-31T02:30:00", "2021-10-31T00:30:00.000Z"),
        ("America/New_York", "2021-03-14T02:30:00", "2021-03-14T07:30:00.000Z"),
        ("America/New_York", "2021-11-07T01:30:00", "2021-11-07T05:30:00.000Z"),
        ("America/New_York", "2021-11-07T01:30:00Z", "2021-11-07T01:30:00.000Z"),
    ],
)
def test_local_forms_use_the_zone(
    monkeypatch: pytest.MonkeyPatch, zone: str, text: str, utc: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    ms = parse_date_ms(text)
    assert ms is not None
    assert iso_from_ms(ms) == utc


@given(st.integers(-8_640_000_000_000_000, 8_640_000_000_000_000))
def test_what_is_written_is_canonical(ms: int) -> None:
    text = iso_from_ms(ms)
    assert canonical_ms(text) == ms
    assert parse_date_ms(text) == ms


@given(st.text(max_size=30) | st.text(alphabet="0123456789-+:.TZ (),/", max_size=30))
def test_any_text_is_a_date_or_none(text: str) -> None:
    ms = parse_date_ms(text)
    assert ms is None or abs(ms) <= 8_640_000_000_000_000
    assert is_canonical_iso(text) is (ms is not None and iso_from_ms(ms) == text)


def test_now_is_canonical() -> None:
    assert is_canonical_iso(now_iso())
    with pytest.raises(ValueError, match="range"):
        iso_from_ms(8_640_000_000_000_001)
