"""The rounds of one session that are in memory: a bounded window, moved by pages. Pure.

However far one reads, at most `LIMIT` rounds are here: a page that joins at one end drops
rounds at the other. Everything is by round index, so growth and overlap cannot double one.
"""

from __future__ import annotations

from collections.abc import Sequence

from loop_core.model import Damage, Page, Round

__all__ = ["LIMIT", "PAGE", "Window"]

LIMIT = 60
PAGE = 3


class Window:
    """Consecutive rounds of one session and where they stand in it."""

    def __init__(self, page: Page) -> None:
        self.rounds: tuple[Round, ...] = page.rounds
        self.revision = page.revision
        self.first = page.first_round
        self.at_start = page.start <= 0
        self.at_end = page.at_end
        self.total_rounds = page.total_rounds
        self.total = page.total
        self.damage: tuple[Damage, ...] = page.damage
        self.read_bytes = page.read_bytes

    @property
    def last(self) -> int:
        """Index of the last round here; `first - 1` when there is none."""
        return max((one.index for one in self.rounds), default=self.first - 1)

    def range_text(self, dash: str = "\N{EN DASH}") -> str:
        """``rounds 38–40 of 40``, in the counting of people."""
        if not self.total_rounds:
            return "no rounds"
        first, last = self.first + 1, max(self.last, self.first) + 1
        if first == last:
            return f"round {first:,} of {self.total_rounds:,}"
        return f"rounds {first:,}{dash}{last:,} of {self.total_rounds:,}"

    def _totals(self, page: Page) -> None:
        # A page read earlier may arrive later: a session only grows inside one revision.
        self.total_rounds = max(self.total_rounds, page.total_rounds)
        self.total = max(self.total, page.total)
        self.damage = page.damage or self.damage
        self.read_bytes += page.read_bytes

    def add_earlier(self, page: Page, *, keep: int = -1, limit: int = LIMIT) -> int:
        """Join a page before the window; returns how many rounds are new.

        Rounds beyond `limit` leave at the other end, but never those up to `keep`, the last
        one on the screen. A page that does not touch the window is ignored: it belongs to
        an older one.
        """
        known = {one.index for one in self.rounds}
        new = tuple(one for one in page.rounds if one.index not in known)
        if not new or max(one.index for one in new) != min(known, default=0) - 1:
            return 0
        self._totals(page)
        self.rounds = (*new, *self.rounds)
        self.first = page.first_round
        self.at_start = page.start <= 0
        limit = max(limit, sum(1 for one in self.rounds if one.index <= keep))
        if len(self.rounds) > limit:
            self.rounds = self.rounds[:limit]
            self.at_end = False
        return len(new)

    def add_later(self, page: Page, *, keep: int | None = None, limit: int = LIMIT) -> int:
        """Join a page after the window, or replace its last rounds by grown ones.

        Rounds beyond `limit` leave at the start, but never those from `keep` on. Returns how
        many rounds are new or changed; 0 when the page does not touch the window (there is
        a gap), which leaves the window as it was.
        """
        self._totals(page)
        if not page.rounds:
            return 0
        begin, end = page.rounds[0].index, page.rounds[-1].index
        if begin > self.last + 1 or end < self.last:
            self.at_end = self.at_end and end >= self.last
            return 0
        old = {one.index: one for one in self.rounds}
        kept = tuple(one for one in self.rounds if one.index < begin)
        merged = tuple(_same(old.get(one.index), one) for one in page.rounds)
        # Rounds of the page before the window's first are not consecutive with it.
        merged = tuple(one for one in merged if kept or one.index >= self.rounds[0].index)
        changed = sum(1 for one in merged if old.get(one.index) is not one)
        self.rounds = (*kept, *merged)
        self.at_end = page.at_end
        if keep is not None:
            limit = max(limit, sum(1 for one in self.rounds if one.index >= keep))
        if len(self.rounds) > limit:
            self.rounds = self.rounds[-limit:]
            self.first = max(self.rounds[0].index, 0)
            self.at_start = False
        return changed


def _same(old: Round | None, new: Round) -> Round:
    """The old value where nothing changed, so that its layout is kept."""
    return old if old is not None and old == new else new


def any_visible(rounds: Sequence[Round]) -> bool:
    """Whether a page has anything to read at all."""
    return any(one.blocks for one in rounds)
