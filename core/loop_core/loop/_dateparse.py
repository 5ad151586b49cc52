"""The grammar of V8's `Date.parse`, token by token.

Behaviour, including its oddities, was compared with Node on random dates; where a rule looks
arbitrary it is V8's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from loop_core.jsonvalue import JS_SPACE

__all__ = ["MAX_TIME", "Parsed", "civil_from_days", "days_from_civil", "parse"]

MAX_TIME = 8_640_000_000_000_000
_MAX_SMI = 2**31 - 1

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {
    "ut": 0, "utc": 0, "z": 0, "gmt": 0, "edt": -4, "est": -5, "cdt": -5,
    "cst": -6, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8,
}  # fmt: skip


class Parsed(NamedTuple):
    """Milliseconds of the written time, and its offset in seconds (None: local time)."""

    local_ms: int
    offset_s: int | None


class _Invalid(Exception):
    """The text is no date."""


# --- tokens ------------------------------------------------------------------------------


class _Token(NamedTuple):
    kind: str  # number, symbol, month, ampm, zone, t, word, space, other, end
    value: int = 0
    length: int = 0
    text: str = ""


_END = _Token("end")
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


def _word(text: str, at: int) -> _Token:
    end = at
    while end < len(text) and text[end] >= "A" and text[end] not in _SPACES:
        end += 1
    word = "".join(
        chr(ord(char) | 32) if "A" <= char <= "Z" else char for char in text[at : at + 3]
    )[: end - at]
    length = end - at
    if word in _MONTHS:
        return _Token("month", _MONTHS.index(word) + 1, length)
    if length <= 3:
        if word in ("am", "pm"):
            return _Token("ampm", 12 if word == "pm" else 0, length)
        if word in _ZONES:
            return _Token("zone", _ZONES[word], length, word)
        if word == "t":
            return _Token("t", 0, length)
    return _Token("word", 0, length)


def _tokens(text: str) -> list[_Token]:
    """All tokens; every one knows how much text it took."""
    found: list[_Token] = []
    at = 0
    while at < len(text):
        char = text[at]
        if "0" <= char <= "9":
            digits = _DIGITS.match(text, at)
            end = at if digits is None else digits.end()
            significant = "" if digits is None else digits.group(1)
            found.append(_Token("number", int(significant[:9] or "0"), end - at))
            at = end
        elif char in ":-+.)":
            found.append(_Token("symbol", 0, 1, char))
            at += 1
        elif char in _SPACES:
            found.append(_Token("space", 0, 1))
            at += 1
        elif char >= "A":
            found.append(_word(text, at))
            at += found[-1].length
        elif char == "(":
            end = _skip_parentheses(text, at)
            found.append(_Token("other", 0, end - at))
            at = end
        else:
            found.append(_Token("other", 0, 1))
            at += 1
    return found


class _Scanner:
    """One token of lookahead over the text."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._rest = iter(tokens)
        self.peek = next(self._rest, _END)

    def next(self) -> _Token:
        token, self.peek = self.peek, next(self._rest, _END)
        return token

    def skip(self, symbol: str) -> bool:
        if self.peek.text == symbol and self.peek.kind == "symbol":
            self.next()
            return True
        return False

    def fixed(self, length: int, low: int, high: int) -> int:
        """The value of a number of exactly `length` digits within bounds."""
        token = self.peek
        if not _is_fixed(token, length) or not low <= token.value <= high:
            raise _Invalid
        return self.next().value


def _is_fixed(token: _Token, length: int) -> bool:
    return token.kind == "number" and token.length == length


def _is_sign(token: _Token) -> bool:
    return token.kind == "symbol" and token.text in "+-"


def _is_zulu(token: _Token) -> bool:
    return token.kind == "zone" and token.length == 1


