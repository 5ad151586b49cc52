"""Every action that changes a session, from the key to the toast.

The keys of the sessions are captured when the command runs, and the dialog is pushed in the
same call, so that keys already queued reach it (keys.md section 2). Changes run one after
the other in a thread; the list shows what the service says is on disk now.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from textual.app import SuspendNotSupported
from textual.content import Content
from textual.widgets import Static

from loop_core.errors import LoopError, reason_of
from loop_core.model import Intent, SessionKey, SessionRow
from loop_core.sanitize import safe_line
from loop_tui import clipboard
from loop_tui.commands import Context
from loop_tui.messages import Progressed
from loop_tui.screens.dialogs import (
    Answer,
    ArchiveDialog,
    ConfirmDialog,
    PinDialog,
    PromptDialog,
    Question,
)
from loop_tui.screens.questions import AGENTS, counted, facts_of, question, title_of
from loop_tui.state.views import is_stand_in

if TYPE_CHECKING:
    from loop_core.outcome import Outcome
    from loop_tui.screens.browser import BrowserScreen

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


def is_lone(row: SessionRow) -> bool:
    """Whether a crash of Craft-Agents left only the temporary file; restore brings it back."""
    return row.source == "craft" and row.trashed_ms is None and row.path.endswith(".tmp")


class Triage:
    """The actions of one browser screen."""

    def __init__(self, screen: BrowserScreen) -> None:
        self.screen = screen
        self.kept_unread: set[SessionKey] = set()  # marked unread by hand: looking leaves it
        self._turn = asyncio.Lock()

    def handlers(self) -> dict[str, Callable[[Context], None]]:
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
            "undo": lambda _: self._travel("undo"),
            "redo": lambda _: self._travel("redo"),
            "resume": self.resume,
            "copy.id": self.copy_id,
            "copy.resume": self.copy_resume,
        }

    # --- pin, archive, delete

    def pin(self, context: Context) -> None:
        """Pin what is not pinned yet; unpin when everything is."""
        rows = context.targets
        wanted: Action = "pin" if any(row.pinned_ms is None for row in rows) else "unpin"
        self._ask(wanted, rows, silent=not self.screen.settings.ask_pin)

    def archive(self, context: Context) -> None:
        """Archive what is not archived yet; restore when everything is; out of the trash."""
        rows = context.targets
        if any(row.trashed_ms is not None for row in rows):
            self._ask("put back", [row for row in rows if row.trashed_ms is not None])
            return
        back = all(row.archived or is_lone(row) for row in rows)
        wanted: Action = "restore" if back else "archive"
        self._ask(wanted, rows, silent=not self.screen.settings.ask_archive)

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
            self._start(action, keys)
            return
        screen = self.screen
        asked = question(
            action,
            rows,
            screen.browse.names,
            now_ms=screen.now_ms,
            glyphs=screen.glyphs,
            undo_key=screen.key_of("undo"),
            letter=screen.key_of({"pin": "pin", "unpin": "pin"}.get(action, "archive")),
        )

        def answered(answer: Answer | None) -> None:
            if answer is None or not answer.confirmed:
                return
            if answer.never_ask:
                name = "ask_pin" if action in ("pin", "unpin") else "ask_archive"
                screen.change_settings(**{name: False})
            self._start(action, keys)

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

    def _start(self, action: str, keys: Sequence[SessionKey], *, force: bool = False) -> None:
        service = self.screen.service
        calls: dict[str, Call] = {
            "trash": lambda progress: service.trash(keys, progress, force=force),
            "purge": lambda progress: service.purge(keys, progress),
            "put back": lambda progress: service.restore(keys, progress),
        }
        call = calls.get(action)
        if call is None:
            intent = Intent(do=action)  # type: ignore[arg-type]  # one of Intent's own words
            self._run(action, lambda progress: service.act(keys, intent, progress, force=force))
        else:
            self._run(action, call)

    # --- read marks

    def read(self, context: Context) -> None:
        """Mark read what is unread; unread again when everything is read."""
        rows = context.targets
        unread = [row for row in rows if row.unread]
        if unread:
            self.kept_unread.difference_update(row.key for row in unread)
            self._start("read", [row.key for row in unread])
        else:
            self.kept_unread.update(row.key for row in rows)
            self._start("unread", [row.key for row in rows])

    def read_all(self, _: Context) -> None:
        keys = [r.key for r in self.screen.browse.shown if r.unread and r.trashed_ms is None]
        if keys:
            self.kept_unread.difference_update(keys)
            self._start("read", keys)
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
            or not screen.settings.auto_read
            or (row.source == "craft" and row.owner_live)
        ):
            return
        service = screen.service
        self._run(
            "read",
            lambda progress: service.act([key], Intent(do="read"), progress, step=False),
            quiet=True,
        )

    # --- running them

    def _run(self, verb: str, call: Call, *, quiet: bool = False) -> None:
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
        screen.apply(screen.service.snapshot)
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
            key = screen.key_of("redo" if outcome.action == "undo" else "undo")
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
        screen.toast(text, "error" if outcome.failed else "good")

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
                self._start(verb, keys, force=True) if answer and answer.confirmed else None
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
            screen.apply(screen.service.snapshot)

    # --- undo

    def _travel(self, way: Literal["undo", "redo"]) -> None:
        self.screen.run_worker(self._travel_now(way), group="act")

    async def _travel_now(self, way: Literal["undo", "redo"]) -> None:
        screen = self.screen
        async with self._turn:
            try:
                outcome = await asyncio.to_thread(getattr(screen.service, way))
            except LoopError as error:
                screen.toast(reason_of(error), "error")
                return
        screen.apply(screen.service.snapshot)
        if outcome.done:
            self._show_restored(outcome)
        self._tell(outcome)

    def _show_restored(self, outcome: Outcome) -> None:
        """Bring the first session of an undo into view, wherever it went.

        A cursor that is on one of several stays: nothing moves that need not.
        """
        screen = self.screen
        if screen.browse.cursor in {done.key for done in outcome.done}:
            screen.show_all()
            return
        done = outcome.done[0]
        key: SessionKey | None = done.key
        if key not in screen.browse.rows:
            key = next((k for k, row in screen.browse.rows.items() if row.id == done.id), None)
        if key is not None:
            screen.reveal(key)

    # --- one session

    def rename(self, context: Context) -> None:
        row = context.targets[0]

        def answered(name: str | None) -> None:
            if name is None or name.strip() == (row.title or ""):
                return
            intent = Intent(do="rename", value=name.strip())
            service = self.screen.service
            self._run("rename", lambda progress: service.act([row.key], intent, progress))

        self.screen.app.push_screen(PromptDialog("Rename", row.title or ""), answered)

    def labels(self, context: Context) -> None:
        from loop_tui.screens.labels import ask_labels

        ask_labels(self.screen, context.targets, self.change)

    def change(self, verb: str, keys: Sequence[SessionKey], intent: Intent) -> None:
        """One change made elsewhere (a list of choices), run like every other."""
        service = self.screen.service
        self._run(verb, lambda progress: service.act(keys, intent, progress))

    def resume(self, context: Context) -> None:
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
                await self._copy_resume(row, what)
                return
            with screen.app.suspend():
                done = run_program(argv, folder)
        except SuspendNotSupported:
            screen.toast("This terminal cannot be handed to another program", "error")
        except LoopError as error:
            screen.toast(f"Cannot resume: {reason_of(error)}", "error")
        else:
            if isinstance(done, OSError):
                screen.toast(f"Cannot resume: {reason_of(done)}", "error")
                return
            word = "ended" if done == 0 else f"ended with status {done}"
            moved = "; it migrates a version-2 session when it opens it" * (row.form == "loop2")
            screen.toast(f"{AGENTS[row.source]} {word}{moved}")
            screen.rescan()

    def copy_id(self, context: Context) -> None:
        self.screen.copy(context.targets[0].id, "the id")

    def copy_resume(self, context: Context) -> None:
        self.screen.run_worker(self._copy_resume(context.targets[0]), group="copy")

    async def _copy_resume(self, row: SessionRow, what: str = "the resume command") -> None:
        import shlex

        try:
            argv, folder = await asyncio.to_thread(self.screen.service.resume_command, row.key)
        except LoopError as error:
            self.screen.toast(f"Nothing to copy: {reason_of(error)}", "warning")
            return
        self.screen.copy(f"cd {shlex.quote(folder)} && {shlex.join(argv)}", what)


def run_program(argv: list[str], folder: str) -> int | OSError:
    """Run a program in `folder`; its status, or why it did not start.

    Nothing is raised: only a suspension that is left normally gives the terminal back.
    """
    try:
        return subprocess.run(argv, cwd=folder, check=False).returncode
    except OSError as error:
        return error


async def copy_text(screen: BrowserScreen, text: str, what: str) -> None:
    """Copy and say how, or offer a file for what a terminal would drop."""
    if clipboard.too_long(text):
        screen.offer_file(text, what)
        return
    why = await clipboard.copy(screen.app, text)
    way = "through tmux" if clipboard.in_tmux() else "by the terminal (OSC 52)"
    if why is None:
        screen.toast(f"Copied {what} {way}")
    else:
        screen.toast(f"Not copied: {why}", "error")
