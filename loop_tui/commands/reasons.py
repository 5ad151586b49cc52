"""Why a command cannot act now, and its label where that depends on the sessions.

A reason is a sentence a person is told in the toast line and in the help, or None when the
command can act (keys.md, rules 2 to 5).
"""

from __future__ import annotations

from loop_tui.commands.model import Context
from loop_tui.state.views import is_stand_in


def session(context: Context) -> str | None:
    if context.pane == "projects":
        return "This acts on a session: go to the sessions first (2)"
    row = context.row
    if row is None:
        return "No session here"
    if is_stand_in(row.key):
        return "This problem has no session to act on; i shows its path"
    return None


def writes(context: Context) -> str | None:
    return session(context) or writable(context)


def writable(context: Context) -> str | None:
    return (
        "Nothing can be changed: the browser runs with --read-only" if context.read_only else None
    )


def live(context: Context) -> str | None:
    """For changes that make no sense in the trash."""
    if any(row.trashed_ms is not None for row in context.targets):
        return "The session is in the trash: a restores it first"
    return writes(context)


def purge(context: Context) -> str | None:
    if context.view != "trash":
        return "D deletes for good, in the Trash view only (f goes to the next view)"
    return writes(context)


def trash(context: Context) -> str | None:
    if any(row.trashed_ms is not None for row in context.targets):
        return "It is in the trash already: D deletes for good, a restores"
    return writes(context)


def read_all(context: Context) -> str | None:
    if not context.shown:
        return "No session here"
    return writable(context)


def shown(context: Context) -> str | None:
    return None if context.shown else "No session here"


def labels(context: Context) -> str | None:
    if context.pane != "projects" and context.row is not None and context.row.source != "craft":
        return "Status and labels are Craft Agents'; Loop sessions have none"
    return live(context)


def hits(context: Context) -> str | None:
    if context.finding:
        return None
    return "Nothing was searched for: / in the history finds text, ctrl+f in all sessions"


def one(context: Context) -> str | None:
    if len(context.targets) > 1:
        return "One session at a time: Esc takes the marks away"
    return session(context)


def rename(context: Context) -> str | None:
    return live(context) or one(context)


def read_label(context: Context) -> str:
    return "read" if not context.targets or any(r.unread for r in context.targets) else "unread"


def pin_label(context: Context) -> str:
    pinned = context.targets and all(r.pinned_ms is not None for r in context.targets)
    return "unpin" if pinned else "pin"


def archive_label(context: Context) -> str:
    rows = context.targets
    back = context.view == "trash" or (
        rows and all(r.archived or r.trashed_ms is not None for r in rows)
    )
    return "restore" if back else "archive"
