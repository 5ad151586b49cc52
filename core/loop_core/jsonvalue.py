"""JSON exactly as `JSON.parse` reads it, and edits of single values by byte span.

msgspec reads what it can; the few things it refuses and JavaScript accepts (lone surrogate
escapes, invalid UTF-8, numbers that overflow, integers of thousands of digits, nesting of any
depth) take a slower, iterative reader. Both refuse what JavaScript refuses.

JavaScript has one kind of number, Python has two: ask the helpers here, never `isinstance`.
`1.0` is an integer, `True` is no number, `1e999` is infinite. Integers keep their digits (up to
the 4,300 Python converts, infinity beyond), so printing a value loses nothing.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

import msgspec

from loop_core import _jsontext

__all__ = [
    "BOM",
    "JS_SPACE",
    "JsonSyntaxError",
    "dumps",
    "edit",
    "get_span",
    "is_finite",
    "is_integer",
    "is_number",
    "is_safe_integer",
    "js_trim",
    "loads",
]

JsonSyntaxError = _jsontext.JsonSyntaxError
dumps = _jsontext.dumps

BOM = b"\xef\xbb\xbf"

#: What `String.prototype.trim` removes: neither U+0085 nor U+001C–001F, but U+FEFF.
JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

MAX_SAFE_INTEGER = 2**53 - 1
_FIRST_INFINITE = 2**1024 - 2**970  # the least integer that rounds to Infinity


def js_trim(text: str) -> str:
    """`text` without JavaScript's white space at both ends."""
    return text.strip(JS_SPACE)


def loads(data: bytes | str) -> Any:
    """The value of one JSON text; raises `JsonSyntaxError`.

    Bytes are decoded as UTF-8 with U+FFFD for each invalid part. A byte order mark is a
    syntax error, as in `JSON.parse`; readers that trim first cut it off themselves.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        text = data if isinstance(data, str) else bytes(data).decode("utf-8", "replace")
        return _jsontext.parse(text)


# --- numbers -----------------------------------------------------------------------------


def is_number(value: Any) -> TypeGuard[float]:
    """`typeof value === "number"`."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: Any) -> TypeGuard[float]:
    """`Number.isFinite(value)`."""
    if isinstance(value, float):
        return math.isfinite(value)
    return is_number(value) and -_FIRST_INFINITE < value < _FIRST_INFINITE


def is_integer(value: Any) -> TypeGuard[int]:
    """`Number.isInteger(value)`: 1.0 and 1e3 are."""
    return value.is_integer() if isinstance(value, float) else is_finite(value)


def is_safe_integer(value: Any) -> TypeGuard[int]:
    """`Number.isSafeInteger(value)`."""
    return is_integer(value) and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER


# --- edits by byte span ------------------------------------------------------------------


class _Member(NamedTuple):
    key: str
    start: int  # of the key's quote
    value: int
    end: int


_SPACE = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PLAIN = re.compile(rb"[^ \t\n\r,\]}]++")
_STEP = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)


def _past_space(data: bytes, at: int) -> int:
    if data[at : at + 1] > b" ":  # compact, as Loop and we write
        return at
    found = _SPACE.match(data, at)
    return at if found is None else found.end()


def _end_of_value(data: bytes, at: int) -> int:
    """One past the value at `at`, in text already known to be JSON."""
    first = data[at : at + 1]
    if first in (b"{", b"["):
        depth = 0
        for step in _STEP.finditer(data, at):
            mark = step.group()
            if mark in (b"{", b"["):
                depth += 1
            elif mark in (b"}", b"]"):
                depth -= 1
                if not depth:
                    return step.end()
    found = (_STRING if first == b'"' else _PLAIN).match(data, at)
    if found is None:  # pragma: no cover - the text was validated
        raise JsonSyntaxError("not a value", at)
    return found.end()


def _members(data: bytes, at: int) -> list[_Member]:
    """The members of the object at `at`, duplicates included, in file order."""
    found: list[_Member] = []
    at = _past_space(data, at + 1)
    while data[at : at + 1] != b"}":
        key_end = _end_of_value(data, at)
        value = _past_space(data, _past_space(data, key_end) + 1)
        end = _end_of_value(data, value)
        found.append(_Member(loads(data[at:key_end]), at, value, end))
        at = _past_space(data, end)
        if data[at : at + 1] == b",":
            at = _past_space(data, at + 1)
    return found


def _root(data: bytes) -> int:
    """Start of the value, after checking the whole text. A leading BOM is passed over."""
    skip = len(BOM) if data.startswith(BOM) else 0
    loads(data[skip:])
    return _past_space(data, skip)


def _find(data: bytes, at: int, path: tuple[str, ...]) -> tuple[int, int] | None:
    for key in path:
        if data[at : at + 1] != b"{":
            return None
        same = [member for member in _members(data, at) if member.key == key]
        if not same:
            return None
        at = same[-1].value
    return at, _end_of_value(data, at)


def get_span(data: bytes, *path: str) -> tuple[int, int] | None:
    """Byte span of the value at `path` inside nested objects; the last duplicate key decides.

    None when it is absent. Raises `JsonSyntaxError` when `data` is not JSON.
    """
    return _find(data, _root(data), path)


def edit(data: bytes, path: tuple[str, ...], new: bytes | None) -> bytes:
    """`data` with one value replaced, inserted or removed; every other byte stays.

    `new` is raw JSON text, or None to remove every occurrence of the key. A missing key goes
    to the end of its object, spaced like the member before it. Raises `JsonSyntaxError` when
    `data` or `new` is not JSON and `KeyError` when the object that should hold it is absent.
    """
    if new is not None:
        loads(new)
    span = _find(data, _root(data), path[:-1])
    if span is None or data[span[0] : span[0] + 1] != b"{":
        raise KeyError("/".join(path[:-1]))
    members = _members(data, span[0])
    same = [member for member in members if member.key == path[-1]]
    if new is None:
        return _without(data, members, path[-1]) if same else data
    if same:
        return data[: same[-1].value] + new + data[same[-1].end :]
    quoted = dumps(path[-1])
    if not members:
        return data[: span[0] + 1] + quoted + b":" + new + data[span[0] + 1 :]
    before = members[-2].end if len(members) > 1 else span[0]
    last = members[-1]
    lead = data[before : last.start].lstrip(b" \t\n\r")[1:]
    colon = data[_end_of_value(data, last.start) : last.value]
    return data[: last.end] + b"," + lead + quoted + colon + new + data[last.end :]


def _without(data: bytes, members: list[_Member], key: str) -> bytes:
    """Cut each member called `key` with one of the commas around it."""
    kept = [index for index, member in enumerate(members) if member.key != key]
    if not kept:
        return data[: members[0].start] + data[members[-1].end :]
    pieces = [data[: members[0].start]]
    for here, after in pairwise([*kept, len(members)]):
        last = after == len(members)
        stop = members[here].end if last or after == here + 1 else members[here + 1].start
        pieces.append(data[members[here].start : stop])
        if not last and after == here + 1:
            pieces.append(data[members[here].end : members[after].start])
    return b"".join(pieces) + data[members[-1].end :]
