"""Stores of the same conversations, for this program and for those beside it.

Every session has the same rounds and titles in both; each is in its own format and at its own
place. All belong to one project, so that one list holds them all.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loop_core.loop.paths import workspace_hash

_ROUNDS = 4
_EVERY_S = 600
_MODEL = "example-model-1"
_OUTPUT = "".join(f"tests/core/test_part.py::test_case_{n} PASSED\n" for n in range(40))
_ANSWER = "The lock is on the directory now, and **both** writers wait for it.\n\n" * 6


def title(number: int) -> str:
    """What the list shows of a session; no two are alike."""
    return f"task{number:06} make the second writer wait"


def _session_id(number: int) -> str:
    return str(uuid.UUID(int=number, version=4))


def _moments(count: int) -> Iterator[tuple[int, float]]:
    """Each session with the second of its last message; session 0 is the oldest."""
    now = time.time() // 60 * 60
    for number in range(count):
        yield number, now - (count - number) * _EVERY_S


def _iso(moment: float) -> str:
    stamp = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return stamp.replace("+00:00", "Z")


def _write(path: Path, values: list[dict[str, Any]], moment: float) -> bytes:
    data = b"".join(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        for value in values
    )
    path.write_bytes(data)
    os.utime(path, (moment, moment))
    return data


def make_loop(agent: Path, cwd: Path, count: int) -> None:
    """Version-3 sessions in Loop's agent directory."""
    collection = agent / "sessions" / workspace_hash(cwd)
    for number, moment in _moments(count):
        session = _session_id(number)
        folder = collection / session
        folder.mkdir(parents=True)
        messages = [
            message
            for turn in range(_ROUNDS)
            for message in _loop_round(number, turn, int(moment * 1000))
        ]
        data = _write(folder / "messages.jsonl", messages, moment)
        header = {
            "format": "loop-session",
            "version": 2,
            "permissionPreset": "read-only",
            "id": session,
            "cwd": str(cwd),
            "createdAt": _iso(moment - 60),
            "updatedAt": _iso(moment),
            "unread": False,
            "title": {"text": title(number), "source": "model", "messageIndices": [0]},
        }
        meta = {
            "format": "loop-session",
            "version": 3,
            "header": header,
            "generation": hashlib.sha256(data).hexdigest(),
            "start": 0,
            "bytes": len(data),
            "messageCount": len(messages),
        }
        _write(folder / "meta.json", [meta], moment)


def _question(number: int, turn: int) -> str:
    return title(number) if turn == 0 else f"And case {turn}?"


def _loop_round(number: int, turn: int, stamp: int) -> Iterator[dict[str, Any]]:
    model = {"api": "a", "provider": "p", "model": _MODEL, "usage": {}, "timestamp": stamp}
    call = {
        "type": "toolCall",
        "id": f"c{turn}",
        "name": "bash",
        "arguments": {"command": "pytest"},
    }
    yield {"role": "user", "content": _question(number, turn), "timestamp": stamp}
    yield {"role": "assistant", "content": [call], "stopReason": "toolUse", **model}
    yield {
        "role": "toolResult",
        "toolCallId": f"c{turn}",
        "toolName": "bash",
        "isError": False,
        "content": [{"type": "text", "text": _OUTPUT}],
        "timestamp": stamp,
    }
    text = {"type": "text", "text": _ANSWER}
    yield {"role": "assistant", "content": [text], "stopReason": "stop", **model}


def make_claude(home: Path, cwd: Path, count: int) -> Path:
    """Claude Code's transcripts below a home directory; the project's folder."""
    folder = home / ".claude" / "projects" / str(cwd).replace("/", "-").replace(".", "-")
    folder.mkdir(parents=True)
    for number, moment in _moments(count):
        session = _session_id(number)
        lines: list[dict[str, Any]] = []
        for turn in range(_ROUNDS):
            for role, message in _claude_round(number, turn):
                place = len(lines)
                line = {
                    "parentUuid": lines[-1]["uuid"] if lines else None,
                    "isSidechain": False,
                    "userType": "external",
                    "cwd": str(cwd),
                    "sessionId": session,
                    "version": "2.0.14",
                    "gitBranch": "main",
                    "type": role,
                    "message": message,
                    "uuid": str(uuid.UUID(int=(number << 32) + place + 1, version=4)),
                    "timestamp": _iso(moment - 60 + place),
                }
                lines.append(line | ({"requestId": f"r{place}"} if role == "assistant" else {}))
        _write(folder / f"{session}.jsonl", lines, moment)
    return folder


def _claude_round(number: int, turn: int) -> Iterator[tuple[str, dict[str, Any]]]:
    def answer(block: dict[str, Any], stop: str) -> tuple[str, dict[str, Any]]:
        return "assistant", {
            "id": f"msg_{number}_{turn}_{stop}",
            "type": "message",
            "role": "assistant",
            "model": _MODEL,
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 1200, "output_tokens": 340},
        }

    call = f"toolu_{number}_{turn}"
    yield "user", {"role": "user", "content": _question(number, turn)}
    yield answer(
        {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "pytest"}}, "tool_use"
    )
    result = {"type": "tool_result", "tool_use_id": call, "content": _OUTPUT, "is_error": False}
    yield "user", {"role": "user", "content": [result]}
    yield answer({"type": "text", "text": _ANSWER}, "end_turn")
