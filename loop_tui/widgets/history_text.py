"""What the history says in words, and what of it can be copied. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_core.model import (
    AttachmentBlock,
    Block,
    Damage,
    ImageBlock,
    NoteBlock,
    Round,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
)
from loop_tui.layout import BlockId
from loop_tui.text import human_count, human_size
from loop_tui.widgets.window import Window

__all__ = ["block_text", "block_title", "damage_text", "path_to", "round_text", "where_text"]

_MAX_LISTED = 12


def block_text(block: Block) -> str:
    """A block as plain text, whole: what the clipboard gets and the viewer shows."""
    if isinstance(block, ToolBlock):
        parts = [f"{block.verb} {block.target}".strip()]
        if block.arguments.strip() not in ("", "{}"):
            parts.append(block.arguments)
        parts.append("(no result)" if block.result is None else block.result)
        return "\n\n".join(parts)
    if isinstance(block, ImageBlock):
        return f"[image {block.name} {block.mime} {human_size(block.size)}]".replace("  ", " ")
    if isinstance(block, AttachmentBlock):
        head = f"[file {block.name} {human_size(block.size)}]"
        return head if block.text is None else block.text
    if isinstance(block, NoteBlock):
        return f"{block.title}\n\n{block.text}" if block.text else block.title
    return block.text


def block_title(block: Block) -> str:
    """One line that names a block, for the frame of the viewer."""
    if isinstance(block, ToolBlock):
        return f"{block.verb} {block.target}".strip()
    if isinstance(block, TextBlock):
        return "Message of the user" if block.role == "user" else "Message of the assistant"
    if isinstance(block, ThinkingBlock):
        return "Thinking"
    if isinstance(block, NoteBlock):
        return block.title
    if isinstance(block, ImageBlock | AttachmentBlock):
        return block.name or ("Image" if isinstance(block, ImageBlock) else "File")
    return block.type


def round_text(one: Round) -> str:
    """A round as plain text: the user's words quoted, then the rest in order."""
    parts: list[str] = []
    for block in one.blocks:
        text = block_text(block).strip("\n")
        if isinstance(block, TextBlock) and block.role == "user":
            text = "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
        parts.append(text)
    return "\n\n".join(part for part in parts if part)


def _lines_of(damage: Sequence[Damage]) -> str:
    numbers = [str(one.line) for one in damage if one.line is not None]
    shown = ", ".join(numbers[:_MAX_LISTED])
    return f"{shown} and {len(numbers) - _MAX_LISTED} more" if len(numbers) > _MAX_LISTED else shown


def damage_text(damage: Sequence[Damage]) -> str:
    """``3 damaged lines: 12, 40, 77``; "" when nothing is damaged."""
    if not damage:
        return ""
    count = len(damage)
    head = f"{human_count(count)} damaged line{'s' if count > 1 else ''}"
    lines = _lines_of(damage)
    if count == 1:
        where = f" {lines}" if lines else ""
        return f"1 damaged line{where}: {damage[0].reason}"
    return f"{head}: {lines}" if lines else head


def where_text(window: Window, one: Round | None, separator: str, dash: str) -> str:
    """Round n of N, its messages and bytes, and all damage known."""
    parts: list[str] = []
    if one is not None:
        if one.index < 0:
            parts.append("Before the first round")
        else:
            parts.append(f"Round {one.index + 1:,} of {window.total_rounds:,}")
        parts.append(f"messages {one.start + 1:,}{dash}{one.end:,} of {window.total:,}")
        if one.size:
            parts.append(human_size(one.size))
    if window.read_bytes:
        parts.append(f"{human_size(window.read_bytes)} read")
    parts.append(damage_text(window.damage) or "no damage known")
    return f" {separator} ".join(parts)


def path_to(one: Round, message: int) -> list[tuple[BlockId, Block]]:
    """Every block of `message`, the calls around it first: their ids as the layout has them."""
    numbers: dict[int, int] = {}
    found: list[tuple[BlockId, Block]] = []
    for block in one.blocks:
        number = numbers.get(block.message, 0)
        numbers[block.message] = number + 1
        found.extend(_inside((block.message, number), block, message))
    return found


def _inside(key: BlockId, block: Block, message: int) -> Iterator[tuple[BlockId, Block]]:
    own = block.message == message
    if isinstance(block, ToolBlock):
        inner = [
            pair
            for number, child in enumerate(block.children)
            for pair in _inside((*key, number), child, message)
        ]
        if inner or own or block.result_message == message:
            yield key, block
        yield from inner
    elif own:
        yield key, block
