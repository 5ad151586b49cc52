"""The slow half of `jsonvalue`: an iterative reader and a writer for any JSON text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any

__all__ = ["JsonSyntaxError", "dumps", "parse"]


class JsonSyntaxError(ValueError):
    """Text that `JSON.parse` refuses. `offset` counts characters (bytes in span edits)."""

    def __init__(self, what: str, offset: int) -> None:
        self.offset = offset
        super().__init__(f"{what} at character {offset + 1}")


_SPACE = re.compile(r"[ \t\n\r]*+")
_PLAIN = r'[^"\\\x00-\x1f]*+'
_STRING = re.compile(rf'"({_PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN})*+)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORD = re.compile(r"true|false|null")
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\.")
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_MOST_DIGITS = 4300  # what int() converts whatever the interpreter's settings allow


def _unescape(found: re.Match[str]) -> str:
    escape = found.group()
    if escape[1] != "u":
        return _SIMPLE.get(escape[1], escape[1])
    unit = int(escape[2:6], 16)
    if len(escape) == 12:
        unit = 0x10000 + ((unit - 0xD800) << 10) + int(escape[8:], 16) - 0xDC00
    return chr(unit)


def _number(found: re.Match[str]) -> int | float:
    digits = found.group()
    if found.group(1) or found.group(2) or len(digits) > _MOST_DIGITS:
        return float(digits)
    return int(digits)


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise JsonSyntaxError("invalid string" if text[at : at + 1] == '"' else "no key", at)
    inner = found.group(1)
    return (_ESCAPE.sub(_unescape, inner) if "\\" in inner else inner), found.end()


def _scalar(text: str, at: int) -> tuple[Any, int]:
    if text[at : at + 1] == '"':
        return _string(text, at)
    if found := _NUMBER.match(text, at):
        return _number(found), found.end()
    if found := _WORD.match(text, at):
        return _WORDS[found.group()], found.end()
    raise JsonSyntaxError("unexpected end" if at >= len(text) else "unexpected character", at)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _key(text: str, at: int) -> tuple[str, int]:
    """A key and its colon; the position of the value that follows."""
    key, at = _string(text, _skip(text, at))
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise JsonSyntaxError("no colon", at)
    return key, _skip(text, at + 1)


def parse(text: str) -> Any:
    """The value of `text`, without recursion. Raises `JsonSyntaxError`."""
    open_values: list[Any] = []
    keys: list[str] = []  # of the open objects, the innermost last
    at = _skip(text, 0)
    while True:
        mark = text[at : at + 1]
        if mark in ("[", "{") and mark:
            inner = _skip(text, at + 1)
            if text[inner : inner + 1] != ("]" if mark == "[" else "}"):
                if mark == "{":
                    key, inner = _key(text, inner)
                    keys.append(key)
                open_values.append([] if mark == "[" else {})
                at = inner
                continue
            value: Any = [] if mark == "[" else {}
            at = inner + 1
        else:
            value, at = _scalar(text, at)
        value, at, more = _close(text, at, value, open_values, keys)
        if not more:
            return value


def _close(
    text: str, at: int, value: Any, open_values: list[Any], keys: list[str]
) -> tuple[Any, int, bool]:
    """Put `value` into what is open and close what ends here; whether a value follows."""
    while open_values:
        at = _skip(text, at)
        mark = text[at : at + 1]
        inside = open_values[-1]
        is_list = isinstance(inside, list)
        if is_list:
            inside.append(value)
        else:
            inside[keys[-1]] = value
        if mark == ",":
            if is_list:
                return None, _skip(text, at + 1), True
            keys[-1], at = _key(text, at + 1)
            return None, at, True
        if mark != ("]" if is_list else "}"):
            raise JsonSyntaxError("no comma or end", at)
        value = open_values.pop()
        if not is_list:
            keys.pop()
        at += 1
    at = _skip(text, at)
    if at != len(text):
        raise JsonSyntaxError("text after the value", at)
    return value, at, False


# --- writing -----------------------------------------------------------------------------


def _number_text(value: float) -> str:
    """`String(value)` of JavaScript; null for what JSON cannot hold."""
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(value).partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    if 0 < point <= 21:
        text = digits.ljust(point, "0")
        return sign + (text if len(digits) <= point else f"{text[:point]}.{digits[point:]}")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _atom(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number_text(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


def _is_index(key: str) -> bool:
    return _INDEX.fullmatch(key) is not None and int(key) < 2**32 - 1


def _items(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Members in JavaScript's order: array indexes first, ascending."""
    items = list(value.items())
    for key, _ in items:
        if not isinstance(key, str):
            raise TypeError("a key is no string")
    if any(_is_index(key) for key in value):
        items.sort(key=lambda item: int(item[0]) if _is_index(item[0]) else 2**32)
    return items


def _pieces(value: Any) -> Iterator[str]:
    """The text of `value` in pieces, without recursion."""
    if not isinstance(value, list | tuple | dict):
        yield _atom(value)
        return
    open_now: set[int] = set()
    stack: list[tuple[Any, Iterator[Any], str]] = []

    def enter(inside: Any) -> str:
        if id(inside) in open_now:
            raise ValueError("the value contains itself")
        open_now.add(id(inside))
        is_dict = isinstance(inside, dict)
        stack.append((inside, iter(_items(inside) if is_dict else inside), "}" if is_dict else "]"))
        return "{" if is_dict else "["

    yield enter(value)
    first = True
    while stack:
        inside, rest, close = stack[-1]
        item = next(rest, _END)
        if item is _END:
            yield close
            stack.pop()
            open_now.discard(id(inside))
            first = False
            continue
        lead = "" if first else ","
        if close == "}":
            key, item = item
            lead += encode_basestring(key) + ":"
        first = isinstance(item, list | tuple | dict)
        yield lead + (enter(item) if first else _atom(item))


_END: Any = object()


def dumps(value: Any) -> bytes:
    """`JSON.stringify(value)` as UTF-8: compact, raw non-ASCII, `1` for 1.0.

    Lone surrogates become lower-case escapes, infinity becomes null, keys that are array
    indexes come first. Raises TypeError for what is no JSON value, ValueError for a cycle.
    """
    text = "".join(_pieces(value))
    try:
        return text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined.encode("utf-8", "backslashreplace")
