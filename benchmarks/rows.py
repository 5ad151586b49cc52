"""From what the measurements returned to rows of the table, as plain values for the JSON."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from benchmarks.measures import Axis, Figure

Row = dict[str, Any]


def values_of(found: dict[str, Any], key: str) -> list[float]:
    """A figure by its key, each of its repetitions where the module gives them.

    A module may return, beside its figures, ``"all"``: key to a list, one value a repetition.
    """
    if key in (repeated := found.get("all", {})):
        return [float(value) for value in repeated[key]]
    if key in found:
        return [float(found[key])]
    part, _, rest = key.partition("/")
    inner = found.get(part)
    return [float(inner[rest])] if isinstance(inner, dict) and rest in inner else []


def row(figure: Figure, size: int, number: int | None, results: Sequence[dict[str, Any]]) -> Row:
    """One row at one size: the median with its least and greatest, and whether it is reached."""
    values = [value for found in results for value in values_of(found, figure.key)]
    # What a module itself says of its repetitions counts, or the median of several runs.
    said = [values_of({k: v for k, v in one.items() if k != "all"}, figure.key) for one in results]
    value = statistics.median([v for one in said for v in one] or values) if values else None
    reached = None
    if value is not None and size in figure.at:
        reached = value <= figure.goal if figure.most else value >= figure.goal
    return {
        "work": figure.work,
        "floor": figure.floor,
        "unit": figure.unit,
        "goal": figure.goal,
        "most": figure.most,
        "axis": figure.axis,
        "size": number,
        "value": value,
        "low": min(values, default=None),
        "high": max(values, default=None),
        "repetitions": len(values),
        "reached": reached,
        "short": figure.short if reached is False else "",
    }


def number_at(axis: Axis, sessions: int, megabytes: int) -> int | None:
    """The size a figure belongs to."""
    return {"sessions": sessions, "megabytes": megabytes, "": None}[axis]


def facts() -> dict[str, Any]:
    """What the figures depend on: the machine and the versions."""
    names = ("textual", "msgspec", "watchfiles", "tantivy")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in names},
        "load": round(os.getloadavg()[0], 1),
    }
