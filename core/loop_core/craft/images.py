"""The data of an attached image: the file in the session's folder, else what the line holds."""

from __future__ import annotations

import base64
import os
from typing import Any

from loop_core import fsio
from loop_core.craft.tokens import expand_session_path
from loop_core.errors import StorageFailed

__all__ = ["image_of"]

_LIMIT = 64 << 20


def image_of(message: Any, place: int, folder: str) -> tuple[str, str] | None:
    """Media type and base64 text of attachment `place` of a stored message, or None.

    A stored path is followed only inside the session's own folder: a message may name any
    file of the machine.
    """
    items = message.get("attachments") if isinstance(message, dict) else None
    if not isinstance(items, list) or not 0 <= place < len(items):
        return None
    item = items[place]
    if not isinstance(item, dict) or item.get("type") != "image":
        return None
    mime = item.get("mimeType")
    mime = mime if isinstance(mime, str) else "application/octet-stream"
    path = item.get("storedPath")
    data = _file(expand_session_path(path, folder), folder) if isinstance(path, str) else None
    if data is not None:
        return mime, base64.b64encode(data).decode("ascii")
    resized = item.get("resizedBase64")
    if isinstance(resized, str) and resized:
        return mime, resized
    small = item.get("thumbnailBase64")
    return ("image/png", small) if isinstance(small, str) and small else None


def _file(path: str, folder: str) -> bytes | None:
    if "\0" in path or not os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep):
        return None
    try:
        data = fsio.read_file(path, limit=_LIMIT + 1)
    except StorageFailed:
        return None
    return data if len(data) <= _LIMIT else None
