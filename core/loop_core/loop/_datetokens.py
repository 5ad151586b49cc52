"""The words of a date as V8 takes a text apart."""

from __future__ import annotations

import re
from typing import NamedTuple

from loop_core.jsonvalue import JS_SPACE

__all__ = [
    "END",
    "Invalid",
    "Scanner",
    "Token",
    "is_fixed",
    "is_sign",
    "is_zulu",
    "milliseconds",
    "tokens",
]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {
    "ut": 0, "utc": 0, "z": 0, "gmt": 0, "edt": -4, "est": -5, "cdt": -5,
    "cst": -6, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8,
}  # fmt: skip


class Invalid(Exception):
    """The text is no date."""


class Token(NamedTuple):
    kind: str  # number, symbol, month, ampm, zone, t, word, space, other, end
    value: int = 0
    length: int = 0
    text: str = ""


END = Token("end")
_SPACES = frozenset(JS_SPACE) - frozenset("\u2028\u2029")
_DIGITS = re.compile(r"0*([0-9]*)")


def _skip_parentheses(text: str, at: int) -> int:
    """Past a parenthesis and what it holds; the end of the text closes all."""
    balance = 0
    while at < len(text):
        balance += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if balance <= 0 or text[at : at + 1] in ("", "\0"):
            break
    return at


def _word(text: str, at: int) -> Token:
    end = at
    while end < len(text) and text[end] >= "A" and text[end] not in _SPACES:
        end += 1
    word = "".join(
        chr(ord(char) | 32) if "A" <= char <= "Z" else char for char in text[at : at + 3]
    )[: end - at]
    length = end - at
    if word in _MONTHS:
        return Token("month", _MONTHS.index(word) + 1, length)
    if length <= 3:
        if word in ("am", "pm"):
            return Token("ampm", 12 if word == "pm" else 0, length)
        if word in _ZONES:
            return Token("zone", _ZONES[word], length, word)
        if word == "t":
            return Token("t", 0, length)
    return Token("word", 0, length)


def tokens(text: str) -> list[Token]:
    """All tokens; every one knows how much text it took."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        char = text[at]
        if "0" <= char <= "9":
            digits = _DIGITS.match(text, at)
            end = at if digits is None else digits.end()
            significant = "" if digits is None else digits.group(1)
            found.append(Token("number", int(significant[:9] or "0"), end - at))
            at = end
        elif char in ":-+.)":
            found.append(Token("symbol", 0, 1, char))
            at += 1
        elif char in _SPACES:
            found.append(Token("space", 0, 1))
            at += 1
        elif char >= "A":
            found.append(_word(text, at))
            at += found[-1].length
        elif char == "(":
            end = _skip_parentheses(text, at)
            found.append(Token("other", 0, end - at))
            at = end
        else:
            found.append(Token("other", 0, 1))
            at += 1
    return found


class Scanner:
    """One token of lookahead over the text."""

    def __init__(self, tokens: list[Token]) -> None:
        self._rest = iter(tokens)
        self.peek = next(self._rest, END)

    def next(self) -> Token:
        token, self.peek = self.peek, next(self._rest, END)
        return token

    def skip(self, symbol: str) -> bool:
        if self.peek.text == symbol and self.peek.kind == "symbol":
            self.next()
            return True
        return False

    def fixed(self, length: int, low: int, high: int) -> int:
        """The value of a number of exactly `length` digits within bounds."""
        token = self.peek
        if not is_fixed(token, length) or not low <= token.value <= high:
            raise Invalid
        return self.next().value


def is_fixed(token: Token, length: int) -> bool:
    return token.kind == "number" and token.length == length


def is_sign(token: Token) -> bool:
    return token.kind == "symbol" and token.text in "+-"


def is_zulu(token: Token) -> bool:
    return token.kind == "zone" and token.length == 1


def milliseconds(token: Token) -> int:
    """The first three digits of a fraction of any length."""
    if token.length <= 3:
        return int(token.value * 10 ** (3 - token.length))
    return int(token.value // 10 ** (min(token.length, 9) - 3))
