"""Status and labels of Craft-Agents sessions, as lists to choose from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from loop_core.errors import LoopError
from loop_core.model import SessionKey, SessionRow
from loop_core.plans import Intent
from loop_core.sanitize import safe_line
from loop_core.store import Choices
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


def options_of(known: Sequence[tuple[str, str]], used: Sequence[str]) -> list[Option]:
    """What the workspace has set up, in its order, then what is in use besides."""
    values = {value for value, _ in known}
    options = [
        Option(value, name, safe_line(value) if value != name else "") for value, name in known
    ]
    return options + [Option(value, safe_line(value)) for value in used if value not in values]


def ask_labels(screen: BrowserScreen, rows: Sequence[SessionRow], change: Change) -> None:
    """First what to change, then the choice; acts on every session of `rows`."""
    keys = [row.key for row in rows]
    used_statuses, used_labels = known_of(screen.browse.snapshot.rows, rows[0].project)
    known = Choices()

    async def load() -> None:
        nonlocal known
        # Without the workspace's own files, what is in use is still a choice.
        with suppress(LoopError):
            known = await asyncio.to_thread(screen.service.choices, rows[0].key)

    screen.run_worker(load(), group="choices", exclusive=True)

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
            options = options_of(known.statuses, used_statuses)
            screen.app.push_screen(
                ChoiceScreen(
                    "Status", options, chosen=(rows[0].status,), ascii_only=screen.ascii_only
                ),
                status_chosen,
            )
        elif options := options_of(known.labels, used_labels):
            screen.app.push_screen(
                ChoiceScreen(
                    "Labels",
                    options,
                    chosen=rows[0].labels,
                    several=True,
                    ascii_only=screen.ascii_only,
                ),
                labels_chosen,
            )
        else:
            screen.toast("This workspace has no labels")

    now = ", ".join(rows[0].labels) or "none"
    screen.app.push_screen(
        ChoiceScreen(
            "Change",
            [Option("status", "Status", rows[0].status or "none"), Option("labels", "Labels", now)],
            ascii_only=screen.ascii_only,
        ),
        what_chosen,
    )
