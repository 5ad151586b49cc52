"""Resuming a session: the terminal is handed to its agent, and taken back when that ends."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from loop_core.errors import LoopError, reason_of
from loop_core.model import SessionRow
from loop_core.wording import MIGRATES
from loop_tui.commands import Context
from loop_tui.screens.dialogs import Answer, ConfirmDialog, Question
from loop_tui.screens.questions import AGENTS, facts_of, title_of

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler

__all__ = ["Resuming", "run_program"]


class Resuming:
    """The agents one browser screen starts."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen

    def handlers(self) -> dict[str, Handler]:
        return {"resume": self.resume}

    def resume(self, context: Context) -> None:
        """Start the agent of a session, after a question where it runs already."""
        row = context.targets[0]
        if not row.running(self.screen.now_ms):
            self.screen.run_worker(self._resume(row), group="act")
            return
        asked = Question(
            heading="Resume session",
            subject=(title_of(row),),
            facts=facts_of(
                row, self.screen.browse.names, self.screen.now_ms, self.screen.glyphs, None
            ),
            warning=f"{AGENTS[row.source]} is running it now: two of them would write one session.",
            consequence="Starts the agent in the session's folder.",
            confirm="Resume",
            separator=self.screen.glyphs.separator,
            danger=True,
        )

        def answered(answer: Answer | None) -> None:
            if answer is not None and answer.confirmed:
                self.screen.run_worker(self._resume(row), group="act")

        self.screen.app.push_screen(ConfirmDialog(asked), answered)

    async def _resume(self, row: SessionRow) -> None:
        screen = self.screen
        try:
            argv, folder = await asyncio.to_thread(screen.service.resume_command, row.key)
            if shutil.which(argv[0]) is None:
                what = f"the resume command, because {argv[0]} is not installed here,"
                await screen.copying.resume_command(row, what)
                return
            with screen.app.suspend():
                done = run_program(argv, folder, f"{MIGRATES}\n" if row.form == "loop2" else "")
        except SuspendNotSupported:
            screen.toast("This terminal cannot be handed to another program", "error")
        except LoopError as error:
            screen.toast(f"Cannot resume: {reason_of(error)}", "error")
        else:
            if isinstance(done, OSError):
                screen.toast(f"Cannot resume: {reason_of(done)}", "error")
                return
            word = "ended" if done == 0 else f"ended with status {done}"
            screen.toast(f"{AGENTS[row.source]} {word}")
            screen.news.rescan()


def run_program(argv: list[str], folder: str, note: str = "") -> int | OSError:
    """Say `note` and run a program in `folder`; its status, or why it did not start.

    Nothing is raised: only a suspension that is left normally gives the terminal back.
    """
    try:
        sys.stdout.write(note)
        sys.stdout.flush()
        return subprocess.run(argv, cwd=folder, check=False).returncode
    except OSError as error:
        return error
