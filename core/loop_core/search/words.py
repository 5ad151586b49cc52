"""Text as words, the same for the index, the scan and the query.

Words are runs of letters and digits, folded: case, width, accents and ligatures do not
count. Scripts written without spaces (Chinese, Japanese, Thai, …) and Korean, whose words
carry endings, are cut into overlapping pairs of characters, so that any stretch of such text
is a run of neighbouring words. Identifiers fall into words at their punctuation, and are
found as phrases: ``read_history`` is *read* followed by *history*.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

__all__ = ["BREAK", "fold", "origin", "pattern", "query_words", "words"]

#: A word no text contains: it keeps phrases from reaching over the border of two pieces.
BREAK = "\ue000"

_ASCII = {code: " " for code in range(1, 128) if not chr(code).isalnum()}
_RUNS = re.compile("([^\\0-\x7f]+)")
_CACHED = 16  # characters
_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f]"
)
_SPECIAL = (
    {"ø": "o", "Ø": "o", "đ": "d", "Đ": "d", "ł": "l", "Ł": "l", "ħ": "h", "Ħ": "h", "ŧ": "t",
     "Ŧ": "t", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "ð": "d", "Ð": "d", "þ": "th",
     "Þ": "th", "ı": "i", "ĸ": "k", "ŋ": "n", "Ŋ": "n"}
)  # fmt: skip
_DENSE_RANGES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
    "\uac00-\ud7af"  # Korean
)
# Vowel signs of the Indian scripts are no letters to `str.isalnum`, but do not end a word.
_SIGNS = "\u0900-\u0963\u0966-\u096f\u0971-\u0dff"
_LETTERS = re.compile(f"[{''.join(_SPECIAL)}]")
_DENSE = re.compile(f"[{_DENSE_RANGES}]+")
_BETWEEN = re.compile(f"[^\\w {_DENSE_RANGES}{_SIGNS}]+")


def fold(text: str) -> str:
    """`text` without what does not count for finding: case, accents, width."""
    return text.lower() if text.isascii() else _by_runs(text, str.lower, _fold_run)


def words(text: str) -> str:
    """The words of `text`, each between single or several spaces.

    A run of n dense characters gives its n - 1 pairs and its last character.
    """
    return (
        _plain_words(text.replace("\0", " "))
        if text.isascii()
        else _by_runs(text, _plain_words, _words_of_run)
    )


def origin(text: str, at: int) -> int:
    """Which character of `text` gives character `at` of its folded form."""
    source = 0
    for number, part in enumerate(_RUNS.split(text)):
        count = len(_fold_run(part)) if number % 2 else len(part)
        if at < count:
            break
        at, source = at - count, source + len(part)
    else:
        return max(len(text) - 1, 0)
    if number % 2 == 0:
        return source + at
    for char in part:
        at -= len(fold(char))
        if at < 0:
            break
        source += 1
    return min(source, len(text) - 1)


def _by_runs(text: str, plain: Callable[[str], str], run: Callable[[str], str]) -> str:
    """`plain` of what is ASCII, all at once, and `run` of each stretch that is not.

    Python is fast with strings of ASCII alone; nothing folds across the border of a run.
    """
    parts = _RUNS.split(text.replace("\0", " "))
    parts[::2] = plain("\0".join(parts[::2])).split("\0")
    parts[1::2] = map(run, parts[1::2])
    return "".join(parts)


def _plain_words(text: str) -> str:
    return text.lower().translate(_ASCII)


@lru_cache(10_000)
def _short(run: str) -> tuple[str, str]:
    """A run folded, and its words: most runs are an accented letter or a dash."""
    folded = unicodedata.normalize("NFKD", _LETTERS.sub(_letter, run))
    folded = unicodedata.normalize("NFC", _MARKS.sub("", folded).casefold())
    return folded, _DENSE.sub(_pairs, _apart(folded))


def _fold_run(run: str) -> str:
    return (_short if len(run) < _CACHED else _short.__wrapped__)(run)[0]


def _words_of_run(run: str) -> str:
    return (_short if len(run) < _CACHED else _short.__wrapped__)(run)[1]


def _letter(match: re.Match[str]) -> str:
    return _SPECIAL[match[0]]


def _apart(folded: str) -> str:
    """Folded text with blanks for what stands between words."""
    return _BETWEEN.sub(" ", folded.replace("_", " "))


def query_words(text: str) -> tuple[list[str], bool]:
    """The words a term asks for in a row, and whether the last stands for its beginnings.

    The last character of a dense run that ends the term is left out: the run may go on in
    the text. A single dense character there asks for every word that begins with it.
    """
    if text.isascii():
        return words(text).split(), False
    runs = [run for part in _apart(fold(text)).split() for run in _runs(part)]
    found: list[str] = []
    begins = False
    for at, (dense, run) in enumerate(runs):
        if not dense:
            found.append(run)
            continue
        pairs = [run[i : i + 2] for i in range(len(run))]
        last = at == len(runs) - 1
        begins = last and len(pairs) == 1
        found += pairs[:-1] if last and len(pairs) > 1 else pairs
    return found, begins


def pattern(text: str, *, begins: bool) -> re.Pattern[str] | None:
    """Where a term stands in folded text, for marking it; None when it has no words."""
    parts = [run for part in _apart(fold(text)).split() for run in _runs(part)]
    if not parts:
        return None
    between = f"(?:[^\\w{_DENSE_RANGES}{_SIGNS}]|_)*"
    body = between.join(re.escape(run) for _, run in parts)
    before = "" if parts[0][0] else r"(?<![^\W_])"
    after = "" if begins or parts[-1][0] else r"(?![^\W_])"
    return re.compile(before + body + after)


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return " " + " ".join(run[i : i + 2] for i in range(len(run))) + " "


def _runs(part: str) -> list[tuple[bool, str]]:
    runs: list[tuple[bool, str]] = []
    at = 0
    for match in _DENSE.finditer(part):
        if match.start() > at:
            runs.append((False, part[at : match.start()]))
        runs.append((True, match[0]))
        at = match.end()
    if at < len(part):
        runs.append((False, part[at:]))
    return runs
