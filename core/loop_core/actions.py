"""Every action on sessions in one place: guard, plan, journal, perform, remember.

An action takes any number of sessions and is one entry of the journal. Each session is
planned from the disk as it is now and changed by one guarded write or move; what fails is
left as it was and reported with its reason, the rest is done. Undo and redo are in `undo`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from loop_core import trash
from loop_core.errors import InvalidArgument, LoopError, ReadOnly, Refused, reason_of
from loop_core.journal import Entry, Item, ItemState, Journal, Way
from loop_core.model import SessionKey, SessionRow
from loop_core.outcome import Action, Done, Failed, Outcome, Pending, Progress, Reverted
from loop_core.plans import Intent
from loop_core.sanitize import safe_line
from loop_core.steps import Steps
from loop_core.store import SessionStore
from loop_core.undo import again, pending
from loop_core.wording import toast

__all__ = ["Actions", "OnProgress", "Router"]

OnProgress = Callable[[Progress], None]
OnChanged = Callable[[set[str]], object]


class Router(Protocol):
    """What actions need of the library."""

    @property
    def stores(self) -> Sequence[SessionStore]: ...

    def store_of(self, key: SessionKey) -> SessionStore: ...

    def row(self, key: SessionKey) -> SessionRow | None: ...


class Actions:
    """Actions over the stores of `library`, recorded in `journal`. Thread-safe, one at a time.

    `trusted` are directories besides the stores' own that a restore may write to (a trace
    root). `changed` is called with the paths (raw) an action touched.
    """

    def __init__(
        self,
        library: Router,
        journal: Journal,
        *,
        read_only: bool = False,
        trusted: Sequence[str] = (),
        changed: OnChanged | None = None,
    ) -> None:
        self._library = library
        self._journal = journal
        self._read_only = read_only
        self._trusted = tuple(trusted)
        self._changed = changed
        self._steps = Steps(library, self._trusted)
        self._one = threading.RLock()

    def close(self) -> None:
        """Forget what was written; waits for a running action."""
        with self._one:
            self._steps.forget()

    def recover(self) -> tuple[str, ...]:
        """Finish what killed processes of ours left in every store; says what was done."""
        if self._read_only:
            return self._journal.problems()
        said: list[str] = []
        with self._one:
            for store in self._library.stores:
                try:
                    said += store.recover()
                    for folder in store.trash_dirs():
                        said += trash.recover(folder, store, self._trusted)
                except LoopError as error:
                    said.append(f"{store.label}: {reason_of(error)}")
            said += self._journal.problems()
        return tuple(dict.fromkeys(said))

    # --- the actions

    def perform(
        self,
        keys: Iterable[SessionKey],
        intent: Intent,
        progress: OnProgress | None = None,
        *,
        force: bool = False,
        step: bool = True,
    ) -> Outcome:
        """Do `intent` to each session. Raises ReadOnly.

        A session where it is already true counts as done and is not written. With `step`
        False it is recorded but no step of undo.
        """
        if force and not intent.force:
            intent = msgspec.structs.replace(intent, force=True)
        return self._run(
            intent.do, keys, lambda key: self._steps.plan(key, intent), progress, step=step
        )

    def trash(
        self, keys: Iterable[SessionKey], progress: OnProgress | None = None, *, force: bool = False
    ) -> Outcome:
        """Move each session to the trash. Raises ReadOnly."""
        return self._run(
            "trash", keys, lambda key: self._steps.plan_trash(key, force=force), progress
        )

    def restore(self, keys: Iterable[SessionKey], progress: OnProgress | None = None) -> Outcome:
        """Bring each session back, from the trash or from the archive. Raises ReadOnly."""
        return self.perform(keys, Intent(do="restore"), progress)

    def purge(
        self, keys: Iterable[SessionKey], progress: OnProgress | None = None, *, force: bool = False
    ) -> Outcome:
        """Remove sessions of the trash or the archive for good; others only with `force`.

        Every session is checked before the first is removed. A session outside the trash goes
        through it, so that a failure leaves it either in its place or in the trash.
        Raises ReadOnly.
        """
        return self._run(
            "purge", keys, lambda key: self._steps.plan_purge(key, force=force), progress
        )

    def undo(self) -> Outcome:
        """Take back the last action on the stores now open. Raises ReadOnly.

        An action that can no longer be taken back is reported in `failed`, and the next undo
        passes it over.
        """
        return self._again("undo")

    def redo(self) -> Outcome:
        """Do again what was last undone. Raises ReadOnly."""
        return self._again("redo")

    def peek_undo(self) -> Pending | None:
        """What `undo` would take back, in words; None when there is nothing."""
        return pending(self._journal, "undo", self._open())

    def peek_redo(self) -> Pending | None:
        return pending(self._journal, "redo", self._open())

    def look(self, keys: Iterable[SessionKey]) -> list[Reverted]:
        """Which of our last changes to these sessions are no longer so on disk.

        A running owner holds metadata in memory and may write over ours (loop-format "Our
        decisions" 4); asked about a second after a change. Each is told once.
        """
        with self._one:
            return self._steps.look(keys)

    # --- inside

    def _guard(self) -> None:
        """The one place that refuses when writing is switched off."""
        if self._read_only:
            raise ReadOnly("nothing is changed in read-only mode")

    def _open(self) -> set[str]:
        return {store.id for store in self._library.stores}

    def _run(
        self,
        action: Action,
        keys: Iterable[SessionKey],
        plan: Callable[[SessionKey], Item | None],
        progress: OnProgress | None,
        *,
        step: bool = True,
    ) -> Outcome:
        self._guard()
        wanted = list(dict.fromkeys(keys))
        if not wanted:
            raise InvalidArgument("no session was given")
        with self._one:
            report = _Report(action, self._steps, len(wanted), progress)
            items: list[Item] = []
            for key in wanted:
                try:
                    item = plan(key)
                except LoopError as error:
                    report.failed(key, self._steps.id_of(key), reason_of(error))
                    continue
                if item is None:
                    report.done(key)
                else:
                    items.append(item)
            entry = self._perform(action, items, report, step=step) if items else None
            undoable = (
                entry is not None
                and entry.step
                and any(state == "done" and not item.lasting for item, state in entry.parts())
            )
            return self._with_notes(report.outcome(entry, undoable=undoable))

    def _perform(self, action: Action, items: list[Item], report: _Report, *, step: bool) -> Entry:
        reversible = step and action != "purge" and not all(item.lasting for item in items)
        entry = self._journal.begin(action, items, sorted(self._open()), step=reversible)
        states: list[ItemState] = ["failed"] * len(items)
        touched: set[str] = set()
        try:
            for index, item in enumerate(items):
                try:
                    touched |= self._steps.forward(item)
                except LoopError as error:
                    report.failed(item.key, item.id, _reason_with_path(error))
                else:
                    states[index] = "done"
                    report.done(item.key, item)
        finally:
            self._journal.end(entry, "do", states)
            self._tell(touched)
        return self._journal.current(entry)

    def _again(self, way: Way) -> Outcome:
        self._guard()
        with self._one:
            outcome, touched = again(self._journal, self._steps, way, self._open())
            self._tell(touched)
            return self._with_notes(outcome)

    def _with_notes(self, outcome: Outcome) -> Outcome:
        """What is wrong with the journal is said with the action that met it."""
        notes = self._journal.problems()
        if not notes:
            return outcome
        text = ". ".join((outcome.text, *notes))
        return msgspec.structs.replace(outcome, text=safe_line(text))

    def _tell(self, touched: set[str]) -> None:
        if touched and self._changed is not None:
            self._changed(touched)


class _Report:
    """Collects how each session fared and makes the outcome."""

    def __init__(
        self, action: Action, steps: Steps, total: int, progress: OnProgress | None
    ) -> None:
        self._action = action
        self._steps = steps
        self._total = total
        self._progress = progress
        self._done: list[Done] = []
        self._failed: list[Failed] = []
        self._at_risk: list[SessionKey] = []

    def done(self, key: SessionKey, item: Item | None = None) -> None:
        title = item.title if item is not None else self._steps.title_of(key)
        self._done.append(Done(key, item.id if item else self._steps.id_of(key), title))
        if item is not None and item.kind == "change" and item.force:
            self._at_risk.append(key)
        self._tick()

    def failed(self, key: SessionKey, session_id: str, reason: str) -> None:
        self._failed.append(Failed(key, session_id, reason))
        self._tick()

    def _tick(self) -> None:
        if self._progress is not None:
            self._progress(Progress(len(self._done) + len(self._failed), self._total))

    def outcome(self, entry: Entry | None, *, undoable: bool) -> Outcome:
        return Outcome(
            action=self._action,
            done=tuple(self._done),
            failed=tuple(self._failed),
            text=safe_line(toast(self._action, self._done, self._failed, len(self._at_risk))),
            undoable=undoable,
            at_risk=tuple(self._at_risk),
            entry=None if entry is None else entry.id,
        )


def _reason_with_path(error: LoopError) -> str:
    """A failed removal or move names what could not be touched."""
    reason = reason_of(error)
    if error.path is None or isinstance(error, Refused):
        return reason
    return f"{reason} ({os.path.abspath(error.path)})"
