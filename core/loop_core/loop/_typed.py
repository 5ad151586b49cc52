"""The shapes of messages as msgspec types: what they accept, the rules of A.4 accept.

They refuse a little more (lone surrogates, overflowing numbers, a repeated key whose earlier
value has another type); such lines are judged by `messages.message_problem` instead.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw, Struct

__all__ = [
    "AnyObject",
    "Assistant",
    "Image",
    "Message",
    "Text",
    "ToolCall",
    "ToolResult",
    "User",
    "decode",
    "text_of_user",
]


class AnyObject(Struct, gc=False):
    """Any JSON object; its members are passed over, their syntax is checked."""


class Text(Struct, gc=False, tag="text", tag_field="type", rename="camel"):
    text: str


class Image(Struct, gc=False, tag="image", tag_field="type", rename="camel"):
    data: str
    mime_type: str


class Thinking(Struct, gc=False, tag="thinking", tag_field="type", rename="camel"):
    thinking: str


class ToolCall(Struct, gc=False, tag="toolCall", tag_field="type", rename="camel"):
    id: str
    name: str
    arguments: AnyObject


class User(Struct, gc=False, tag="user", tag_field="role", rename="camel"):
    content: str | list[Text | Image]
    timestamp: float


class Assistant(Struct, gc=False, tag="assistant", tag_field="role", rename="camel"):
    content: list[Text | Thinking | ToolCall]
    api: str
    provider: str
    model: str
    usage: AnyObject | list[Raw]
    stop_reason: Literal["stop", "toolUse", "length", "error", "aborted", "deferred", "pending"]
    timestamp: float


class ToolResult(Struct, gc=False, tag="toolResult", tag_field="role", rename="camel"):
    content: list[Text | Image]
    tool_call_id: str
    tool_name: str
    is_error: bool
    timestamp: float


Message = User | Assistant | ToolResult

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
decode = _decoder.decode


def text_of_user(content: str | list[Text | Image]) -> str:
    """As `titles.text_of_user`, of a decoded message."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))
