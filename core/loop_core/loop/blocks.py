"""From stored messages to what a history shows: rounds of blocks.

Calls and results are paired by position inside a round, never by a global id: a call id may
be used again (loop-format section 11). All text is sanitized here. Values of any shape are
taken; what is not understood becomes an `UnknownBlock`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from loop_core.jsonvalue import JsonSyntaxError, is_integer, is_number, loads
from loop_core.loop.attachments import parse_attachment
from loop_core.loop.tools import Call, image_block, pretty, result_alone
from loop_core.model import (
    AttachmentBlock,
    Block,
    NoteBlock,
    Round,
    TextBlock,
    ThinkingBlock,
    UnknownBlock,
)
from loop_core.sanitize import safe, safe_line

__all__ = ["HeaderNotes", "Message", "make_round"]

_STOPS = {
    "aborted": "Stopped",
    "error": "Model error",
    "length": "Stopped at the output limit",
    "deferred": "Deferred to a batch",
    "pending": "Still pending",
}
_UNPAIRED = ("error", "aborted")


class Message(NamedTuple):
    """A JSON value of the history with its message index."""

    at: int
    value: Any


class HeaderNotes:
    """What a session's header adds to its history: compactions, timings, skills.

    Reads any header; entries of a wrong shape add nothing.
    """

    def __init__(self, header: Any) -> None:
        self.compactions: dict[int, list[dict[str, Any]]] = {}
        self.timings: dict[int, list[int]] = {}
        self.skills: dict[int, list[dict[str, Any]]] = {}
        for entry in _entries(header, "compactions"):
            if is_integer(entry.get("historyMessageCount")):
                self.compactions.setdefault(int(entry["historyMessageCount"]), []).append(entry)
        for entry in _entries(header, "promptTimings"):
            at: Any = entry.get("userMessageIndex")
            start: Any = entry.get("startedAt")
            end: Any = entry.get("finishedAt")
            if is_integer(at) and is_number(start) and is_number(end) and 0 <= end - start < 1e15:
                self.timings.setdefault(int(at), []).append(int(end - start))
        for entry in _entries(header, "runtimeContexts"):
            if is_integer(entry.get("userTurn")):
                self.skills.setdefault(int(entry["userTurn"]), []).extend(_entries(entry, "skills"))


def make_round(
    messages: Sequence[Message],
    *,
    index: int,
    start: int,
    end: int,
    notes: HeaderNotes,
    last: bool = False,
    running: bool = False,
    size: int = 0,
    cut: NoteBlock | None = None,
) -> Round:
    """The round of `messages`, message indexes [start, end).

    `index` is its number (-1: before the first user message). `last`: nothing follows it, so
    a compaction at its end belongs to it. `cut` stands where messages were left out.
    """
    maker = _Maker(index, notes)
    for position, message in enumerate(messages):
        if cut is not None and position and message.at > messages[position - 1].at + 1:
            maker.items.append(cut)
            cut = None
        maker.compacted(message.at)
        maker.message(message)
    if last:
        maker.compacted(end)
    user = messages[0].value if messages and isinstance(messages[0].value, dict) else {}
    stamp: Any = user.get("timestamp")
    return Round(
        index=index,
        start=start,
        end=end,
        time_ms=int(stamp) if is_number(stamp) and abs(stamp) < 1e15 else None,
        blocks=maker.blocks(running=running and last),
        durations_ms=tuple(notes.timings.get(start, ())),
        size=size,
    )


class _Maker:
    """Collects the blocks of one round."""

    def __init__(self, index: int, notes: HeaderNotes) -> None:
        self.index = index
        self.notes = notes
        self.items: list[Block | Call] = []
        self.open: dict[str, list[Call]] = {}
        self.noted: set[int] = set()

    def blocks(self, *, running: bool) -> tuple[Block, ...]:
        return tuple(
            item.freeze(running=running) if isinstance(item, Call) else item for item in self.items
        )

    def compacted(self, at: int) -> None:
        if at in self.noted:
            return
        self.noted.add(at)
        for entry in self.notes.compactions.get(at, ()):
            summary = entry.get("summary")
            text = safe(summary) if isinstance(summary, str) else ""
            kept: Any = entry.get("firstKeptMessageIndex")
            title = "Conversation compacted"
            if is_integer(kept):
                title += f", kept from message {int(kept) + 1}"
            self.items.append(NoteBlock("compaction", title, text, at))

    def message(self, message: Message) -> None:
        value = message.value
        role = value.get("role") if isinstance(value, dict) else None
        if role == "user":
            self.user(value, message.at)
        elif role == "assistant":
            self.assistant(value, message.at)
        elif role == "toolResult":
            self.result(value, message.at)
        else:
            kind = role if isinstance(role, str) else "record"
            self.items.append(UnknownBlock(safe_line(kind, 80), pretty(value), message.at))

    def user(self, value: dict[str, Any], at: int) -> None:
        content = value.get("content")
        text = content if isinstance(content, str) else ""
        files: list[Block] = []
        strange: list[Block] = []
        for position, block in enumerate(content if isinstance(content, list) else ()):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "image":
                self.items.append(image_block(block, at, position))
            elif kind == "text" and isinstance(block.get("text"), str):
                attached = parse_attachment(block["text"])
                if attached is None:
                    text += block["text"]
                else:
                    files.append(_attachment(attached.name, attached.text, at))
            else:
                strange.append(_unknown(block, at))
        self.items += files
        for skill in self.notes.skills.get(self.index, ()):
            self.items.append(_skill(skill, at))
        if text.strip():
            self.items.append(TextBlock(safe(text), at, "user"))
        self.items += strange

    def assistant(self, value: dict[str, Any], at: int) -> None:
        content = value.get("content")
        stop = value.get("stopReason")
        if isinstance(content, str) and content.strip():
            self.items.append(TextBlock(safe(content), at))
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "text" and isinstance(block.get("text"), str):
                if block["text"].strip():
                    commentary = _phase(block.get("textSignature")) == "commentary"
                    self.items.append(TextBlock(safe(block["text"]), at, commentary=commentary))
            elif kind == "thinking" and isinstance(block.get("thinking"), str):
                redacted = block.get("redacted") is True
                if redacted or block["thinking"].strip():
                    self.items.append(ThinkingBlock(safe(block["thinking"]), at, redacted))
            elif kind == "toolCall":
                call = Call(block, at, value.get("timestamp"))
                self.items.append(call)
                if stop not in _UNPAIRED:
                    self.open.setdefault(call.id, []).append(call)
            else:
                self.items.append(_unknown(block, at))
        self.stopped(stop, value.get("errorMessage"), at)

    def stopped(self, stop: Any, error: Any, at: int) -> None:
        text = safe(error) if isinstance(error, str) else ""
        if isinstance(stop, str) and stop in _STOPS:
            kind = "error" if stop == "error" else "stop"
            self.items.append(NoteBlock(kind, _STOPS[stop], text, at))  # type: ignore[arg-type]
        elif text:
            self.items.append(NoteBlock("error", _STOPS["error"], text, at))

    def result(self, value: dict[str, Any], at: int) -> None:
        waiting = self.open.get(value["toolCallId"]) if _has_call(value) else None
        if waiting:
            waiting.pop().answer(value, at)
        else:
            self.items.append(result_alone(value, at))


def _has_call(value: dict[str, Any]) -> bool:
    return isinstance(value.get("toolCallId"), str)


def _entries(holder: Any, key: str) -> Iterable[dict[str, Any]]:
    values = holder.get(key) if isinstance(holder, dict) else None
    return [v for v in values if isinstance(v, dict)] if isinstance(values, list) else []


def _unknown(block: Any, at: int) -> UnknownBlock:
    kind = block.get("type") if isinstance(block, dict) else None
    name = safe_line(kind, 80) if isinstance(kind, str) else "block"
    return UnknownBlock(name, pretty(block), at)


def _attachment(name: str, text: str, at: int) -> AttachmentBlock:
    size = len(text.encode("utf-8", "surrogatepass"))
    return AttachmentBlock(safe_line(name), size, at, safe(text))


def _skill(skill: dict[str, Any], at: int) -> NoteBlock:
    name, description = skill.get("name"), skill.get("description")
    return NoteBlock(
        "skill",
        safe_line(name, 200) if isinstance(name, str) else "skill",
        safe(description) if isinstance(description, str) else "",
        at,
    )


def _phase(signature: Any) -> str | None:
    """The phase a text signature names: commentary or final_answer."""
    if not isinstance(signature, str) or not signature.startswith("{"):
        return None
    try:
        value = loads(signature)
    except JsonSyntaxError:
        return None
    phase = value.get("phase") if isinstance(value, dict) else None
    return phase if isinstance(phase, str) else None
