"""Session titles: normal form, stored titles, and the fallback from the first user text.

Source: S0 "Header", loop-format A.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loop_core.jsonvalue import JS_SPACE, is_safe_integer

__all__ = [
    "FALLBACK_BYTES",
    "FALLBACK_WORDS",
    "STORED_BYTES",
    "fallback_text",
    "fallback_title",
    "normalize_title",
    "stored_title_problem",
    "text_of_user",
]

STORED_BYTES = 120
FALLBACK_BYTES = 96
FALLBACK_WORDS = 8

_OSC = "\x1b]"
_BEL = "\x07"
_ST = "\x1b\\"
_CSI = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
_DROPPED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]++"
)
_SPACES = re.compile(f"[{re.escape(JS_SPACE)}]++")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SOURCES = ("fallback", "model", "user")


def _without_osc(text: str) -> str:
    """Cut operating system commands: up to the next BEL, else up to the last ``ESC \\``.

    The run between is greedy and free of BEL, so no BEL after the start means none for any
    later start either, and one pass is enough.
    """
    if _OSC not in text:
        return text
    kept: list[str] = []
    at = 0
    while (start := text.find(_OSC, at)) >= 0:
        end = text.find(_BEL, start + 2) + 1
        if not end:
            last = text.rfind(_ST, start + 2)
            if last < 0:
                break
            end = last + 2
        kept.append(text[at:start])
        at = end
    return "".join(kept) + text[at:]


def _cut(text: str, limit: int) -> str:
    """Whole code points while their UTF-8 fits; an unpaired surrogate counts three bytes."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= limit:
        return text
    while encoded[limit] & 0xC0 == 0x80:  # inside a code point
        limit -= 1
    return encoded[:limit].decode("utf-8", "surrogatepass")


def normalize_title(text: str, limit: int = STORED_BYTES) -> str:
    """`text` as a title: no controls, single spaces, at most `limit` bytes of UTF-8."""
    if "\x1b" in text:
        text = _CSI.sub("", _without_osc(text))
    text = _SPACES.sub(" ", _DROPPED.sub("", text)).strip(JS_SPACE)
    if _SURROGATE.search(text):  # what stood between the halves of a pair may be gone
        units = text.encode("utf-16-le", "surrogatepass")
        text = units.decode("utf-16-le", "surrogatepass")
    return _cut(text, limit).strip(JS_SPACE)


def fallback_text(text: str) -> str:
    """The title a user text gives: eight words, 96 bytes; empty when it has none."""
    words = normalize_title(text, FALLBACK_BYTES).split(" ")[:FALLBACK_WORDS]
    return normalize_title(" ".join(words), FALLBACK_BYTES)


def text_of_user(content: Any) -> str:
    """The text of a user message that titles look at: its text blocks joined by LF."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def fallback_title(texts: Iterable[tuple[int, str]]) -> dict[str, Any] | None:
    """The title derived from the first eligible of `texts` (message index, user text)."""
    for index, text in texts:
        if title := fallback_text(text):
            return {"text": title, "source": "fallback", "messageIndices": [index]}
    return None


def _indices_problem(indices: Any) -> str | None:
    if not isinstance(indices, list):
        return "title.messageIndices is not an array"
    before = -1
    for index in indices:
        if not is_safe_integer(index) or index < 0:
            return "title.messageIndices holds something else than message indexes"
        if index <= before:
            return "title.messageIndices is not ascending"
        before = index
    return None


def stored_title_problem(title: Any) -> str | None:
    """Why `title` cannot be a stored title, or None."""
    if not isinstance(title, dict):
        return "title is not an object"
    text = title.get("text")
    if not isinstance(text, str) or not text:
        return "title.text is not a non-empty string"
    if normalize_title(text, STORED_BYTES) != text:
        return "title.text is not normalized (controls, spacing, or more than 120 bytes)"
    if title.get("source") not in _SOURCES:
        return "title.source is not fallback, model or user"
    if "model" in title:
        model = title["model"]
        if not isinstance(model, dict):
            return "title.model is not an object"
        if not (isinstance(model.get("provider"), str) and isinstance(model.get("id"), str)):
            return "title.model lacks a provider or id string"
    return _indices_problem(title.get("messageIndices"))
