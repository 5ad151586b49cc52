"""Performing changes: one after the other in a thread, told when done, looked at afterwards.

The list shows what the service says is on disk now. A second after a change the store is
looked at again, because an owner may have written its own memory over it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from loop_core.errors import LoopError, reason_of
from loop_core.model import SessionKey
from loop_core.plans import Intent
from loop_core.sanitize import safe_line
from loop_tui.messages import Progressed
from loop_tui.screens.dialogs import ConfirmDialog, Question
from loop_tui.screens.questions import AGENTS, counted, title_of

if TYPE_CHECKING:
    from loop_core.outcome import Outcome
    from loop_tui.screens.browser import BrowserScreen

__all__ = ["Action", "Call", "Changes"]

Action = Literal["pin", "unpin", "archive", "restore", "put back", "trash", "purge"]
Call = Callable[[Callable[[Any], None]], "Outcome"]

LOOK_AFTER_S = 1.0  # Craft-Agents writes its own state back within half a second
_CAPABILITY = {"trash": "trash", "restore": "archive", "unpin": "pin", "unread": "read"}
_DOING = {
    "pin": "Pinning",
    "unpin": "Unpinning",
    "archive": "Archiving",
    "restore": "Restoring",
    "put back": "Restoring",
    "trash": "Moving to the trash",
    "purge": "Deleting",
    "read": "Marking read",
    "unread": "Marking unread",
}


class Changes:
    """The changes of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen
        self._turn = asyncio.Lock()

    # --- starting them

    def start(self, action: str, keys: Sequence[SessionKey], *, force: bool = False) -> None:
        """Do `action` to sessions; `force` where their owner stands in the way."""
        service = self.screen.service
        calls: dict[str, Call] = {
            "trash": lambda progress: service.trash(keys, progress, force=force),
            "purge": lambda progress: service.purge(keys, progress),
            "put back": lambda progress: service.restore(keys, progress),
        }
        call = calls.get(action)
        if call is None:
            intent = Intent(do=action)  # type: ignore[arg-type]  # one of Intent's own words
            self.run(action, lambda progress: service.act(keys, intent, progress, force=force))
        else:
            self.run(action, call)

    def act(self, verb: str, keys: Sequence[SessionKey], intent: Intent) -> None:
        """One intent on sessions, told under the name `verb`."""
        service = self.screen.service
        self.run(verb, lambda progress: service.act(keys, intent, progress))

    # --- running them

    def run(self, verb: str, call: Call, *, quiet: bool = False) -> None:
        """Run `call` in its turn; `quiet` says nothing unless something failed."""
        self.screen.run_worker(self._perform(verb, call, quiet=quiet), group="act")

    async def _perform(self, verb: str, call: Call, *, quiet: bool) -> None:
        screen = self.screen

        def progress(step: Any) -> None:
            if step.total > 20:
                doing = _DOING.get(verb, "Working")
                screen.post_message(Progressed(doing, step.done, step.total))

        async with self._turn:
            try:
                outcome = await asyncio.to_thread(call, progress)
            except LoopError as error:
                screen.toast(reason_of(error), "error")
                return
        screen.browse.marks.difference_update(done.key for done in outcome.done)
        screen.news.apply(screen.service.snapshot)
        if not quiet or outcome.failed:
            self._tell(outcome)
        if outcome.failed:
            await self._offer_force(verb, outcome)
        if outcome.done and verb not in ("purge", "trash"):
            await self._verify([done.key for done in outcome.done])

    def _tell(self, outcome: Outcome) -> None:
        screen = self.screen
        text = outcome.text
        if outcome.undoable:
            key = screen.keyboard.key_of("redo" if outcome.action == "undo" else "undo")
            word = "redoes" if outcome.action == "undo" else "undoes"
            text = f"{text} {screen.glyphs.separator} {key} {word}"
        if outcome.failed:
            first = outcome.failed[0]
            row = screen.browse.rows.get(first.key)
            name = first.id if row is None else title_of(row)
            more = len(outcome.failed) - 1
            why = f"{name}: {first.reason}" + (f" (and {more} more)" if more else "")
            if not outcome.done:
                text = ""
            text = f"{text} {screen.glyphs.separator} {why}" if text else f"Not done: {why}"
        if outcome.failed:
            screen.toast(text, "error")
        else:
            screen.toast(text, "warning" if outcome.at_risk else "good")

    async def _offer_force(self, verb: str, outcome: Outcome) -> None:
        """Where the owner stands in the way and it is possible all the same: ask once."""
        screen = self.screen
        wanted = _CAPABILITY.get(verb, verb)
        keys: list[SessionKey] = []
        for failed in outcome.failed:
            try:
                able = await asyncio.to_thread(screen.service.capabilities, failed.key)
            except LoopError:
                continue
            if wanted in able.forced:
                keys.append(failed.key)
        rows = [screen.browse.rows[key] for key in keys if key in screen.browse.rows]
        if not rows:
            return
        asked = Question(
            heading="Do it anyway?",
            subject=tuple(title_of(row) for row in rows[:5]),
            facts=counted(len(rows)),
            warning=safe_line(outcome.failed[0].reason),
            consequence=f"{AGENTS[rows[0].source]} may write its own state over this.",
            confirm="Do it anyway",
            does="does it",
            separator=screen.glyphs.separator,
            danger=True,
        )
        screen.app.push_screen(
            ConfirmDialog(asked),
            lambda answer: (
                self.start(verb, keys, force=True) if answer and answer.confirmed else None
            ),
        )

    async def _verify(self, keys: Sequence[SessionKey]) -> None:
        """Whether the owner took our change back, about a second later."""
        await asyncio.sleep(LOOK_AFTER_S)
        screen = self.screen
        try:
            reverted = await asyncio.to_thread(screen.service.look, keys)
        except LoopError:
            return  # the session is gone; the list shows that
        if reverted:
            more = f" (and {len(reverted) - 1} more)" if len(reverted) > 1 else ""
            screen.toast(f"{reverted[0].text}{more}", "warning")
            screen.news.apply(screen.service.snapshot)

    # --- undo

    def travel(self, way: Literal["undo", "redo"]) -> None:
        """Take the last action back, or do it again."""
        self.screen.run_worker(self._travel_now(way), group="act")

    async def _travel_now(self, way: Literal["undo", "redo"]) -> None:
        screen = self.screen
        async with self._turn:
            try:
                outcome = await asyncio.to_thread(getattr(screen.service, way))
            except LoopError as error:
                screen.toast(reason_of(error), "error")
                return
        screen.news.apply(screen.service.snapshot)
        if outcome.done:
            self._show_restored(outcome)
        self._tell(outcome)

    def _show_restored(self, outcome: Outcome) -> None:
        """Bring the first session of an undo into view, wherever it went.

        A cursor that is on one of several stays: nothing moves that need not.
        """
        screen = self.screen
        if screen.browse.cursor in {done.key for done in outcome.done}:
            screen.board.show_all()
            return
        done = outcome.done[0]
        key: SessionKey | None = done.key
        if key not in screen.browse.rows:
            key = next((k for k, row in screen.browse.rows.items() if row.id == done.id), None)
        if key is not None:
            screen.places.reveal(key)
