"""Taking a session along, and getting disk space back: two dialogs and what they start."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from loop_core.errors import LoopError, reason_of
from loop_core.model import SessionRow
from loop_core.sanitize import safe_line
from loop_tui.commands import Context
from loop_tui.screens.dialogs import Answer, ConfirmDialog, PromptDialog, Question
from loop_tui.screens.questions import NAMED, counted, title_of
from loop_tui.text import Glyphs, human_size

if TYPE_CHECKING:
    from loop_core.loop.reclaim import Reclaimable
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.keyboard import Handler

__all__ = ["Saving", "reclaim_question"]


class Plan(NamedTuple):
    """What one session would give back."""

    row: SessionRow
    plan: Reclaimable


class Saving:
    """Export and reclaim of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen

    def handlers(self) -> dict[str, Handler]:
        return {"export": self.export, "reclaim": lambda _: self.reclaim()}

    # --- export

    def export(self, context: Context) -> None:
        """Ask where to; the ending names the format."""
        from loop_core.export import file_name

        row = context.targets[0]
        folder = os.getcwd()
        name = os.path.join(folder, file_name(row, "md"))

        def answered(path: str | None) -> None:
            if path and path.strip():
                self.screen.run_worker(self._export(row, path.strip()), group="export")

        hint = "Enter writes it: .md, .html or .json. Esc leaves"
        self.screen.app.push_screen(PromptDialog("Export", name, hint=hint), answered)

    async def _export(self, row: SessionRow, path: str, *, force: bool = False) -> None:
        from loop_tui.exporting import target_of

        screen = self.screen
        path = await asyncio.to_thread(target_of, row, path)
        if not force and await asyncio.to_thread(os.path.lexists, path):
            self._ask_replace(row, path)
            return
        screen.toast(f"Exporting {title_of(row)}{screen.glyphs.ellipsis}", seconds=600)
        try:
            written = await asyncio.to_thread(screen.service.export, row.key, path, force=force)
        except LoopError as error:
            screen.toast(f"Not exported: {reason_of(error)}", "error")
        else:
            screen.toast(f"Exported to {written}", "good")

    def _ask_replace(self, row: SessionRow, path: str) -> None:
        asked = Question(
            heading="Replace the file?",
            subject=(safe_line(path),),
            facts="A file of this name is there already.",
            consequence="Its content is lost.",
            confirm="Replace",
            danger=True,
            separator=self.screen.glyphs.separator,
        )

        def answered(answer: Answer | None) -> None:
            if answer is not None and answer.confirmed:
                self.screen.run_worker(self._export(row, path, force=True), group="export")

        self.screen.app.push_screen(ConfirmDialog(asked), answered)

    # --- reclaim

    def reclaim(self) -> None:
        self.screen.run_worker(self._preview(), group="reclaim", exclusive=True)

    async def _preview(self) -> None:
        """Look at every Loop session, then show what would be freed and ask."""
        screen = self.screen
        rows = [r for r in screen.browse.snapshot.rows if r.form == "loop3" and not r.trashed_ms]
        found: list[Plan] = []
        for number, row in enumerate(rows):
            if number % 20 == 0:
                screen.toast(f"Looking for space: {number:,} of {len(rows):,}", seconds=600)
            try:
                found.append(
                    Plan(row, await asyncio.to_thread(screen.service.plan_reclaim, row.key))
                )
            except LoopError:
                continue  # gone, or shown among the problems
        todo = [one for one in found if one.plan.freed > 0 and one.plan.refused is None]
        later = [one for one in found if one.plan.refused or one.plan.backup_refused]
        screen.clear_toast()
        if not todo:
            why = f": {later[0].plan.refused or later[0].plan.backup_refused}" if later else ""
            left = f"; {counted(len(later))} not now{why}" if later else ""
            screen.toast(f"Nothing to free now{left}")
            return

        def answered(answer: Answer | None) -> None:
            if answer is not None and answer.confirmed:
                screen.run_worker(self._reclaim(todo), group="reclaim", exclusive=True)

        asked = reclaim_question(todo, len(later), screen.glyphs)
        screen.app.push_screen(ConfirmDialog(asked), answered)

    async def _reclaim(self, todo: Sequence[Plan]) -> None:
        screen = self.screen
        freed = done = 0
        faults: list[str] = []
        for number, one in enumerate(todo):
            screen.toast(f"Freeing space: {number:,} of {len(todo):,}", seconds=600)
            try:
                before, after = await asyncio.to_thread(
                    screen.service.reclaim, one.row.key, one.plan
                )
            except LoopError as error:
                faults.append(f"{title_of(one.row)}: {reason_of(error)}")
            else:
                freed, done = freed + before - after, done + 1
        text = f"Freed {human_size(freed)} in {counted(done)}"
        if faults:
            text = f"{text} {screen.glyphs.separator} not done: {faults[0]}"
        screen.toast(text, "error" if faults else "good")
        screen.news.rescan()


def reclaim_question(todo: Sequence[Plan], later: int, glyphs: Glyphs) -> Question:
    """What would be freed, and why nobody may have these sessions open."""
    from loop_core.loop.reclaim import WHY_CLOSED

    ordered = sorted(todo, key=lambda one: -one.plan.freed)
    lines = [f"{human_size(one.plan.freed)}  {title_of(one.row)}" for one in ordered[:NAMED]]
    if len(ordered) > NAMED:
        lines.append(f"{glyphs.ellipsis} and {len(ordered) - NAMED:,} more")
    facts = f"Frees {human_size(sum(one.plan.freed for one in todo))} in {counted(len(todo))}"
    if later:
        facts += f" {glyphs.separator} {counted(later)} not now (changed lately, or not sure)"
    return Question(
        heading="Free disk space",
        subject=tuple(lines),
        facts=facts,
        warning=WHY_CLOSED,
        consequence=(
            "Rewrites each session to its committed messages and removes version-2 backups "
            "that were checked against it. This cannot be undone."
        ),
        confirm="Free",
        does="frees: no Loop is running",
        danger=True,
        separator=glyphs.separator,
    )
