"""The title a session without a stored one gets, from the head of its messages.

At most `_MOST` bytes are read, and of the line they end in only what is there: eight words
are enough (loop-format section 3, "Fallback title").
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from loop_core import fsio
from loop_core.errors import StorageFailed
from loop_core.loop.lines import decode_line, is_user_value
from loop_core.loop.probe import FIRST
from loop_core.loop.titles import fallback_text
from loop_core.sanitize import safe_line

__all__ = ["Head", "head_of", "read_head"]

_MOST = 1 << 20
_TEXT = re.compile(rb'"(?:content|text)"\s*:\s*"((?:[^"\\]|\\.)*)')


class Head(NamedTuple):
    """`title`: the fallback title. `user`: a user message was seen. `whole`: all was seen."""

    title: str | None
    user: bool
    whole: bool


def read_head(path: str, start: int, length: int) -> Head:
    """Look at the first messages of [start, start + length). An unreadable file gives none."""
    try:
        fd = fsio.open_regular(path)
    except StorageFailed:
        return Head(None, user=False, whole=False)
    try:
        for size in (FIRST, _MOST):
            data = os.pread(fd, min(size, length), start)
            head = head_of(data, whole=length <= len(data))
            if head.title is not None or head.whole or len(data) < size:
                break
    except OSError:
        return Head(None, user=False, whole=False)
    finally:
        os.close(fd)
    return head


def head_of(data: bytes, *, whole: bool) -> Head:
    """The same for bytes at hand; the last line may be cut unless they are the `whole`."""
    *lines, last = data.split(b"\n")
    user = False
    for line in [*lines, last] if whole else lines:
        if b"user" not in line and b"\\u00" not in line:
            continue
        for value in decode_line(line)[0]:
            if is_user_value(value):
                user = True
                title = fallback_text(_text(value.get("content")))
                if title:
                    return Head(safe_line(title), user=True, whole=whole)
    if not whole and last.startswith(b'{"role":"user"'):
        user = True
        found = _TEXT.search(last)
        if found is not None:
            title = fallback_text(_text(_unescaped(found[1])))
            if title:
                return Head(safe_line(title), user=True, whole=False)
    return Head(None, user, whole)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    texts = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _unescaped(raw: bytes) -> str:
    """A JSON string's text; a cut one loses its last escape, if that is cut too."""
    raw = raw[:4000]
    for end in range(len(raw), max(len(raw) - 12, 0), -1):
        values, problem = decode_line(b'"' + raw[:end] + b'"')
        if problem is None:
            return str(values[0])
    return ""
