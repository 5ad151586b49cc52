"""The bank of conversations: small plays in a plain text form, read and filled in here.

A file holds topics; a topic holds alternative titles and a sequence of marked parts::

    === slug
    title: Retry storm when «service» restarts
    @user                     the user says the lines that follow
    @attach NAME              a text file attached to the user's message
    @image NAME               an image attached to it
    @think                    the assistant thinks
    @say                      the assistant comments before its next call
    @tool read path=app.py    a call; the lines that follow are its result
    @also bash command=ls     one more call of the same message
    @fail command=make        a shell call that ends in an error
    @reply                    the assistant's answer

«words» are filled in by the project the conversation plays in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

_HEAD = re.compile("^=== ", re.MULTILINE)
_SLOT = re.compile("«(.+?)»")
_ARGUMENT = re.compile(r"(?:^| )([A-Za-z]+)=")


@dataclass(frozen=True)
class Part:
    """One marked part: its kind, what stands on the marker's line, the lines below."""

    kind: str
    head: str
    body: str

    def fill(self, words: Mapping[str, str]) -> Part:
        return replace(self, head=_filled(self.head, words), body=_filled(self.body, words))

    def arguments(self) -> tuple[str, dict[str, str]]:
        """The tool's name and arguments of a call's marker line."""
        name, _, rest = self.head.partition(" ")
        if self.kind == "fail":
            name, rest = "bash", self.head
        pieces = _ARGUMENT.split(rest)
        values = (value.replace("\\n", "\n") for value in pieces[2::2])
        return name, dict(zip(pieces[1::2], values, strict=True))


@dataclass(frozen=True)
class Topic:
    """A short conversation with a choice of titles."""

    slug: str
    titles: tuple[str, ...]
    parts: tuple[Part, ...]

    def rounds(self) -> list[tuple[Part, ...]]:
        """The parts, cut before each user part."""
        starts = [at for at, part in enumerate(self.parts) if part.kind == "user"]
        ends = [*starts[1:], len(self.parts)]
        return [self.parts[start:end] for start, end in zip(starts, ends, strict=True)]


def _filled(text: str, words: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda match: words.get(match[1], match[1]), text)


def fill_title(title: str, words: Mapping[str, str]) -> str:
    return _filled(title, words)


@cache
def read_bank(name: str) -> dict[str, Topic]:
    """The topics of one file of the bank by slug, in order."""
    text = files("loop_tui.demo").joinpath("bank", f"{name}.txt").read_text(encoding="utf-8")
    topics: dict[str, Topic] = {}
    for chunk in _HEAD.split(text)[1:]:
        slug, _, rest = chunk.partition("\n")
        topics[slug] = _topic(slug, rest)
    return topics


def _topic(slug: str, text: str) -> Topic:
    titles: list[str] = []
    parts: list[Part] = []
    kind, head = "", ""
    body: list[str] = []

    def close() -> None:
        if kind:
            parts.append(Part(kind, head, "\n".join(body).strip("\n")))

    for line in text.split("\n"):
        if not kind and line.startswith("title: "):
            titles.append(line.removeprefix("title: "))
        elif re.match(r"@[a-z]+( |$)", line):
            close()
            kind, _, head = line[1:].partition(" ")
            body = []
        else:
            body.append(line)
    close()
    return Topic(slug, tuple(titles), tuple(parts))
