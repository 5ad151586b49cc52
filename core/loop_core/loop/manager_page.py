"""One page of a manager's history (S0 "History pages")."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from loop_core.errors import LoopError, StaleRevision
from loop_core.jsonvalue import loads
from loop_core.loop.conversation import hash_of
from loop_core.loop.envelope import Envelope
from loop_core.loop.history import read_rounds
from loop_core.loop.publish import Place
from loop_core.loop.rounds import window
from loop_core.loop.saving import write_index

__all__ = ["HistoryPage", "page_from_disk", "page_in_memory"]


class HistoryPage(NamedTuple):
    """Messages [start, end) of `total`, whole rounds; `revision` is the message generation."""

    messages: list[Any]
    start: int
    end: int
    total: int
    revision: str


def page_from_disk(
    place: Place, before: int | None, revision: str | None, rounds: int
) -> HistoryPage:
    """Reads the page's bytes only; a missing or wrong index.json is published anew."""
    _check_revision(revision, place.generation, place.meta_path)
    envelope = Envelope({}, place.generation, place.start, place.bytes, place.messages, b"")
    page = read_rounds(place.directory, envelope, before=before, rounds=rounds)
    if page.rebuilt:
        # A hint for the next page: this one is right without it.
        with suppress(LoopError):
            write_index(place.directory, page.index)
    values = [loads(line) for line in page.lines]
    return HistoryPage(values, page.start, page.end, page.total, place.generation)


def page_in_memory(
    lines: Sequence[bytes],
    users: Sequence[int],
    before: int | None,
    revision: str | None,
    rounds: int,
) -> HistoryPage:
    """The same for a session without files, or whose save is pending."""
    generation = hash_of(lines)
    _check_revision(revision, generation, None)
    view = window(users, len(lines), before, rounds)
    values = [loads(line) for line in lines[view.start : view.end]]
    return HistoryPage(values, view.start, view.end, len(lines), generation)


def _check_revision(revision: str | None, generation: str, path: str | None) -> None:
    if revision is not None and revision != generation:
        raise StaleRevision("the history is of another generation now", path)
