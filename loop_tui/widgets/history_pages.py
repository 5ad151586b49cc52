"""Windows of rounds read and laid out: the half of the history that runs in threads.

A window is filled until it covers the pane: three short rounds in a tall terminal are not
all there is to see. Free of widgets; every function here may block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from loop_core.errors import StaleRevision
from loop_core.model import Page, Round, SessionKey
from loop_tui.layout import LaidRound, Options, layout_round
from loop_tui.widgets.history_reader import At, Reader
from loop_tui.widgets.window import LIMIT, PAGE, Window, any_visible

__all__ = ["Laid", "View", "edge_page", "height_of", "lay_out", "newer_page", "open_window"]

#: By round index: what the layout depends on, and the layout.
Laid = dict[int, tuple[tuple[Any, ...], LaidRound]]


class View(NamedTuple):
    """The room there is for a window, and how its rounds are laid out."""

    width: int  # cells
    room: int  # lines
    options: Options


def open_window(reader: Reader, key: SessionKey, at: At, view: View) -> tuple[Window, Laid]:
    """The window at a place, read until it fills the room, with its layout.

    Rounds without anything to see are passed over. Raises what the reader raises.
    """
    window = Window(reader.page(key, before=at.before, before_round=at.before_round, rounds=PAGE))
    while not window.at_start and not any_visible(window.rounds):
        if not window.add_earlier(edge_page(reader, key, window, top=True)):
            break
    return window, _filled(reader, key, window, view)


def _filled(reader: Reader, key: SessionKey, window: Window, view: View) -> Laid:
    """Lay out a window that grows, later rounds first, until it is as high as the room."""
    laid = lay_out(window.rounds, view, {})
    while height_of(laid) < view.room and len(window.rounds) < LIMIT:
        top = window.at_end
        if not window.rounds or (top and window.at_start):
            break
        try:
            page = edge_page(reader, key, window, top=top)
        except StaleRevision:
            break  # replaced since: whoever follows the session notices
        if not (window.add_earlier(page) if top else window.add_later(page)):
            break
        laid = lay_out(window.rounds, view, laid)
    return laid


def edge_page(reader: Reader, key: SessionKey, window: Window, *, top: bool) -> Page:
    """The page before the window's first round, or after its last one."""
    before = window.first if top else window.last + 1 + PAGE
    return reader.page(key, before_round=before, rounds=PAGE, revision=window.revision)


def newer_page(reader: Reader, key: SessionKey, window: Window, *, joined: bool) -> Page:
    """The latest rounds: three, or as many as `joined` needs to reach the window's last one.

    More than a window holds are not joined.
    """
    page = reader.page(key, rounds=PAGE)
    missing = page.total_rounds - window.last
    same = page.revision == window.revision
    if joined and same and window.rounds and PAGE < missing <= LIMIT:
        return reader.page(key, rounds=missing)
    return page


def height_of(laid: Mapping[int, tuple[tuple[Any, ...], LaidRound]]) -> int:
    """Lines in all."""
    return sum(len(one.lines) for _, one in laid.values())


def lay_out(rounds: Sequence[Round], view: View, known: Laid) -> Laid:
    """Lay out the rounds that changed; the others keep their lines."""
    laid: Laid = {}
    options = view.options
    for one in rounds:
        flipped = frozenset(
            key for key in options.flipped if one.start <= key[0] < max(one.end, one.start + 1)
        )
        state = (view.width, options.tools, options.thinking, options.ascii, flipped)
        old = known.get(one.index)
        if old is not None and old[0] == state and old[1].round is one:
            laid[one.index] = old
        else:
            laid[one.index] = (state, layout_round(one, view.width, options))
    return laid
