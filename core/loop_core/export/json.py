"""A session as one JSON object: its header and its messages exactly as stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from loop_core.jsonvalue import dumps
from loop_core.sanitize import safe_json

if TYPE_CHECKING:
    from loop_core.export.common import ExportSource


def as_json(source: ExportSource) -> Iterator[str]:
    """``{"source": …, "path": …, "header": …, "messages": [one a line], "damage": […]}``.

    Values are those of the store; numbers and unknown keys stay, lone surrogates stay
    escapes. Control characters are escaped, as JSON demands.
    """
    row = source.row
    yield '{"source":' + _text(row.source)
    yield ',"path":' + _text(row.path)
    yield ',"header":' + _text(source.header())
    yield ',"messages":['
    comma = "\n"
    for _, message in source.messages():
        yield comma + _text(message)
        comma = ",\n"
    damage = [{"line": each.line, "reason": each.reason} for each in source.damage()]
    yield '\n],"damage":' + _text(damage) + "}\n"


def _text(value: object) -> str:
    return safe_json(dumps(value).decode("utf-8", "surrogatepass"))
