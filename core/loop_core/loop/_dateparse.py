"""The grammar of V8's `Date.parse`, token by token.

Behaviour, including its oddities, was compared with Node on random dates; where a rule looks
arbitrary it is V8's.
"""

from __future__ import annotations

from loop_core.loop._dateparts import Composer, Parsed
from loop_core.loop._datetokens import (
    END,
    Invalid,
    Scanner,
    Token,
    is_fixed,
    is_sign,
    is_zulu,
    milliseconds,
    tokens,
)

__all__ = ["parse"]


# --- the ISO form -------------------------------------------------------------------------


def _iso(scan: Scanner, out: Composer) -> Token | None:
    """Read the ISO form; None when it took all, else the token the tolerant form starts at.

    Raises `Invalid` once a ``T`` was read, since nothing else may follow it.
    """
    if is_sign(scan.peek):
        sign = scan.next()
        if not is_fixed(scan.peek, 6):
            return sign
        year = scan.next().value
        if sign.text == "-" and not year:
            return sign  # the year is lost to the tolerant form
        out.add_day(-year if sign.text == "-" else year)
    elif is_fixed(scan.peek, 4):
        out.add_day(scan.next().value)
    else:
        return scan.next()
    for highest in (12, 31):
        if not scan.skip("-"):
            break
        if not is_fixed(scan.peek, 2) or not 1 <= scan.peek.value <= highest:
            return scan.next()
        out.add_day(scan.next().value)
    if scan.peek.kind == "t":
        scan.next()
        _iso_time(scan, out)
        _iso_zone(scan, out)
        if scan.peek is not END:
            raise Invalid
    elif scan.peek is not END:
        return scan.next()
    if out.hour is None and not out.time:
        out.set_zone(0)
    out.iso = True
    return None


def _iso_time(scan: Scanner, out: Composer) -> None:
    hour = scan.fixed(2, 0, 24)
    highest = 0 if hour == 24 else 59
    out.add_time(hour)
    if not scan.skip(":"):
        raise Invalid
    out.add_time(scan.fixed(2, 0, highest))
    if not scan.skip(":"):
        return
    out.add_time(scan.fixed(2, 0, highest))
    if scan.skip("."):
        if scan.peek.kind != "number" or (hour == 24 and scan.peek.value):
            raise Invalid
        out.add_time(milliseconds(scan.next()))


def _iso_zone(scan: Scanner, out: Composer) -> None:
    if is_zulu(scan.peek):
        scan.next()
        out.set_zone(0)
    elif is_sign(scan.peek):
        out.sign = -1 if scan.next().text == "-" else 1
        if is_fixed(scan.peek, 4):
            out.hour, out.minute = divmod(scan.next().value, 100)
            if out.hour > 23 or out.minute > 59:
                raise Invalid
        else:
            out.hour = scan.fixed(2, 0, 23)
            if not scan.skip(":"):
                raise Invalid
            out.minute = scan.fixed(2, 0, 59)


# --- the tolerant form ---------------------------------------------------------------------


def _tolerant(token: Token, scan: Scanner, out: Composer) -> None:
    number_read = bool(out.day)
    while token is not END:
        if token.kind == "number":
            number_read = True
            _tolerant_number(token, scan, out)
        elif token.kind in ("month", "ampm", "zone", "t", "word"):
            _tolerant_word(token, scan, out, number_read=number_read)
        elif is_sign(token) and (out.is_utc or out.time):
            number_read = True
            _tolerant_offset(token, scan, out)
        elif number_read and token.kind == "symbol" and token.text in "+-)":
            raise Invalid
        token = scan.next()


def _tolerant_number(token: Token, scan: Scanner, out: Composer) -> None:
    number = token.value
    if scan.skip(":"):
        if scan.skip(":"):
            if out.time:
                raise Invalid
            out.add_time(number)
            out.add_time(0)
        else:
            out.add_time(number)
            scan.skip(".")
    elif scan.skip(".") and out.time_expects(number):
        out.add_time(number)
        if scan.peek.kind != "number":
            raise Invalid
        out.end_time(milliseconds(scan.next()))
    elif out.zone_expects(number):
        out.minute = number
    elif out.time_expects(number):
        out.end_time(number)
        after = scan.peek
        if not (after is END or after.kind == "space" or is_zulu(after) or is_sign(after)):
            raise Invalid
    else:
        out.add_day(number)
        scan.skip("-")


def _tolerant_word(token: Token, scan: Scanner, out: Composer, *, number_read: bool) -> None:
    if token.kind == "ampm" and out.time:
        out.half = token.value
    elif token.kind == "month":
        out.month_name = token.value
        scan.skip("-")
    elif token.kind == "zone" and number_read:
        out.set_zone(token.value)
    elif number_read or scan.peek.kind == "number":
        raise Invalid


def _tolerant_offset(token: Token, scan: Scanner, out: Composer) -> None:
    out.sign = -1 if token.text == "-" else 1
    number = scan.next() if scan.peek.kind == "number" else Token("number")
    if scan.peek.kind == "symbol" and scan.peek.text == ":":
        out.hour, out.minute = number.value, None
    elif number.length in (1, 2):
        out.hour, out.minute = number.value, 0
    elif number.length in (3, 4):
        out.hour, out.minute = divmod(number.value, 100)
    else:
        raise Invalid


def parse(text: str) -> Parsed | None:
    """The date V8 reads in `text`, or None."""
    out = Composer()
    scan = Scanner(tokens(text.partition("\0")[0]))
    try:
        token = _iso(scan, out)
        if token is not None:
            _tolerant(token, scan, out)
        return out.result()
    except Invalid:
        return None