def _milliseconds(token: _Token) -> int:
    """The first three digits of a fraction of any length."""
    if token.length <= 3:
        return int(token.value * 10 ** (3 - token.length))
    return int(token.value // 10 ** (min(token.length, 9) - 3))


# --- the three parts of a date -------------------------------------------------------------


class _Composer:
    """Collects the numbers of a day, a time and a zone in the order they come."""

    def __init__(self) -> None:
        self.day: list[int] = []
        self.month_name: int | None = None
        self.iso = False
        self.time: list[int] = []
        self.half: int | None = None  # 0 for AM, 12 for PM
        self.sign: int | None = None
        self.hour: int | None = None
        self.minute: int | None = None

    def add_day(self, number: int) -> None:
        if len(self.day) == 3:
            raise _Invalid
        self.day.append(number)

    def add_time(self, number: int) -> None:
        if len(self.time) == 4:
            raise _Invalid
        self.time.append(number)

    def end_time(self, number: int) -> None:
        """The last number of a time; one too many is passed over."""
        self.time = [*self.time, number, 0, 0, 0][:4]

    def time_expects(self, number: int) -> bool:
        limits = (0, 60, 60, 1000, 0)
        return number < limits[len(self.time)]

    def zone_expects(self, number: int) -> bool:
        return self.hour is not None and self.minute is None and number < 60

    def set_zone(self, hours: int) -> None:
        self.sign, self.hour, self.minute = (-1 if hours < 0 else 1), abs(hours), 0

    @property
    def is_utc(self) -> bool:
        return self.hour == 0 and self.minute == 0

    def result(self) -> Parsed:
        year, month, day = self._date()
        hour, minute, second, milli = self._clock()
        offset = None
        if self.sign is not None:
            seconds = ((self.hour or 0) * 3600 + (self.minute or 0) * 60) % 2**32
            if seconds > _MAX_SMI:
                raise _Invalid
            offset = self.sign * seconds
        days = days_from_civil(year, month, 1) + day - 1
        clock = ((hour * 60 + minute) * 60 + second) * 1000 + milli
        return Parsed(days * 86_400_000 + clock, offset)

    def _date(self) -> tuple[int, int, int]:
        if not self.day:
            raise _Invalid
        first, second, third = (*self.day, 1, 1)[:3]
        if self.month_name is not None:
            month = self.month_name
            year, day = (second, first) if 1 <= first <= 31 else (first, second)
        elif self.iso or not 1 <= first <= 31:
            year, month, day = first, second, third
        else:
            month, day, year = first, second, third
        if not self.iso and 0 <= year <= 99:
            year += 2000 if year < 50 else 1900
        if not 1 <= month <= 12 or not 1 <= day <= 31 or abs(year) > _MAX_SMI:
            raise _Invalid
        return year, month, day

    def _clock(self) -> tuple[int, int, int, int]:
        hour, minute, second, milli = (*self.time, 0, 0, 0, 0)[:4]
        if self.half is not None:
            if not 0 <= hour <= 12:
                raise _Invalid
            hour = hour % 12 + self.half
        midnight = (hour, minute, second, milli) == (24, 0, 0, 0)
        if not midnight and not (hour < 24 and minute < 60 and second < 60 and milli < 1000):
            raise _Invalid
        return hour, minute, second, milli


# --- the ISO form -------------------------------------------------------------------------


def _iso(scan: _Scanner, out: _Composer) -> _Token | None:
    """Read the ISO form; None when it took all, else the token the tolerant form starts at.

    Raises `_Invalid` once a ``T`` was read, since nothing else may follow it.
    """
    if _is_sign(scan.peek):
        sign = scan.next()
        if not _is_fixed(scan.peek, 6):
            return sign
        year = scan.next().value
        if sign.text == "-" and not year:
            return sign  # the year is lost to the tolerant form
        out.add_day(-year if sign.text == "-" else year)
    elif _is_fixed(scan.peek, 4):
        out.add_day(scan.next().value)
    else:
        return scan.next()
    for highest in (12, 31):
        if not scan.skip("-"):
            break
        if not _is_fixed(scan.peek, 2) or not 1 <= scan.peek.value <= highest:
            return scan.next()
        out.add_day(scan.next().value)
    if scan.peek.kind == "t":
        scan.next()
        _iso_time(scan, out)
        _iso_zone(scan, out)
        if scan.peek is not _END:
            raise _Invalid
    elif scan.peek is not _END:
        return scan.next()
    if out.hour is None and not out.time:
        out.set_zone(0)
    out.iso = True
    return None


def _iso_time(scan: _Scanner, out: _Composer) -> None:
    hour = scan.fixed(2, 0, 24)
    highest = 0 if hour == 24 else 59
    out.add_time(hour)
    if not scan.skip(":"):
        raise _Invalid
    out.add_time(scan.fixed(2, 0, highest))
    if not scan.skip(":"):
        return
    out.add_time(scan.fixed(2, 0, highest))
    if scan.skip("."):
        if scan.peek.kind != "number" or (hour == 24 and scan.peek.value):
            raise _Invalid
        out.add_time(_milliseconds(scan.next()))


def _iso_zone(scan: _Scanner, out: _Composer) -> None:
    if _is_zulu(scan.peek):
        scan.next()
        out.set_zone(0)
    elif _is_sign(scan.peek):
        out.sign = -1 if scan.next().text == "-" else 1
        if _is_fixed(scan.peek, 4):
            out.hour, out.minute = divmod(scan.next().value, 100)
            if out.hour > 23 or out.minute > 59:
                raise _Invalid
        else:
            out.hour = scan.fixed(2, 0, 23)
            if not scan.skip(":"):
                raise _Invalid
            out.minute = scan.fixed(2, 0, 59)


# --- the tolerant form ---------------------------------------------------------------------


def _tolerant(token: _Token, scan: _Scanner, out: _Composer) -> None:
    number_read = bool(out.day)
    while token is not _END:
        if token.kind == "number":
            number_read = True
            _tolerant_number(token, scan, out)
        elif token.kind in ("month", "ampm", "zone", "t", "word"):
            _tolerant_word(token, scan, out, number_read=number_read)
        elif _is_sign(token) and (out.is_utc or out.time):
            number_read = True
            _tolerant_offset(token, scan, out)
        elif number_read and token.kind == "symbol" and token.text in "+-)":
            raise _Invalid
        token = scan.next()


def _tolerant_number(token: _Token, scan: _Scanner, out: _Composer) -> None:
    number = token.value
    if scan.skip(":"):
        if scan.skip(":"):
            if out.time:
                raise _Invalid
            out.add_time(number)
            out.add_time(0)
        else:
            out.add_time(number)
            scan.skip(".")
    elif scan.skip(".") and out.time_expects(number):
        out.add_time(number)
        if scan.peek.kind != "number":
            raise _Invalid
        out.end_time(_milliseconds(scan.next()))
    elif out.zone_expects(number):
        out.minute = number
    elif out.time_expects(number):
        out.end_time(number)
        after = scan.peek
        if not (after is _END or after.kind == "space" or _is_zulu(after) or _is_sign(after)):
            raise _Invalid
    else:
        out.add_day(number)
        scan.skip("-")


def _tolerant_word(token: _Token, scan: _Scanner, out: _Composer, *, number_read: bool) -> None:
    if token.kind == "ampm" and out.time:
        out.half = token.value
    elif token.kind == "month":
        out.month_name = token.value
        scan.skip("-")
    elif token.kind == "zone" and number_read:
        out.set_zone(token.value)
    elif number_read or scan.peek.kind == "number":
        raise _Invalid


def _tolerant_offset(token: _Token, scan: _Scanner, out: _Composer) -> None:
    out.sign = -1 if token.text == "-" else 1
    number = scan.next() if scan.peek.kind == "number" else _Token("number")
    if scan.peek.kind == "symbol" and scan.peek.text == ":":
        out.hour, out.minute = number.value, None
    elif number.length in (1, 2):
        out.hour, out.minute = number.value, 0
    elif number.length in (3, 4):
        out.hour, out.minute = divmod(number.value, 100)
    else:
        raise _Invalid


def parse(text: str) -> Parsed | None:
    """The date V8 reads in `text`, or None."""
    out = _Composer()
    scan = _Scanner(_tokens(text.partition("\0")[0]))
    try:
        token = _iso(scan, out)
        if token is not None:
            _tolerant(token, scan, out)
        return out.result()
    except _Invalid:
        return None


# --- the calendar ---------------------------------------------------------------------------


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a day in the proleptic Gregorian calendar."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1
