"""What of a stored value counts as text for search: strings, without encoded data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["plain", "strings_in"]

_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{400,}={0,2}")


def strings_in(value: Any) -> Iterator[str]:
    """Every string, key and number of a JSON value, in order, at any depth."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            for key, inner in reversed(one.items()):
                stack += (inner, key)
        elif isinstance(one, list):
            stack.extend(reversed(one))
        elif one is not None and not isinstance(one, bool):
            yield str(one)


def plain(text: str) -> str:
    """`text` without long runs of encoded data (images, icons, archives as base64)."""
    if len(text) < 400 or (";base64," not in text and " " in text[:2000]):
        return text
    return _ENCODED.sub(" ", text)
