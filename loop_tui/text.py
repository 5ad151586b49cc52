"""Text measured in terminal cells, and numbers as people read them. Pure: no Textual.

Widths are those of `rich.cells`, the tables Textual itself lays out with, so what is exact
here is exact on the screen. Nothing ever cuts through a grapheme cluster or a wide character.
"""

from __future__ import annotations

import time

from rich.cells import cell_len, split_graphemes

from loop_tui.glyphs import ASCII, UNICODE, Glyphs, glyphs

__all__ = [
    "ASCII",
    "UNICODE",
    "Glyphs",
    "cell_width",
    "clip",
    "clip_start",
    "clock_time",
    "day_name",
    "duration",
    "glyphs",
    "human_count",
    "human_size",
    "pad",
    "relative_time",
    "spans",
    "take",
]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


# --- cells -----------------------------------------------------------------------------


def _simple(text: str) -> bool:
    """Every character is one cell: nothing to measure, any index is a boundary."""
    return text.isascii() and text.isprintable()


def _is_flag_half(text: str) -> bool:
    return len(text) == 1 and "\U0001f1e6" <= text <= "\U0001f1ff"


def spans(text: str) -> list[tuple[int, int, int]]:
    """Grapheme clusters as (start, end, cells), covering every index of `text`.

    A pair of regional indicators is one flag, though each half has a width of its own.
    """
    found, _ = split_graphemes(text)
    merged: list[tuple[int, int, int]] = []
    pending = False
    for start, end, cells in found:
        half = _is_flag_half(text[start:end])
        if half and pending:
            before, _, width = merged[-1]
            merged[-1] = (before, end, width + cells)
            pending = False
        else:
            merged.append((start, end, cells))
            pending = half
    return merged


def cell_width(text: str) -> int:
    """Cells `text` takes on the screen."""
    return len(text) if _simple(text) else cell_len(text)


def take(text: str, cells: int) -> tuple[int, int]:
    """The longest prefix that fits: (end index, its width). Clusters stay whole."""
    if cells <= 0:
        return 0, 0
    if _simple(text):
        end = min(len(text), cells)
        return end, end
    # Only a head has to be split, unless it is all combining marks.
    head = text[: 16 * cells + 256]
    end = used = 0
    for _, stop, width in spans(head):
        if used + width > cells:
            return end, used
        end, used = stop, used + width
    if len(head) == len(text):
        return end, used
    found, used = spans(text), 0
    for index, (_, _, width) in enumerate(found):
        if used + width > cells:
            return found[index][0], used
        used += width
    return len(text), used


def clip(text: str, cells: int, ellipsis: str = "…") -> str:
    """`text` in at most `cells` cells; a cut is shown by `ellipsis`, inside the limit."""
    if cells <= 0:
        return ""
    if (len(text) if _simple(text) else cell_len(text)) <= cells:
        return text
    mark = ellipsis if cell_width(ellipsis) <= cells else ""
    room = cells - cell_width(mark)
    while True:
        end, _ = take(text, room)
        shown = text[:end].rstrip(" \u200d") + mark
        # Stray joiners may be wider together than one by one.
        if room <= 0 or cell_width(shown) <= cells:
            return shown
        room -= 1


def clip_start(text: str, cells: int, ellipsis: str = "…") -> str:
    """Like `clip`, but the end stays: for paths, whose last part tells most."""
    if cell_width(text) <= cells:
        return text
    room = cells - cell_width(ellipsis)
    if room < 0:
        return ""
    used, start = 0, len(text)
    for begin, _, width in reversed(spans(text)):
        if used + width > room:
            break
        used, start = used + width, begin
    return ellipsis + text[start:]


def pad(text: str, cells: int, align: str = "left", ellipsis: str = "…") -> str:
    """`text` clipped and filled with spaces to exactly `cells` cells."""
    if cells <= 0:
        return ""
    # A joiner at the end would swallow the first space after it.
    shown = clip(text, cells, ellipsis).rstrip("\u200d")
    room = " " * (cells - cell_width(shown))
    if align == "right":
        return room + shown
    if align == "center":
        half = len(room) // 2
        return room[:half] + shown + room[half:]
    return shown + room


