"""Every command of the browser, once: the source of bindings, footer, help, palette and docs.

A command belongs to a *scope*: the panes it is bound in. Two commands that can meet in one
pane never share a key (`conflicts`). Whether a command can act now is `enabled`'s answer:
None, or the reason a person is told in the toast line and in the help (keys.md, rules 1 to 5).
This module knows nothing of Textual; `loop_tui.keys` turns the table into bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from loop_core.model import SessionRow
from loop_tui.state.views import View, is_stand_in

Pane = Literal["projects", "sessions", "history"]
Scope = Literal["global", "list", "session", "projects", "sessions", "history", "palette"]
Group = Literal["Move", "Sessions", "History", "Panes and views", "Everywhere", "Settings"]

SCOPES: Mapping[Pane, tuple[Scope, ...]] = {
    "projects": ("projects", "list", "session", "global"),
    "sessions": ("sessions", "list", "session", "global"),
    "history": ("history", "session", "global"),
}
GROUPS: tuple[Group, ...] = (
    "Move",
    "Sessions",
    "History",
    "Panes and views",
    "Everywhere",
    "Settings",
)


class Context(NamedTuple):
    """What `enabled` and the labels may look at."""

    pane: Pane = "sessions"
    view: View = "active"
    targets: Sequence[SessionRow] = ()
    shown: int = 0
    read_only: bool = False
    finding: bool = False  # the history has a find with hits, or a search of all sessions

    @property
    def row(self) -> SessionRow | None:
        return self.targets[0] if self.targets else None


Reason = Callable[[Context], str | None]


def _always(_: Context) -> str | None:
    return None


def _session(context: Context) -> str | None:
    if context.pane == "projects":
        return "This acts on a session: go to the sessions first (2)"
    row = context.row
    if row is None:
        return "No session here"
    if is_stand_in(row.key):
        return "This problem has no session to act on; i shows its path"
    return None


def _writes(context: Context) -> str | None:
    return _session(context) or _writable(context)


def _writable(context: Context) -> str | None:
    return (
        "Nothing can be changed: the browser runs with --read-only" if context.read_only else None
    )


def _live(context: Context) -> str | None:
    """For changes that make no sense in the trash."""
    if any(row.trashed_ms is not None for row in context.targets):
        return "The session is in the trash: a restores it first"
    return _writes(context)


def _purge(context: Context) -> str | None:
    if context.view != "trash":
        return "D deletes for good, in the Trash view only (f goes to the next view)"
    return _writes(context)


def _trash(context: Context) -> str | None:
    if any(row.trashed_ms is not None for row in context.targets):
        return "It is in the trash already: D deletes for good, a restores"
    return _writes(context)


def _read_all(context: Context) -> str | None:
    if not context.shown:
        return "No session here"
    return _writable(context)


def _shown(context: Context) -> str | None:
    return None if context.shown else "No session here"


def _labels(context: Context) -> str | None:
    if context.pane != "projects" and context.row is not None and context.row.source != "craft":
        return "Status and labels are Craft Agents'; Loop sessions have none"
    return _live(context)


def _hits(context: Context) -> str | None:
    if context.finding:
        return None
    return "Nothing was searched for: / in the history finds text, ctrl+f in all sessions"


def _one(context: Context) -> str | None:
    if len(context.targets) > 1:
        return "One session at a time: Esc takes the marks away"
    return _session(context)


def _rename(context: Context) -> str | None:
    return _live(context) or _one(context)


class Command(NamedTuple):
    """One row of the table. `keys[0]` is the key shown; `label` is for the footer."""

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    scope: Scope
    group: Group
    enabled: Reason = _always
    flipped: Callable[[Context], str] | None = None  # the label where it depends on the row
    destructive: bool = False

    def label_in(self, context: Context) -> str:
        return self.label if self.flipped is None else self.flipped(context)


def _read_label(context: Context) -> str:
    return "read" if not context.targets or any(r.unread for r in context.targets) else "unread"


def _pin_label(context: Context) -> str:
    pinned = context.targets and all(r.pinned_ms is not None for r in context.targets)
    return "unpin" if pinned else "pin"


def _archive_label(context: Context) -> str:
    rows = context.targets
    back = context.view == "trash" or (
        rows and all(r.archived or r.trashed_ms is not None for r in rows)
    )
    return "restore" if back else "archive"


_MOVE: tuple[Command, ...] = (
    Command("move.down", ("j", "down"), "down", "Move down", "list", "Move"),
    Command("move.up", ("k", "up"), "up", "Move up", "list", "Move"),
    Command("move.half_down", ("ctrl+d",), "half down", "Half a page down", "list", "Move"),
    Command("move.half_up", ("ctrl+u",), "half up", "Half a page up", "list", "Move"),
    Command("move.page_down", ("pagedown",), "page down", "A page down", "list", "Move"),
    Command("move.page_up", ("pageup",), "page up", "A page up", "list", "Move"),
    Command("move.first", ("g", "home"), "first", "First", "list", "Move"),
    Command("move.last", ("G", "end"), "last", "Last", "list", "Move"),
)

_SESSIONS: tuple[Command, ...] = (
    Command(
        "open", ("enter",), "open", "Open: go to the history", "sessions", "Sessions", _session
    ),
    Command("mark", ("space",), "mark", "Mark and go down", "sessions", "Sessions", _shown),
    Command(
        "mark.range",
        ("v",),
        "range",
        "Mark a range: v at one end, v at the other",
        "sessions",
        "Sessions",
        _shown,
    ),
    Command(
        "mark.all",
        ("*", "ctrl+a"),
        "mark all",
        "Mark all shown, or take all marks away",
        "sessions",
        "Sessions",
        _shown,
    ),
    Command(
        "read",
        ("u",),
        "read",
        "Toggle read and unread",
        "session",
        "Sessions",
        _live,
        flipped=_read_label,
    ),
    Command(
        "read.all", ("U",), "all read", "Mark all shown read", "session", "Sessions", _read_all
    ),
    Command("unread.next", ("]",), "next unread", "Next unread session", "sessions", "Sessions"),
    Command(
        "unread.previous",
        ("[",),
        "previous unread",
        "Previous unread session",
        "sessions",
        "Sessions",
    ),
    Command("pin", ("p",), "pin", "Pin or unpin", "session", "Sessions", _live, flipped=_pin_label),
    Command(
        "archive",
        ("a",),
        "archive",
        "Archive or restore; in the trash: put back",
        "session",
        "Sessions",
        _writes,
        flipped=_archive_label,
    ),
    Command(
        "delete",
        ("d", "delete"),
        "delete",
        "Move to the trash (asks)",
        "session",
        "Sessions",
        _trash,
        destructive=True,
    ),
    Command(
        "purge",
        ("D",),
        "delete for good",
        "Delete for good, in the Trash view only (asks)",
        "session",
        "Sessions",
        _purge,
        destructive=True,
    ),
    Command("rename", ("c",), "rename", "Rename", "session", "Sessions", _rename),
    Command(
        "labels",
        ("L",),
        "labels",
        "Status and labels (Craft Agents)",
        "session",
        "Sessions",
        _labels,
    ),
    Command(
        "resume",
        ("r",),
        "resume",
        "Resume in the agent, in the session's folder",
        "session",
        "Sessions",
        _one,
    ),
    Command(
        "export",
        ("e",),
        "export",
        "Export as Markdown, HTML or JSON",
        "session",
        "Sessions",
        _one,
    ),
    Command(
        "copy.id", ("y",), "copy id", "Copy the session's id", "sessions", "Sessions", _session
    ),
    Command(
        "copy.resume",
        ("Y",),
        "copy resume",
        "Copy the resume command",
        "sessions",
        "Sessions",
        _session,
    ),
    Command(
        "details",
        ("i",),
        "details",
        "Details: path, id, model, sizes",
        "sessions",
        "Sessions",
        _shown,
    ),
)

_HISTORY: tuple[Command, ...] = (
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
        _session,
    ),
    Command(
        "history.previous_round",
        ("[", "K"),
        "prev round",
        "Previous round",
        "history",
        "History",
        _session,
    ),
    Command("history.next_round", ("]", "J"), "next", "Next round", "history", "History", _session),
    Command(
        "history.earlier",
        ("m",),
        "earlier",
        "Load three earlier rounds",
        "history",
        "History",
        _session,
    ),
    Command("history.first", ("g", "home"), "first", "First round", "history", "History", _session),
    Command(
        "history.latest",
        ("G", "end"),
        "latest",
        "Latest round; follow new ones until scrolled up",
        "history",
        "History",
        _session,
    ),
    Command(
        "history.tools",
        ("t",),
        "tools",
        "Tool detail: off, line, clipped, full",
        "history",
        "History",
        _session,
    ),
    Command(
        "history.thinking", ("T",), "thinking", "Show thinking", "history", "History", _session
    ),
    Command(
        "history.copy_block",
        ("y",),
        "copy",
        "Copy the block under the line cursor",
        "history",
        "History",
        _session,
    ),
    Command(
        "history.copy_round", ("Y",), "copy round", "Copy the round", "history", "History", _session
    ),
    Command(
        "history.where",
        ("i",),
        "where",
        "Where am I: round, bytes, damage",
        "history",
        "History",
        _session,
    ),
)

_PANES: tuple[Command, ...] = (
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

_GLOBAL: tuple[Command, ...] = (
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
        _hits,
    ),
    Command(
        "find.previous",
        ("N",),
        "previous hit",
        "Previous hit of the find, or of the search",
        "global",
        "Everywhere",
        _hits,
    ),
    Command("undo", ("z",), "undo", "Take the last action back", "global", "Everywhere", _writable),
    Command("redo", ("Z",), "redo", "Do it again", "global", "Everywhere", _writable),
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

_SETTINGS: tuple[Command, ...] = (
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
        _writable,
    ),
    Command(
        "purge.all",
        (),
        "empty trash",
        "Empty the trash (asks)",
        "palette",
        "Settings",
        _writable,
        destructive=True,
    ),
)

COMMANDS: tuple[Command, ...] = (
    *_MOVE,
    *_SESSIONS,
    *_HISTORY,
    *_PANES,
    *_GLOBAL,
    *_SETTINGS,
)
BY_ID: Mapping[str, Command] = {command.id: command for command in COMMANDS}

FOOTER: Mapping[Pane, tuple[str, ...]] = {
    "projects": (
        "projects.open",
        "pane.right",
        "view.next",
        "filter",
        "undo",
        "refresh",
        "palette",
        "help",
        "close",
    ),
    "sessions": (
        "open",
        "mark",
        "read",
        "pin",
        "archive",
        "delete",
        "resume",
        "filter",
        "undo",
        "help",
        "unread.next",
        "view.next",
    ),
    "history": (
        "history.open",
        "history.previous_round",
        "history.next_round",
        "history.earlier",
        "history.tools",
        "history.latest",
        "filter",
        "undo",
        "help",
        "history.copy_block",
        "close",
    ),
}
FOOTER_TRASH = ("archive", "purge", "mark", "open", "filter", "undo", "help", "view.next")

Keymap = Mapping[str, str]
_NAMED_KEYS: Mapping[str, str] = {
    "enter": "Enter",
    "space": "Space",
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "delete": "Del",
    "home": "Home",
    "end": "End",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
_ASCII_KEYS: Mapping[str, str] = {"up": "Up", "down": "Down", "left": "Left", "right": "Right"}


def keys_of(command: Command, keymap: Keymap | None = None) -> tuple[str, ...]:
    """The keys of a command after the user's remapping; the first is the one shown."""
    mapped = (keymap or {}).get(command.id)
    if not mapped:
        return command.keys
    return tuple(key.strip() for key in mapped.split(",") if key.strip())


