"""Finding text in one history, case-insensitively, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from loop_core.loop.reader import Reader
from loop_core.model import Hit
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled

__all__ = ["find"]

_AROUND = 40
_SNIPPET = 160


def find(reader: Reader, path: str, text: str, cancelled: Cancelled) -> Iterator[Hit]:
    """Messages that hold `text`, one hit each, in order, streamed. Nothing for a blank text."""
    wanted = text.casefold()
    if not wanted.strip():
        return
    for at, values, round_, _ in reader.walk(path, cancelled, _sieve(text)):
        for value in values:
            snippet = _match(value, wanted)
            if snippet is not None:
                yield Hit(max(round_, 0), at, snippet)
                break


def _sieve(text: str) -> Callable[[bytes], bool] | None:
    """A quick look at a raw line that never misses; None: decode every line.

    ASCII letters and digits stand for themselves in JSON unless they are written as escapes;
    a few letters of other scripts fold to ASCII ones, so a line with such bytes is decoded.
    """
    if not (text.isascii() and all(c.isalnum() or c in " -_.,:;=+*#@!?()[]{}<>" for c in text)):
        return None
    needle = text.lower().encode()

    def may_hold(line: bytes) -> bool:
        return needle in line.lower() or b"\\u" in line or not line.isascii()

    return may_hold


def _match(value: Any, wanted: str) -> str | None:
    for text in _texts(value):
        folded = text.casefold()
        at = folded.find(wanted)
        if at >= 0:
            # Folding may change lengths; the snippet is cut from the folded text then.
            source = text if len(folded) == len(text) else folded
            begin = max(0, at - _AROUND)
            cut = source[begin : begin + _SNIPPET]
            lead = "…" if begin else ""
            trail = "…" if begin + _SNIPPET < len(source) else ""
            return safe_line(f"{lead}{cut.strip()}{trail}")
    return None


def _texts(value: Any) -> Iterator[str]:
    """Everything readable in a message: text, thinking, tool arguments, results, errors."""
    if not isinstance(value, dict):
        return
    content = value.get("content")
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        for key in ("text", "thinking", "name"):
            if isinstance(block.get(key), str):
                yield block[key]
        yield from _strings(block.get("arguments"))
    if isinstance(value.get("errorMessage"), str):
        yield value["errorMessage"]


def _strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value, whatever its depth."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            todo += reversed(item.values())
        elif isinstance(item, list):
            todo += reversed(item)
