"""The filter: rows that hold every word of a text, at the pace of typing.

The text a row is searched in is folded once and kept with the row. A text that grew narrows
what its beginning found, so that only the first key looks at every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress

from loop_core.model import SessionRow
from loop_tui.state.views import haystack, terms_of

__all__ = ["Filter"]

_SPARE = 1_000  # texts kept beyond twice the rows, before those of former rows are let go

Rows = tuple[SessionRow, ...]


class Filter:
    """The folded texts of rows, and what was found last.

    `names` maps project keys to the names the filter looks at.
    """

    def __init__(self) -> None:
        self._names: Mapping[str, str] = {}
        self._known: dict[int, tuple[SessionRow, str]] = {}
        self._base: Rows = ()
        self._texts: list[str] | None = None  # of every row of the base
        self._warmed: tuple[Rows, list[str]] = ((), [])
        self._found: tuple[str, Rows, list[str]] = ("", (), [])

    def rename(self, names: Mapping[str, str]) -> None:
        """Projects have other names now."""
        self._names = names
        self._known.clear()
        self._warmed = ((), [])

    def trim(self, count: int) -> None:
        """Let the texts of former rows go, when they outnumber the `count` rows there are."""
        if len(self._known) > 2 * count + _SPARE:
            self._known.clear()

    def narrow(self, base: Rows, text: str) -> Rows:
        """The rows of `base` that hold every word of `text`, in its order."""
        if base is not self._base:
            self._base, self._texts, self._found = base, None, ("", (), [])
        terms = terms_of(text)
        if not terms:
            return base
        before, rows, texts = self._found
        if not before or not text.startswith(before):
            if self._texts is None:
                warmed, texts = self._warmed
                same = warmed is base
                self._texts = texts if same else [self._text_of(row) for row in base]
            rows, texts = base, self._texts
        for term in terms:
            kept = [term in text for text in texts]
            if not all(kept):
                rows, texts = tuple(compress(rows, kept)), list(compress(texts, kept))
        self._found = (text, rows, texts)
        return rows

    def _text_of(self, row: SessionRow) -> str:
        # By identity, which is cheaper than the key's hash; the row kept beside the text
        # holds its identity.
        known = self._known.get(id(row))
        if known is None:
            text = haystack(row, self._names.get(row.project, ""))
            self._known[id(row)] = known = (row, text)
        return known[1]

    def warm(self, base: Rows) -> None:
        """Fold the texts of `base` ahead of the first keystroke; may run in a thread."""
        self._warmed = (base, [self._text_of(row) for row in base])
