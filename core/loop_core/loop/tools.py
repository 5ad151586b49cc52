"""What a tool call is called and acts on, in Loop's words (loop-format section 11)."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import msgspec

from loop_core.jsonvalue import dumps, is_number
from loop_core.model import ImageBlock, ToolBlock, ToolStatus
from loop_core.sanitize import safe, safe_line

__all__ = ["Call", "image_block", "result_alone", "text_of"]

_TARGET_LIMIT = 400
_DAY_MS = 86_400_000
#: tool: (verb on success, verb otherwise, argument it acts on)
_KNOWN = {
    "read": ("Read", "Read", "path"),
    "write": ("Wrote", "Write", "path"),
    "edit": ("Edited", "Edit", "path"),
    "bash": ("Ran", "Run", "command"),
}
_SKILL_SUFFIX = re.compile(r"[-_:@.]?[0-9a-f]{24}")
_SKILL_ARGUMENTS = ("handle", "skill", "name", "id")


def text_of(content: Any) -> str:
    """The text blocks of a content, joined with nothing; raw."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(
        block["text"]
        for block in content
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )


def image_block(block: dict[str, Any], message: int, position: int) -> ImageBlock:
    """An image by type and decoded size; the size is told by the length of its base64."""
    data, mime = block.get("data"), block.get("mimeType")
    size = 0
    if isinstance(data, str):
        size = max(0, len(data) * 3 // 4 - data[-2:].count("="))
    kind = safe_line(mime, 80) if isinstance(mime, str) else "unknown type"
    return ImageBlock(mime=kind, size=size, message=message, block=position)


class Call:
    """A tool call until its result is known."""

    def __init__(self, block: dict[str, Any], message: int, started: Any) -> None:
        self.name = _string(block.get("name"))
        self.id = _string(block.get("id"))
        self.arguments = block.get("arguments")
        self.message = message
        self.started = started
        self.result: dict[str, Any] | None = None
        self.result_message: int | None = None

    def answer(self, result: dict[str, Any], message: int) -> None:
        self.result = result
        self.result_message = message

    def freeze(self, *, running: bool = False) -> ToolBlock:
        """The block to show; `running`: its owner works on it now."""
        status: ToolStatus = "running" if running else "waiting"
        if self.result is not None:
            status = "error" if self.result.get("isError") is True else "ok"
        display = _display(self.result)
        verb, target = _words(self.name, self.arguments, display, done=status == "ok")
        return ToolBlock(
            name=safe_line(self.name, _TARGET_LIMIT),
            verb=verb,
            target=target,
            status=status,
            call_id=safe_line(self.id, _TARGET_LIMIT),
            message=self.message,
            result_message=self.result_message,
            arguments="" if self.arguments is None else pretty(self.arguments),
            result=None if self.result is None else safe(text_of(self.result.get("content"))),
            result_images=_images(self.result, self.result_message),
            duration_ms=_duration(self.started, self.result),
            display=display,
        )


def result_alone(result: dict[str, Any], message: int) -> ToolBlock:
    """A result whose call is not in its round."""
    call = Call({"name": result.get("toolName"), "id": result.get("toolCallId")}, message, None)
    call.answer(result, message)
    return call.freeze()


def pretty(value: Any) -> str:
    """A JSON value with an indent of 2, sanitized."""
    raw = _plain_json(value) or dumps(value)
    # Nested deeper than the formatter goes: compact is still complete.
    with suppress(msgspec.DecodeError, RecursionError):
        raw = msgspec.json.format(raw, indent=2)
    return safe(raw.decode("utf-8", "replace"))


def _plain_json(value: Any) -> bytes | None:
    """What `dumps` gives, for an object of texts: the arguments of most calls."""
    if type(value) is not dict or any(type(item) is not str for item in value.values()):
        return None
    if any(key[:1].isdigit() for key in value):
        return None  # JavaScript sorts such keys
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return None


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _display(result: dict[str, Any] | None) -> str:
    details = None if result is None else result.get("details")
    name = details.get("loopDisplayName") if isinstance(details, dict) else None
    return safe_line(name, _TARGET_LIMIT) if isinstance(name, str) else ""


def _words(name: str, arguments: Any, display: str, *, done: bool) -> tuple[str, str]:
    values = arguments if isinstance(arguments, dict) else {}
    known = _KNOWN.get(name)
    if known is not None and isinstance(values.get(known[2]), str):
        return known[0 if done else 1], safe_line(values[known[2]].strip(), _TARGET_LIMIT)
    verb = known[0 if done else 1] if known is not None else "Used" if done else "Use"
    if known is None and name == "load_skill":
        for key in _SKILL_ARGUMENTS:
            if isinstance(values.get(key), str):
                return verb, safe_line(_without_suffix(values[key]), _TARGET_LIMIT)
    return verb, display or safe_line(name, _TARGET_LIMIT)


def _without_suffix(handle: str) -> str:
    """A skill's handle without the 24 hex digits that tell namesakes apart."""
    found = _SKILL_SUFFIX.search(handle)
    if found is not None and found.end() == len(handle) and found.start() > 0:
        return handle[: found.start()]
    return handle


def _images(result: dict[str, Any] | None, message: int | None) -> tuple[ImageBlock, ...]:
    content = None if result is None else result.get("content")
    if not isinstance(content, list) or message is None:
        return ()
    return tuple(
        image_block(block, message, position)
        for position, block in enumerate(content)
        if isinstance(block, dict) and block.get("type") == "image"
    )


def _duration(started: Any, result: dict[str, Any] | None) -> int | None:
    """Milliseconds: as recorded, else between the two messages where that makes sense."""
    if result is None:
        return None
    recorded: Any = result.get("durationMs")
    if is_number(recorded) and 0 <= recorded < 365 * _DAY_MS:
        return int(recorded)
    finished: Any = result.get("timestamp")
    if is_number(started) and is_number(finished) and 0 <= finished - started < 7 * _DAY_MS:
        return int(finished - started)
    return None
