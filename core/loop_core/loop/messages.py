"""The messages of a session: shapes, blocks, and the pairing of calls with results.

Source: S0 "Messages", loop-format A.4. `MessageChecker` takes one message after the other, as
a line or as a value, and keeps what the rest of the checks need: whose each message is, and
the fallback title.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from loop_core.errors import InvalidSession
from loop_core.jsonvalue import JsonSyntaxError, is_finite, loads
from loop_core.loop import _typed
from loop_core.loop.titles import fallback_title, text_of_user

__all__ = ["NOT_PENDING", "STOP_REASONS", "MessageChecker", "message_problem"]

STOP_REASONS = ("stop", "toolUse", "length", "error", "aborted", "deferred", "pending")

#: Assistants that stopped so are left out of a replay, and their calls out of the pairing.
NOT_PENDING: Final = ("error", "aborted")

_UNMATCHED = "no pending tool call matches the result"
_UNFINISHED = "a tool call before it has no result"
_USER_BLOCKS = {"text": ("text",), "image": ("data", "mimeType")}
_ASSISTANT_BLOCKS = {"text": ("text",), "thinking": ("thinking",), "toolCall": ("id", "name")}


def _blocks_problem(blocks: Any, known: dict[str, tuple[str, ...]]) -> str | None:
    for number, block in enumerate(blocks):
        where = f"content block {number + 1}"
        if not isinstance(block, dict):
            return f"{where} is not an object"
        kind = block.get("type")
        fields = known.get(kind) if isinstance(kind, str) else None
        if fields is None:
            return f"{where} has a type that does not belong there"
        for field in fields:
            if not isinstance(block.get(field), str):
                return f"{where}: {field} is not a string"
        if kind == "toolCall" and not isinstance(block.get("arguments"), dict):
            return f"{where}: arguments is not an object"
    return None


def _content_problem(
    content: Any, known: dict[str, tuple[str, ...]], *, text_allowed: bool
) -> str | None:
    if isinstance(content, str) and text_allowed:
        return None
    if not isinstance(content, list):
        return "content is neither text nor an array" if text_allowed else "content is not an array"
    return _blocks_problem(content, known)


def message_problem(message: Any) -> str | None:
    """Why one message has an unsupported shape, or None. Pairing is not looked at."""
    if not isinstance(message, dict):
        return "the message is not an object"
    if not is_finite(message.get("timestamp")):
        return "timestamp is not a finite number"
    role = message.get("role")
    content = message.get("content")
    if role == "user":
        return _content_problem(content, _USER_BLOCKS, text_allowed=True)
    if role == "assistant":
        for field in ("api", "provider", "model"):
            if not isinstance(message.get(field), str):
                return f"{field} is not a string"
        if not isinstance(message.get("usage"), dict | list):
            return "usage is not an object"
        if message.get("stopReason") not in STOP_REASONS:
            return "stopReason is unknown"
        return _content_problem(content, _ASSISTANT_BLOCKS, text_allowed=False)
    if role == "toolResult":
        for field in ("toolCallId", "toolName"):
            if not isinstance(message.get(field), str):
                return f"{field} is not a string"
        if not isinstance(message.get("isError"), bool):
            return "isError is not a boolean"
        return _content_problem(content, _USER_BLOCKS, text_allowed=False)
    return "role is not user, assistant or toolResult"


class MessageChecker:
    """Checks a history message by message; raises `InvalidSession` at the first fault.

    `first` is the index of the first message fed, for a history that goes on from one already
    checked. `path` is only named in errors.
    """

    def __init__(self, path: str | None = None, *, first: int = 0) -> None:
        self.path = path
        self.first = first
        self.users = 0
        self.title: dict[str, Any] | None = None  # the fallback title
        self._is_user = bytearray()  # one byte a message
        self._pending: dict[str, str] = {}  # call id to tool name
        self._line: int | None = None

    @property
    def messages(self) -> int:
        """Messages fed so far."""
        return len(self._is_user)

    @property
    def user_indexes(self) -> list[int]:
        """Indexes of the user messages, ascending."""
        return [self.first + index for index, user in enumerate(self._is_user) if user]

    def is_user(self, index: int) -> bool:
        """Whether message `index` was fed and is a user's."""
        index -= self.first
        return 0 <= index < len(self._is_user) and bool(self._is_user[index])

    def feed(self, raw_line: bytes, line: int | None = None) -> bool:
        """Check one line without its line feed; whether the message is a user's.

        Raises `InvalidSession` with `line` for what is no JSON and for a broken rule.
        """
        try:
            message = _typed.decode(raw_line)
        except (msgspec.MsgspecError, RecursionError):
            try:
                value = loads(raw_line)
            except JsonSyntaxError as error:
                raise InvalidSession(self.path, f"invalid JSON: {error}", line) from error
            return self.feed_value(value, line)
        return self.feed_typed((message,), line) > 0

    def feed_value(self, message: Any, line: int | None = None) -> bool:
        """Check one parsed message; whether it is a user's."""
        self._line = line
        if problem := message_problem(message):
            self._fail(problem, line)
        role = message["role"]
        if role == "toolResult":
            self._answer(message["toolCallId"], message["toolName"], line)
        elif self._pending:
            self._fail(_UNFINISHED, line)
        if role == "assistant" and message["stopReason"] not in NOT_PENDING:
            for block in message["content"]:
                if block["type"] == "toolCall":
                    self._call(block["id"], block["name"], line)
        if role == "user" and self.title is None:
            index = self.first + self.messages
            self.title = fallback_title([(index, text_of_user(message["content"]))])
        self.users += role == "user"
        self._is_user.append(role == "user")
        return bool(role == "user")

    def feed_typed(self, messages: Sequence[_typed.Message], line: int | None = None) -> int:
        """Check decoded messages of consecutive lines from `line` on; how many are users'."""
        flags = bytearray(len(messages))
        pending = self._pending
        for at, message in enumerate(messages):
            if isinstance(message, _typed.ToolResult):
                if pending.pop(message.tool_call_id, None) != message.tool_name:
                    self._fail(_UNMATCHED, line, at)
            elif pending:
                self._fail(_UNFINISHED, line, at)
            elif isinstance(message, _typed.Assistant):
                if message.stop_reason not in NOT_PENDING:
                    for block in message.content:
                        if isinstance(block, _typed.ToolCall):
                            self._call(block.id, block.name, line, at)
            else:
                flags[at] = 1
                if self.title is None:
                    index = self.first + self.messages + at
                    self.title = fallback_title([(index, _typed.text_of_user(message.content))])
        users = flags.count(1)
        self.users += users
        self._is_user += flags
        self._line = None if line is None else line + len(messages) - 1
        return users

    def finish(self) -> None:
        """The end of the history: no call may be pending."""
        if self._pending:
            name = next(iter(self._pending.values()))
            self._fail(f"the history ends before the result of a call of {name}", self._line)

    def _answer(self, call: str, name: str, line: int | None) -> None:
        if self._pending.pop(call, None) != name:
            self._fail(_UNMATCHED, line)

    def _call(self, call: str, name: str, line: int | None, at: int = 0) -> None:
        if call in self._pending:
            self._fail("two tool calls of one message share an id", line, at)
        self._pending[call] = name

    def _fail(self, reason: str, line: int | None, at: int = 0) -> None:
        raise InvalidSession(self.path, reason, None if line is None else line + at)
