"""Where sessions and our own files are: stores to open, directories to name.

Our own files lie in the XDG directories (`loop-tui`), or all under `Options.base`. Finding
stores writes nothing and makes nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import platformdirs
from msgspec import Struct

from loop_core.loop.paths import get_agent_dir
from loop_core.sanitize import safe_line
from loop_core.store import SessionStore

if TYPE_CHECKING:
    from loop_tui.service import Options

__all__ = ["OwnPlaces", "open_stores", "own_places", "short_path", "store_paths", "why_empty"]

_APP = "loop-tui"


class OwnPlaces(Struct, frozen=True):
    """Our own directories (raw, absolute). None of them need exist."""

    settings: str
    state: str
    cache: str

    @property
    def journal(self) -> str:
        return os.path.join(self.state, "journal.jsonl")

    @property
    def search(self) -> str:
        return os.path.join(self.cache, "search")

    def listed(self) -> list[tuple[str, str]]:
        return [("settings", self.settings), ("state", self.state), ("cache", self.cache)]


def own_places(base: str | None) -> OwnPlaces:
    """The XDG directories, or three below `base`."""
    if base is not None:
        root = os.path.abspath(base)
        return OwnPlaces(*(os.path.join(root, name) for name in ("settings", "state", "cache")))
    return OwnPlaces(
        platformdirs.user_config_dir(_APP, appauthor=False),
        platformdirs.user_state_dir(_APP, appauthor=False),
        platformdirs.user_cache_dir(_APP, appauthor=False),
    )


def agent_dir(options: Options) -> str:
    """Loop's agent directory, made absolute (loop-format section 1)."""
    return os.path.abspath(options.agent_dir or get_agent_dir())


def craft_dirs(options: Options) -> list[str]:
    """Craft-Agents' configuration directories: those named, else those it would use.

    Its workspace discovery ignores CRAFT_CONFIG_DIR, so both are looked at (craft-format
    section 1).
    """
    if options.craft_dirs:
        found = [os.path.abspath(path) for path in options.craft_dirs]
    else:
        home = os.path.join(os.path.expanduser("~"), ".craft-agent")
        chosen = os.environ.get("CRAFT_CONFIG_DIR")
        found = [os.path.abspath(chosen)] if chosen else []
        found.append(home)
    return list(dict.fromkeys(found))


def open_stores(options: Options, own: OwnPlaces) -> list[SessionStore]:
    """The stores of the options, Loop's first; each at most once."""
    stores: list[SessionStore] = []
    roots = {} if options.no_loop else {agent_dir(options): False}
    for path in options.sessions:
        roots.setdefault(os.path.abspath(path), True)
    if roots:
        from loop_core.loop.store import LoopStore

        for root, collection in roots.items():
            store = LoopStore(
                root,
                collection=collection,
                trace_root=options.trace_dir,
                read_only=options.read_only,
                cache_dir=os.path.join(own.cache, "rounds"),
                titles=options.titles,
            )
            stores.append(store)
    if not options.no_craft:
        from loop_core.craft.store import stores_in

        stores += stores_in(craft_dirs(options), read_only=options.read_only)
    return stores


def trace_roots(options: Options) -> tuple[str, ...]:
    """Where traces may lie outside the stores: the one named, or beside named collections."""
    if options.trace_dir is not None:
        return (os.path.abspath(options.trace_dir),)
    above = [os.path.dirname(os.path.dirname(os.path.abspath(p))) for p in options.sessions]
    return tuple(dict.fromkeys(os.path.join(path, "traces") for path in above))


def store_paths(options: Options, stores: tuple[SessionStore, ...]) -> list[tuple[str, str]]:
    """What is read and written for sessions, as (name, path)."""
    found: list[tuple[str, str]] = []
    for store in stores:
        found.append((f"{store.source} sessions", str(store.root)))
        found += [(f"{store.source} trash", path) for path in store.trash_dirs()]
    if options.trace_dir is not None:
        found.append(("traces", os.path.abspath(options.trace_dir)))
    return list(dict.fromkeys(found))


def why_empty(stores: tuple[SessionStore, ...]) -> str:
    """One line: where it looked and what it found there."""
    if not stores:
        return "No sessions: every source is switched off."
    looked = []
    for store in stores:
        root = str(store.root)
        if not os.path.lexists(root):
            state = "does not exist"
        elif not os.path.isdir(root):
            state = "is not a directory"
        elif not os.access(root, os.R_OK | os.X_OK):
            state = "cannot be read"
        else:
            state = "holds no session"
        looked.append(f"{root} {state}")
    return "No sessions: " + "; ".join(looked) + "."


def short_path(path: str) -> str:
    """A path as a person reads it: `~` for the home folder, nothing a terminal acts on."""
    home = os.path.expanduser("~")
    if path == home or path.startswith(home.rstrip("/") + "/"):
        path = "~" + path[len(home.rstrip("/")) :]
    return safe_line(path)
