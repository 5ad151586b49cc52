"""The slow half of `jsonvalue`: readers and a writer for any JSON text.

`parse` asks the interpreter's own decoder, which takes all that JavaScript takes but deep
nesting. `parse_deep` walks the brackets without recursion and leaves what lies between two of
them to that decoder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring
from typing import Any, NoReturn

__all__ = ["MOST_DEEP", "JsonSyntaxError", "dumps", "parse", "parse_deep"]

#: Lists and objects in a value that nests deeper than the interpreter's decoder goes (about
#: 1,000 levels). `JSON.parse` stops where its memory does, `JSON.stringify` after some
#: thousand levels: nothing that a JavaScript program wrote comes near.
MOST_DEEP = 250_000


class JsonSyntaxError(ValueError):
    """Text that `JSON.parse` refuses. `offset` counts characters (bytes in span edits)."""

    def __init__(self, what: str, offset: int) -> None:
        self.offset = offset
        super().__init__(f"{what} at character {offset + 1}")


_MOST_DIGITS = 4300  # what int() converts whatever the interpreter's settings allow


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _no_literal(word: str) -> NoReturn:
    raise JsonSyntaxError(f"{word} is no JSON", 0)


_DECODER = JSONDecoder(parse_int=_integer, parse_constant=_no_literal)
_MEMBERS = JSONDecoder(parse_int=_integer, parse_constant=_no_literal, object_pairs_hook=list)
_REASONS = {
    "Expecting value": "unexpected character",
    "Expecting property name enclosed in double quotes": "no key",
    "Expecting ':' delimiter": "no colon",
    "Expecting ',' delimiter": "no comma or end",
    "Extra data": "text after the value",
}


def _syntax_error(error: JSONDecodeError, offset: int, length: int) -> JsonSyntaxError:
    what = "unexpected end" if offset >= length else _REASONS.get(error.msg, "invalid string")
    return JsonSyntaxError(what, offset)


def parse(text: str) -> Any:
    """The value of `text`. Raises `JsonSyntaxError`, also for what exceeds `MOST_DEEP`.

    Time and memory are linear in the length.
    """
    try:
        return _DECODER.decode(text)
    except JSONDecodeError as error:
        raise _syntax_error(error, error.pos, len(text)) from None
    except RecursionError:
        return parse_deep(text)


# --- any depth ---------------------------------------------------------------------------

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_ANY_STRING = re.compile(_STRING, re.DOTALL)
_FLAT = re.compile(rf'(?:[^\[\]{{}}"]++|{_STRING})*+', re.DOTALL)
_BLANK = re.compile(r"[ \t\n\r]*+")
_OPENING = {"[": "]", "{": "}"}
#: Stands for a value that is read elsewhere: beside anything but a comma or a colon, an error.
_HOLE = '""'
_BEFORE = {"[": f"[{_HOLE}", "{": f'{{"":{_HOLE}'}
_NO_BRACKETS = bytes(code for code in range(256) if code not in b"[{]}")


def _refuse_at_sight(text: str) -> None:
    """What cannot be complete, or holds too much, before memory is spent on it."""
    plain = _ANY_STRING.sub("", text).encode("utf-8", "replace")
    brackets = plain.translate(None, _NO_BRACKETS)
    if b'"' in plain or any(
        brackets.count(a) != brackets.count(b) for a, b in ((b"[", b"]"), (b"{", b"}"))
    ):
        raise JsonSyntaxError("unexpected end", len(text))
    if len(brackets) > 2 * MOST_DEEP:
        raise JsonSyntaxError(f"nested deeply, with more than {MOST_DEEP:,} values,", 0)


def parse_deep(text: str) -> Any:
    """As `parse`, without recursion, and slower."""
    _refuse_at_sight(text)
    at = _end(_BLANK, text, 0)
    if text[at : at + 1] not in _OPENING:
        return parse(text)
    root: list[Any] = []
    inside: Any = root  # what is open; values are put in as they begin
    kind = "["
    above: list[tuple[str, Any]] = []
    key, end = "", at
    while True:
        mark = text[end : end + 1]
        opens = mark in _OPENING
        if opens:
            value: Any = [] if mark == "[" else {}
            if kind == "[":
                inside.append(value)
            else:
                inside[key] = value
            above.append((kind, inside))
            kind, inside = mark, value
        elif mark == _OPENING[kind]:
            kind, inside = above.pop()
        else:
            raise JsonSyntaxError("no comma or end", end)
        at = end + 1
        if not above:
            break
        end = _end(_FLAT, text, at)
        key = _fill(inside, kind, opens, text, (at, end))
    at = _end(_BLANK, text, at)
    if at != len(text):
        raise JsonSyntaxError("text after the value", at)
    return root[0]


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _fill(inside: Any, kind: str, fresh: bool, text: str, span: tuple[int, int]) -> str:
    """Put what stands in `span`, between two brackets, into what is open.

    Returns the key of the value that opens after it. `fresh`: the bracket before it opens.
    """
    at, end = span
    opens = text[end : end + 1] in _OPENING
    if at == end and (not opens or (fresh and kind == "[")):  # "[]", "]]", "[["
        return ""
    before = kind if fresh else _BEFORE[kind]
    after = (_HOLE if opens else "") + _OPENING[kind]
    try:
        found = _MEMBERS.decode(before + text[at:end] + after)
    except JSONDecodeError as error:
        raise _syntax_error(error, at + error.pos - len(before), len(text)) from None
    mine = found[0 if fresh else 1 : -1 if opens else None]
    if kind == "[":
        inside.extend(mine)
        return ""
    inside.update(mine)
    return str(found[-1][0]) if opens else ""


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
