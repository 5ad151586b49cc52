"""The demo's sessions as files, in every form Loop has (docs/FORMAT.md).

The bytes are made here and not by a `SessionManager`, because a demo has to lie in the past,
be the same each time, and hold forms no manager writes: version 2, a migrated session with
its backup, several generations, damage. A test checks every healthy one with `check`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from loop_core import fsio
from loop_core.jsonvalue import dumps
from loop_core.loop.rounds import RoundIndex, encode_index

Form = Literal["v3", "v2", "migrated"]


@dataclass
class Session:
    """One session to write: a version-2 header and its messages."""

    header: dict[str, Any]
    messages: list[dict[str, Any]]
    form: Form = "v3"
    replaced: list[dict[str, Any]] = field(default_factory=list)  # an earlier generation
    tail: bytes = b""  # bytes after the committed range, as a killed save leaves them
    index: bool = True
    changed_ms: int = 0  # mtime of the files


def header(session_id: str, cwd: str, created: str, updated: str, **more: Any) -> dict[str, Any]:
    """A version-2 header with its keys in Loop's order; None leaves a key out."""
    first = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": more.pop("preset", "workspace-write"),
        "id": session_id,
        "cwd": cwd,
        "createdAt": created,
        "updatedAt": updated,
        "unread": more.pop("unread", False),
    }
    return {**first, **{key: value for key, value in more.items() if value is not None}}


def lines_of(values: Sequence[dict[str, Any]]) -> list[bytes]:
    return [dumps(value) + b"\n" for value in values]


def write(collection: str, session: Session) -> str:
    """Write one session into a collection directory; returns the path of its metadata."""
    path = os.path.join(collection, session.header["id"])
    if session.form != "v3":
        body = b"".join(lines_of([session.header, *session.messages]))
        fsio.write_new(path + ".jsonl", body)
        _set_time(path + ".jsonl", session.changed_ms)
        if session.form == "v2":
            return path + ".jsonl"
    _write_published(path, session)
    return os.path.join(path, "meta.json")


def _write_published(path: str, session: Session) -> None:
    before = b"".join(lines_of(session.replaced))
    lines = lines_of(session.messages)
    committed = b"".join(lines)
    generation = hashlib.sha256(committed).hexdigest()
    envelope = {
        "format": "loop-session",
        "version": 3,
        "header": session.header,
        "generation": generation,
        "start": len(before),
        "bytes": len(committed),
        "messageCount": len(lines),
    }
    fsio.make_private_dir(path)
    contents = {
        "messages.jsonl": before + committed + session.tail,
        "meta.json": dumps(envelope) + b"\n",
    }
    if session.index:
        contents["index.json"] = _index(session.messages, lines, generation)
    for name, data in contents.items():
        file = os.path.join(path, name)
        fsio.write_new(file, data)
        _set_time(file, session.changed_ms)


def _index(messages: Sequence[dict[str, Any]], lines: Sequence[bytes], generation: str) -> bytes:
    index = RoundIndex(generation, sum(map(len, lines)), len(lines))
    offset = 0
    for number, (message, line) in enumerate(zip(messages, lines, strict=True)):
        if message["role"] == "user":
            index.messages.append(number)
            index.offsets.append(offset)
        offset += len(line)
    return encode_index(index)


def _set_time(path: str, time_ms: int) -> None:
    # A file changed a moment ago counts as belonging to a running agent.
    if time_ms:
        os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))
