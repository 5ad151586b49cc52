"""Every command that changes a session: which change is meant, and the question before it.

The keys of the sessions are captured when the command runs, and the dialog is pushed in the
same call, so that keys already queued reach it (keys.md section 2). What was confirmed is
performed by `loop_tui.screens.changes`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from loop_core.errors import LoopError
from loop_core.model import SessionKey, SessionRow
from loop_core.plans import Intent
from loop_core.sanitize import safe_line
from loop_tui.commands import Context
from loop_tui.screens.dialogs import (
    Answer,
    ArchiveDialog,
    ConfirmDialog,
    PinDialog,
    PromptDialog,
)
from loop_tui.screens.questions import counted, facts_of, is_lone, question
from loop_tui.state.views import is_stand_in

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen
    from loop_tui.screens.changes import Action
    from loop_tui.screens.keyboard import Handler

__all__ = ["Triage"]


class Triage:
    """The questions of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen
        self.kept_unread: set[SessionKey] = set()  # marked unread by hand: looking leaves it

    def handlers(self) -> dict[str, Handler]:
        """What the commands of the table do, by id."""
        return {
            "pin": self.pin,
            "archive": self.archive,
            "delete": lambda c: self._ask("trash", c.targets),
            "purge": lambda c: self._ask("purge", c.targets),
            "purge.all": self.purge_all,
            "read": self.read,
            "read.all": self.read_all,
            "rename": self.rename,
            "labels": self.labels,
            "undo": lambda _: self.screen.changes.travel("undo"),
            "redo": lambda _: self.screen.changes.travel("redo"),
        }

    # --- pin, archive, delete

    def pin(self, context: Context) -> None:
        """Pin what is not pinned yet; unpin when everything is."""
        rows = context.targets
        wanted: Action = "pin" if any(row.pinned_ms is None for row in rows) else "unpin"
        self._ask(wanted, rows, silent=not self.screen.preferences.value.ask_pin)

    def archive(self, context: Context) -> None:
        """Archive what is not archived yet; restore when everything is; out of the trash."""
        rows = context.targets
        if any(row.trashed_ms is not None for row in rows):
            self._ask("put back", [row for row in rows if row.trashed_ms is not None])
            return
        back = all(row.archived or is_lone(row) for row in rows)
        wanted: Action = "restore" if back else "archive"
        self._ask(wanted, rows, silent=not self.screen.preferences.value.ask_archive)

    def purge_all(self, _: Context) -> None:
        rows = [row for row in self.screen.browse.rows.values() if row.trashed_ms is not None]
        if rows:
            self._ask("purge", rows)
        else:
            self.screen.toast("The trash is empty")

    def _ask(self, action: Action, rows: Sequence[SessionRow], *, silent: bool = False) -> None:
        rows = [row for row in rows if not is_stand_in(row.key)]
        keys = [row.key for row in rows]
        if silent:
            self.screen.changes.start(action, keys)
            return
        screen = self.screen
        asked = question(
            action,
            rows,
            screen.browse.names,
            now_ms=screen.now_ms,
            glyphs=screen.glyphs,
            undo_key=screen.keyboard.key_of("undo"),
            letter=screen.keyboard.key_of({"pin": "pin", "unpin": "pin"}.get(action, "archive")),
        )

        def answered(answer: Answer | None) -> None:
            if answer is None or not answer.confirmed:
                return
            if answer.never_ask:
                name = "ask_pin" if action in ("pin", "unpin") else "ask_archive"
                screen.preferences.change(**{name: False})
            self.screen.changes.start(action, keys)

        dialog = {
            "pin": PinDialog,
            "unpin": PinDialog,
            "archive": ArchiveDialog,
            "restore": ArchiveDialog,
            "put back": ArchiveDialog,
        }.get(action, ConfirmDialog)(asked)
        screen.app.push_screen(dialog, answered)
        if len(rows) == 1:
            screen.run_worker(self._count_rounds(dialog, rows[0]), group="rounds", exclusive=True)
        if action == "trash" and any(row.source == "craft" for row in rows):
            screen.run_worker(self._warn_shared(dialog, rows), group="warn", exclusive=True)

    async def _count_rounds(self, dialog: ConfirmDialog, row: SessionRow) -> None:
        """Put the number of rounds into an open dialog, once it is known."""
        screen = self.screen
        try:
            page = await asyncio.to_thread(
                lambda: screen.service.page(
                    row.key, rounds=1, cancelled=lambda: dialog not in screen.app.screen_stack
                )
            )
        except LoopError:
            return  # the dialog names the messages instead
        facts = facts_of(row, screen.browse.names, screen.now_ms, screen.glyphs, page.total_rounds)
        dialog.show_facts(facts)

    async def _warn_shared(self, dialog: ConfirmDialog, rows: Sequence[SessionRow]) -> None:
        """Say in an open dialog which public copies the trash does not take along."""
        keys = [row.key for row in rows if row.source == "craft"]
        found = await asyncio.to_thread(self.screen.service.trash_warnings, keys)
        facts = dialog.query(".dialog-facts")
        if not found or not facts:
            return
        text = found[0] if len(rows) == 1 else f"{counted(len(found))} with: {found[0]}"
        line = Static(Content(f"! {safe_line(text)}"), classes="dialog-warning")
        await dialog.query_one("#dialog").mount(line, after=facts.last())

    # --- read marks

    def read(self, context: Context) -> None:
        """Mark read what is unread; unread again when everything is read."""
        rows = context.targets
        unread = [row for row in rows if row.unread]
        if unread:
            self.kept_unread.difference_update(row.key for row in unread)
            self.screen.changes.start("read", [row.key for row in unread])
        else:
            self.kept_unread.update(row.key for row in rows)
            self.screen.changes.start("unread", [row.key for row in rows])

    def read_all(self, _: Context) -> None:
        keys = [r.key for r in self.screen.browse.shown if r.unread and r.trashed_ms is None]
        if keys:
            self.kept_unread.difference_update(keys)
            self.screen.changes.start("read", keys)
        else:
            self.screen.toast("Nothing unread here")

    def output_seen(self, key: SessionKey) -> None:
        """The last output was on screen in the focused history: Loop's own read rule."""
        screen = self.screen
        row = screen.browse.rows.get(key)
        if (
            row is None
            or not row.unread
            or row.trashed_ms is not None
            or key in self.kept_unread
            or screen.read_only
            or not screen.preferences.value.auto_read
            or (row.source == "craft" and row.owner_live)
            or (row.linked and row.form != "loop2")  # not written through a linked directory
        ):
            return
        service = screen.service
        self.screen.changes.run(
            "read",
            lambda progress: service.act([key], Intent(do="read"), progress, step=False),
            quiet=True,
        )

    # --- one session

    def rename(self, context: Context) -> None:
        row = context.targets[0]

        def answered(name: str | None) -> None:
            if name is None or name.strip() == (row.title or ""):
                return
            intent = Intent(do="rename", value=name.strip())
            self.screen.changes.act("rename", [row.key], intent)

        self.screen.app.push_screen(PromptDialog("Rename", row.title or ""), answered)

    def labels(self, context: Context) -> None:
        from loop_tui.screens.labels import ask_labels

        ask_labels(self.screen, context.targets, self.screen.changes.act)
