"""Dates as V8 reads and writes them: `Date.parse` and `toISOString`.

A header's dates may be anything `Date.parse` accepts, so the reader follows V8: an ISO form
first, and where the text leaves it, a very tolerant form that takes numbers, month names,
clock times, zone names and offsets in nearly any order. Times are Unix milliseconds.
Source: loop-format A.3 and its table of dates.
"""

from __future__ import annotations

import re
import time

from loop_core.loop import _dateparse
from loop_core.loop._dateparts import MAX_TIME, civil_from_days, days_from_civil

__all__ = [
    "canonical_ms",
    "is_canonical_iso",
    "iso_from_ms",
    "now_iso",
    "now_ms",
    "parse_date_ms",
]

#: The form `toISOString` writes, but for the days a month does not have.
_WRITTEN = re.compile(
    r"([0-9]{4}|[+-][0-9]{6})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])\.([0-9]{3})Z"
)


def iso_from_ms(ms: float) -> str:
    """`new Date(ms).toISOString()`; raises ValueError outside its range of ±8.64e15."""
    whole = int(ms)
    if abs(whole) > MAX_TIME:
        raise ValueError("the time is out of range")
    days, rest = divmod(whole, 86_400_000)
    year, month, day = civil_from_days(days)
    seconds, millis = divmod(rest, 1000)
    shown = f"{year:04}" if 0 <= year <= 9999 else f"{'-' if year < 0 else '+'}{abs(year):06}"
    return (
        f"{shown}-{month:02}-{day:02}T{seconds // 3600:02}:{seconds // 60 % 60:02}"
        f":{seconds % 60:02}.{millis:03}Z"
    )


def now_ms() -> int:
    """The present in whole milliseconds."""
    return time.time_ns() // 1_000_000


def now_iso() -> str:
    """The present as Loop writes it."""
    return iso_from_ms(now_ms())


def _written_ms(found: re.Match[str]) -> int:
    year, month, day, hour, minute, second, milli = map(int, found.groups())
    days = days_from_civil(year, month, 1) + day - 1
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli


def canonical_ms(text: str) -> int | None:
    """The time of a text that equals its own `toISOString` form, else None.

    That form has three decimals and ``Z``, and a day its month has.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    ms = _written_ms(found)
    if len(text) == 24 and text[8] < "2":
        return ms  # no month lacks that day
    return ms if abs(ms) <= MAX_TIME and iso_from_ms(ms) == text else None


def is_canonical_iso(text: str) -> bool:
    """Whether `canonical_ms` has an answer."""
    return canonical_ms(text) is not None


def parse_date_ms(text: str) -> int | None:
    """`Date.parse(text)`, or None where that is NaN.

    Forms without a zone are local time, except an ISO date alone, which is UTC.
    """
    written = _WRITTEN.fullmatch(text)
    if written and len(text) == 24:
        return _written_ms(written)
    found = _dateparse.parse(text)
    if found is None:
        return None
    ms = found.local_ms
    if found.offset_s is None:
        if abs(ms) > MAX_TIME + 864_000_000:
            return None
        ms -= _local_offset_ms(ms)
    else:
        ms -= found.offset_s * 1000
    return ms if abs(ms) <= MAX_TIME else None


def _offset_at(utc_ms: int) -> int:
    return time.localtime(utc_ms // 1000).tm_gmtoff * 1000


def _local_offset_ms(local_ms: int) -> int:
    """The offset that turns local time into UTC.

    A time that occurs twice is the earlier one; one that is skipped counts from before the
    change, as ECMAScript says.
    """
    before = _offset_at(local_ms - 86_400_000)
    after = _offset_at(local_ms + 86_400_000)
    if _offset_at(local_ms - before) == before or _offset_at(local_ms - after) != after:
        return before
    return after
