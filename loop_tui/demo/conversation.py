"""A play of the bank performed as Loop messages, with a clock and dice of its own."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from loop_tui.demo.script import Part

Message = dict[str, Any]

#: How an agent's last turn can end when it does not simply stop.
ENDINGS: dict[str, tuple[str, str, str]] = {
    "error": ("error", "", "The model service is overloaded. Try again in a minute."),
    "aborted": ("aborted", "I'll start with the callers, there are", ""),
    "length": (
        "length",
        "The complete list, file by file:\n\n1. `app/__init__.py`\n2. `app/ba",
        "",
    ),
    "deferred": ("deferred", "The batch is queued; the result comes when it has run.", ""),
}


def tiny_png(rng: Random, width: int = 24, height: int = 14) -> bytes:
    """A real picture of a few hundred bytes: stripes in two colours."""
    colours = [bytes(rng.randrange(40, 230) for _ in range(3)) for _ in range(2)]
    rows = b"".join(
        b"\0" + b"".join(colours[(x + y) // 5 % 2] for x in range(width)) for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(kind, data)
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    )


def hex_id(rng: Random) -> str:
    """36 characters of `[a-f0-9-]`, in the usual grouping."""
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class Conversation:
    """Grows message by message; `clock` is the Unix time in ms of the next one."""

    def __init__(self, rng: Random, clock: int, model: str = "lumen-large") -> None:
        self.rng = rng
        self.clock = clock
        self.model = model
        self.messages: list[Message] = []
        self.timings: list[dict[str, Any]] = []

    def play(self, parts: Sequence[Part]) -> None:
        """One round: the user's part first, then everything the agent does."""
        began, first = self.clock, len(self.messages)
        self._user([part for part in parts if part.kind in ("user", "attach", "image")])
        pending: list[dict[str, Any]] = []
        calls: list[tuple[Part, str]] = []
        for part in parts:
            if calls and part.kind != "also":
                self._act(pending, calls)
                pending, calls = [], []
            if part.kind == "think":
                pending.append({"type": "thinking", "thinking": part.body})
            elif part.kind == "say":
                phase = json.dumps({"v": 1, "id": self._token("msg"), "phase": "commentary"})
                pending.append({"type": "text", "text": part.body, "textSignature": phase})
            elif part.kind in ("tool", "also", "fail"):
                calls.append((part, self._token("call")))
            elif part.kind == "reply":
                self.assistant([*pending, {"type": "text", "text": part.body}], "stop")
                pending = []
        if calls:
            self._act(pending, calls)
        if pending:
            self.assistant(pending, "stop")
        self.timings.append(
            {
                "userMessageIndex": first,
                "startedAt": began,
                "finishedAt": self.clock,
                "id": hex_id(self.rng),
                "messageStartIndex": first,
                "messageEndIndex": len(self.messages),
            }
        )
        self._wait(40, 900)

    def end_with(self, ending: str) -> None:
        """A last question whose answer ends as `ENDINGS` says."""
        reason, text, problem = ENDINGS[ending]
        self.user("Go on, and list every file that changes.")
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        extra = {"errorMessage": problem} if problem else {}
        self.assistant(content, reason, **extra)

    def user(self, content: str | list[dict[str, Any]]) -> None:
        self.messages.append({"role": "user", "content": content, "timestamp": self.clock})
        self._wait(2, 9)

    def assistant(self, content: Iterable[dict[str, Any]], reason: str, **extra: Any) -> None:
        sent, received = self.rng.randrange(2_000, 60_000), self.rng.randrange(60, 1_800)
        self.messages.append(
            {
                "role": "assistant",
                "content": list(content),
                "api": "lumen-messages",
                "provider": "lumen",
                "model": self.model,
                "usage": {
                    "input": sent,
                    "output": received,
                    "cacheRead": sent * 3 // 4,
                    "cacheWrite": 0,
                    "totalTokens": sent + received,
                },
                "stopReason": reason,
                **extra,
                "timestamp": self.clock,
            }
        )
        self._wait(2, 20)

    # --- inside

    def _user(self, parts: Sequence[Part]) -> None:
        text = parts[0].body
        if len(parts) == 1:
            self.user(text)
            return
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
        for part in parts[1:]:
            if part.kind == "image":
                data = base64.b64encode(tiny_png(self.rng)).decode()
                blocks.append({"type": "image", "data": data, "mimeType": "image/png"})
            else:
                inline = json.dumps({"name": part.head, "text": part.body}, ensure_ascii=False)
                heading = "Attached UTF-8 text file (reference content):"
                blocks.append({"type": "text", "text": f"{heading}\n{inline}"})
        self.user(blocks)

    def _act(self, before: list[dict[str, Any]], calls: list[tuple[Part, str]]) -> None:
        """One message with its calls, then their results, in the order they happen to end."""
        blocks = list(before)
        results: list[Message] = []
        for part, call_id in calls:
            name, arguments = part.arguments()
            details: dict[str, Any] = {}
            if name == "codemode":
                details = {"details": {"loopDisplayName": "Codemode"}}
            elif name == "mcp":
                server, tool = arguments.pop("server"), arguments.pop("tool")
                name = f"mcp__{server.lower()}__{tool}"
                details = {"details": {"loopDisplayName": f"{server} · {tool}"}}
            blocks.append({"type": "toolCall", "id": call_id, "name": name, "arguments": arguments})
            results.append(
                {
                    "role": "toolResult",
                    "toolCallId": call_id,
                    "toolName": name,
                    "content": [{"type": "text", "text": part.body}],
                    "isError": part.kind == "fail",
                    **details,
                }
            )
        self.assistant(blocks, "toolUse")
        if len(results) > 1 and self.rng.random() < 0.5:
            results.reverse()
        for result in results:
            self._wait(1, 25)
            self.messages.append({**result, "timestamp": self.clock})
        self._wait(1, 6)

    def _token(self, prefix: str) -> str:
        return f"{prefix}_{self.rng.getrandbits(48):012x}"

    def _wait(self, least: int, most: int) -> None:
        self.clock += self.rng.randrange(least * 1000, most * 1000)
