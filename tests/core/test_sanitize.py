"""Text from a store can neither act on a terminal nor reorder a line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.sanitize import safe, safe_line

_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
_ANY = st.text(st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\ttext\nnext", "plain\ttext\nnext"),
        ("\x1b]0;owned\x07", "␛]0;owned␇"),
        ("\x9b31m", "\ufffd31m"),
        ("a\x00b\x7f", "a␀b␡"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("x\u202egnp.exe", "x\ufffdgnp.exe"),
        ("one\u2028two\u2029three\u0085four", "one␤two␤three␤four"),
        ("half \ud83d smile", "half \ufffd smile"),
        ("日本語 👩‍👩‍👧 ß", "日本語 👩‍👩‍👧 ß"),
    ],
)
def test_safe_shows_what_it_replaces(raw: str, shown: str) -> None:
    """failures row 43: a lone surrogate neither raises nor reaches the terminal."""
    assert safe(raw) == shown


@given(_ANY)
def test_nothing_active_is_left(text: str) -> None:
    result = safe(text)
    assert not set(result) & set(_BIDI)
    for char in result:
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp")
    result.encode()
    assert safe(result) == result


@given(_ANY, st.integers(0, 20))
def test_a_line_is_one_line_and_keeps_its_limit(text: str, limit: int) -> None:
    line = safe_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert "\t" not in line
    assert "\n" not in safe_line(text)


def test_a_cut_line_says_so() -> None:
    assert safe_line("one two three", 8) == "one two…"
    assert safe_line("one", 8) == "one"
    assert safe_line("a\nb\tc") == "a b c"
