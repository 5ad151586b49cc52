"""A whole session, round by round, for exports; and single images out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from loop_core.errors import LoopError, Refused
from loop_core.loop.blocks import HeaderNotes, Message, make_round
from loop_core.loop.reader import Reader, open_session
from loop_core.model import ImageBlock, Round
from loop_core.store import Cancelled

__all__ = ["PART", "image_data", "whole_rounds"]

#: Bytes of one round that are held at once; a longer round comes in parts.
PART = 8 << 20
_AT_MOST = 4  # times that, where no good place to part it comes


def whole_rounds(reader: Reader, path: str, cancelled: Cancelled) -> Iterator[Round]:
    """Every round with all its messages, streamed; memory follows a part or one message.

    A huge round is parted before an answer of the model: by then every call has its result.
    Raises Refused when cancelled, SessionNotFound, StorageFailed.
    """
    part = _Part(HeaderNotes(open_session(path).header))
    for line in reader.walk(path, cancelled):
        if line.round != part.number:
            yield from part.made(line.at, ends=True)
            part.begin(line.round, line.at)
        elif part.is_full(line.values):
            yield from part.made(line.at, ends=False)
            part.go_on(line.at)
        part.messages += [Message(line.at, value) for value in line.values]
        part.size += line.size
        part.end = line.at + 1
    if cancelled():
        raise Refused("cancelled", path)
    yield from part.made(part.end, ends=True, last=True)


class _Part:
    """The messages of a round that wait to be made blocks."""

    def __init__(self, notes: HeaderNotes) -> None:
        self.notes = notes
        self.begin(-1, 0)

    def begin(self, number: int, at: int) -> None:
        """Round `number` begins at message `at`."""
        self.number = number
        self.round_start = at
        self.go_on(at)

    def go_on(self, at: int) -> None:
        self.start = self.end = at
        self.size = 0
        self.messages: list[Message] = []

    def is_full(self, following: Sequence[Any]) -> bool:
        """Whether the part should end before the messages `following`."""
        if self.size < PART:
            return False
        return self.size >= PART * _AT_MOST or any(map(_is_answer, following))

    def made(self, end: int, *, ends: bool, last: bool = False) -> Iterator[Round]:
        """What there is, up to message `end`; `ends`: the round is complete with it."""
        if not self.messages:
            return
        made = make_round(
            self.messages,
            index=self.number,
            start=self.start,
            end=end,
            notes=self.notes,
            last=last,
        )
        continued = self.start > self.round_start
        yield replace(
            made,
            time_ms=None if continued else made.time_ms,
            durations_ms=tuple(self.notes.timings.get(self.round_start, ())) if ends else (),
            size=self.size,
            continued=continued,
        )


def _is_answer(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") == "assistant"


def image_data(reader: Reader, path: str, block: ImageBlock) -> tuple[str, str] | None:
    """Media type and base64 text of an image block, from its message on disk."""
    try:
        content = reader.message(path, block.message, None).get("content")
        image = content[block.block]
        mime, data = image["mimeType"], image["data"]
    except (LoopError, AttributeError, IndexError, KeyError, TypeError):
        return None
    return (mime, data) if isinstance(mime, str) and isinstance(data, str) else None