def key_label(key: str, *, ascii_only: bool = False) -> str:
    """A key as a person reads it: ``^d``, ``Space``, ``↓``, ``F5``."""
    if ascii_only and key in _ASCII_KEYS:
        return _ASCII_KEYS[key]
    if key in _NAMED_KEYS:
        return _NAMED_KEYS[key]
    if key.startswith("ctrl+") and len(key) == 6:
        return f"^{key[5:]}"
    if len(key) in (2, 3) and key[0] == "f" and key[1:].isdigit():
        return key.upper()
    return key


def keys_label(command: Command, keymap: Keymap | None = None, *, ascii_only: bool = False) -> str:
    """All keys of a command in one string."""
    return " ".join(key_label(k, ascii_only=ascii_only) for k in keys_of(command, keymap))


def commands_in(pane: Pane, commands: Sequence[Command] = COMMANDS) -> Iterator[Command]:
    """The commands a key can reach while `pane` has the focus."""
    scopes = SCOPES[pane]
    return (command for command in commands if command.scope in scopes)


def elsewhere(pane: Pane, key: str, keymap: Keymap | None = None) -> str | None:
    """Why `key`, which does nothing in `pane`, does nothing: the pane it belongs to.

    None for a key that acts here, and for one that no command has.
    """
    if any(key in keys_of(command, keymap) for command in commands_in(pane)):
        return None
    for command in COMMANDS:
        place = "history" if command.scope == "history" else "sessions"
        if key in keys_of(command, keymap) and command.scope != "palette":
            there = keys_label(BY_ID[f"pane.{place}"], keymap)
            return f"{command.help}: in the {place} only ({there} goes there)"
    return None


