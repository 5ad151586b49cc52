"""Untrusted text made fit for a screen, once, where a store's value becomes a view value.

A terminal acts on control characters and reorders text at bidirectional ones, so neither may
reach it from a conversation, a file name or an error. `safe` keeps line feeds and tabs (the
layout expands tabs); everything else that a terminal would act on becomes a visible sign:

* C0 controls and DEL: their control picture (``ESC`` is ``␛``);
* U+0085, U+2028, U+2029, which some programs take for line ends: ``␤``;
* C1 controls, bidirectional marks, overrides and isolates, lone surrogates: U+FFFD.
"""

from __future__ import annotations

import re

__all__ = ["safe", "safe_json", "safe_line"]

_REPLACEMENT = 0xFFFD
_NEWLINE_SIGN = 0x2424

_SIGNS: dict[int, int] = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_SIGNS[0x7F] = 0x2421
_SIGNS |= dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT)
_SIGNS |= dict.fromkeys((0x061C, 0x200E, 0x200F), _REPLACEMENT)
_SIGNS |= dict.fromkeys(range(0x202A, 0x202F), _REPLACEMENT)
_SIGNS |= dict.fromkeys(range(0x2066, 0x206A), _REPLACEMENT)
_SIGNS |= dict.fromkeys((0x0085, 0x2028, 0x2029), _NEWLINE_SIGN)

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_HARMLESS = bytes(range(0x20, 0x7F)) + b"\t\n"
_BREAKS = str.maketrans("\n\t", "  ")


def _sign(match: re.Match[str]) -> str:
    return chr(_SIGNS.get(ord(match[0]), _REPLACEMENT))


def safe(text: str) -> str:
    """`text` without anything a terminal acts on, line feeds and tabs excepted.

    A carriage return before a line feed is dropped: it is part of the line end.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.isascii():
        # Whether anything is left without the harmless is quicker to ask than to translate.
        return text.translate(_SIGNS) if text.encode().translate(None, _HARMLESS) else text
    # A translate of non-ASCII text looks every character up; a search does not.
    return _UNSAFE.sub(_sign, text) if _UNSAFE.search(text) else text


def safe_line(text: str, limit: int | None = None) -> str:
    """`text` as one safe line: line feeds and tabs become spaces.

    With `limit`, at most that many code points, the last one an ellipsis where text was cut.
    """
    # Nothing printable is unsafe, and that is quick to ask.
    if text.isprintable() and (limit is None or len(text) <= limit):
        return text
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 1, 0)].rstrip() + "…" if limit > 0 else ""
    return safe(text).translate(_BREAKS)


# Beyond what JSON escapes by itself.
_UNSAFE_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def safe_json(text: str) -> str:
    """JSON text whose dangerous characters are escapes: the same value, harmless to print."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
