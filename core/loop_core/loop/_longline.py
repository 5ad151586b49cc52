"""Messages on very long lines, checked without a second copy of their texts.

The shapes are those of `_typed`, but texts and image data stay views into the line. What
comes back is a message with its calls and without its contents, all that the rules ask for.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw, Struct, ValidationError

from loop_core.loop import _typed

__all__ = ["decode_long"]


class _Text(Struct, gc=False, tag="text", tag_field="type"):
    text: Raw


class _Image(Struct, gc=False, tag="image", tag_field="type", rename="camel"):
    data: Raw
    mime_type: str


class _Thinking(Struct, gc=False, tag="thinking", tag_field="type"):
    thinking: Raw


class _User(Struct, gc=False, tag="user", tag_field="role"):
    content: Raw
    timestamp: float


class _Assistant(Struct, gc=False, tag="assistant", tag_field="role", rename="camel"):
    content: list[_Text | _Thinking | _typed.ToolCall]
    api: str
    provider: str
    model: str
    usage: _typed.AnyObject | list[Raw]
    stop_reason: Literal["stop", "toolUse", "length", "error", "aborted", "deferred", "pending"]
    timestamp: float


class _ToolResult(Struct, gc=False, tag="toolResult", tag_field="role", rename="camel"):
    content: list[_Text | _Image]
    tool_call_id: str
    tool_name: str
    is_error: bool
    timestamp: float


_message = msgspec.json.Decoder(_User | _Assistant | _ToolResult).decode
_blocks = msgspec.json.Decoder(list[_Text | _Image]).decode
_text = msgspec.json.Decoder(str).decode


def _is_string(raw: Raw) -> bool:
    return memoryview(raw)[0] == ord('"')


def _require_strings(
    blocks: list[_Text | _Image] | list[_Text | _Thinking | _typed.ToolCall],
) -> None:
    for block in blocks:
        if isinstance(block, _typed.ToolCall):
            continue
        if isinstance(block, _Text):
            leaf = block.text
        else:
            leaf = block.data if isinstance(block, _Image) else block.thinking
        if not _is_string(leaf):
            raise ValidationError("a text is not a string")


def decode_long(line: bytes, *, with_text: bool) -> _typed.Message:
    """As `_typed.decode`, without contents; `with_text` keeps the text of a user.

    Raises a msgspec error for what the full rules have to judge.
    """
    message = _message(line)
    if isinstance(message, _User):
        return _typed.User(_user_content(message.content, with_text=with_text), message.timestamp)
    _require_strings(message.content)
    if isinstance(message, _ToolResult):
        return _typed.ToolResult(
            [], message.tool_call_id, message.tool_name, message.is_error, message.timestamp
        )
    calls = [block for block in message.content if isinstance(block, _typed.ToolCall)]
    return _typed.Assistant([*calls], "", "", "", [], message.stop_reason, message.timestamp)


def _user_content(content: Raw, *, with_text: bool) -> str | list[_typed.Text | _typed.Image]:
    if _is_string(content):
        return _text(content) if with_text else ""
    blocks = _blocks(content)
    _require_strings(blocks)
    if not with_text:
        return []
    return [_typed.Text(_text(block.text)) for block in blocks if isinstance(block, _Text)]
