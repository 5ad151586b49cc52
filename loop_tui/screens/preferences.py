"""The settings: what is chosen for good, kept in the settings file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from loop_tui.screens.listing import ChoiceScreen, Option

if TYPE_CHECKING:
    from collections.abc import Hashable

    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler
    from loop_tui.settings import Settings

__all__ = ["Preferences"]


class Preferences:
    """The settings of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen

    def handlers(self) -> dict[str, Handler]:
        return {
            "theme": lambda _: self.theme(),
            "toggle.hidden": lambda _: self.toggle_hidden(),
            "toggle.ask_pin": lambda _: self.toggle("ask_pin", "Asking before a pin"),
            "toggle.ask_archive": lambda _: self.toggle("ask_archive", "Asking before archiving"),
            "toggle.auto_read": lambda _: self.toggle("auto_read", "Marking read what was seen"),
        }

    @property
    def value(self) -> Settings:
        """The settings as they are now."""
        return self.screen.owner.settings_file.value

    def change(self, **values: Any) -> None:
        """Keep a setting; a file that cannot be written is said once (failures row 154)."""
        if self.screen.owner.settings_file.change(**values):
            self.screen.run_worker(self._save(), group="settings")

    async def _save(self) -> None:
        why = await asyncio.to_thread(self.screen.owner.settings_file.save)
        if why is not None:
            self.screen.toast(why, "warning")

    def theme(self) -> None:
        screen = self.screen
        names = sorted(screen.app.available_themes)
        names.sort(key=lambda name: name not in ("night", "day"))
        notes = {
            "night": "ours, dark",
            "day": "ours, light",
            "ansi-dark": "the terminal's own colours",
            "ansi-light": "the terminal's own colours",
            "textual-ansi": "the terminal's own colours",
        }
        options = [Option(name, name, notes.get(name, "")) for name in names]

        def answered(chosen: tuple[Hashable, ...] | None) -> None:
            if chosen:
                screen.app.theme = str(chosen[0])
                self.change(theme=str(chosen[0]))

        screen.app.push_screen(
            ChoiceScreen(
                "Theme", options, chosen=(screen.app.theme,), ascii_only=screen.ascii_only
            ),
            answered,
        )

    def toggle(self, name: str, words: str) -> None:
        value = not getattr(self.value, name)
        self.change(**{name: value})
        self.screen.toast(f"{words}: {'on' if value else 'off'}")

    def toggle_hidden(self) -> None:
        screen = self.screen
        screen.browse.toggle_hidden()
        self.change(show_hidden=screen.browse.show_hidden)
        screen.board.show_all()
        state = "shown" if screen.browse.show_hidden else "hidden"
        screen.toast(f"Helper sessions are {state}")
