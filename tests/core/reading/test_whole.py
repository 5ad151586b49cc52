"""Whole sessions in parts: nothing lost or parted that belongs together, nothing read twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from loop_core.loop import whole
from loop_core.model import Block, ImageBlock, Round, ToolBlock

Whole = tuple[int, int, int, int | None, list[Block], tuple[int, ...]]


def joined(parts: Iterable[Round]) -> list[Whole]:
    """The rounds that parts make up; a part that goes on follows the one before it."""
    rounds: list[Whole] = []
    for part in parts:
        if not part.continued:
            rounds.append(
                (part.index, part.start, part.end, part.time_ms, [*part.blocks], part.durations_ms)
            )
            continue
        index, start, end, time_ms, blocks, durations = rounds.pop()
        assert (part.index, part.start, part.time_ms) == (index, end, None)
        assert durations == ()  # they stand at the round's end
        rounds.append((index, start, part.end, time_ms, [*blocks, *part.blocks], part.durations_ms))
    return rounds


def long_session(kit: Any) -> list[Any]:
    messages = [kit.assistant("before anything")]
    for number in range(3):
        messages.append(kit.user(f"question {number}"))
        for step in range(6):
            calls = [kit.call("read", f"c{step}.{n}", path=f"/{n}") for n in range(step % 3 + 1)]
            messages.append(kit.assistant("so", *calls, stop="toolUse"))
            messages += [kit.result("x" * 400, each["id"]) for each in reversed(calls)]
        messages.append(kit.assistant("done"))
    return messages


@pytest.mark.parametrize("size", [700, 1_500, 3_000])
def test_parts_make_up_the_rounds(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Every call keeps its result, however large a part is."""
    disk.v3(
        long_session(kit),
        promptTimings=[{"userMessageIndex": 1, "startedAt": 5, "finishedAt": 65_005}],
        compactions=[{"historyMessageCount": n, "summary": f"kept {n}"} for n in (4, 9)],
    )
    store, row = disk.only_row()
    expected = joined(store.rounds(row.key))
    assert [one[0] for one in expected] == [-1, 0, 1, 2]
    assert expected[1][5] == (65_000,)
    monkeypatch.setattr(whole, "PART", size)
    parts = list(store.rounds(row.key))
    assert len(parts) > len(expected)
    assert joined(parts) == expected
    calls = [b for part in parts for b in part.blocks if isinstance(b, ToolBlock)]
    assert all(call.result == "x" * 400 for call in calls)


def test_a_round_without_answers_is_parted_too(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.v3([kit.user(), *(kit.result("x" * 900, f"c{n}") for n in range(40))])
    store, row = disk.only_row()
    monkeypatch.setattr(whole, "PART", 1_000)
    parts = list(store.rounds(row.key))
    assert max(part.size for part in parts) < 6_000
    (one,) = joined(parts)
    assert len(one[4]) == 41


def test_images_in_order_cost_one_pass(disk: Any, kit: Any, count_reads: Callable[[], int]) -> None:
    """Each image of a long round begins where the one before it was found."""
    image = {"type": "image", "data": "QUJD" * 2_000, "mimeType": "image/png"}
    messages = [kit.user()]
    for step in range(300):
        messages += [
            kit.assistant(kit.call("read", f"c{step}"), stop="toolUse"),
            kit.result("y" * 4_000, f"c{step}")
            | {"content": [image, {"type": "text", "text": "y"}]},
        ]
    disk.v3(messages)
    store, row = disk.only_row()
    found = [
        image
        for part in store.rounds(row.key)
        for block in part.blocks
        if isinstance(block, ToolBlock)
        for image in block.result_images
    ]
    assert len(found) == 300
    size = len(kit.encoded(messages))
    count_reads()
    for image_block in found:
        assert store.image_data(row.key, image_block) == ("image/png", "QUJD" * 2_000)
    # A block of a megabyte is read for each; without a memory it would be half of everything.
    assert count_reads() < 300 * (1 << 20) < 300 * size / 2
    assert store.image_data(row.key, found[0]) is not None
    assert store.image_data(row.key, ImageBlock("image/png", 3, 0)) is None
