"""The two lines of a session in the list (look.md "Look"), as text with roles. Pure."""

from __future__ import annotations

from typing import NamedTuple

from loop_core.model import SessionRow
from loop_core.sanitize import safe_line
from loop_tui.text import Glyphs, cell_width, clip, human_count, human_size, relative_time

Span = tuple[str, str]
UNTITLED = "New session"


class RowLook(NamedTuple):
    """How a row stands in the list at this moment."""

    now_ms: float
    cursor: bool = False
    focused: bool = False
    marked: bool = False
    dimmed: bool = False  # read, but still listed among the unread
    problems: bool = False  # the Problems view: the reason is what matters


def state_glyph(row: SessionRow, look: RowLook, glyphs: Glyphs) -> Span:
    """The one sign of the first line: mark, running, damaged, unread."""
    if look.marked:
        return glyphs.mark, "mark"
    if row.trashed_ms is not None:
        return " ", "text"
    if row.running(int(look.now_ms)):
        return glyphs.running, "running"
    if row.problem is not None:
        return glyphs.damaged, "damaged"
    if row.unread:
        return glyphs.unread, "unread"
    return " ", "text"


def place_glyph(row: SessionRow, glyphs: Glyphs) -> Span:
    """The sign of the second line: pinned, archived or in the trash."""
    if row.trashed_ms is not None:
        return glyphs.trash, "muted"
    if row.pinned_ms is not None:
        return glyphs.pinned, "pinned"
    if row.archived:
        return glyphs.archived, "archived"
    return " ", "text"


def age_of(row: SessionRow, look: RowLook, width: int) -> Span:
    """When the session was last active, or thrown away; short where there is little room."""
    when = row.trashed_ms if row.trashed_ms is not None else row.updated_ms
    if not when:
        return "", "muted"
    age = relative_time(when, look.now_ms)
    if age == "yesterday" and width < 60:
        age = "1d"
    running = row.trashed_ms is None and row.running(int(look.now_ms))
    return age, "running" if running else "muted"


def first_line(row: SessionRow, look: RowLook, width: int, glyphs: Glyphs) -> list[Span]:
    """Bar, state, title, age: exactly `width` cells."""
    bar = glyphs.cursor if look.cursor and look.focused else " "
    state, state_role = state_glyph(row, look, glyphs)
    role = "faint" if look.dimmed else "text"
    if row.title is None or row.trashed_ms is not None:
        role = "muted"
    if row.unread and row.trashed_ms is None:
        role = "bold"
    left = [(bar, "bar"), (state, state_role), (" ", "text"), (row.title or UNTITLED, role)]
    return fit(left, age_of(row, look, width), width, glyphs)


def second_line(
    row: SessionRow, look: RowLook, width: int, glyphs: Glyphs, project: str
) -> list[Span]:
    """Bar, placement, project · model · messages, size: exactly `width` cells."""
    bar = glyphs.cursor if look.cursor and look.focused else " "
    place, place_role = place_glyph(row, glyphs)
    size = human_size(row.size) if row.size else ""
    left: list[Span] = [(bar, "bar"), (place, place_role), (" ", "text")]
    faint = "faint" if look.dimmed else "muted"
    if row.problem is not None and (look.problems or row.message_count is None):
        where = f"line {row.problem_line}: " if row.problem_line else ""
        head = f"{project} {glyphs.separator} " if project else ""
        # A problem without a session has its reason as title.
        why = safe_line(row.path if row.title == row.problem else row.problem)
        left += [(head, faint), (f"{where}{why}", "error")]
        return fit(left, ("", "muted"), width, glyphs)
    if row.folder_missing:
        left += [(f"{glyphs.missing} ", "missing")]
    room = width - sum(cell_width(text) for text, _ in left) - (cell_width(size) + 1 if size else 0)
    name, *rest = _parts(row, project, room, glyphs)
    left.append((name, "missing" if row.folder_missing else faint))
    left.extend((f" {glyphs.separator} {part}", faint) for part in rest)
    return fit(left, (size, "faint"), width, glyphs)


def _parts(row: SessionRow, project: str, room: int, glyphs: Glyphs) -> list[str]:
    """What the second line names, as much as fits: messages go first, then the model."""
    messages = ""
    if row.empty:
        messages = "empty"
    elif row.message_count is not None:
        noun = "msg" if row.message_count == 1 else "msgs"
        messages = f"{human_count(row.message_count)} {noun}"
    labels = " ".join(f"#{label}" for label in row.labels)
    parts = [project or "?", row.status or "", short_model(row.model), messages, labels]
    for drop in (4, 3, 2, 1):
        shown = [part for part in parts if part]
        if cell_width(f" {glyphs.separator} ".join(shown)) <= room:
            return shown
        parts[drop] = ""
    return [project or "?"]


def short_model(model: str | None) -> str:
    """A model's name without its vendor: ``anthropic/claude-opus-4`` is ``claude-opus-4``."""
    return (model or "").rsplit("/", 1)[-1]


def fit(left: list[Span], right: Span, width: int, glyphs: Glyphs) -> list[Span]:
    """`left` clipped, a blank, `right` at the edge; `right` goes when there is no room."""
    right_width = cell_width(right[0])
    room = width - right_width - 1 if right_width else width
    if right_width and room < 8:
        right, right_width, room = ("", right[1]), 0, width
    spans: list[Span] = []
    used = 0
    for text, role in left:
        # A joiner at the end would swallow the blank behind it.
        shown = clip(text, room - used, glyphs.ellipsis).rstrip("\u200d")
        if shown:
            spans.append((shown, role))
            used += cell_width(shown)
        if shown != text:
            break
    spans.append((" " * max(0, width - used - right_width), "text"))
    if right_width:
        spans.append(right)
    return spans
