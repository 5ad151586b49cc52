"""Every mark the screen draws, for terminals with Unicode and without (``--ascii``). Pure."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ASCII", "UNICODE", "Glyphs", "glyphs"]


class Glyphs(NamedTuple):
    """Every mark the screen draws, each one cell wide (look.md "Look")."""

    unread: str
    pinned: str
    archived: str
    running: str
    damaged: str
    missing: str
    mark: str
    cursor: str
    gutter: str
    folded: str
    open: str
    ok: str
    failed: str
    ellipsis: str
    separator: str
    watching: str
    trash: str
    waiting: str
    bullet: str
    rule: str
    bar: str
    cross: str
    wrapped: str
    dash: str  # between two numbers


UNICODE = Glyphs(
    unread="●",
    pinned="◆",
    archived="▣",
    running="◐",
    damaged="!",
    missing="∅",
    mark="✓",
    cursor="▌",
    gutter="▎",
    folded="▸",
    open="▾",
    ok="✓",
    failed="✗",
    ellipsis="…",
    separator="·",
    watching="◉",
    trash="×",
    waiting="○",
    bullet="•",
    rule="─",
    bar="│",
    cross="┼",
    wrapped="↳",
    dash="–",
)
ASCII = Glyphs(
    unread="*",
    pinned="^",
    archived="#",
    running="~",
    damaged="!",
    missing="?",
    mark="x",
    cursor=">",
    gutter="|",
    folded="+",
    open="-",
    ok=".",
    failed="!",
    ellipsis="~",
    separator="-",
    watching="o",
    trash="x",
    waiting="o",
    bullet="*",
    rule="-",
    bar="|",
    cross="+",
    wrapped="\\",
    dash="-",
)


def glyphs(ascii: bool) -> Glyphs:  # noqa: A002 - the option is called so everywhere
    """The glyph table, for terminals with and without Unicode (``--ascii``)."""
    return ASCII if ascii else UNICODE
