"""A whole session, round by round, for exports; and single images out of it."""

from __future__ import annotations

from collections.abc import Iterator

from loop_core.errors import LoopError, Refused
from loop_core.loop.blocks import HeaderNotes, Message, make_round
from loop_core.loop.reader import Reader, open_session
from loop_core.model import ImageBlock, Round
from loop_core.store import Cancelled

__all__ = ["image_data", "whole_rounds"]


def whole_rounds(reader: Reader, path: str, cancelled: Cancelled) -> Iterator[Round]:
    """Every round with all its messages, streamed; memory follows the largest round.

    Raises Refused when cancelled, SessionNotFound, StorageFailed.
    """
    notes = HeaderNotes(open_session(path).header)
    messages: list[Message] = []
    number, start, end = -1, 0, 0
    for at, values, round_ in reader.walk(path, cancelled):
        if round_ != number:
            if messages:
                yield make_round(messages, index=number, start=start, end=at, notes=notes)
            messages, number, start = [], round_, at
        messages += [Message(at, value) for value in values]
        end = at + 1
    if cancelled():
        raise Refused("cancelled", path)
    if messages:
        yield make_round(messages, index=number, start=start, end=end, notes=notes, last=True)


def image_data(reader: Reader, path: str, block: ImageBlock) -> tuple[str, str] | None:
    """Media type and base64 text of an image block, from its message on disk."""
    try:
        content = reader.message(path, block.message, None).get("content")
        image = content[block.block]
        mime, data = image["mimeType"], image["data"]
    except (LoopError, AttributeError, IndexError, KeyError, TypeError):
        return None
    return (mime, data) if isinstance(mime, str) and isinstance(data, str) else None
