"""The first line of `session.jsonl`: fields, cleaning, the 8 KiB reader, computed values.

craft-format section 3. The application's list reads at most `HEADER_LIMIT` bytes and takes
what stands before the first line feed; a longer header makes the session vanish from it.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

from loop_core import fsio, jsonvalue
from loop_core.craft.tokens import expand_line, portable_home
from loop_core.errors import StorageFailed

__all__ = [
    "COMPUTED",
    "HEADER_LIMIT",
    "PERSISTENT",
    "ROLES",
    "clean_modes",
    "computed_fields",
    "make_header",
    "parse_header",
    "permission_mode",
    "preview_of",
    "read_session_header",
]

HEADER_LIMIT = 8192
PREVIEW_UNITS = 150

#: Fields taken over from memory, in the order of a fresh header.
PERSISTENT = (
    "id",
    "workspaceRootPath",
    "sdkSessionId",
    "sdkCwd",
    "createdAt",
    "lastUsedAt",
    "lastMessageAt",
    "name",
    "isFlagged",
    "sessionStatus",
    "labels",
    "hidden",
    "lastReadMessageId",
    "hasUnread",
    "enabledSourceSlugs",
    "permissionMode",
    "previousPermissionMode",
    "workingDirectory",
    "model",
    "llmConnection",
    "connectionLocked",
    "thinkingLevel",
    "sharedUrl",
    "sharedId",
    "pendingPlanExecution",
    "isArchived",
    "archivedAt",
    "branchFromMessageId",
    "branchFromSdkSessionId",
    "branchFromSessionPath",
    "branchFromSdkCwd",
    "branchFromSdkTurnId",
    "transferredSessionSummary",
    "transferredSessionSummaryApplied",
    "triggeredBy",
)
#: Fields that every save computes anew or takes from the usage counter, in order.
COMPUTED = ("messageCount", "lastMessageRole", "preview", "tokenUsage", "lastFinalMessageId")
ROLES = frozenset({"user", "assistant", "plan", "tool", "error"})
NO_USAGE = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0, "contextTokens": 0, "costUsd": 0}

_MODES = {
    "safe": "safe",
    "ask": "ask",
    "allow-all": "allow-all",
    "explore": "safe",
    "execute": "allow-all",
    "ask-to-edit": "ask",
    "ask_to_edit": "ask",
    "ask to edit": "ask",
}
_MODE_FIELDS = ("permissionMode", "previousPermissionMode")

_JS_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
#: What a preview leaves out and the text that ends it, in the application's order: what one
#: step leaves behind may be a mention to the next.
_LEFT_OUT = (
    (re.compile(r"<edit_request>.*?</edit_request>", re.DOTALL), "</edit_request>"),
    (re.compile(r"<[^>]+>"), ">"),
    (re.compile(r"\[skill:(?:[A-Za-z0-9_-]+:)?[A-Za-z0-9_-]+\]"), "]"),
    (re.compile(r"\[source:[A-Za-z0-9_-]+\]"), "]"),
    (re.compile(r"\[file:[^\]]+\]"), "]"),
    (re.compile(r"\[folder:[^\]]+\]"), "]"),
)
_SPACES = re.compile(f"[{_JS_SPACE}]+")


def permission_mode(value: object) -> str | None:
    """The canonical mode (safe, ask, allow-all) of a stored one, or None."""
    return _MODES.get(jsonvalue.js_trim(value).lower()) if isinstance(value, str) else None


def clean_modes(header: dict[str, Any]) -> None:
    """Map both permission modes in place; a value without a meaning is taken out."""
    for field in _MODE_FIELDS:
        if field in header:
            mode = permission_mode(header[field])
            if mode is None:
                del header[field]
            else:
                header[field] = mode


def parse_header(line: bytes, folder: str | os.PathLike[str]) -> Any:
    """The JSON value of a header line: token replaced, one byte order mark dropped, cleaned.

    Raises `jsonvalue.JsonSyntaxError`.
    """
    line = expand_line(line, folder)
    if line.startswith(b"\xef\xbb\xbf"):
        line = line[3:]
    value = jsonvalue.loads(line)
    if isinstance(value, dict):
        clean_modes(value)
    return value


def head_line(head: bytes) -> bytes:
    """What the application's list takes for the header: everything when the LF comes first."""
    end = head.find(b"\n")
    return head[:end] if end > 0 else head


