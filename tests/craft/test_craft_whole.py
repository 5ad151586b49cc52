"""A whole Craft-Agents session for an export: a huge round comes in parts that make it up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core.craft import pages, rounds
from loop_core.craft.history import HistoryReader
from loop_core.model import Block

Make = Callable[..., Path]


def tool(number: int) -> dict[str, Any]:
    value = {"id": f"t{number}", "type": "tool", "toolName": "Bash", "toolUseId": f"u{number}"}
    return value | {"toolInput": {"n": number}, "toolResult": "x" * 300, "timestamp": number}


def test_parts_make_up_a_round(make_session: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[dict[str, Any]] = [tool(0)]
    for number in range(3):
        messages.append({"id": f"q{number}", "content": "go on", "type": "user"})
        messages += [tool(number * 100 + step) for step in range(number * 30)]
    file = make_session("261201-calm-pond", *messages)
    expected = list(HistoryReader().rounds(str(file.parent)))
    assert [one.index for one in expected] == [-1, 0, 1, 2]
    monkeypatch.setattr(rounds, "MARK_BYTES", 500)
    monkeypatch.setattr(pages, "_PART", 2_000)
    parts = list(HistoryReader().rounds(str(file.parent)))
    assert len(parts) > 10
    blocks: dict[int, list[Block]] = {}
    for part in parts:
        assert part.continued == (part.index in blocks)
        blocks.setdefault(part.index, []).extend(part.blocks)
    assert blocks == {one.index: [*one.blocks] for one in expected}
    first = {part.index: part.time_ms for part in parts if not part.continued}
    assert first == {one.index: one.time_ms for one in expected}
    assert all(part.time_ms is None for part in parts if part.continued)
    assert max(part.size for part in parts) < 4_000
