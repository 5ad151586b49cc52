"""Undo and redo of one journal entry (DESIGN "Words", *Undo*).

Each session of the action goes back, or forth, by itself and only if it is still as the
action left it; anything else is told with its reason and left alone. What cannot go for now
(its program runs, the disk is full) stays to be tried once more; what can never go, or failed
twice in a row, is passed over.
A session that goes to the trash again gets the entry name it had there, so that earlier and
later actions of the journal still find it.
"""

from __future__ import annotations

from loop_core.errors import (
    LoopError,
    NotUndoable,
    Refused,
    StorageFailed,
    TraceLocked,
    reason_of,
)
from loop_core.fsio import Changed
from loop_core.journal import Entry, ItemState, Journal, Way
from loop_core.outcome import Action, Done, Failed, Outcome, Pending
from loop_core.sanitize import safe_line
from loop_core.steps import Steps
from loop_core.wording import before, counted, phrase

__all__ = ["again", "pending"]

# What may work at another time; everything else has changed for good.
_FOR_NOW = (Changed, StorageFailed, TraceLocked, Refused)
_FOR_GOOD = (NotUndoable,)


def again(
    journal: Journal, steps: Steps, way: Way, open_stores: set[str]
) -> tuple[Outcome, set[str]]:
    """Take the top action back (`undo`) or do it again (`redo`).

    Returns the outcome and the paths touched. Never raises for what a session refuses.
    """
    action: Action = "undo" if way == "undo" else "redo"
    entry = journal.peek(way, open_stores)
    if entry is None:
        return Outcome(action=action, text=f"Nothing to {action}"), set()
    wanted: ItemState = "done" if way == "undo" else "undone"
    reached = [index for index, state in enumerate(entry.states) if state == wanted]
    journal.claim(entry, way)
    states = list(entry.states)
    done: list[Done] = []
    failed: list[Failed] = []
    touched: set[str] = set()
    try:
        for index in reversed(reached) if way == "undo" else reached:
            item = entry.items[index]
            try:
                touched |= steps.backward(item) if way == "undo" else steps.forward(item)
            except LoopError as error:
                states[index] = wanted if _may_work_later(error, entry) else "lost"
                failed.append(Failed(item.key, item.id, reason_of(error)))
            else:
                states[index] = "undone" if way == "undo" else "done"
                done.append(Done(item.key, item.id, item.title))
    finally:
        journal.end(entry, way, states)
    outcome = Outcome(
        action=action,
        done=tuple(done),
        failed=tuple(failed),
        text=safe_line(_text(entry, way, done, failed)),
        undoable=bool(done),
        entry=entry.id,
        of=entry.action,
    )
    return outcome, touched


def _may_work_later(error: LoopError, entry: Entry) -> bool:
    """Whether to keep the action for another try: once, so that it never blocks the others."""
    for_now = isinstance(error, _FOR_NOW) and not isinstance(error, _FOR_GOOD)
    return for_now and entry.tries == 0


def _text(entry: Entry, way: Way, done: list[Done], failed: list[Failed]) -> str:
    titles = {item.key: item.title for item in entry.items}
    if done:
        lead = "Undid" if way == "undo" else "Redid"
        text = before(phrase(entry.action, [item.title for item in done]), lead)
        return f"{text}; {counted(len(failed))} not reached" if failed else text
    what = phrase(entry.action, [titles[item.key] for item in failed])
    return f"{before(what, f'Cannot {way}')}: {failed[0].reason}"


def pending(journal: Journal, way: Way, open_stores: set[str]) -> Pending | None:
    """What the next undo or redo would do, in words."""
    entry = journal.peek(way, open_stores)
    if entry is None:
        return None
    wanted = "done" if way == "undo" else "undone"
    pairs = zip(entry.items, entry.states, strict=True)
    items = [item for item, state in pairs if state == wanted]
    lead = "Undo" if way == "undo" else "Redo"
    return Pending(
        action=entry.action,
        text=safe_line(before(phrase(entry.action, [item.title for item in items]), lead)),
        ids=tuple(item.id for item in items),
        entry=entry.id,
        when_ms=entry.when,
    )
