"""Copying: an id, a resume command, what the history hands over; a file for what is too long."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING

from loop_core import fsio
from loop_core.errors import LoopError, reason_of
from loop_core.model import SessionRow
from loop_tui import clipboard
from loop_tui.commands import Context
from loop_tui.screens.dialogs import PromptDialog

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler

__all__ = ["Copying"]


class Copying:
    """The clipboard of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen

    def handlers(self) -> dict[str, Handler]:
        return {
            "copy.id": lambda c: self.copy(c.targets[0].id, "the id"),
            "copy.resume": self._resume_of_row,
        }

    def copy(self, words: str, what: str) -> None:
        """Copy and say how, or offer a file for what a terminal would drop."""
        if clipboard.too_long(words):
            self._offer_file(words, what)
        else:
            self.screen.run_worker(self._copy(words, what), group="copy")

    async def _copy(self, words: str, what: str) -> None:
        screen = self.screen
        why = await clipboard.copy(screen.app, words)
        way = "through tmux" if clipboard.in_tmux() else "by the terminal (OSC 52)"
        if why is None:
            screen.toast(f"Copied {what} {way}")
        else:
            screen.toast(f"Not copied: {why}", "error")

    def _resume_of_row(self, context: Context) -> None:
        self.screen.run_worker(self.resume_command(context.targets[0]), group="copy")

    async def resume_command(self, row: SessionRow, what: str = "the resume command") -> None:
        """Copy the line that resumes `row` in a shell, `cd` included."""
        screen = self.screen
        try:
            argv, folder = await asyncio.to_thread(screen.service.resume_command, row.key)
        except LoopError as error:
            screen.toast(f"Nothing to copy: {reason_of(error)}", "warning")
            return
        self.copy(f"cd {shlex.quote(folder)} && {shlex.join(argv)}", what)

    # --- a file for what the clipboard cannot take

    def _offer_file(self, words: str, what: str) -> None:
        screen = self.screen
        path = os.path.join(os.path.expanduser("~"), "loop-tui-copy.txt")

        def answered(chosen: str | None) -> None:
            if chosen:
                screen.run_worker(self._write(os.path.expanduser(chosen), words), group="copy")

        heading = f"Too long for the clipboard: write {what} to a file"
        screen.app.push_screen(PromptDialog(heading, path), answered)

    async def _write(self, path: str, words: str) -> None:
        data = words.encode("utf-8", "replace")
        try:
            await asyncio.to_thread(fsio.write_new, path, data)
        except LoopError as error:
            self.screen.toast(f"Not written: {reason_of(error)}", "error")
        else:
            self.screen.toast(f"Written to {path}")
