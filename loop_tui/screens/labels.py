"""Status and labels of Craft-Agents sessions, as lists to choose from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from loop_core.model import Intent, SessionKey, SessionRow
from loop_tui.screens.listing import ChoiceScreen, Option

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen

Change = Callable[[str, Sequence[SessionKey], Intent], None]


def known_of(rows: Sequence[SessionRow], project: str) -> tuple[list[str], list[str]]:
    """Status ids and label entries in use in one workspace, sorted."""
    here = [row for row in rows if row.project == project]
    statuses = sorted({row.status for row in here if row.status})
    labels = sorted({label for row in here for label in row.labels})
    return statuses, labels


def ask_labels(screen: BrowserScreen, rows: Sequence[SessionRow], change: Change) -> None:
    """First what to change, then the choice; acts on every session of `rows`."""
    keys = [row.key for row in rows]
    statuses, labels = known_of(screen.browse.snapshot.rows, rows[0].project)
    statuses = sorted({*statuses, "todo", "in-progress", "needs-review", "done", "cancelled"})

    def status_chosen(chosen: tuple[Hashable, ...] | None) -> None:
        if chosen:
            change("status", keys, Intent(do="status", value=str(chosen[0])))

    def labels_chosen(chosen: tuple[Hashable, ...] | None) -> None:
        if chosen is not None:
            change("labels", keys, Intent(do="labels", value=tuple(str(c) for c in chosen)))

    def what_chosen(chosen: tuple[Hashable, ...] | None) -> None:
        if not chosen:
            return
        if chosen[0] == "status":
            screen.app.push_screen(
                ChoiceScreen(
                    "Status",
                    [Option(status, status) for status in statuses],
                    chosen=(rows[0].status,),
                    ascii_only=screen.ascii_only,
                ),
                status_chosen,
            )
        elif labels:
            screen.app.push_screen(
                ChoiceScreen(
                    "Labels",
                    [Option(label, label) for label in labels],
                    chosen=rows[0].labels,
                    several=True,
                    ascii_only=screen.ascii_only,
                ),
                labels_chosen,
            )
        else:
            screen.toast("No labels are in use in this workspace")

    now = ", ".join(rows[0].labels) or "none"
    screen.app.push_screen(
        ChoiceScreen(
            "Change",
            [Option("status", "Status", rows[0].status or "none"), Option("labels", "Labels", now)],
            ascii_only=screen.ascii_only,
        ),
        what_chosen,
    )
