"""The header's arrays that refer to the history.

Source: S0 "Header", loop-format A.5 and B "Open" 25 (new prompt timings). A missing array is
fine and an empty one is accepted; null or anything else than an array is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeGuard

from loop_core.jsonvalue import is_finite, is_safe_integer, js_trim
from loop_core.loop.paths import is_session_id

__all__ = [
    "annotations_problem",
    "checkpoints_problem",
    "compactions_problem",
    "contexts_problem",
    "timings_problem",
]

IsUser = Callable[[int], bool]

_SECTION = re.compile(r"[a-z][a-z0-9_-]*")
_RANGE_KEYS = ("id", "messageStartIndex", "messageEndIndex")
_SKILL_KEYS = ("id", "name", "path", "content", "revision")
_USAGE_KEYS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")


def annotations_problem(
    header: dict[str, Any], *, message_count: int, user_count: int, is_user: IsUser
) -> str | None:
    """Why one of the four arrays does not fit the history, or None, in Loop's order."""
    checks: tuple[tuple[str, Callable[[list[Any]], str | None]], ...] = (
        ("runtimeContexts", lambda value: contexts_problem(value, user_count)),
        ("promptTimings", lambda value: timings_problem(value, message_count, is_user)),
        ("compactions", lambda value: compactions_problem(value, message_count, is_user)),
        ("systemPromptCheckpoints", lambda value: checkpoints_problem(value, message_count)),
    )
    for key, check in checks:
        if key not in header:
            continue
        if not isinstance(header[key], list):
            return f"{key} is not an array"
        if problem := check(header[key]):
            return problem
    return None


def _is_count(value: Any) -> TypeGuard[int]:
    return is_safe_integer(value) and value >= 0


def _is_text(value: Any) -> bool:
    """A string that is not blank to JavaScript's trim."""
    return isinstance(value, str) and bool(js_trim(value))


def contexts_problem(contexts: list[Any], user_count: int) -> str | None:
    """Runtime contexts; `userTurn` is an ordinal among user messages."""
    before = -1
    for number, entry in enumerate(contexts):
        where = f"runtimeContexts[{number}]"
        if not isinstance(entry, dict):
            return f"{where} is not an object"
        turn = entry.get("userTurn")
        if not _is_count(turn):
            return f"{where}.userTurn is not a turn number"
        if turn <= before:
            return f"{where}.userTurn does not increase"
        if turn >= user_count:
            return f"{where}.userTurn is beyond the last user message"
        before = turn
        if not _is_text(entry.get("content")):
            return f"{where}.content is blank"
        if not _is_count(entry.get("timestamp")):
            return f"{where}.timestamp is not a whole number of milliseconds"
        if "placement" in entry and entry["placement"] != "user":
            return f"{where}.placement is unknown"
        if "skills" in entry and (problem := _skills_problem(entry["skills"], where)):
            return problem
    return None


def _skills_problem(skills: Any, where: str) -> str | None:
    if not isinstance(skills, list):
        return f"{where}.skills is not an array"
    for number, skill in enumerate(skills):
        if not isinstance(skill, dict):
            return f"{where}.skills[{number}] is not an object"
        keys = (*_SKILL_KEYS, "description") if "description" in skill else _SKILL_KEYS
        for key in keys:
            if not isinstance(skill.get(key), str):
                return f"{where}.skills[{number}].{key} is not a string"
    return None


def timings_problem(timings: list[Any], message_count: int, is_user: IsUser) -> str | None:
    """Prompt timings, legacy entries and those with an id and a message range mixed."""
    last_index = last_legacy = -1
    last_end = 0
    ids: set[str] = set()
    for number, entry in enumerate(timings):
        where = f"promptTimings[{number}]"
        if problem := _timing_problem(entry, where, is_user):
            return problem
        index = entry["userMessageIndex"]
        if not any(key in entry for key in _RANGE_KEYS):
            if index <= last_legacy or index < last_index:
                return f"{where}.userMessageIndex does not increase"
            last_legacy = last_index = index
            continue
        if problem := _range_problem(entry, where, message_count):
            return problem
        if index < last_index:
            return f"{where}.userMessageIndex decreases"
        if entry["id"] in ids:
            return f"{where}.id is used twice"
        if entry["messageStartIndex"] < last_end:
            return f"{where} overlaps the range before it"
        ids.add(entry["id"])
        last_index, last_end = index, entry["messageEndIndex"]
    return None


