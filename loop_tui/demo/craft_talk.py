"""A play of the bank performed as Craft-Agents records (one record a call, no thinking)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from loop_tui.demo.script import Part

Record = dict[str, Any]

_TOOLS = {"read": "Read", "write": "Write", "edit": "Edit", "bash": "Bash"}
_ARGUMENTS = {"path": "file_path", "oldText": "old_string", "newText": "new_string"}


class CraftTalk:
    """Grows record by record; `clock` is the Unix time in ms of the next one."""

    def __init__(self, rng: Random, clock: int = 0) -> None:
        self.rng = rng
        self.clock = clock
        self.records: list[Record] = []

    def play(self, parts: Sequence[Part]) -> None:
        """One round."""
        turn = f"turn-{self.rng.getrandbits(32):08x}"
        for part in parts:
            if part.kind == "user":
                self.add("user", part.body)
            elif part.kind in ("attach", "image"):
                self._attach(part)
            elif part.kind == "say":
                self.add("assistant", part.body, turnId=turn, isIntermediate=True)
            elif part.kind == "reply":
                self.add("assistant", part.body, turnId=turn)
            elif part.kind in ("tool", "also", "fail"):
                self.call(part, turnId=turn)
        self.clock += self.rng.randrange(60_000, 600_000)

    def call(self, part: Part, **more: Any) -> str:
        """A tool call with its result; returns its id, for calls made inside it."""
        name, arguments = part.arguments()
        display: Record = {}
        if name == "mcp":
            server, tool = arguments.pop("server"), arguments.pop("tool")
            name = f"mcp__{server.lower()}__{tool}"
            display = {"toolDisplayMeta": {"displayName": f"{server}: {tool}", "category": "mcp"}}
        name = _TOOLS.get(name, name)
        use = f"toolu_{self.rng.getrandbits(64):016x}"
        failed = part.kind == "fail"
        self.add(
            "tool",
            f"Running {name}...",
            toolName=name,
            toolUseId=use,
            toolInput={_ARGUMENTS.get(key, key): value for key, value in arguments.items()},
            toolResult=part.body,
            toolStatus="error" if failed else "completed",
            toolDuration=self.rng.randrange(40, 9_000),
            **({"isError": True} if failed else {}),
            **display,
            **more,
        )
        return use

    def add(self, kind: str, content: str, **more: Any) -> Record:
        """One record; its `type` comes last, as the application writes it."""
        name = "".join(self.rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(6))
        record = {
            "id": f"msg-{self.clock}-{name}",
            "content": content,
            "timestamp": self.clock,
            **more,
            "type": kind,
        }
        self.records.append(record)
        self.clock += self.rng.randrange(1_500, 30_000)
        return record

    def shift(self, by: int) -> None:
        """Move everything in time; ids carry their time."""
        for record in self.records:
            prefix, time, name = record["id"].split("-")
            record["id"] = f"{prefix}-{int(time) + by}-{name}"
            record["timestamp"] += by
        self.clock += by

    def _attach(self, part: Part) -> None:
        image = part.kind == "image"
        size = 4_096 if image else len(part.body.encode())
        self.records[-1].setdefault("attachments", []).append(
            {
                "id": f"{self.rng.getrandbits(64):016x}",
                "type": "image" if image else "text",
                "name": part.head,
                "mimeType": "image/png" if image else "text/csv",
                "size": size,
                "storedPath": "{{SESSION_PATH}}/attachments/" + part.head,
            }
        )
