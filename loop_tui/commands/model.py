"""What a command is, where it is bound, and what it may look at.

A command belongs to a *scope*: the panes it is bound in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from loop_core.model import SessionRow
from loop_tui.state.views import View

__all__ = ["GROUPS", "SCOPES", "Command", "Context", "Group", "Pane", "Reason", "Scope"]

Pane = Literal["projects", "sessions", "history"]
Scope = Literal["global", "list", "session", "projects", "sessions", "history", "palette"]
Group = Literal["Move", "Sessions", "History", "Panes and views", "Everywhere", "Settings"]

SCOPES: Mapping[Pane, tuple[Scope, ...]] = {
    "projects": ("projects", "list", "session", "global"),
    "sessions": ("sessions", "list", "session", "global"),
    "history": ("history", "session", "global"),
}
GROUPS: tuple[Group, ...] = (
    "Move",
    "Sessions",
    "History",
    "Panes and views",
    "Everywhere",
    "Settings",
)


class Context(NamedTuple):
    """What `enabled` and the labels may look at."""

    pane: Pane = "sessions"
    view: View = "active"
    targets: Sequence[SessionRow] = ()
    shown: int = 0
    read_only: bool = False
    finding: bool = False  # the history has a find with hits, or a search of all sessions

    @property
    def row(self) -> SessionRow | None:
        return self.targets[0] if self.targets else None


Reason = Callable[[Context], str | None]


def _always(_: Context) -> str | None:
    return None


class Command(NamedTuple):
    """One row of the table. `keys[0]` is the key shown; `label` is for the footer."""

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    scope: Scope
    group: Group
    enabled: Reason = _always
    flipped: Callable[[Context], str] | None = None  # the label where it depends on the row
    destructive: bool = False

    def label_in(self, context: Context) -> str:
        return self.label if self.flipped is None else self.flipped(context)
