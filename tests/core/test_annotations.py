"""The header's arrays that refer to the history."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from loop_core.loop.annotations import annotations_problem

USERS = {0, 2, 4}  # of six messages
COMPACTION: dict[str, Any] = {
    "id": "0a1b2c3d-0000-4000-8000-000000000001",
    "firstKeptMessageIndex": 2,
    "historyMessageCount": 4,
    "summary": "s",
    "timestamp": 0,
    "provider": "",
    "model": "",
    "usage": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0.5),
}
CONTEXT: dict[str, Any] = {
    "userTurn": 1.0,
    "content": "c",
    "timestamp": 1,
    "placement": "user",
    "skills": [
        {"id": "", "name": "", "path": "", "content": "", "revision": "", "description": ""}
    ],
}
TIMING: dict[str, Any] = {"userMessageIndex": 2, "startedAt": 5, "finishedAt": 5}
RANGED = {**TIMING, "id": "r", "messageStartIndex": 2, "messageEndIndex": 4, "stopped": False}
CHECKPOINT: dict[str, Any] = {
    "messageCount": 1,
    "timestamp": 0,
    "sections": {"a-b_1": None, "b": ""},
}
GOOD: dict[str, list[dict[str, Any]]] = {
    "runtimeContexts": [CONTEXT],
    "promptTimings": [RANGED],
    "compactions": [COMPACTION],
    "systemPromptCheckpoints": [CHECKPOINT],
}


def problem(header: dict[str, Any]) -> str | None:
    return annotations_problem(
        header, message_count=6, user_count=3, is_user=lambda index: index in USERS
    )


def test_absent_and_empty_arrays_pass() -> None:
    assert problem({}) is None
    assert problem({key: [] for key in GOOD}) is None
    assert problem(GOOD) is None


@pytest.mark.parametrize("key", GOOD)
def test_null_and_other_types_are_refused(key: str) -> None:
    values: list[Any] = [None, {}, "", 0, True]
    entries: list[Any] = [None, [], "", 1]
    for value in values:
        assert (problem({key: value}) or "").startswith(key)
    for entry in entries:
        assert (problem({key: [entry]}) or "").startswith(f"{key}[0]")


@pytest.mark.parametrize("key", GOOD)
def test_every_required_field_is_required(key: str) -> None:
    optional = {"placement", "skills", "stopped"}
    for field in GOOD[key][0]:
        entry = copy.deepcopy(GOOD[key][0])
        del entry[field]
        assert (problem({key: [entry]}) is None) is (field in optional), field
        assert problem({key: [{**GOOD[key][0], field: None}]}) is not None, field


def refused(key: str, *entries: dict[str, Any]) -> bool:
    return problem({key: list(entries)}) is not None


def test_runtime_contexts() -> None:
    key = "runtimeContexts"
    first, second = {**CONTEXT, "userTurn": 0}, CONTEXT
    assert not refused(key, first, second)
    assert refused(key, second, first)
    assert refused(key, second, second)
    changes: list[dict[str, Any]] = [
        {"userTurn": 3},
        {"userTurn": -1},
        {"userTurn": True},
        {"content": " \ufeff\n"},
        {"timestamp": 0.5},
        {"placement": "system"},
        {"skills": [1]},
        {"skills": [{**CONTEXT["skills"][0], "description": None}]},
    ]
    for change in changes:
        assert refused(key, {**CONTEXT, **change}), change
    assert not refused(key, {**CONTEXT, "content": "\x85"})  # no space to JavaScript


def test_legacy_prompt_timings() -> None:
    key = "promptTimings"
    assert not refused(key, {**TIMING, "userMessageIndex": 0}, TIMING)
    assert refused(key, TIMING, TIMING)
    assert refused(key, TIMING, {**TIMING, "userMessageIndex": 0})
    assert refused(key, {**TIMING, "userMessageIndex": 1})
    assert refused(key, {**TIMING, "userMessageIndex": 6})
    assert refused(key, {**TIMING, "finishedAt": 4})
    assert refused(key, {**TIMING, "startedAt": -1})
    assert not refused(key, {**TIMING, "startedAt": 1e12, "finishedAt": 1e12, "other": None})


def test_prompt_timings_with_ranges() -> None:
    key = "promptTimings"
    again = {**RANGED, "id": "s", "messageStartIndex": 4, "messageEndIndex": 6, "stopped": True}
    assert not refused(key, RANGED, again)  # a resumed attempt shares its user index
    assert not refused(key, TIMING, RANGED)
    assert not refused(key, {**TIMING, "userMessageIndex": 0}, RANGED, again)
    assert refused(key, RANGED, {**again, "id": "r"})
    assert refused(key, RANGED, {**again, "messageStartIndex": 3})
    assert refused(key, again, {**RANGED, "userMessageIndex": 0})
    changes: list[dict[str, Any]] = [
        {"id": ""},
        {"messageStartIndex": 1},
        {"messageStartIndex": 5},
        {"messageEndIndex": 7},
        {"messageEndIndex": 2.5},
        {"stopped": 1},
    ]
    for change in changes:
        assert refused(key, {**RANGED, **change}), change
    assert not refused(key, {**RANGED, "messageEndIndex": 2})


def test_compactions() -> None:
    key = "compactions"
    other = {**COMPACTION, "id": "-" * 36, "firstKeptMessageIndex": 4, "historyMessageCount": 6}
    assert not refused(key, COMPACTION, other)
    assert not refused(key, {**COMPACTION, "historyMessageCount": 6}, other)
    assert refused(key, other, COMPACTION)
    assert refused(key, COMPACTION, {**other, "id": COMPACTION["id"]})
    changes: list[dict[str, Any]] = [
        {"firstKeptMessageIndex": 0},
        {"firstKeptMessageIndex": 3},
        {"firstKeptMessageIndex": 4},
        {"historyMessageCount": 7},
        {"historyMessageCount": 2},
        {"summary": "\u2003"},
        {"usage": {**COMPACTION["usage"], "input": -1}},
        {"usage": {**COMPACTION["usage"], "output": True}},
    ]
    for change in changes:
        assert refused(key, {**COMPACTION, **change}), change


def test_system_prompt_checkpoints() -> None:
    key = "systemPromptCheckpoints"
    late = {**CHECKPOINT, "messageCount": 6}
    assert not refused(key, CHECKPOINT, CHECKPOINT, late, late)
    assert refused(key, late, CHECKPOINT)
    changes: list[dict[str, Any]] = [
        {"messageCount": 0},
        {"messageCount": 7},
        {"timestamp": -1},
        {"sections": {}},
        {"sections": {"A": ""}},
        {"sections": {"a\n": ""}},
        {"sections": {"1a": ""}},
        {"sections": {"é": ""}},
        {"sections": {"a": 1}},
    ]
    for change in changes:
        assert refused(key, {**CHECKPOINT, **change}), change
