"""Actions in words: the toast, the undo hint, what an owner took back."""

from __future__ import annotations

from collections.abc import Sequence

from loop_core.outcome import Action, Done, Failed

__all__ = ["MIGRATES", "before", "counted", "named", "phrase", "risk", "toast"]

#: Before the agent is started on a version-2 session (S0: `open` migrates).
MIGRATES = "Version-2 session: Loop 0.5.0 and later will migrate it."

_PHRASES: dict[str, str] = {
    "pin": "Pinned {}",
    "unpin": "Unpinned {}",
    "archive": "Archived {}",
    "restore": "Restored {}",
    "read": "Marked {} read",
    "unread": "Marked {} unread",
    "rename": "Renamed {}",
    "status": "Set the status of {}",
    "labels": "Set the labels of {}",
    "trash": "Moved {} to the trash",
    "purge": "Removed {} for good",
}
_TITLE = 60


def named(title: str | None) -> str:
    """A session in a sentence; long titles are cut."""
    if not title:
        return "a new session"
    return f"“{title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + '…'}”"


def counted(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


def phrase(action: Action, titles: Sequence[str | None]) -> str:
    """ "Archived “Fix the parser”", "Archived 3 sessions"."""
    what = named(titles[0]) if len(titles) == 1 else counted(len(titles))
    return _PHRASES[action].format(what)


def toast(action: Action, done: Sequence[Done], failed: Sequence[Failed], at_risk: int = 0) -> str:
    """What was done and how much was not; the first reason where nothing was done.

    `at_risk` of those done may be undone by their running owner.
    """
    missed = f"{counted(len(failed))} not reached"
    if not done:
        return f"{missed}: {failed[0].reason}" if failed else "Nothing to do"
    parts = [phrase(action, [item.title for item in done])]
    if at_risk:
        parts.append(risk(at_risk, len(done)))
    return "; ".join([*parts, missed] if failed else parts)


def risk(count: int, among: int) -> str:
    """That a running owner will likely take a forced change back."""
    which = "" if count == among else f"{counted(count)}: "
    return f"{which}forced, the running application will likely undo it"


def before(text: str, lead: str) -> str:
    """ "Undid: archived 3 sessions" from "Archived 3 sessions"."""
    return f"{lead}: {text[:1].lower()}{text[1:]}"
