"""From a key to a command: what may run now, why another may not, and what just closed.

Every command of the table comes through `run`, by key, palette or mouse, so that none can
run where its row says it is off (keys.md section 3).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from textual import events
from textual.widgets import Input

from loop_tui.commands import BY_ID, Context, elsewhere, key_label, keys_of
from loop_tui.widgets.bars import Toast

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen

__all__ = ["Handler", "Keyboard", "Part"]

Handler = Callable[[Context], None]


class Part(Protocol):
    """Something on the screen that deals with commands of the table."""

    def handlers(self) -> Mapping[str, Handler]:
        """What its commands do, by id."""


BREATH_S = 0.008
GUARD_S = 0.3  # so long after something closed, `q` does not quit


class Keyboard:
    """The commands of one browser screen, by id."""

    def __init__(self, screen: BrowserScreen, *parts: Part) -> None:
        self.screen = screen
        self.handlers = {name: run for part in parts for name, run in part.handlers().items()}
        self.last_key = 0.0  # monotonic; 0.0 when none was pressed yet
        self._breath = 0.0
        self._closed_at = 0.0
        self._refusal: Toast | None = None

    def context(self) -> Context:
        """What the commands may look at now."""
        screen = self.screen
        browse = screen.browse
        return Context(
            pane=screen.pane,
            view=browse.view,
            targets=browse.targets(),
            shown=len(browse.shown),
            read_only=screen.read_only,
            finding=screen.history.finding or screen.searching.walking,
        )

    def key_of(self, command: str) -> str:
        """The key of a command as a sentence names it."""
        keys = keys_of(BY_ID[command], self.screen.owner.keymap)
        return key_label(keys[0], ascii_only=self.screen.ascii_only) if keys else ""

    def run(self, command: str) -> None:
        """Run a command of the table, or say why it cannot run now."""
        self.touch()
        context = self.context()
        reason = BY_ID[command].enabled(context)
        if reason is not None:
            self._refuse(reason)
            return
        toast = self.screen.status.toast
        if toast is not None and toast is self._refusal:
            self.screen.clear_toast()  # the next key worked
        self.handlers[command](context)

    def pressed(self, event: events.Key) -> None:
        """A key no binding took: one of another pane says so (keys.md, rule 5)."""
        self.touch()
        if isinstance(self.screen.focused, Input):
            return
        name = event.character if event.is_printable and event.key != "space" else event.key
        if name and (reason := elsewhere(self.screen.pane, name, self.screen.owner.keymap)):
            self._refuse(reason)

    def _refuse(self, reason: str) -> None:
        self.screen.toast(reason, "warning")
        self._refusal = self.screen.status.toast

    def touch(self) -> None:
        """Somebody is at the keys."""
        self.last_key = time.monotonic()

    async def breathe(self) -> None:
        """Let the loop come round between keys of a burst, so that frames are drawn and other
        messages heard; without it hundreds of waiting keys would be one long step."""
        if time.monotonic() - self._breath > BREATH_S:
            await asyncio.sleep(0)
            self._breath = time.monotonic()

    # --- a key typed twice in a hurry

    def note_closed(self) -> None:
        """Something closed just now."""
        self._closed_at = time.monotonic()

    def close_guarded(self) -> bool:
        """Whether something was closed by the same key a moment ago."""
        return time.monotonic() - self._closed_at < GUARD_S
