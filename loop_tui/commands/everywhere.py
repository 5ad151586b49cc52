"""The rows of the table for panes, views, the whole browser and its settings."""

from __future__ import annotations

from loop_tui.commands import reasons
from loop_tui.commands.model import Command

__all__ = ["GLOBAL", "PANES", "SETTINGS"]

PANES: tuple[Command, ...] = (
    Command(
        "projects.open",
        ("enter",),
        "show",
        "Show these sessions and go to them",
        "projects",
        "Panes and views",
    ),
    Command("pane.next", ("tab",), "next pane", "Next pane", "global", "Panes and views"),
    Command(
        "pane.previous",
        ("shift+tab",),
        "previous pane",
        "Previous pane",
        "global",
        "Panes and views",
    ),
    Command("pane.left", ("h", "left"), "left", "Pane to the left", "global", "Panes and views"),
    Command(
        "pane.right", ("l", "right"), "right", "Pane to the right", "global", "Panes and views"
    ),
    Command("pane.projects", ("1",), "projects", "Views and projects", "global", "Panes and views"),
    Command("pane.sessions", ("2",), "sessions", "Sessions", "global", "Panes and views"),
    Command("pane.history", ("3",), "history", "History", "global", "Panes and views"),
    Command("view.next", ("f",), "view", "Next view", "global", "Panes and views"),
    Command("view.previous", ("F",), "previous view", "Previous view", "global", "Panes and views"),
    Command(
        "sort",
        ("s",),
        "sort",
        "Sort by activity, created, title, size, messages",
        "global",
        "Panes and views",
    ),
    Command(
        "sort.reverse",
        ("S",),
        "reverse",
        "Reverse the order; pinned stay on top",
        "global",
        "Panes and views",
    ),
)

GLOBAL: tuple[Command, ...] = (
    Command(
        "filter",
        ("/",),
        "filter",
        "Filter this list; in the history: find in the whole session",
        "global",
        "Everywhere",
    ),
    Command(
        "search",
        ("ctrl+f",),
        "search",
        "Search the text of all sessions",
        "global",
        "Everywhere",
    ),
    Command(
        "find.next",
        ("n",),
        "next hit",
        "Next hit of the find, or of the search",
        "global",
        "Everywhere",
        reasons.hits,
    ),
    Command(
        "find.previous",
        ("N",),
        "previous hit",
        "Previous hit of the find, or of the search",
        "global",
        "Everywhere",
        reasons.hits,
    ),
    Command(
        "undo",
        ("z",),
        "undo",
        "Take the last action back",
        "global",
        "Everywhere",
        reasons.writable,
    ),
    Command("redo", ("Z",), "redo", "Do it again", "global", "Everywhere", reasons.writable),
    Command(
        "refresh",
        ("R", "ctrl+r", "f5"),
        "refresh",
        "Read the stores again and put rows in order",
        "global",
        "Everywhere",
    ),
    Command("help", ("?", "f1"), "help", "These keys, and why one is off", "global", "Everywhere"),
    Command(
        "palette",
        (":", "ctrl+p"),
        "palette",
        "Every command, session and project by name",
        "global",
        "Everywhere",
    ),
    Command(
        "back",
        ("escape",),
        "back",
        "One layer back: field, selection, filter, marks, pane. Never quits",
        "global",
        "Everywhere",
    ),
    Command(
        "close",
        ("q",),
        "back",
        "Back one pane; from the leftmost: quit",
        "global",
        "Everywhere",
    ),
    Command("quit", ("ctrl+q",), "quit", "Quit now", "global", "Everywhere"),
)

SETTINGS: tuple[Command, ...] = (
    Command("theme", (), "theme", "Choose a theme", "palette", "Settings"),
    Command("toggle.hidden", (), "hidden", "Show or hide helper sessions", "palette", "Settings"),
    Command("toggle.ask_pin", (), "ask", "Ask before pinning: on or off", "palette", "Settings"),
    Command(
        "toggle.ask_archive", (), "ask", "Ask before archiving: on or off", "palette", "Settings"
    ),
    Command(
        "toggle.auto_read",
        (),
        "auto-read",
        "Mark read what was on screen: on or off",
        "palette",
        "Settings",
    ),
    Command(
        "reclaim",
        (),
        "reclaim",
        "Free disk space that Loop leaves behind (shows what first)",
        "palette",
        "Settings",
        reasons.writable,
    ),
    Command(
        "purge.all",
        (),
        "empty trash",
        "Empty the trash (asks)",
        "palette",
        "Settings",
        reasons.writable,
        destructive=True,
    ),
)
