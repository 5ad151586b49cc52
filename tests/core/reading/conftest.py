"""Loop sessions as bytes on disk, in every shape a reader meets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from loop_core.loop.paths import workspace_hash
from loop_core.loop.store import LoopStore
from loop_core.model import SessionRow, StoreScan

Value = dict[str, Any] | bytes


def user(text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": 1_790_000_000_000, **more}


def assistant(*blocks: dict[str, Any] | str, stop: str = "stop", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    value = {"role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m"}
    return value | {"usage": {}, "stopReason": stop, "timestamp": 1_790_000_001_000, **more}


def call(name: str, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(
    text: str = "ok", call_id: str = "c1", name: str = "read", **more: Any
) -> dict[str, Any]:
    value = {"role": "toolResult", "toolCallId": call_id, "toolName": name, "isError": False}
    content = [{"type": "text", "text": text}]
    return value | {"content": content, "timestamp": 1_790_000_003_500, **more}


def encoded(messages: Sequence[Value]) -> bytes:
    """One line each; bytes are lines as they are."""
    lines = [
        m if isinstance(m, bytes) else json.dumps(m, separators=(",", ":")).encode()
        for m in messages
    ]
    return b"".join(line + b"\n" for line in lines)


class Disk:
    """An agent directory that tests fill."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.agent = base / "agent"
        self.count = 0

    def cwd(self, name: str = "project") -> Path:
        path = self.base / "work" / name
        path.mkdir(parents=True, exist_ok=True)
        return path.resolve()

    def collection(self, cwd: str | Path | None = None) -> Path:
        folder = self.cwd() if cwd is None else cwd
        path = self.agent / "sessions" / workspace_hash(folder)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def new_id(self) -> str:
        self.count += 1
        return f"{self.count:08x}-0000-4000-8000-00000000abcd"

    def header(self, **fields: Any) -> dict[str, Any]:
        header = {
            "format": "loop-session",
            "version": 2,
            "permissionPreset": "read-only",
            "id": fields.pop("id", None) or self.new_id(),
            "cwd": str(fields.pop("cwd", None) or self.cwd()),
            "createdAt": "2026-10-01T09:00:00.000Z",
            "updatedAt": "2026-10-01T10:00:00.000Z",
            "unread": False,
        }
        return header | fields

    def v3(
        self,
        messages: Sequence[Value] = (),
        *,
        before: bytes = b"",
        tail: bytes = b"",
        index: str | bytes | None = "right",
        folder: Path | None = None,
        name: str | None = None,
        envelope: dict[str, Any] | None = None,
        **header: Any,
    ) -> Path:
        """A published session; gives its meta.json. `before`: bytes of older generations."""
        head = self.header(**header)
        where = (folder or self.collection(head["cwd"])) / (name or head["id"])
        where.mkdir(parents=True, exist_ok=True)
        body = encoded(messages)
        (where / "messages.jsonl").write_bytes(before + body + tail)
        meta = {
            "format": "loop-session",
            "version": 3,
            "header": head,
            "generation": hashlib.sha256(body).hexdigest(),
            "start": len(before),
            "bytes": len(body),
            "messageCount": body.count(b"\n"),
        }
        meta |= envelope or {}
        if isinstance(index, bytes):
            (where / "index.json").write_bytes(index)
        elif index == "right":
            rounds = right_rounds(messages)
            text = json.dumps({"generation": meta["generation"], "rounds": rounds})
            (where / "index.json").write_text(text)
        path = where / "meta.json"
        path.write_text(json.dumps(meta, separators=(",", ":")) + "\n")
        return path

    def v2(
        self,
        messages: Sequence[Value] = (),
        *,
        folder: Path | None = None,
        name: str | None = None,
        **header: Any,
    ) -> Path:
        head = self.header(**header)
        where = folder or self.collection(head["cwd"])
        path = where / f"{name or head['id']}.jsonl"
        path.write_bytes(encoded([head, *messages]))
        return path

    def store(self, **options: Any) -> LoopStore:
        options.setdefault("cache_dir", self.base / "cache")
        return LoopStore(self.agent, **options)

    def only_row(self) -> tuple[LoopStore, SessionRow]:
        store = self.store()
        (row,) = scanned(store).rows
        return store, row


def right_rounds(messages: Sequence[Value]) -> list[dict[str, int]]:
    rounds, at = [], 0
    for number, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            rounds.append({"messageIndex": number, "byteOffset": at})
        at += len(encoded([message]))
    return rounds


def scanned(store: LoopStore) -> StoreScan:
    *_, last = store.scan()
    return last


class Kit:
    """The functions above, for tests that cannot import this file."""

    user = staticmethod(user)
    assistant = staticmethod(assistant)
    call = staticmethod(call)
    result = staticmethod(result)
    encoded = staticmethod(encoded)
    right_rounds = staticmethod(right_rounds)
    scanned = staticmethod(scanned)
    disk = Disk


@pytest.fixture
def kit() -> type[Kit]:
    return Kit


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


@pytest.fixture
def count_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Bytes read since the last call, whichever way."""
    seen = [0]
    for name in ("read", "pread"):
        real = getattr(os, name)

        def counting(*args: Any, _real: Any = real) -> bytes:
            data: bytes = _real(*args)
            seen[0] += len(data)
            return data

        monkeypatch.setattr(os, name, counting)
    preadv = os.preadv

    def counting_preadv(*args: Any) -> int:
        got = preadv(*args)
        seen[0] += got
        return got

    monkeypatch.setattr(os, "preadv", counting_preadv)
    from loop_core.fsio_calls import calls

    for name in ("read", "pread"):
        monkeypatch.setattr(calls, name, getattr(os, name))

    def take() -> int:
        total, seen[0] = seen[0], 0
        return total

    return take
