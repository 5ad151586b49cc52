"""The keys of commands: the user's remapping, how they are shown, whether any two collide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loop_tui.commands.model import SCOPES, Command, Pane
from loop_tui.commands.table import BY_ID, COMMANDS, commands_in

__all__ = [
    "Keymap",
    "check_keymap",
    "conflicts",
    "elsewhere",
    "key_label",
    "keys_label",
    "keys_of",
]

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
