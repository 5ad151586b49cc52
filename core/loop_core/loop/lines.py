"""One line of a message file, read as far as it can be read.

Loop refuses a whole session for one bad line; a reader who wants their history back does
not. `decode_line` gives every JSON value it can find on a line and says in one line what was
wrong: two records glued together, a hole of NUL bytes after a crash, raw control characters,
a cut record followed by its repetition.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from loop_core.jsonvalue import JsonSyntaxError, loads

__all__ = ["MAX_LINE", "begins_round", "decode_line", "is_user_line", "is_user_value"]

#: Bytes. A longer line is not loaded: it is a hole or not a message anyone can look at.
MAX_LINE = 256 << 20

_SPACE = " \t\r\n"
_HOLE = re.compile(rb"\x00+")
_RECORD = re.compile(r'\{\s*"role"')


class _Role(Struct, gc=False):
    """Just enough of a message to tell whose it is; the rest is skipped unread."""

    role: Any = None


_role_of = msgspec.json.Decoder(_Role).decode


def is_user_value(value: Any) -> bool:
    return type(value) is dict and value.get("role") == "user"


def is_user_line(line: bytes) -> bool:
    """Whether a message on this line begins a round. Never raises."""
    try:
        return bool(_role_of(line).role == "user")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A costly line is decoded only when the word is there, plain or escaped.
        if b"user" not in line and b"\\u00" not in line:
            return False
        return any(map(is_user_value, decode_line(line)[0]))


def begins_round(line: bytes) -> bool:
    """`is_user_line`, quicker: a line without the word, plain or escaped, is no user's."""
    return (b'"user"' in line or b"\\u00" in line) and is_user_line(line)


def decode_line(line: bytes) -> tuple[list[Any], str | None]:
    """Every JSON value on the line, and what is wrong with the line (None: nothing)."""
    try:
        return [loads(line)], None
    except JsonSyntaxError as error:
        strict = str(error)
    if not line.strip(b" \t\r\n\x00"):
        return [], f"{len(line):,} NUL bytes" if b"\x00" in line else "blank line"
    if b"\x00" not in line:
        return _salvage(line, strict)
    values: list[Any] = []
    for piece in _HOLE.split(line):
        if piece.strip():
            values += decode_line(piece)[0]
    return values, f"a hole of {line.count(0):,} NUL bytes"


def _salvage(line: bytes, strict: str) -> tuple[list[Any], str]:
    text = line.decode("utf-8", "replace")
    values: list[Any] = []
    reason = ""
    at = 0
    while True:
        while at < len(text) and text[at] in _SPACE:
            at += 1
        if at >= len(text):
            break
        try:
            value, at = _lenient.raw_decode(text, at)
        except (ValueError, RecursionError):
            found = _RECORD.search(text, at + 1)
            reason = f"not JSON: {strict}" if found is None else "a cut record before another"
            if found is None:
                break
            at = found.start()
        else:
            values.append(value)
    if not reason:
        glued = len(values) > 1
        reason = f"{len(values)} records on one line" if glued else f"not strict JSON: {strict}"
    return values, reason


def _refuse(literal: str) -> NoReturn:
    raise ValueError(literal)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 300 else float(digits)


#: Takes raw control characters inside strings; otherwise as strict as JSON.parse.
_lenient = json.JSONDecoder(strict=False, parse_constant=_refuse, parse_int=_integer)