def _timing_problem(entry: Any, where: str, is_user: IsUser) -> str | None:
    if not isinstance(entry, dict):
        return f"{where} is not an object"
    index, started, finished = (
        entry.get(key) for key in ("userMessageIndex", "startedAt", "finishedAt")
    )
    if not _is_count(index) or not is_user(int(index)):
        return f"{where}.userMessageIndex is not the index of a user message"
    if not _is_count(started):
        return f"{where}.startedAt is not a whole number of milliseconds"
    if not is_safe_integer(finished) or finished < started:
        return f"{where}.finishedAt is not a time at or after startedAt"
    return None


def _range_problem(entry: dict[str, Any], where: str, message_count: int) -> str | None:
    if not isinstance(entry.get("id"), str) or not entry["id"]:
        return f"{where}.id is not a non-empty string"
    start, end = entry.get("messageStartIndex"), entry.get("messageEndIndex")
    if not _is_count(start) or not _is_count(end):
        return f"{where} lacks a messageStartIndex or messageEndIndex"
    if not entry["userMessageIndex"] <= start <= end <= message_count:
        return f"{where} has a message range outside the history"
    if not isinstance(entry.get("stopped", False), bool):
        return f"{where}.stopped is not a boolean"
    return None


def compactions_problem(compactions: list[Any], message_count: int, is_user: IsUser) -> str | None:
    """Compactions: where each one's kept history begins, and its summary."""
    ids: set[str] = set()
    before = 0
    for number, entry in enumerate(compactions):
        where = f"compactions[{number}]"
        if not isinstance(entry, dict):
            return f"{where} is not an object"
        if not is_session_id(entry.get("id")) or entry["id"] in ids:
            return f"{where}.id is not a unique id of 36 characters"
        ids.add(entry["id"])
        kept, total = entry.get("firstKeptMessageIndex"), entry.get("historyMessageCount")
        if not is_safe_integer(kept) or kept <= before:
            return f"{where}.firstKeptMessageIndex does not increase"
        if not is_safe_integer(total) or not kept < total <= message_count:
            return f"{where}.historyMessageCount does not fit the history"
        if not is_user(int(kept)):
            return f"{where}.firstKeptMessageIndex is not the index of a user message"
        before = kept
        if problem := _summary_problem(entry, where):
            return problem
    return None


def _summary_problem(entry: dict[str, Any], where: str) -> str | None:
    if not _is_text(entry.get("summary")):
        return f"{where}.summary is blank"
    if not _is_count(entry.get("timestamp")):
        return f"{where}.timestamp is not a whole number of milliseconds"
    for key in ("provider", "model"):
        if not isinstance(entry.get(key), str):
            return f"{where}.{key} is not a string"
    usage = entry.get("usage")
    if not isinstance(usage, dict):
        return f"{where}.usage is not an object"
    for key in _USAGE_KEYS:
        if not is_finite(usage.get(key)) or usage[key] < 0:
            return f"{where}.usage.{key} is not a number of tokens"
    return None


def checkpoints_problem(checkpoints: list[Any], message_count: int) -> str | None:
    """System prompt checkpoints: initial sections and patches over them."""
    before = 1
    for number, entry in enumerate(checkpoints):
        where = f"systemPromptCheckpoints[{number}]"
        if not isinstance(entry, dict):
            return f"{where} is not an object"
        count = entry.get("messageCount")
        if not is_safe_integer(count) or not before <= count <= message_count:
            return f"{where}.messageCount does not fit the history"
        before = count
        if not _is_count(entry.get("timestamp")):
            return f"{where}.timestamp is not a whole number of milliseconds"
        sections = entry.get("sections")
        if not isinstance(sections, dict) or not sections:
            return f"{where}.sections is not a non-empty object"
        for name, text in sections.items():
            if _SECTION.fullmatch(name) is None:
                return f"{where} has a section with an invalid name"
            if text is not None and not isinstance(text, str):
                return f"{where}.sections.{name} is neither text nor null"
    return None
