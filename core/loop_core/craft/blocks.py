"""From stored messages to what a history shows (craft-format section 4).

One record holds a tool call and its result; how records stand inside one another is
`nesting`. All text is sanitized here; the session token was expanded before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from loop_core.craft.header import truthy
from loop_core.jsonvalue import dumps, is_number
from loop_core.model import (
    AttachmentBlock,
    Block,
    ImageBlock,
    NoteBlock,
    TextBlock,
    ToolBlock,
    ToolStatus,
    UnknownBlock,
)
from loop_core.sanitize import safe, safe_line

__all__ = ["blocks_of", "content_of", "text_of", "value_text"]

_LINE = 400
#: tool: (verb on success, verb otherwise, argument it acts on)
_KNOWN = {
    "read": ("Read", "Read", "file_path"),
    "write": ("Wrote", "Write", "file_path"),
    "edit": ("Edited", "Edit", "file_path"),
    "multiedit": ("Edited", "Edit", "file_path"),
    "notebookedit": ("Edited", "Edit", "notebook_path"),
    "bash": ("Ran", "Run", "command"),
}
_STATUS: dict[Any, ToolStatus] = {
    "pending": "waiting",
    "executing": "running",
    "completed": "ok",
    "error": "error",
    "backgrounded": "running",
}
_AUTH = {
    "pending": "waiting",
    "completed": "done",
    "cancelled": "cancelled",
    "failed": "failed",
}


def value_text(value: dict[str, Any], key: str) -> str:
    """A value that is a text; "" for anything else."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def blocks_of(number: int, value: Any, *, running: bool = False) -> Iterator[Block]:
    """The blocks of one record, in display order."""
    if not isinstance(value, dict):
        yield UnknownBlock(_json_type(value), pretty(value), number)
        return
    kind = value.get("type")
    maker = _MAKERS.get(kind) if isinstance(kind, str) else None
    if maker is not None:
        yield from maker(number, value)
    elif kind == "tool":
        yield _tool(number, value, running=running)
    else:
        name = safe_line(kind, 80) if isinstance(kind, str) else "record"
        yield UnknownBlock(name, pretty(value), number)


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "number"


