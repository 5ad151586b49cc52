"""What the dialogs say. Pure: rows in, words out (keys.md section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loop_core.model import SessionRow
from loop_tui.screens.dialogs import Question
from loop_tui.text import Glyphs, human_count, human_size, relative_time
from loop_tui.widgets.session_lines import UNTITLED

NAMED = 5  # sessions a bulk dialog names; the others are counted
_RECENT_MS = 60_000
AGENTS = {"loop": "Loop", "craft": "Craft Agents"}


def title_of(row: SessionRow) -> str:
    return row.title or UNTITLED


def counted(number: int, noun: str = "session") -> str:
    return f"{human_count(number)} {noun}{'' if number == 1 else 's'}"


def is_lone(row: SessionRow) -> bool:
    """Whether a crash of Craft-Agents left only the temporary file; restore brings it back."""
    return row.source == "craft" and row.trashed_ms is None and row.path.endswith(".tmp")


def age_words(ms: int | None, now_ms: float) -> str:
    """``3m ago``, ``yesterday``, ``12 Mar``."""
    if not ms:
        return ""
    age = relative_time(ms, now_ms)
    return f"{age} ago" if age[:1].isdigit() and age[-1:] in "mhd" else age


def facts_of(
    row: SessionRow, names: Mapping[str, str], now_ms: float, glyphs: Glyphs, rounds: int | None
) -> str:
    """project · rounds · size · age; messages stand in until the rounds are known."""
    amount = ""
    if rounds is not None:
        amount = counted(rounds, "round")
    elif row.message_count is not None:
        amount = counted(row.message_count, "message")
    parts = (
        names.get(row.project, ""),
        amount,
        human_size(row.size) if row.size else "",
        age_words(row.updated_ms, now_ms),
    )
    return f" {glyphs.separator} ".join(part for part in parts if part)


def subject_of(rows: Sequence[SessionRow], glyphs: Glyphs) -> tuple[str, ...]:
    """The title, or the first titles of a bulk action and how many more."""
    if len(rows) == 1:
        return (title_of(rows[0]),)
    lines = [f"{glyphs.bullet} {title_of(row)}" for row in rows[:NAMED]]
    if len(rows) > NAMED:
        lines.append(f"{glyphs.ellipsis} and {human_count(len(rows) - NAMED)} more")
    return tuple(lines)


def bulk_facts(
    rows: Sequence[SessionRow], names: Mapping[str, str], now_ms: float, glyphs: Glyphs
) -> str:
    if len(rows) == 1:
        return facts_of(rows[0], names, now_ms, glyphs, None)
    projects = {row.project for row in rows}
    where = (
        names.get(rows[0].project, "") if len(projects) == 1 else counted(len(projects), "project")
    )
    size = human_size(sum(row.size for row in rows))
    return f" {glyphs.separator} ".join(p for p in (counted(len(rows)), where, size) if p)


def warning_of(rows: Sequence[SessionRow], now_ms: int) -> str:
    """Whether the owning agent runs, or the session changed a moment ago.

    What lies in the trash is nobody's, and the last change to it was ours.
    """
    rows = [row for row in rows if row.trashed_ms is None]
    running = [row for row in rows if row.running(now_ms)]
    if running:
        agent = AGENTS[running[0].source]
        if len(rows) == 1:
            if running[0].source == "craft":
                return f"{agent} is running: it may write its own state over this."
            return f"{agent} is running it now."
        are = "is" if len(running) == 1 else "are"
        return f"{human_count(len(running))} of them {are} running now."
    recent = [row for row in rows if 0 <= now_ms - row.changed_ms < _RECENT_MS]
    if recent:
        who = "It" if len(rows) == 1 else counted(len(recent))
        return f"{who} changed less than a minute ago."
    return ""


def _agents(rows: Sequence[SessionRow]) -> str:
    return " and ".join(
        AGENTS[source] for source in sorted({row.source for row in rows}, reverse=True)
    )


def _them(rows: Sequence[SessionRow]) -> str:
    return "it" if len(rows) == 1 else "them"


def _back(rows: Sequence[SessionRow]) -> str:
    """What restoring does: out of the archive, or out of what a crash left."""
    them, lone = _them(rows), sum(map(is_lone, rows))
    if not lone:
        return f"Brings {them} back from the archive."
    if lone == len(rows):
        return f"Gives {them} the file name back that a crash took: session.jsonl."
    return f"Brings {them} back: {lone} from what a crash left, the others from the archive."


def question(
    action: str,
    rows: Sequence[SessionRow],
    names: Mapping[str, str],
    *,
    now_ms: int,
    glyphs: Glyphs,
    undo_key: str = "z",
    letter: str = "",
) -> Question:
    """The dialog of `action`: pin, unpin, archive, restore, put back, trash or purge."""
    them, many = _them(rows), len(rows) > 1
    agents = _agents(rows)
    heading, verb, text = {
        "pin": ("Pin", "Pin", f"Keeps {them} on top of the list, in {agents} too."),
        "unpin": ("Unpin", "Unpin", f"Takes {them} from the top, in {agents} too."),
        "archive": (
            "Archive",
            "Archive",
            f"Takes {them} out of the active views, in {agents} too. Nothing is deleted.",
        ),
        "restore": ("Restore", "Restore", _back(rows)),
        "put back": (
            "Restore",
            "Restore",
            f"Puts {them} back where {'they were' if many else 'it was'}.",
        ),
        "trash": (
            "Delete",
            "Delete",
            f"Moves {them} to loop-tui's trash. {agents} will not list {them} any more.",
        ),
        "purge": (
            "Delete for good",
            "Delete",
            f"Removes {them} from the disk, with traces and backups. Nothing brings {them} back.",
        ),
    }[action]
    danger = action in ("trash", "purge")
    lasting = action == "purge" or (action == "restore" and all(map(is_lone, rows)))
    undo = "" if lasting else f" {undo_key} undoes."
    what = counted(len(rows)) if many else "session"
    return Question(
        heading=f"Delete {what} for good" if action == "purge" else f"{heading} {what}",
        subject=subject_of(rows, glyphs),
        facts=bulk_facts(rows, names, now_ms, glyphs),
        consequence=f"{text}{undo}",
        confirm=verb,
        letter=letter,
        warning=warning_of(rows, now_ms),
        danger=danger,
        ask_again=action in ("pin", "unpin", "archive", "restore"),
        typed="delete" if action == "purge" and many else "",
        separator=glyphs.separator,
    )
