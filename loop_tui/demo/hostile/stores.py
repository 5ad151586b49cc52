"""Writes hostile contents in the three forms, whatever they hold."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from typing import Any

from loop_core import fsio
from loop_tui.demo.hostile.contents import Content, user

_SPACE = uuid.UUID("6f1d0c52-3d4b-4f0e-9a53-2f6f2f0d7a11")


def id_of(name: str) -> str:
    """A session id that is the same every time."""
    return str(uuid.uuid5(_SPACE, name))


def header_of(session_id: str, cwd: str, **changes: Any) -> dict[str, Any]:
    return {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": session_id,
        "cwd": cwd,
        "createdAt": "2026-01-02T03:04:05.000Z",
        "updatedAt": "2026-01-02T03:04:05.000Z",
        "unread": True,
        **changes,
    }


def text_of(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def lines_of(content: Content) -> bytes:
    lines = (*map(user, content.texts), *content.raw_lines)
    return b"".join(line + b"\n" for line in lines)


def write_v3(collection: str, name: str, content: Content, cwd: str, **envelope: Any) -> str:
    """A published session; `envelope` replaces keys of meta.json. Returns its directory."""
    session_id = id_of(f"v3 {name}")
    body = lines_of(content)
    header = text_of(header_of(session_id, cwd, **content.header))
    fields: dict[str, Any] = {
        "format": "loop-session",
        "version": 3,
        "generation": hashlib.sha256(body).hexdigest(),
        "start": 0,
        "bytes": len(body),
        "messageCount": body.count(b"\n"),
        **envelope,
    }
    if content.raw_header is not None:
        header = content.raw_header or b"null"
    meta = text_of(fields)[:-1] + b',"header":' + header + b"}\n"
    folder = os.path.join(collection, session_id)
    fsio.make_private_dir(folder)
    fsio.write_new(os.path.join(folder, "messages.jsonl"), body + content.tail)
    fsio.write_new(os.path.join(folder, "meta.json"), b"" if content.raw_header == b"" else meta)
    return folder


def write_v2(collection: str, name: str, content: Content, cwd: str) -> str:
    """A version-2 file; returns its path."""
    session_id = id_of(f"v2 {name}")
    header = content.raw_header
    if header is None:
        header = text_of(header_of(session_id, cwd, **content.header))
    data = (header + b"\n" if header else b"") + lines_of(content) + content.tail
    path = os.path.join(collection, f"{session_id}.jsonl")
    fsio.make_private_dir(collection)
    fsio.write_new(path, b"" if content.raw_header == b"" else data)
    return path


def write_craft(workspace: str, name: str, content: Content) -> str:
    """A Craft-Agents session; returns its folder."""
    session_id = f"260102-hostile-{name.replace('_', '-')}"
    header = {
        "id": session_id,
        "workspaceRootPath": workspace,
        "createdAt": 1_767_323_045_000,
        "lastUsedAt": 1_767_323_045_000,
        "lastMessageAt": 1_767_323_045_000,
        "hasUnread": True,
        **content.craft_header,
        "messageCount": len(content.texts) + len(content.raw_lines),
    }
    first = text_of(header) if content.raw_header is None else content.raw_header
    data = (first + b"\n" if first else b"") + lines_of(content) + content.tail
    folder = os.path.join(workspace, "sessions", session_id)
    fsio.make_private_dir(folder)
    fsio.write_new(
        os.path.join(folder, "session.jsonl"), b"" if content.raw_header == b"" else data
    )
    return folder