def read_session_header(file: str | os.PathLike[str]) -> Any:
    """The JSON value the application's list would find in the first 8192 bytes, or None.

    None stands for every failure (missing, not a file, not JSON, too long) and for a literal
    ``null``. Numbers, texts and arrays pass as they do there. Never raises for bad content.
    """
    path = os.path.abspath(os.fspath(file))
    try:
        head = fsio.read_file(path, limit=HEADER_LIMIT)
        return parse_header(head_line(head), os.path.dirname(path))
    except (StorageFailed, jsonvalue.JsonSyntaxError):
        return None


def utf16_cut(text: str, units: int) -> str:
    """The first `units` UTF-16 code units of `text`; may end in half a surrogate pair."""
    if len(text) <= units and text.isascii():
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return data[: units * 2].decode("utf-16-le", "surrogatepass")


def clean_text(text: str) -> str:
    """Message text as the preview shows it, uncut: no tags, no mentions, single spaces."""
    for pattern, closing in _LEFT_OUT:
        # Behind the last closing text nothing matches, and looking there, from every opening
        # one to the end, would take time that grows with the square of the length.
        end = text.rfind(closing) + len(closing)
        if end >= len(closing):
            text = pattern.sub("", text[:end]) + text[end:]
    return _SPACES.sub(" ", text).strip(" ")


def preview_of(messages: Iterable[Any]) -> str | None:
    """The header's preview: of the first user message with content, at most 150 units."""
    for message in messages:
        if isinstance(message, dict) and message.get("type") == "user":
            content = message.get("content")
            if isinstance(content, str) and content:
                return utf16_cut(clean_text(content), PREVIEW_UNITS) or None
    return None


def last_final_id(messages: Sequence[Any]) -> Any:
    """The id of the last assistant message that is no commentary, or None."""
    for message in reversed(messages):
        if (
            isinstance(message, dict)
            and message.get("type") == "assistant"
            and not truthy(message.get("isIntermediate"))
        ):
            return message.get("id")
    return None


def truthy(value: object) -> bool:
    """JavaScript's truth: an empty list or object is true, NaN is false."""
    if isinstance(value, (list, dict)):
        return True
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


def computed_fields(messages: Sequence[Any]) -> dict[str, Any]:
    """The fields every save computes; a field without a value is absent."""
    found: dict[str, Any] = {"messageCount": len(messages)}
    last = messages[-1] if messages else None
    role = last.get("type") if isinstance(last, dict) else None
    if isinstance(role, str) and role in ROLES:
        found["lastMessageRole"] = role
    preview = preview_of(messages)
    if preview is not None:
        found["preview"] = preview
    final = last_final_id(messages)
    if final is not None:
        found["lastFinalMessageId"] = final
    return found


def make_header(
    header: dict[str, Any],
    messages: Sequence[Any],
    *,
    now_ms: int | None = None,
    portable: Iterable[str] = ("workspaceRootPath",),
) -> dict[str, Any]:
    """A fresh header of a save: known fields in the application's order, then all others.

    The application drops every key it does not know; ours keeps them. `portable` names the
    paths written with ``~`` (the queue: all three, the direct writer: the workspace only).
    """
    fresh: dict[str, Any] = {key: header[key] for key in PERSISTENT if key in header}
    fresh["lastUsedAt"] = int(time.time() * 1000) if now_ms is None else now_ms
    for key in portable:
        if isinstance(fresh.get(key), str) and fresh[key]:
            fresh[key] = portable_home(fresh[key])
    computed = computed_fields(messages)
    for key in COMPUTED:
        if key == "tokenUsage":
            if key in header:
                fresh[key] = header[key]
        elif key in computed:
            fresh[key] = computed[key]
    known = set(PERSISTENT) | set(COMPUTED)
    fresh.update((key, value) for key, value in header.items() if key not in known)
    return fresh