def content_of(value: dict[str, Any]) -> str:
    """`content` as text; raw. Tolerates block arrays, which the search code of old expects."""
    content = value.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [item.get("text") if isinstance(item, dict) else item for item in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    return "" if content is None else dumps(content).decode("utf-8", "replace")


def pretty(value: Any) -> str:
    """A JSON value with an indent of 2, sanitized; compact where it is nested too deeply."""
    raw = dumps(value)
    try:
        return safe(msgspec.json.format(raw, indent=2).decode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return safe(raw.decode("utf-8", "replace"))


# --- one maker a type


def _user(number: int, value: dict[str, Any]) -> Iterator[Block]:
    attachments = value.get("attachments")
    for place, item in enumerate(attachments if isinstance(attachments, list) else ()):
        if isinstance(item, dict):
            yield _attachment(number, item, place)
    badges = value.get("badges")
    names = (
        [_badge(item) for item in badges if isinstance(item, dict)]
        if isinstance(badges, list)
        else []
    )
    if any(names):
        yield NoteBlock("skill", ", ".join(name for name in names if name), "", number)
    yield TextBlock(safe(content_of(value)), number, "user")
    if value.get("isQueued") is True:
        yield NoteBlock("queued", "Queued: not sent yet", "", number)


def _attachment(number: int, item: dict[str, Any], place: int) -> Block:
    size = item.get("size")
    count = int(size) if is_number(size) and 0 <= size < 2**53 else 0
    name = safe_line(value_text(item, "name") or "attachment", _LINE)
    kind = safe_line(value_text(item, "type") or "file", 40)
    if kind == "image":
        mime = safe_line(value_text(item, "mimeType") or "image", 80)
        return ImageBlock(mime, count, number, name, place)
    path = value_text(item, "storedPath") or None
    return AttachmentBlock(name=name, size=count, message=number, kind=kind, path=path)


def _badge(item: dict[str, Any]) -> str:
    label = value_text(item, "label") or value_text(item, "rawText")
    kind = value_text(item, "type")
    return safe_line(f"{kind}: {label}" if kind and label else label, 120)


def _assistant(number: int, value: dict[str, Any]) -> Iterator[Block]:
    text = safe(content_of(value))
    yield TextBlock(text, number, "assistant", truthy(value.get("isIntermediate")))


def _tool(number: int, value: dict[str, Any], *, running: bool) -> ToolBlock:
    result = value.get("toolResult")
    status = _STATUS.get(value_text(value, "toolStatus"))
    if truthy(value.get("isError")):
        status = "error"
    elif status is None:
        status = "waiting" if result is None else "ok"
    elif status == "running" and not running:
        status = "waiting"
    name = value_text(value, "toolName") or "unknown"
    display = _display(value)
    arguments = value.get("toolInput")
    verb, target = _words(name, arguments, display, done=status == "ok")
    duration = value.get("toolDuration")
    return ToolBlock(
        name=safe_line(name, _LINE),
        verb=verb,
        target=target,
        status=status,
        call_id=safe_line(value_text(value, "toolUseId"), _LINE),
        message=number,
        result_message=None if result is None else number,
        arguments="" if arguments is None else pretty(arguments),
        result=None if result is None else _result(result),
        duration_ms=int(duration) if is_number(duration) and 0 <= duration < 1e12 else None,
        display=display,
    )


def _result(result: Any) -> str:
    return safe(result) if isinstance(result, str) else pretty(result)


def _display(value: dict[str, Any]) -> str:
    meta = value.get("toolDisplayMeta")
    name = value_text(meta, "displayName") if isinstance(meta, dict) else ""
    return safe_line(value_text(value, "toolDisplayName") or name, _LINE)


def _words(name: str, arguments: Any, display: str, *, done: bool) -> tuple[str, str]:
    """Verb and target in the browser's words (loop-format section 11)."""
    known = _KNOWN.get(name.lower())
    if known is None:
        return ("Used" if done else "Use"), display or safe_line(name, _LINE)
    verb = known[0] if done else known[1]
    target = arguments.get(known[2]) if isinstance(arguments, dict) else None
    if isinstance(target, str) and target.strip():
        return verb, safe_line(target.strip(), _LINE)
    return verb, display or safe_line(name, _LINE)


def _plan(number: int, value: dict[str, Any]) -> Iterator[Block]:
    path = value_text(value, "planPath")
    title = f"Plan: {safe_line(path.rsplit('/', 1)[-1], _LINE)}" if path else "Plan"
    yield NoteBlock("plan", title, safe(content_of(value)), number)


def _error(number: int, value: dict[str, Any]) -> Iterator[Block]:
    content = content_of(value)
    title = value_text(value, "errorTitle")
    lines = [content] if title and content and content != title else []
    details = value.get("errorDetails")
    lines += [d for d in details if isinstance(d, str)] if isinstance(details, list) else []
    original = value_text(value, "errorOriginal")
    lines += [original] if original and original not in lines else []
    shown = safe_line(title or content or value_text(value, "errorCode") or "Error", _LINE)
    if not title and "\n" in content:
        lines.insert(0, content)
    yield NoteBlock("error", shown, safe("\n".join(lines)), number)


def _info(number: int, value: dict[str, Any]) -> Iterator[Block]:
    content = content_of(value)
    title = safe_line(content.split("\n", 1)[0] or "Information", _LINE)
    text = safe(content) if "\n" in content else ""
    if value.get("statusType") == "compaction_complete":
        yield NoteBlock("compaction", title, text, number)
    elif value.get("type") == "warning" or value.get("infoLevel") == "warning":
        yield NoteBlock("warning", title, text, number)
    elif value.get("infoLevel") == "error":
        yield NoteBlock("error", title, text, number)
    else:
        yield NoteBlock("info", title, text, number)


def _auth(number: int, value: dict[str, Any]) -> Iterator[Block]:
    source = value_text(value, "authSourceName") or value_text(value, "authSourceSlug")
    title = content_of(value) or f"Sign-in requested{f' for {source}' if source else ''}"
    state = _AUTH.get(value_text(value, "authStatus"))
    lines = [
        value_text(value, key) for key in ("authDescription", "authHint", "authError", "authEmail")
    ]
    shown = safe_line(title, _LINE) + (f" ({state})" if state else "")
    yield NoteBlock("auth", shown, safe("\n".join(line for line in lines if line)), number)


_MAKERS = {
    "user": _user,
    "assistant": _assistant,
    "plan": _plan,
    "error": _error,
    "info": _info,
    "warning": _info,
    "status": _info,
    "auth-request": _auth,
}


def text_of(value: Any) -> Iterator[str]:
    """Every text of a record a person may look for; raw."""
    if not isinstance(value, dict):
        return
    yield content_of(value)
    for key in ("toolResult", "toolDisplayName", "toolName", "toolIntent", "errorTitle"):
        yield value_text(value, key)
    arguments = value.get("toolInput")
    if arguments is not None:
        yield dumps(arguments).decode("utf-8", "replace")
    for item in (
        value.get("attachments") or () if isinstance(value.get("attachments"), list) else ()
    ):
        if isinstance(item, dict):
            yield value_text(item, "name")
