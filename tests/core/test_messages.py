"""Message shapes and the pairing of calls with results."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_core.errors import InvalidSession
from loop_core.jsonvalue import dumps, loads
from loop_core.loop import stream
from loop_core.loop.messages import MessageChecker, message_problem
from loop_core.loop.stream import check_lines


def user(content: Any = "hello") -> dict[str, Any]:
    return {"role": "user", "content": content, "timestamp": 1}


def assistant(*content: Any, stop: str = "stop") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": list(content),
        "api": "",
        "provider": "",
        "model": "",
        "usage": {},
        "stopReason": stop,
        "timestamp": 1.5,
    }


def call(ident: str, name: str = "read") -> dict[str, Any]:
    return {"type": "toolCall", "id": ident, "name": name, "arguments": {}}


def result(ident: str, name: str = "read") -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": ident,
        "toolName": name,
        "content": [],
        "isError": False,
        "timestamp": -1,
    }


TEXT = {"type": "text", "text": "x"}
IMAGE = {"type": "image", "data": "not base64", "mimeType": ""}
THINKING = {"type": "thinking", "thinking": "hm"}


def verdict(history: list[Any], *, typed: bool) -> tuple[int, str] | None:
    """Message index (1-based) and reason of the first fault, by either reader."""
    checker = MessageChecker("x.jsonl")
    try:
        for number, message in enumerate(history, 1):
            if typed:
                checker.feed(dumps(message), number)
            else:
                checker.feed_value(message, number)
        checker.finish()
    except InvalidSession as error:
        return error.line or 0, error.reason
    return None


@pytest.mark.parametrize(
    ("history", "line"),
    [
        ([], None),
        ([user(""), user([]), user([TEXT, IMAGE])], None),
        ([assistant(), assistant(TEXT, THINKING)], None),
        ([assistant(call("a"), call("b")), result("b"), result("a")], None),
        ([assistant(call("a")), result("a"), assistant(call("a")), result("a")], None),
        ([assistant(call("a"), stop="error"), user()], None),
        ([assistant(call("a"), call("a"), stop="aborted"), assistant()], None),
        ([assistant(call("a"))], 1),
        ([assistant(call("a")), user()], 2),
        ([assistant(call("a")), assistant()], 2),
        ([assistant(call("a")), assistant(stop="error")], 2),
        ([assistant(call("a"), call("a"))], 1),
        ([assistant(call("a")), result("a"), result("a")], 3),
        ([assistant(call("a")), result("a", "write")], 2),
        ([assistant(call("a"), call("b")), result("a"), user()], 3),
        ([assistant(call("a"), stop="aborted"), result("a")], 2),
        ([result("a")], 1),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
def test_pairing(history: list[Any], line: int | None, typed: bool) -> None:
    found = verdict(history, typed=typed)
    assert (found and found[0]) == line


GOOD = [user(), user([TEXT, IMAGE]), assistant(TEXT, THINKING, call("a")), result("a")]


@pytest.mark.parametrize("message", GOOD)
def test_every_required_key_is_required(message: dict[str, Any]) -> None:
    assert message_problem({**message, "extra": None, "errorMessage": 1}) is None
    for key in message:
        without = {other: value for other, value in message.items() if other != key}
        assert message_problem(without) is not None, key
        assert message_problem({**message, key: None}) is not None, key
    for at, block in enumerate(message["content"]):
        if not isinstance(block, dict):
            continue
        for key in block:
            broken = copy.deepcopy(message)
            broken["content"][at][key] = 1
            assert message_problem(broken) is not None, (key, at)


@pytest.mark.parametrize("moment", [True, "1", None, math.inf, 10**400, [1]])
def test_timestamps_are_finite_numbers(moment: Any) -> None:
    assert message_problem({**user(), "timestamp": moment}) is not None
    for fine in (-1, 0.5, 2**70):
        assert message_problem({**user(), "timestamp": fine}) is None


def test_blocks_belong_to_their_role() -> None:
    for message, block in [
        (user([]), call("a")),
        (user([]), THINKING),
        (assistant(), IMAGE),
        (result("a"), THINKING),
        (result("a"), "text"),
        (result("a"), {"type": ["text"]}),
    ]:
        assert message_problem({**message, "content": [block]}) is not None
    assert message_problem({**assistant(), "content": "text"}) is not None
    assert message_problem({**result("a"), "content": "text"}) is not None
    assert message_problem({**assistant(), "usage": []}) is None


def test_counts_users_and_the_title() -> None:
    checker = MessageChecker(first=10)
    for message in (user(" "), assistant(TEXT), user([TEXT, TEXT]), user("later")):
        checker.feed(dumps(message))
    checker.finish()
    assert (checker.messages, checker.users) == (4, 3)
    assert checker.user_indexes == [10, 12, 13]
    assert [index for index in range(20) if checker.is_user(index)] == [10, 12, 13]
    assert checker.title == {"text": "x x", "source": "fallback", "messageIndices": [12]}


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 1, -1, 0.5, math.inf, "", "x", "\ud800", [], {}, [TEXT], "user", "toolUse", "a"]
)


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """Mostly right histories with a few values replaced, removed or added."""
    makers = st.sampled_from(
        [
            *(user(), user([TEXT]), assistant(TEXT), assistant(call("a")), result("a")),
            *(result("b"), assistant(call("a"), call("b")), assistant(call("a"), stop="error")),
        ]
    )
    history = copy.deepcopy(draw(st.lists(makers, max_size=6)))
    for _ in range(draw(st.integers(0, 2))):
        if not history:
            break
        target: Any = draw(st.sampled_from(history))
        if not isinstance(target, dict):
            continue
        if target.get("content") and isinstance(target["content"], list) and draw(st.booleans()):
            inner = target["content"][0]
            target = inner if isinstance(inner, dict) else target
        key = draw(st.sampled_from([*target, "zz"]))
        if draw(st.booleans()):
            target[key] = copy.deepcopy(draw(ODD))
        else:
            target.pop(key, None)
    return history


@settings(max_examples=300)
@given(histories())
def test_the_typed_reader_agrees_with_the_rules(history: list[Any]) -> None:
    stored = [loads(dumps(message)) for message in history]
    expected = verdict(stored, typed=False)
    assert verdict(stored, typed=True) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BLOCK", 16)  # every line is a long one
        assert streamed(stored) == (expected and expected[0])


def streamed(history: list[Any]) -> int | None:
    """Index of the first fault when the history is read from a file; titles have to agree."""
    data = b"".join(dumps(message) + b"\n" for message in history)
    checker, plain = MessageChecker(), MessageChecker()
    try:
        check_lines(lambda at, size: data[at : at + size], 0, len(data), checker)
    except InvalidSession as error:
        return error.line or 0
    for message in history:
        plain.feed_value(message)
    assert (checker.title, checker.user_indexes) == (plain.title, plain.user_indexes)
    return None
