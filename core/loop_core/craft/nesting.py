"""The records of a round, put inside one another (craft-format section 4).

Records with a `parentToolUseId` belong inside that call when it stands in the same round,
else in their own place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from loop_core.craft.blocks import blocks_of, value_text
from loop_core.jsonvalue import is_number
from loop_core.model import Block, NoteBlock, Round, ToolBlock

__all__ = ["make_round"]

_MAX_DEPTH = 12


class _Node:
    """A block and, for a tool call, what belongs inside it."""

    def __init__(self, block: Block, depth: int) -> None:
        self.block = block
        self.depth = depth
        self.children: list[_Node] = []

    def freeze(self) -> Block:
        if self.children and isinstance(self.block, ToolBlock):
            inside = tuple(child.freeze() for child in self.children)
            return msgspec.structs.replace(self.block, children=inside)
        return self.block


def make_round(
    messages: Iterable[tuple[int, Any]],
    *,
    index: int,
    start: int,
    end: int,
    size: int,
    running: bool = False,
    gap: tuple[int, str] | None = None,
) -> Round:
    """The round of `messages` (index, value), which are [start, end) of the session.

    `running`: the application may still be at work on it; an `executing` call of an ended
    process is shown as waiting. `gap`: a note that stands before that message index.
    """
    top: list[_Node] = []
    calls: dict[str, _Node] = {}
    time_ms: int | None = None
    for number, value in messages:
        if gap is not None and number >= gap[0]:
            top.append(_Node(NoteBlock("info", gap[1], "", number), 0))
            gap = None
        if time_ms is None:
            time_ms = _time(value)
        parent = (
            calls.get(value_text(value, "parentToolUseId")) if isinstance(value, dict) else None
        )
        into = top if parent is None else parent.children
        depth = 0 if parent is None else parent.depth + 1
        for block in blocks_of(number, value, running=running):
            node = _Node(block, depth)
            into.append(node)
            # Beyond the depth anybody can see, records stay beside their parent.
            if isinstance(block, ToolBlock) and block.call_id and depth < _MAX_DEPTH:
                calls[value_text(value, "toolUseId")] = node
    return Round(
        index=index,
        start=start,
        end=end,
        time_ms=time_ms,
        blocks=tuple(node.freeze() for node in top),
        size=size,
    )


def _time(value: Any) -> int | None:
    stamp = value.get("timestamp") if isinstance(value, dict) else None
    return int(stamp) if is_number(stamp) and abs(stamp) < 1e15 else None
