"""Sessions to search: on disk as Loop writes them, and in memory for random corpora."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from loop_core import jsonvalue
from loop_core.loop.paths import workspace_hash
from loop_core.loop.store import LoopStore
from loop_core.loop.texts import texts_of
from loop_core.model import Page, Piece, Round, SessionKey, SessionRow, Stamp, TextBlock, TextMark
from loop_core.search.engine import SearchEngine
from loop_core.search.indexer import IndexProgress, update
from loop_core.search.result import SearchResult

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text, "timestamp": 1_790_000_000_000}


def agent(*blocks: str | Message) -> Message:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    value = {"role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m"}
    return value | {"usage": {}, "stopReason": "stop", "timestamp": 1_790_000_001_000}


def thinking(text: str) -> Message:
    return {"type": "thinking", "thinking": text, "thinkingSignature": ""}


def call(name: str, **arguments: Any) -> Message:
    return {"type": "toolCall", "id": "c1", "name": name, "arguments": arguments}


def result(text: str, name: str = "bash") -> Message:
    return {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": False,
        "timestamp": 1_790_000_002_000,
    }


def encoded(messages: Iterable[Message]) -> bytes:
    return b"".join(jsonvalue.dumps(message) + b"\n" for message in messages)


class Ground:
    """An agent directory, its store, and a search over it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.agent = base / "agent"
        self.cache = str(base / "search")
        self.cwd = base / "work" / "shop"
        self.cwd.mkdir(parents=True)
        self.collection = self.agent / "sessions" / workspace_hash(self.cwd)
        self.collection.mkdir(parents=True)
        self.store = LoopStore(self.agent, cache_dir=base / "rounds")
        self.rows: tuple[SessionRow, ...] = ()
        self.count = 0

    def write(
        self,
        messages: Sequence[Message],
        *,
        session: str | None = None,
        before: bytes = b"",
        **header: Any,
    ) -> str:
        """A version-3 session, new or again; gives its id. `before`: older generations."""
        if session is None:
            self.count += 1
            session = f"{self.count:08x}-0000-4000-8000-00000000abcd"
        where = self.collection / session
        where.mkdir(exist_ok=True)
        body = encoded(messages)
        (where / "messages.jsonl").write_bytes(before + body)
        self.meta(session, body, len(before), len(messages), header)
        return session

    def meta(
        self, session: str, body: bytes, start: int, count: int, header: Message | None = None
    ) -> None:
        head = {
            "format": "loop-session",
            "version": 2,
            "permissionPreset": "read-only",
            "id": session,
            "cwd": str(self.cwd.resolve()),
            "createdAt": "2026-10-01T09:00:00.000Z",
            "updatedAt": "2026-10-01T10:00:00.000Z",
            "unread": False,
        }
        meta = {
            "format": "loop-session",
            "version": 3,
            "header": head | (header or {}),
            "generation": hashlib.sha256(body).hexdigest(),
            "start": start,
            "bytes": len(body),
            "messageCount": count,
        }
        path = self.collection / session / "meta.json"
        path.write_text(json.dumps(meta) + "\n")
        status = path.stat()
        self.tick = getattr(self, "tick", 0) + 1
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + self.tick))

    def append(self, session: str, messages: Sequence[Message]) -> int:
        """More messages at the end, as a save of Loop leaves them; the bytes added."""
        where = self.collection / session
        meta = json.loads((where / "meta.json").read_text())
        more = encoded(messages)
        with (where / "messages.jsonl").open("ab") as file:
            file.write(more)
        body = (where / "messages.jsonl").read_bytes()[meta["start"] :]
        count = meta["messageCount"] + len(messages)
        self.meta(session, body, meta["start"], count, meta["header"])
        return len(more)

    def v2(self, session: str, messages: Sequence[Message]) -> None:
        head = {
            "format": "loop-session",
            "version": 2,
            "permissionPreset": "read-only",
            "id": session,
            "cwd": str(self.cwd.resolve()),
            "createdAt": "2026-10-01T09:00:00.000Z",
            "updatedAt": "2026-10-01T10:00:00.000Z",
            "unread": False,
        }
        path = self.collection / f"{session}.jsonl"
        path.write_bytes(encoded([head, *messages]))

    def scan(self) -> tuple[SessionRow, ...]:
        *_, last = self.store.scan()
        self.rows = last.rows
        return self.rows

    def index(self, **more: Any) -> IndexProgress:
        self.scan()
        more.setdefault("forget", {self.store.id})
        return update(self.cache, self.rows, lambda _: self.store, **more)

    def search(self, text: str, **more: Any) -> SearchResult:
        self.scan()
        engine = SearchEngine(self.cache, lambda _: self.store)
        return engine.search(text, self.rows, project_of=lambda _: "shop", **more)

    def ids(self, text: str, **more: Any) -> list[str]:
        """Ids of the sessions found, sorted."""
        names = {row.key: row.id for row in self.rows or self.scan()}
        answer = self.search(text, **more)
        names = {row.key: row.id for row in self.rows}
        return sorted(names[session.key] for session in answer.sessions)


class MemoryTexts:
    """One pass over messages in memory, through the same raw lines and filter as on disk."""

    def __init__(self, messages: Sequence[Message], wanted: Any) -> None:
        self.messages = messages
        self.wanted = wanted
        self.first_round = -1

    def __iter__(self) -> Iterator[Piece]:
        round_ = -1
        for at, message in enumerate(self.messages):
            round_ += message["role"] == "user"
            line = jsonvalue.dumps(message)
            if self.wanted is None or self.wanted(line):
                yield from texts_of(jsonvalue.loads(line), at, round_)

    def mark(self) -> TextMark:
        return TextMark("memory")


class MemoryStore:
    """As much of a store as a search asks for, over messages in memory."""

    id = "memory"

    def __init__(self, sessions: Sequence[tuple[str, Sequence[Message]]]) -> None:
        self.sessions = {SessionKey("memory", str(n)): s for n, s in enumerate(sessions)}

    def rows(self) -> tuple[SessionRow, ...]:
        return tuple(
            SessionRow(
                key=key,
                source="loop",
                form="loop3",
                id=key.ref,
                path=f"/memory/{key.ref}",
                project="p",
                title=title,
                updated_ms=int(key.ref),
                stamp=Stamp(1, 1, int(key.ref)),
            )
            for key, (title, _) in self.sessions.items()
        )

    def texts(self, key: SessionKey, *, wanted: Any = None, **_: Any) -> MemoryTexts:
        return MemoryTexts(self.sessions[key][1], wanted)

    def page(self, key: SessionKey, *, before_round: int, rounds: int, **_: Any) -> Page:
        pieces = list(MemoryTexts(self.sessions[key][1], None))
        last = before_round - 1
        shown = (-1, 0) if last == 0 else (last,)
        found = tuple(
            Round(
                index=number,
                start=0,
                end=0,
                time_ms=None,
                blocks=tuple(TextBlock(p.text, p.message) for p in pieces if p.round == number),
            )
            for number in shown
        )
        return Page(
            key=key,
            revision="",
            start=0,
            end=0,
            total=0,
            first_round=last,
            total_rounds=0,
            rounds=found,
        )


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@pytest.fixture
def memory() -> Callable[[Sequence[tuple[str, Sequence[Message]]]], MemoryStore]:
    return MemoryStore


class Speak:
    """Messages as Loop stores them."""

    user = staticmethod(user)
    agent = staticmethod(agent)
    thinking = staticmethod(thinking)
    call = staticmethod(call)
    result = staticmethod(result)
    encoded = staticmethod(encoded)


@pytest.fixture
def speak() -> Speak:
    return Speak()
