"""From what a person types to the session meant (python-api section 3, `SESSION`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from loop_core.errors import InvalidArgument, SessionNotFound
from loop_core.model import SessionKey, SessionRow

__all__ = ["resolve"]

_NAMED = 5  # candidates an error names


def resolve(rows: Iterable[SessionRow], text: str, *, put_away: bool = False) -> SessionKey:
    """The key of the one session that `text` means.

    In this order: a full id, a path (of metadata, of the session's directory or file), an
    id prefix. Within each, live sessions before those in the trash; with `put_away`, for
    what brings back or removes for good, those in the archive or the trash before others.
    Raises SessionNotFound, or InvalidArgument that names the candidates.
    """
    if not text:
        raise InvalidArgument("a session is named by its id, the start of its id, or a path")
    known = list(rows)
    for matches in (_by_id(text), *_by_path(text), _by_prefix(text)):
        found = [row for row in known if matches(row)]
        chosen = [row for row in found if _is_meant(row, put_away)] or found
        if len(chosen) == 1:
            return chosen[0].key
        if chosen:
            raise InvalidArgument(f"{text!r} means {len(chosen)} sessions: {_names(chosen)}")
    raise SessionNotFound(f"no session {text!r}")


def _is_meant(row: SessionRow, put_away: bool) -> bool:
    trashed = row.trashed_ms is not None
    return row.archived or trashed if put_away else not trashed


def _by_id(text: str) -> Callable[[SessionRow], bool]:
    return lambda row: row.id == text


def _by_prefix(text: str) -> Callable[[SessionRow], bool]:
    return lambda row: row.id.startswith(text)


def _by_path(text: str) -> tuple[Callable[[SessionRow], bool], ...]:
    """As the path is written; where nothing matches, with every link followed (much slower)."""
    if os.sep not in text and not os.path.lexists(text):
        return ()
    wanted = {os.path.abspath(text), os.path.realpath(text)}
    return (
        lambda row: not wanted.isdisjoint(_places(row)),
        lambda row: not wanted.isdisjoint(map(os.path.realpath, _places(row))),
    )


def _places(row: SessionRow) -> tuple[str, ...]:
    return (row.path,) if row.form == "loop2" else (row.path, os.path.dirname(row.path))


def _names(rows: list[SessionRow]) -> str:
    ids = [row.id for row in rows]
    # One id in several places: only the path tells them apart.
    shown = ids if len(set(ids)) == len(ids) else [row.path for row in rows]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more
