"""Actions in words: the toast, the undo hint, what an owner took back."""

from __future__ import annotations

from collections.abc import Sequence

from loop_core.outcome import Action, Done, Failed

__all__ = ["before", "counted", "named", "phrase", "toast"]

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


def toast(action: Action, done: Sequence[Done], failed: Sequence[Failed]) -> str:
    """What was done and how much was not; the first reason where nothing was done."""
    if not failed:
        return phrase(action, [item.title for item in done]) if done else "Nothing to do"
    missed = f"{counted(len(failed))} not reached"
    if done:
        return f"{phrase(action, [item.title for item in done])}; {missed}"
    return f"{missed}: {failed[0].reason}"


def before(text: str, lead: str) -> str:
    """ "Undid: archived 3 sessions" from "Archived 3 sessions"."""
    return f"{lead}: {text[:1].lower()}{text[1:]}"
