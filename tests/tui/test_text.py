"""Cells, clipping, times and numbers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from loop_tui.text import (
    ASCII,
    UNICODE,
    cell_width,
    clip,
    clip_start,
    clock_time,
    day_name,
    duration,
    glyphs,
    human_count,
    human_size,
    pad,
    relative_time,
    spans,
    take,
)

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
FLAGS = "🇩🇪🇯🇵"
TITLES = (
    f"Family {FAMILY} at home",
    f"{FLAGS} flags {FLAGS}",
    "日本語の題名でも列がずれないこと",
    "Cafe\u0301 au lait, a\u0308rger und o\u0308l",
    "مرحبا بالعالم שלום עולם",
    "क्षिप्र हिन्दी शीर्षक",
    "❤\ufe0f heart and 👍🏽 thumb",
    "plain ASCII title that is long enough to be cut somewhere",
)
HOUR, DAY = 3_600_000, 86_400_000

pieces = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")) | st.sampled_from(
    ["\u200d", "\ufe0f", "👩", "🇩", "🇪", "日", "e\u0301", "👍🏽", " ", "x"]
)
tricky = st.lists(pieces, max_size=60).map("".join)


@pytest.fixture
def zone() -> Iterator[None]:
    yield
    os.environ["TZ"] = "UTC"
    time.tzset()


def at(zone_name: str, text: str) -> float:
    """Milliseconds of a local time, with the process in that zone."""
    os.environ["TZ"] = zone_name
    time.tzset()
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M")) * 1000


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("width", range(20, 81))
def test_titles_fill_their_column_exactly(title: str, width: int) -> None:
    """failures row 84: clusters, flags and wide characters, at every width."""
    cut = pad(title, width)
    assert cell_len(cut) == width
    assert FAMILY in cut or "👨" not in cut
    assert cut.count("🇩") == cut.count("🇪")


@given(tricky, st.integers(0, 40))
@example("\u200d\u200d000", 2)
def test_clip_never_exceeds_and_keeps_clusters(text: str, width: int) -> None:
    shown = clip(text, width)
    assert cell_width(shown) <= width
    if cell_width(text) <= width:
        assert shown == text or width == 0
    else:
        kept = shown.removesuffix("…")
        assert text.startswith(kept)
        ends = {0} | {end for _, end, _ in spans(text)}
        # Only spaces and joiners that join nothing are dropped beyond the cluster's end.
        assert any(text[:end].rstrip(" \u200d") == kept for end in ends)


@given(tricky, st.integers(0, 40), st.sampled_from(["left", "right", "center"]))
def test_pad_is_exact(text: str, width: int, align: str) -> None:
    assert cell_width(pad(text, width, align)) == width


@given(tricky, st.integers(0, 40))
def test_clip_start_keeps_the_end(text: str, width: int) -> None:
    shown = clip_start(text, width)
    assert cell_width(shown) <= max(width, 0)
    assert text.endswith(shown.removeprefix("…"))


def test_take_stays_quick_on_a_tower_of_marks() -> None:
    text = "x" + "\u0301" * 200_000 + "yz"
    begin = time.process_time()
    end, cells = take(text, 2)
    assert text[:end].endswith("y")
    assert cells == 2
    assert time.process_time() - begin < 2


def test_every_glyph_is_one_cell_and_ascii_is_ascii() -> None:
    assert all(cell_len(glyph) == 1 for glyph in UNICODE)
    assert all(glyph.isascii() and len(glyph) == 1 for glyph in ASCII)
    assert glyphs(True) is ASCII
    assert glyphs(False) is UNICODE


def test_relative_time_counts_local_days(zone: None) -> None:
    """failures row 65: at 00:30, 40 minutes are minutes and the evening is yesterday."""
    now = at("Europe/Berlin", "2025-03-12 00:30")
    assert relative_time(now - 40 * 60_000, now) == "40m"
    assert relative_time(at("Europe/Berlin", "2025-03-11 22:50"), now) == "yesterday"
    assert day_name(at("Europe/Berlin", "2025-03-11 23:50"), now) == "yesterday"
    noon = at("Europe/Berlin", "2025-03-12 12:00")
    assert relative_time(at("Europe/Berlin", "2025-03-12 00:10"), noon) == "11h"
    assert relative_time(at("Europe/Berlin", "2025-03-11 23:50"), noon) == "yesterday"


def test_times_are_local(zone: None) -> None:
    """failures row 64: 23:30 UTC is the next day in Tokyo."""
    now = at("Asia/Tokyo", "2025-03-14 12:00")
    late = 1_741_822_200_000  # 2025-03-12 23:30 UTC
    assert clock_time(late, now) == "yesterday 08:30"
    assert relative_time(late, now) == "yesterday"
    os.environ["TZ"] = "UTC"
    time.tzset()
    assert clock_time(late, now) == "12 Mar 23:30"


def test_relative_time_over_the_scale(zone: None) -> None:
    now = at("UTC", "2025-03-12 18:00")
    expected = {
        20_000: "now",
        -30_000: "now",
        2 * 60_000: "2m",
        59 * 60_000: "59m",
        5 * HOUR: "5h",
        DAY: "yesterday",
        3 * DAY: "3d",
        29 * DAY: "29d",
        40 * DAY: "31 Jan",
        500 * DAY: "2023-10-29",
    }
    assert {age: relative_time(now - age, now) for age in expected} == expected
    assert relative_time(None, now) == ""
    assert relative_time(now + 2 * HOUR, now) == "20:00"
    assert relative_time(1e300, now) == "?"


@given(st.floats(allow_nan=True, allow_infinity=True) | st.integers())
def test_no_number_breaks_a_time(ms: float) -> None:
    assert isinstance(relative_time(ms, 1_741_822_200_000), str)
    assert isinstance(clock_time(ms, 1_741_822_200_000), str)


def test_numbers() -> None:
    sizes = {0: "0 B", 412: "412 B", 4_000: "3.9 KB", 30_720: "30 KB", 1_677_722: "1.6 MB"}
    assert {n: human_size(n) for n in sizes} == sizes
    assert human_size(1_048_575) == "1.0 MB"
    assert human_size(5 << 40) == "5.0 TB"
    assert human_count(1_204) == "1,204"
    assert duration(45_900) == "45s"
    assert duration(125_000) == "2m 5s"
    assert duration(3_780_000) == "1h 3m"
    assert duration(1_900, precise=True) == "1.9 s"
    assert duration(40, precise=True) == "40 ms"
