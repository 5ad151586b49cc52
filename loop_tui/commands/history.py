"""The rows of the table for the history pane."""

from __future__ import annotations

from loop_tui.commands import reasons
from loop_tui.commands.model import Command

__all__ = ["HISTORY"]

HISTORY: tuple[Command, ...] = (
    Command("history.down", ("j", "down"), "down", "Line down", "history", "History"),
    Command("history.up", ("k", "up"), "up", "Line up", "history", "History"),
    Command(
        "history.half_down", ("ctrl+d",), "half down", "Half a page down", "history", "History"
    ),
    Command("history.half_up", ("ctrl+u",), "half up", "Half a page up", "history", "History"),
    Command("history.page_down", ("pagedown",), "page down", "A page down", "history", "History"),
    Command("history.page_up", ("pageup",), "page up", "A page up", "history", "History"),
    Command(
        "history.open",
        ("enter",),
        "unfold",
        "Unfold the block under the line cursor, or open it whole",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.previous_round",
        ("[", "K"),
        "prev round",
        "Previous round",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.next_round",
        ("]", "J"),
        "next",
        "Next round",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.earlier",
        ("m",),
        "earlier",
        "Load three earlier rounds",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.first",
        ("g", "home"),
        "first",
        "First round",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.latest",
        ("G", "end"),
        "latest",
        "Latest round; follow new ones until scrolled up",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.tools",
        ("t",),
        "tools",
        "Tool detail: off, line, clipped, full",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.thinking",
        ("T",),
        "thinking",
        "Show thinking",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.copy_block",
        ("y",),
        "copy",
        "Copy the block under the line cursor",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.copy_round",
        ("Y",),
        "copy round",
        "Copy the round",
        "history",
        "History",
        reasons.session,
    ),
    Command(
        "history.where",
        ("i",),
        "where",
        "Where am I: round, bytes, damage",
        "history",
        "History",
        reasons.session,
    ),
)
