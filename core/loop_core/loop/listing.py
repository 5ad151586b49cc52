"""The strict list: Loop's own verdict over a collection, and its order (S0, loop-format A.6).

Every session is opened in full. Unsupported ones are skipped; anything else that is wrong
raises for the whole list. The browser's tolerant scan is elsewhere.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from loop_core import fsio
from loop_core.errors import UnsupportedSession
from loop_core.loop.migration import LEGACY_SUFFIX, is_published
from loop_core.loop.opening import Opened, OpenedLegacy, open_directory, open_legacy
from loop_core.loop.paths import META_FILE, os_path

__all__ = ["SessionInfo", "list_sessions"]


class SessionInfo(Struct, frozen=True):
    """One session of a strict list. `path` is meta.json, or the version-2 file.

    `header` has the fallback title when none is stored.
    """

    header: dict[str, Any]
    path: Path
    message_count: int
    user_message_count: int

    @property
    def id(self) -> str:
        return str(self.header["id"])


def list_sessions(collection: str, cwd: str | None) -> list[SessionInfo]:
    """Sessions of a collection whose real working directory is that of `cwd`, newest first.

    None: all of them. A missing collection is empty. Raises InvalidSession, StorageFailed.
    """
    real = None if cwd is None else os.path.realpath(cwd)
    found = [
        info
        for info in _all(collection)
        if real is None or os.fsdecode(os.path.realpath(os_path(info.header["cwd"]))) == real
    ]
    return sorted(found, key=_order, reverse=True)


def _order(info: SessionInfo) -> tuple[bytes, bytes]:
    """By updatedAt, then id, as JavaScript compares strings: by UTF-16 code units."""
    updated, name = info.header["updatedAt"], info.header["id"]
    return updated.encode("utf-16-be", "surrogatepass"), name.encode("utf-16-be")


def _all(collection: str) -> list[SessionInfo]:
    with fsio.guarded(collection, "listing"):
        try:
            names = sorted(os.listdir(collection))
        except FileNotFoundError:
            return []
    directories = {
        name
        for name in names
        if not name.startswith(".") and is_published(os.path.join(collection, name))
    }
    found: list[SessionInfo] = []
    for name in names:
        path = os.path.join(collection, name)
        stem = name.removesuffix(LEGACY_SUFFIX)
        try:
            if name in directories:
                found.append(_info(open_directory(path), os.path.join(path, META_FILE)))
            elif name != stem and stem not in directories and not name.startswith("."):
                legacy = open_legacy(path)
                if legacy.header["id"] not in directories:
                    found.append(_info(legacy, path))
        except UnsupportedSession:
            continue
    return found


def _info(opened: Opened | OpenedLegacy, path: str) -> SessionInfo:
    header = opened.header
    if "title" not in header and opened.conversation.title is not None:
        header = {**header, "title": opened.conversation.title}
    conversation = opened.conversation
    return SessionInfo(header, Path(path), len(conversation.lines), len(conversation.users))
