"""Statuses and labels of a workspace (craft-format section 9).

Both files belong to the application; they are read tolerantly and never written.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from loop_core import fsio, jsonvalue
from loop_core.errors import StorageFailed

__all__ = [
    "BUILT_IN",
    "FALLBACK",
    "Label",
    "Status",
    "load_labels",
    "load_statuses",
    "split_label",
    "status_of",
]

FALLBACK = "todo"
_FIXED = ("todo", "done", "cancelled")
_LIMIT = 16 << 20
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2})?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class Status(NamedTuple):
    """One status: id, shown label, and category ``open`` or ``closed`` ("" when unknown)."""

    id: str
    label: str
    category: str


class Label(NamedTuple):
    """One entry of a header's `labels`, taken apart at the first ``::``."""

    id: str
    value: str | None
    type: str | None  # date, number or text; None without a value


BUILT_IN = (
    Status("backlog", "Backlog", "open"),
    Status("todo", "Todo", "open"),
    Status("needs-review", "Needs Review", "open"),
    Status("done", "Done", "closed"),
    Status("cancelled", "Cancelled", "closed"),
)


def read_json(path: str) -> Any:
    """The JSON value of a small configuration file, or None."""
    try:
        data = fsio.read_file(path, limit=_LIMIT)
        return jsonvalue.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except (StorageFailed, jsonvalue.JsonSyntaxError):
        return None


def load_statuses(workspace_root: str | os.PathLike[str]) -> tuple[Status, ...]:
    """The workspace's statuses in file order; the built-in set when its file is unusable.

    Unusable: missing, not JSON, or without the fixed statuses todo, done and cancelled.
    """
    value = read_json(os.path.join(os.fspath(workspace_root), "statuses", "config.json"))
    entries = value.get("statuses") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        return BUILT_IN
    found: list[Status] = []
    fixed: set[str] = set()
    for entry in entries:
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            continue
        label, category = entry.get("label"), entry.get("category")
        found.append(
            Status(
                name,
                label if isinstance(label, str) and label else name,
                category if isinstance(category, str) else "",
            )
        )
        if entry.get("isFixed"):
            fixed.add(name)
    return tuple(found) if fixed.issuperset(_FIXED) else BUILT_IN


def status_of(header: Any, known: frozenset[str] | set[str]) -> str:
    """The status a list shows: the stored one if the workspace knows it, else ``todo``.

    A missing one falls back to the `todoState` of versions before 0.4.6.
    """
    value = header.get("sessionStatus") if isinstance(header, dict) else None
    if value is None and isinstance(header, dict):
        value = header.get("todoState")
    return value if isinstance(value, str) and value in known else FALLBACK


def load_labels(workspace_root: str | os.PathLike[str]) -> dict[str, str]:
    """Label id → shown name, of the whole tree."""
    value = read_json(os.path.join(os.fspath(workspace_root), "labels", "config.json"))
    found: dict[str, str] = {}
    todo: list[Any] = [value.get("labels") if isinstance(value, dict) else None]
    while todo:
        entries = todo.pop()
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("id"), str):
                name = entry.get("name")
                found[entry["id"]] = name if isinstance(name, str) and name else entry["id"]
                todo.append(entry.get("children"))
    return found


def split_label(entry: str) -> Label:
    """An entry ``id`` or ``id::value``; the value's type is told by its form."""
    name, separator, value = entry.partition("::")
    if not separator:
        return Label(entry, None, None)
    if _DATE.fullmatch(value):
        return Label(name, value, "date")
    return Label(name, value, "number" if _NUMBER.fullmatch(value) else "text")