# --- times -----------------------------------------------------------------------------


def _local(ms: float) -> time.struct_time | None:
    """Local time of the machine (TZ), or None for a number that is no time."""
    try:
        return time.localtime(ms / 1000)
    except (OverflowError, ValueError, OSError):
        return None


def _days_between(then: time.struct_time, now: time.struct_time) -> int:
    """Local calendar days from `then` to `now`; 23:50 and 00:30 are one day apart."""

    def number(at: time.struct_time) -> int:
        # Days since an arbitrary epoch of the proleptic calendar (Rata Die).
        year = at.tm_year - 1
        return year * 365 + year // 4 - year // 100 + year // 400 + at.tm_yday

    return number(now) - number(then)


def _date(then: time.struct_time, now: time.struct_time) -> str:
    if then.tm_year == now.tm_year:
        return f"{then.tm_mday} {_MONTHS[then.tm_mon - 1]}"
    return f"{then.tm_year:04}-{then.tm_mon:02}-{then.tm_mday:02}"


def relative_time(ms: float | None, now_ms: float) -> str:
    """How long ago, in local time: now, 2m, 5h, yesterday, 3d, then the date.

    Under an hour the minutes count, whatever the day; after that the local calendar day
    decides. A time in the future (a clock that is off) shows as a time, never as an age.
    """
    if ms is None:
        return ""
    then, now = _local(ms), _local(now_ms)
    if then is None or now is None:
        return "?"
    age, days = now_ms - ms, _days_between(then, now)
    if age < -_MINUTE:
        return f"{then.tm_hour:02}:{then.tm_min:02}" if days == 0 else _date(then, now)
    if age < _MINUTE:
        return "now"
    if age < _HOUR:
        return f"{int(age // _MINUTE)}m"
    if days <= 0:
        return f"{int(age // _HOUR)}h"
    if days == 1:
        return "yesterday"
    return f"{days}d" if days < 30 else _date(then, now)


def day_name(ms: float, now_ms: float) -> str:
    """The local day in words: "" for today, yesterday, 12 Mar, 2024-03-12."""
    then, now = _local(ms), _local(now_ms)
    if then is None or now is None:
        return "?"
    days = _days_between(then, now)
    if days == 0:
        return ""
    return "yesterday" if days == 1 else _date(then, now)


def clock_time(ms: float | None, now_ms: float) -> str:
    """Local time of day, with the day before it unless it is today: "yesterday 13:40"."""
    if ms is None:
        return ""
    then = _local(ms)
    if then is None:
        return "?"
    day = day_name(ms, now_ms)
    clock = f"{then.tm_hour:02}:{then.tm_min:02}"
    return f"{day} {clock}" if day else clock


def duration(ms: float, *, precise: bool = False) -> str:
    """How long something took.

    Whole seconds, rounded down ("45s", "2m 5s", "1h 3m"), as Loop words a round
    (loop-format section 11); `precise` gives tools their tenths ("1.9 s").
    """
    if precise and ms < 60_000:
        return f"{ms / 1000:.1f} s" if ms >= 100 else f"{int(ms)} ms"
    seconds = int(ms // 1000)
    if seconds < 60:
        return f"{seconds}s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m {seconds}s"
    return f"{minutes // 60}h {minutes % 60}m"


# --- numbers ---------------------------------------------------------------------------


def human_size(n: int) -> str:
    """Bytes as "412 B", "3.9 KB", "30 KB", "1.6 MB", "2.1 GB" (powers of 1,024)."""
    if n < 1024:
        return f"{n} B"
    size = float(n)
    for unit in ("KB", "MB", "GB", "TB"):
        size /= 1024
        if size < 9.95:
            return f"{size:.1f} {unit}"
        if size < 1023.5 or unit == "TB":
            return f"{size:.0f} {unit}"
    return f"{n} B"


def human_count(n: int) -> str:
    """A count with thousands separated: "1,204"."""
    return f"{n:,}"
