"""From a session's metadata to what a list needs of it, whatever state it is in.

Metadata that Loop accepts goes through `envelope.peek`. What Loop would refuse still gives a
row: the verdict becomes its problem, and of the header is taken what can be used. Other
formats are told apart (`UnsupportedSession`): lists only count them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from loop_core.errors import InvalidSession, LoopError, StorageFailed, UnsupportedSession, reason_of
from loop_core.jsonvalue import JsonSyntaxError, loads
from loop_core.loop.dates import is_canonical_iso, parse_date_ms
from loop_core.loop.envelope import Peek, peek, peek_legacy
from loop_core.model import Form, SessionKey, SessionRow, Stamp
from loop_core.sanitize import safe_line

__all__ = [
    "NOTHING",
    "TOO_SHORT",
    "Seen",
    "make_row",
    "messages_problem",
    "model_name",
    "seen_legacy",
    "seen_meta",
    "unreadable",
]

TOO_SHORT = "messages.jsonl is shorter than the metadata says"
_TITLE_SOURCES = ("fallback", "model", "user")


class Seen(NamedTuple):
    """Metadata as far as it is known; `peek.cwd` and `peek.id` may be empty."""

    peek: Peek
    problem: str | None = None
    line: int | None = None


NOTHING = Peek(id="", cwd="", created_ms=0, updated_ms=0, permission="")


def seen_meta(raw: bytes, path: str) -> Seen:
    """What meta.json says. Raises UnsupportedSession."""
    try:
        return Seen(peek(raw, path))
    except UnsupportedSession:
        raise
    except LoopError as error:
        value = _value(raw.removeprefix(b"\xef\xbb\xbf"))
        outer: dict[str, Any] = value if isinstance(value, dict) else {}
        return _broken(outer.get("header"), error, outer)


def seen_legacy(line: bytes, path: str) -> Seen:
    """What the first line of a version-2 file says. Raises UnsupportedSession."""
    try:
        return Seen(peek_legacy(line, path))
    except UnsupportedSession:
        raise
    except LoopError as error:
        return _broken(_value(line), error, {})


def unreadable(error: StorageFailed) -> Seen:
    """A session whose metadata the system does not let us read."""
    return Seen(NOTHING, f"cannot be read: {safe_line(error.reason)}")


def make_row(
    seen: Seen,
    *,
    key: SessionKey,
    form: Form,
    path: str,
    stem: str,
    project: str,
    archived: bool,
    folder_missing: bool,
    linked: bool,
    changed_ms: int,
    owner_live: bool,
    stamp: Stamp | None,
    messages: Stamp | None,
) -> SessionRow:
    """The row of a session; `stem` names one without an id, `messages` is of messages.jsonl."""
    peek = seen.peek
    problem = seen.problem
    if form == "loop3" and problem is None:
        problem = messages_problem(peek.start + (peek.size or 0), messages)
    return SessionRow(
        key=key,
        source="loop",
        form=form,
        id=safe_line(peek.id or stem, 100),
        path=path,
        project=project,
        cwd=peek.cwd or None,
        title=None if peek.title is None else safe_line(peek.title, 400),
        title_source=peek.title_source,
        created_ms=peek.created_ms or None,
        updated_ms=peek.updated_ms,
        unread=peek.unread,
        pinned_ms=peek.pinned_ms,
        archived=archived,
        message_count=peek.message_count,
        size=peek.size or 0,
        model=model_name(peek.provider, peek.model),
        permission=safe_line(peek.permission, 40) or None,
        empty=not peek.size,
        folder_missing=folder_missing,
        linked=linked,
        changed_ms=changed_ms,
        owner_live=owner_live,
        problem=problem,
        problem_line=seen.line,
        stamp=stamp,
    )


def messages_problem(end: int, messages: Stamp | None) -> str | None:
    if messages is None:
        return "messages.jsonl is missing" if end else None
    return TOO_SHORT if messages.size < end else None


@lru_cache(maxsize=256)
def model_name(provider: str | None, model: str | None) -> str | None:
    """Provider and model as a row shows them."""
    names = [name for name in (provider, model) if name]
    return safe_line("/".join(names), 200) if names else None


def _value(raw: bytes) -> Any:
    try:
        return loads(raw)
    except JsonSyntaxError:
        return None


def _broken(header: Any, error: LoopError, outer: dict[str, Any]) -> Seen:
    """What can be used of a header Loop refuses."""
    values: dict[str, Any] = header if isinstance(header, dict) else {}
    title, model = (_object(values.get(key)) for key in ("title", "model"))
    source = title.get("source")
    created = _date(values.get("createdAt")) or 0
    pinned = values.get("pinnedAt")
    cwd = _string(values.get("cwd"))
    found = Peek(
        id=_string(values.get("id"))[:200],
        cwd=cwd if cwd.startswith("/") else "",
        created_ms=created,
        updated_ms=_date(values.get("updatedAt")) or created,
        unread=values.get("unread") is True,
        pinned_ms=_date(pinned) if isinstance(pinned, str) and is_canonical_iso(pinned) else None,
        title=_string(title.get("text")) or None,
        title_source=source if source in _TITLE_SOURCES else None,
        provider=_string(model.get("provider")) or None,
        model=_string(model.get("id")) or None,
        permission=_string(values.get("permissionPreset")),
        start=_whole(outer.get("start")) or 0,
        size=_whole(outer.get("bytes")),
        message_count=_whole(outer.get("messageCount")),
    )
    line = error.line if isinstance(error, InvalidSession) else None
    return Seen(found, safe_line(reason_of(error)), line)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < 2**53 else None


def _date(value: Any) -> int | None:
    return parse_date_ms(value) if isinstance(value, str) and len(value) < 100 else None