def conflicts(
    commands: Sequence[Command] = COMMANDS, keymap: Keymap | None = None
) -> list[tuple[str, str, str]]:
    """Keys that two commands share in one pane: (key, one id, other id)."""
    found: dict[tuple[str, str, str], None] = {}
    for pane in SCOPES:
        taken: dict[str, str] = {}
        for command in commands_in(pane, commands):
            for key in keys_of(command, keymap):
                other = taken.setdefault(key, command.id)
                if other != command.id:
                    found[key, other, command.id] = None
    return list(found)


_EDITING_KEYS = frozenset(("backspace", "x", "ctrl+w", "ctrl+x"))


def check_keymap(keymap: Keymap) -> tuple[dict[str, str], list[str]]:
    """The part of a user's keymap that can be used, and why the rest cannot.

    An entry is dropped when its id is unknown, when it would take the key of another
    command in the same pane, or when it would put a destructive command on a chord or an
    editing key (keys.md, rule 1).
    """
    good: dict[str, str] = {}
    faults: list[str] = []
    for name, keys in keymap.items():
        command = BY_ID.get(name)
        if command is None or command.scope == "palette" or name == "quit":
            faults.append(f"{name}: no such command can be remapped")
            continue
        wanted = [key.strip() for key in keys.split(",") if key.strip()]
        if not wanted:
            faults.append(f"{name}: no key given")
        elif command.destructive and any("+" in k or k in _EDITING_KEYS for k in wanted):
            faults.append(f"{name}: deletes, so it takes no chord and no editing key")
        else:
            good[name] = ",".join(wanted)
    while clashes := conflicts(COMMANDS, good):
        key, one, other = clashes[0]
        loser = other if other in good else one
        del good[loser]
        faults.append(f"{loser}: {key} belongs to {one if loser == other else other}")
    return good, faults


def keys_markdown(keymap: Keymap | None = None, commands: Sequence[Command] = COMMANDS) -> str:
    """The key table of the README, in Markdown."""
    lines: list[str] = []
    for group in GROUPS:
        rows = [c for c in commands if c.group == group and keys_of(c, keymap)]
        if not rows:
            continue
        lines += [f"**{group}**", "", "| key | action |", "|---|---|"]
        for command in rows:
            keys = " ".join(
                f"`{key_label(key)}`".replace("|", "\\|") for key in keys_of(command, keymap)
            )
            lines.append(f"| {keys} | {command.help} |")
        lines.append("")
    return "\n".join(lines)
