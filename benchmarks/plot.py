"""A plot of how the ratios grow with the store and with a session, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from benchmarks.report import Row, size_of

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 400, 260, 40, 40, 250
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f")


def growth_plot(rows: list[Row]) -> str:
    """Two panels, a line a work: ratios to the floor (logarithmic) over sizes (logarithmic)."""
    panels = []
    for number, axis in enumerate(("sessions", "megabytes")):
        costs = [row for row in rows if row["floor"] and row["most"] and row["value"]]
        chosen = [row for row in costs if row["axis"] == axis]
        left = _LEFT + number * (_WIDTH + _GAP)
        panels.append(f'<g transform="translate({left} {_TOP})">{"".join(_panel(chosen))}</g>')
    width, height = 2 * (_WIDTH + _GAP) + _LEFT, _TOP + _HEIGHT + 50
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        + "".join(panels)
        + "</svg>\n"
    )


def _panel(rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    sizes = sorted({row["size"] for row in rows})
    values = [row["value"] for row in rows]
    low = 2.0 ** math.floor(math.log2(min(values)))
    high = 2.0 ** math.ceil(math.log2(max(*values, low * 2)))

    def x(size: int) -> float:
        span = math.log(sizes[-1] / sizes[0]) or 1.0
        return _WIDTH * math.log(size / sizes[0]) / span

    def y(value: float) -> float:
        return _HEIGHT * (1 - math.log(value / low) / math.log(high / low))

    step = low
    while step <= high:
        yield (
            f'<path d="M0 {y(step):.1f}h{_WIDTH}" stroke="#ddd"/>'
            f'<text x="-6" y="{y(step) + 4:.1f}" text-anchor="end">{step:g}</text>'
        )
        step *= 2
    for size in sizes:
        label = size_of({"size": size, "axis": rows[0]["axis"]})
        yield f'<text x="{x(size):.1f}" y="{_HEIGHT + 20}" text-anchor="middle">{label}</text>'
    words = "sessions in the store" if rows[0]["axis"] == "sessions" else "size of one session"
    yield f'<text x="{_WIDTH / 2}" y="{_HEIGHT + 40}" text-anchor="middle">{words}</text>'
    yield '<text x="0" y="-16">ratio to the least work</text>'
    for number, work in enumerate(dict.fromkeys(row["work"] for row in rows)):
        colour = _COLOURS[number % len(_COLOURS)]
        mine = sorted((row["size"], row["value"]) for row in rows if row["work"] == work)
        points = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in mine)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield "".join(
            f'<circle cx="{x(size):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>'
            for size, value in mine
        )
        place = 6 + number * 18
        yield (
            f'<rect x="{_WIDTH + 16}" y="{place - 9}" width="10" height="10" fill="{colour}"/>'
            f'<text x="{_WIDTH + 32}" y="{place}">{escape(work)}</text>'
        )
