"""The bounded window of rounds, and what the history says in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.model import Damage, Page, Round, SessionKey, TextBlock, ToolBlock
from loop_tui.widgets.history_text import (
    block_text,
    damage_text,
    path_to,
    round_text,
    where_text,
)
from loop_tui.widgets.window import LIMIT, Window, any_visible

KEY = SessionKey("s", "one")


def page(first: int, last: int, total: int = 500, revision: str = "r") -> Page:
    rounds = tuple(
        Round(
            index=number,
            start=number * 2,
            end=number * 2 + 2,
            time_ms=None,
            blocks=(TextBlock(str(number), number * 2, role="user"),),
        )
        for number in range(first, last + 1)
    )
    return Page(
        key=KEY,
        revision=revision,
        start=first * 2,
        end=last * 2 + 2,
        total=total * 2,
        first_round=first,
        total_rounds=total,
        rounds=rounds,
        at_end=last == total - 1,
    )


def numbers(window: Window) -> list[int]:
    return [one.index for one in window.rounds]


@given(st.lists(st.sampled_from(["earlier", "later", "grow"]), max_size=60))
def test_window_is_consecutive_and_bounded(steps: list[str]) -> None:
    """failures rows 19, 134: however one reads and however it grows, at most 60 rounds."""
    total = 200
    window = Window(page(100, 102, total))
    for step in steps:
        if step == "earlier" and not window.at_start:
            window.add_earlier(page(max(window.first - 3, 0), window.first - 1, total))
        elif step == "later" and not window.at_end:
            last = min(window.last + 3, total - 1)
            window.add_later(page(last - 2, last, total))
        elif step == "grow":
            total += 1
            window.add_later(page(total - 3, total - 1, total))
        found = numbers(window)
        assert found == list(range(found[0], found[0] + len(found)))
        assert len(found) <= LIMIT
        assert window.first == found[0]
        assert window.at_start == (found[0] == 0)
        assert window.at_end == (found[-1] == total - 1)
        assert window.total_rounds == total


def test_rounds_on_the_screen_are_never_dropped() -> None:
    window = Window(page(197, 199, 200))
    while window.first > 100:
        window.add_earlier(page(window.first - 3, window.first - 1, 200), keep=199)
    assert numbers(window)[-1] == 199
    window.add_earlier(page(window.first - 3, window.first - 1, 200), keep=150)
    assert numbers(window)[-1] == window.first + LIMIT - 1


def test_a_page_that_does_not_touch_is_ignored() -> None:
    """failures row 46: a page of an older window does not get in."""
    window = Window(page(100, 102))
    assert window.add_earlier(page(50, 52)) == 0
    assert window.add_later(page(200, 202)) == 0
    assert numbers(window) == [100, 101, 102]


def test_growth_replaces_only_what_changed() -> None:
    window = Window(page(197, 199, 200))
    before = window.rounds
    assert window.add_later(page(197, 199, 200)) == 0
    assert all(old is new for old, new in zip(before, window.rounds, strict=True))
    assert window.add_later(page(198, 200, 201)) == 1
    assert window.rounds[1] is before[1]
    assert numbers(window) == [197, 198, 199, 200]


def test_range_text() -> None:
    assert Window(page(37, 39, 40)).range_text() == "rounds 38–40 of 40"
    assert Window(page(39, 39, 40)).range_text("-") == "round 40 of 40"
    assert Window(page(1203, 1205, 1206)).range_text() == "rounds 1,204–1,206 of 1,206"


def test_damage_is_listed_with_its_lines() -> None:
    """failures row 44: three bad lines are named with their numbers."""
    damage = tuple(Damage(line, "not JSON") for line in (12, 40, 77))
    assert damage_text(damage) == "3 damaged lines: 12, 40, 77"
    assert damage_text(damage[:1]) == "1 damaged line 12: not JSON"
    assert damage_text(()) == ""
    many = tuple(Damage(line, "x") for line in range(1, 31))
    assert damage_text(many).endswith("11, 12 and 18 more")


def test_where_text(round_of: Callable[..., Round]) -> None:
    window = Window(page(37, 39, 40))
    text = where_text(window, round_of(38), "·", "–")
    assert text.startswith("Round 39 of 40 · messages 381–390 of 80 · ")
    assert text.endswith("no damage known")


def test_copied_text(round_of: Callable[..., Round]) -> None:
    text = round_text(round_of(1))
    assert text.startswith("> Question 1: why does the list jump?\n\n")
    assert "Ran pytest -q tests/core" in text
    assert "3 passed" in text
    call = next(block for block in round_of(1).blocks if isinstance(block, ToolBlock))
    assert block_text(call).startswith("Read core/loop_core/fsio.py\n\n{")


def test_path_to_a_message_inside_a_call() -> None:
    inner = TextBlock("inside", 7)
    call = ToolBlock(
        name="t", verb="Used", target="t", status="ok", call_id="c", message=3, children=(inner,)
    )
    one = Round(index=0, start=0, end=9, time_ms=None, blocks=(TextBlock("a", 3), call))
    assert path_to(one, 7) == [((3, 1), call), ((3, 1, 0), inner)]
    assert [key for key, _ in path_to(one, 3)] == [(3, 0), (3, 1)]


@pytest.mark.parametrize("blocks", [(), (TextBlock("x", 1),)])
def test_any_visible(blocks: tuple[TextBlock, ...]) -> None:
    one = Round(index=0, start=0, end=1, time_ms=None, blocks=blocks)
    assert any_visible([one]) == bool(blocks)
