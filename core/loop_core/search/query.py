"""What a person typed, as terms and filters.

``lock archive`` asks for both words in one round (or one title); ``"lost update"`` for the
words in a row; ``-draft`` for rounds without it (``--draft`` is the option of that name).
Filters: ``project:``, ``role:``, ``tool:``,
``model:``, ``is:unread|pinned|archived``, ``before:`` and ``after:`` with a date. Values with
spaces take quotes: ``project:"my shop"``.
"""

from __future__ import annotations

import re
from collections.abc import Container
from datetime import datetime
from typing import Literal, cast

from msgspec import Struct

from loop_core.errors import InvalidArgument
from loop_core.search.words import fold, query_words

__all__ = ["FLAGS", "ROLES", "Query", "Term", "parse"]

Role = Literal["title", "user", "assistant", "thinking", "tool"]
ROLES: tuple[Role, ...] = ("title", "user", "assistant", "thinking", "tool")
FLAGS = ("unread", "pinned", "archived")
_FILTERS = ("project", "role", "tool", "model", "is", "before", "after")
_PART = re.compile(r'((?:-(?=["\w]))?)(?:([a-z]+):)?(?:"([^"]*)("?)|(\S+))')
_DAY = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?")


class Term(Struct, frozen=True):
    """Words in a row; `begins`: the last one may go on. `raw` is the folded text typed."""

    words: tuple[str, ...]
    raw: str
    begins: bool = False


class Query(Struct, frozen=True, kw_only=True):
    """`before_ms` and `after_ms` bound a session's last activity: after <= it < before."""

    terms: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    roles: tuple[Role, ...] = ()
    tools: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    no_flags: tuple[str, ...] = ()
    before_ms: int | None = None
    after_ms: int | None = None

    @property
    def empty(self) -> bool:
        """Nothing to find: no word that must be there, and no filter."""
        return not (
            self.terms
            or self.roles
            or self.tools
            or self.projects
            or self.models
            or self.flags
            or self.no_flags
            or self.before_ms is not None
            or self.after_ms is not None
        )


def parse(text: str, *, typing: bool = False) -> Query:
    """Read a query. `typing`: its last word is not finished, so it stands for beginnings.

    Raises InvalidArgument that says which filter is not understood; while typing, the last
    one may be unfinished and is then left out. A word with a colon that is no filter is a
    word.
    """
    terms: list[Term] = []
    without: list[Term] = []
    found: dict[str, list[str]] = {name: [] for name in _FILTERS}
    no_flags: list[str] = []
    for match in _PART.finditer(text):
        minus, name, quoted, closed, bare = match.groups()
        value = bare if quoted is None else quoted
        unfinished = typing and match.end() == len(text)
        if unfinished and _half_typed(name, value, found):
            continue
        if name in found:
            if minus and name != "is":
                raise InvalidArgument(f"-{name}: cannot be left out; only words and is: can")
            (no_flags if minus else found[name]).append(value)
            continue
        open_end = unfinished and (quoted is None or not closed)
        term = _term(f"{name}:{value}" if name else value, open_end=open_end)
        if term.words or term.raw:
            (without if minus else terms).append(term)
    return Query(
        terms=tuple(terms),
        without=tuple(without),
        roles=tuple(_role(value) for value in found["role"]),
        tools=_folded(found["tool"]),
        projects=_folded(found["project"]),
        models=_folded(found["model"]),
        flags=tuple(_one_of("is", value, FLAGS) for value in found["is"]),
        no_flags=tuple(_one_of("is", value, FLAGS) for value in no_flags),
        before_ms=min((_day(value, "before") for value in found["before"]), default=None),
        after_ms=max((_day(value, "after") for value in found["after"]), default=None),
    )


def _half_typed(name: str | None, value: str, filters: Container[str]) -> bool:
    """Whether the last part of a query is a filter that goes on: ``role:``, ``role:us``."""
    if name is None:
        return value.endswith(":") and value[:-1] in filters
    if name in ("is", "role"):
        choices: tuple[str, ...] = FLAGS if name == "is" else ROLES
        low = value.lower()
        return low not in choices and any(choice.startswith(low) for choice in choices)
    return name in ("before", "after") and re.fullmatch(r"[\d-]{1,9}", value) is not None


def _term(text: str, *, open_end: bool) -> Term:
    found, begins = query_words(text)
    ends_in_word = bool(found) and fold(text)[-1:].isalnum()
    return Term(tuple(found), fold(text).strip(), begins or (open_end and ends_in_word))


def _folded(values: list[str]) -> tuple[str, ...]:
    return tuple(fold(value) for value in values if value)


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value.lower() not in choices:
        raise InvalidArgument(f"{name}:{value} is not known; one of {', '.join(choices)}")
    return value.lower()


def _role(value: str) -> Role:
    return cast("Role", _one_of("role", value, ROLES))


def _day(value: str, name: str) -> int:
    """Local midnight at the start of a day, in milliseconds."""
    match = _DAY.fullmatch(value)
    wrong = InvalidArgument(f"{name}:{value} is not a date; write 2026-11-30")
    if match is None:
        raise wrong
    try:
        start = datetime(int(match[1]), int(match[2]), int(match[3] or 1)).astimezone()
        return int(start.timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise wrong from error
