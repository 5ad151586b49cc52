"""Which rows a view holds, and in which order (DESIGN "Words", keys.md section 1)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from loop_core.model import Problem, SessionKey, SessionRow

View = Literal["active", "unread", "pinned", "archived", "trash", "problems", "all"]
Sort = Literal["activity", "created", "title", "size", "messages"]

VIEWS: tuple[View, ...] = ("active", "unread", "pinned", "archived", "trash", "problems")
VIEW_LABELS: dict[View, str] = {
    "active": "Active",
    "unread": "Unread",
    "pinned": "Pinned",
    "archived": "Archived",
    "trash": "Trash",
    "problems": "Problems",
    "all": "All",
}
SORTS: tuple[Sort, ...] = ("activity", "created", "title", "size", "messages")

_PROBLEM_REF = "problem:"

_MEMBERS: dict[View, Callable[[SessionRow], bool]] = {
    "active": lambda row: not row.archived and row.trashed_ms is None,
    "unread": lambda row: row.unread and not row.archived and row.trashed_ms is None,
    "pinned": lambda row: row.pinned_ms is not None and not row.archived and row.trashed_ms is None,
    "archived": lambda row: row.archived and row.trashed_ms is None,
    "trash": lambda row: row.trashed_ms is not None,
    "problems": lambda row: row.problem is not None and row.trashed_ms is None,
    "all": lambda row: row.trashed_ms is None,
}


def in_view(row: SessionRow, view: View) -> bool:
    """Whether `row` belongs to `view`; hidden helper sessions are decided by the caller."""
    return _MEMBERS[view](row)


def is_stand_in(key: SessionKey) -> bool:
    """Whether `key` names a problem that has no session to act on."""
    return key.ref.startswith(_PROBLEM_REF)


def problem_rows(problems: Iterable[Problem], rows: Iterable[SessionRow]) -> tuple[SessionRow, ...]:
    """Stand-in rows for the problems that no session row tells already.

    Nothing is skipped in silence (DESIGN, invariant 8): a folder that cannot be read or a
    leftover of staging has no session, yet is listed with its reason.
    """
    told = {row.key for row in rows if row.problem is not None}
    paths = {row.path for row in rows if row.problem is not None}
    made: dict[SessionKey, SessionRow] = {}
    for problem in problems:
        if (problem.key is not None and problem.key in told) or problem.path in paths:
            continue
        key = SessionKey(problem.store, f"{_PROBLEM_REF}{problem.path}")
        name = problem.path.rstrip("/").rsplit("/", 1)[-1] or problem.path
        made[key] = SessionRow(
            key=key,
            source="craft" if problem.store.startswith("craft") else "loop",
            form="craft" if problem.store.startswith("craft") else "loop3",
            id=name,
            path=problem.path,
            project="",
            title=problem.reason,
            problem=problem.reason,
            problem_line=problem.line,
        )
    return tuple(made.values())


def fold(text: str) -> str:
    """`text` without case and accents, for comparing what a person typed with a title."""
    text = text.casefold()
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return "".join(c for c in parts if not unicodedata.combining(c))


def haystack(row: SessionRow, project_name: str = "") -> str:
    """Everything the filter looks at, folded: title, project, folder, model, id."""
    return fold(
        "\n".join(
            (row.title or "new session", project_name, row.cwd or "", row.model or "", row.id)
        )
    )


def terms_of(text: str) -> tuple[str, ...]:
    """The words of a filter; a row has to hold them all."""
    return tuple(fold(text).split())


def _activity(row: SessionRow) -> float:
    return -row.updated_ms


def _created(row: SessionRow) -> float:
    return -(row.created_ms or 0)


def _title(row: SessionRow) -> tuple[bool, str]:
    return (row.title is None, fold(row.title or ""))


def _size(row: SessionRow) -> float:
    return -row.size


def _messages(row: SessionRow) -> float:
    return -1 if row.message_count is None else -row.message_count - 2


_SORT_KEYS: dict[Sort, Callable[[SessionRow], Any]] = {
    "activity": _activity,
    "created": _created,
    "title": _title,
    "size": _size,
    "messages": _messages,
}


def ordered(
    rows: Sequence[SessionRow], sort: Sort = "activity", *, reverse: bool = False
) -> list[SessionRow]:
    """`rows` by `sort`, pinned ones on top whatever the direction; ties by id.

    Activity, the default, orders the pinned by pin time; any other key orders them by that key.
    """
    key = _SORT_KEYS[sort]
    pinned = [row for row in rows if row.pinned_ms is not None]
    others = [row for row in rows if row.pinned_ms is None]
    for group in (pinned, others):
        group.sort(key=lambda row: row.id)
        group.sort(key=key, reverse=reverse)
    if sort == "activity":
        pinned.sort(key=lambda row: -(row.pinned_ms or 0), reverse=reverse)
    return pinned + others


def select(
    rows: Sequence[SessionRow],
    view: View,
    *,
    project: str | None = None,
    text: str = "",
    sort: Sort = "activity",
    reverse: bool = False,
    show_hidden: bool = False,
    now_ms: int = 0,  # noqa: ARG001 - part of the interface; no view depends on time yet
    problems: Iterable[Problem] = (),
    names: Mapping[str, str] | None = None,
    keep: frozenset[SessionKey] | set[SessionKey] = frozenset(),
) -> tuple[SessionRow, ...]:
    """The rows of `view`, in order.

    `project` is a project key; `names` maps project keys to the names the filter looks at;
    `keep` are rows that stay although they left the view (DESIGN "Words", Unread).
    The limit of a caller is applied after all of this, never before.
    """
    chosen = members(rows, view, project=project, show_hidden=show_hidden, keep=keep)
    if view == "problems" and project is None:
        chosen.extend(problem_rows(problems, rows))
    terms = terms_of(text)
    if terms:
        names = names or {}
        chosen = [
            row
            for row in chosen
            if all(term in haystack(row, names.get(row.project, "")) for term in terms)
        ]
    if view == "trash" and sort == "activity":
        chosen.sort(key=lambda row: row.id)
        chosen.sort(key=lambda row: -(row.trashed_ms or 0), reverse=reverse)
        return tuple(chosen)
    return tuple(ordered(chosen, sort, reverse=reverse))


def members(
    rows: Iterable[SessionRow],
    view: View,
    *,
    project: str | None = None,
    show_hidden: bool = False,
    keep: frozenset[SessionKey] | set[SessionKey] = frozenset(),
) -> list[SessionRow]:
    """The rows that belong to a view and project, in the order they come."""
    member = _MEMBERS[view]
    return [
        row
        for row in rows
        if (member(row) or row.key in keep)
        and (project is None or row.project == project)
        and (show_hidden or not row.hidden)
    ]
