"""Why a list is empty: where it was looked, what stands in the way, what would bring rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loop_tui.places import short_path
from loop_tui.state import VIEW_LABELS, select
from loop_tui.text import human_count

if TYPE_CHECKING:
    from loop_tui.screens.browser import BrowserScreen

__all__ = ["why_empty"]

_NAMED = 3  # problems told one by one

ELSEWHERE = (
    "",
    "Point it elsewhere: --agent-dir DIR for Loop, --craft-dir DIR for Craft Agents, "
    "--sessions DIR for one collection; LOOP_DATA_DIR and CRAFT_CONFIG_DIR count too.",
    "loop-tui --demo shows made-up sessions to look around in.",
)


def why_empty(screen: BrowserScreen) -> tuple[str, ...]:
    """Lines for a list without a row; the first is its heading."""
    browse = screen.browse
    if screen.scanning:
        return (f"Reading the sessions {screen.glyphs.ellipsis}",)
    if not browse.snapshot.rows and browse.view != "problems":
        return _no_session(screen)
    if browse.text:
        return _no_match(screen)
    if browse.view == "unread":
        return ("Everything is read",)
    if browse.view == "problems":
        return ("No problems", "Every session could be read")
    if browse.view == "trash":
        return ("The trash is empty", "d moves a session here; nothing leaves by itself")
    label = VIEW_LABELS[browse.view].lower()
    return (f"No {label} sessions", f"{screen.keyboard.key_of('view.next')} goes to the next view")


def _no_session(screen: BrowserScreen) -> tuple[str, ...]:
    """Not one session anywhere: what was found instead, and where it was looked."""
    service = screen.service
    if service is None:
        return ("The stores could not be opened", *ELSEWHERE)
    snapshot = screen.browse.snapshot
    reason = service.empty_reason() or "No sessions"
    head, _, rest = reason.partition(": ")
    looked = [part.strip(" .") for part in rest.split(";")] if rest else []
    found = [f"{problem.path}: {problem.reason}" for problem in snapshot.problems[:_NAMED]]
    lines = [short_path(line) for line in (*looked, *found)]
    if (more := len(snapshot.problems) - _NAMED) > 0:
        lines.append(f"and {human_count(more)} more problems")
    if snapshot.unsupported:
        lines.append(f"{human_count(snapshot.unsupported)} of formats this program does not read")
    if snapshot.problems:
        lines.append(f"{screen.keyboard.key_of('view.previous')} goes to the problems")
    return (head, *lines, *ELSEWHERE)


def _no_match(screen: BrowserScreen) -> tuple[str, ...]:
    """The filter left nothing; what it would find elsewhere."""
    browse = screen.browse
    words = [f"Nothing here matches {browse.text}"]
    archived = len(
        select(
            browse.snapshot.rows,
            "archived",
            project=browse.project,
            text=browse.text,
            show_hidden=browse.show_hidden,
            names=browse.names,
        )
    )
    if archived and browse.view != "archived":
        key = screen.keyboard.key_of("view.next")
        words.append(f"{human_count(archived)} in the archive: {key} goes to the next view")
    return (*words, "Esc takes the filter away")
