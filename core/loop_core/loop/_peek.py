"""Metadata read only as far as a list needs it, at the speed of its decoding.

The types here accept a subset of what the header rules accept; everything they refuse
(`MsgspecError` or `ValueError`) is judged by the full rules instead.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from loop_core.loop.dates import canonical_ms, parse_date_ms
from loop_core.loop.titles import stored_title_problem

__all__ = ["Peek", "peek_header", "peek_of", "peek_record"]


class Peek(Struct, frozen=True, gc=False, kw_only=True):
    """A valid header as a row shows it. Times are Unix milliseconds, texts are raw.

    `generation`, `start`, `size` (committed bytes) and `message_count` are None for a
    version-2 file, whose metadata does not tell.
    """

    id: str
    cwd: str
    created_ms: int
    updated_ms: int
    unread: bool = False
    pinned_at: str | None = None
    pinned_ms: int | None = None
    title: str | None = None
    title_source: str | None = None
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    permission: str
    generation: str | None = None
    start: int = 0
    size: int | None = None
    message_count: int | None = None


_Moment = Annotated[datetime, Meta(tz=True)]
_Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
_Effort = Literal["default", "off", "minimal", "low", "medium", "high", "xhigh", "max"]


class _Model(Struct, gc=False):
    provider: str
    id: str
    effort: _Effort | UnsetType = UNSET


class _TitleModel(Struct, gc=False):
    provider: str
    id: str


class _Title(Struct, gc=False, rename="camel"):
    text: str
    source: Literal["fallback", "model", "user"]
    message_indices: list[int]
    model: _TitleModel | UnsetType = UNSET


class _Header(Struct, gc=False, rename="camel"):
    format: Literal["loop-session"]
    version: Literal[2]
    id: str
    cwd: str
    created_at: _Moment
    updated_at: _Moment
    permission_preset: Literal["read-only", "workspace-write", "danger-full-access"]
    unread: bool = False
    pinned_at: str | UnsetType = UNSET
    title: _Title | UnsetType = UNSET
    model: _Model | UnsetType = UNSET


class _Record(Struct, gc=False, rename="camel"):
    format: str
    version: Literal[3]
    header: _Header
    generation: str
    start: _Count
    bytes: _Count
    message_count: _Count


_record = msgspec.json.Decoder(_Record).decode
_header = msgspec.json.Decoder(_Header).decode
_is_id = re.compile(r"[a-f0-9-]{36}").fullmatch
_is_generation = re.compile(r"[0-9a-f]{64}").fullmatch
_is_plain_title = re.compile(r"[!-~]++(?: [!-~]++)*+").fullmatch
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def peek_record(raw: bytes) -> Peek:
    """Raises ValueError or a msgspec error for whatever the full rules have to judge."""
    record = _record(raw)
    if not record.format.startswith("loop-session") or _is_generation(record.generation) is None:
        raise ValueError
    if (record.bytes == 0) != (record.message_count == 0):
        raise ValueError
    return _shown(
        record.header, record.generation, record.start, record.bytes, record.message_count
    )


def peek_header(raw: bytes) -> Peek:
    """As `peek_record`, of a version-2 header."""
    return _shown(_header(raw), None, 0, None, None)


def _shown(
    header: _Header,
    generation: str | None,
    start: int,
    size: int | None,
    message_count: int | None,
) -> Peek:
    if _is_id(header.id) is None or header.cwd[:1] != "/":
        raise ValueError
    title, model, pinned = header.title, header.model, header.pinned_at
    if title is not UNSET:
        _require_title(title)
    pinned_ms = None if pinned is UNSET else canonical_ms(pinned)
    if pinned is not UNSET and pinned_ms is None:
        raise ValueError
    return Peek(
        id=header.id,
        cwd=header.cwd,
        created_ms=(header.created_at - _EPOCH) // _MILLISECOND,
        updated_ms=(header.updated_at - _EPOCH) // _MILLISECOND,
        unread=header.unread,
        pinned_at=None if pinned is UNSET else pinned,
        pinned_ms=pinned_ms,
        title=None if title is UNSET else title.text,
        title_source=None if title is UNSET else title.source,
        provider=None if model is UNSET else model.provider,
        model=None if model is UNSET else model.id,
        effort=None if model is UNSET or model.effort is UNSET else model.effort,
        permission=header.permission_preset,
        generation=generation,
        start=start,
        size=size,
        message_count=message_count,
    )


def _require_title(title: _Title) -> None:
    indices = title.message_indices
    plain = len(title.text) <= 120 and _is_plain_title(title.text) is not None
    if not plain or len(indices) > 1:
        value = {"text": title.text, "source": title.source, "messageIndices": indices}
        if stored_title_problem(value) is not None:
            raise ValueError
    elif indices and not 0 <= indices[0] < 2**53:
        raise ValueError


def peek_of(
    header: dict[str, Any],
    *,
    generation: str | None = None,
    start: int = 0,
    size: int | None = None,
    message_count: int | None = None,
) -> Peek:
    """The same of a header that passed the full rules."""
    title, model, pinned = header.get("title", {}), header.get("model", {}), header.get("pinnedAt")
    return Peek(
        id=header["id"],
        cwd=header["cwd"],
        created_ms=_required_ms(header["createdAt"]),
        updated_ms=_required_ms(header["updatedAt"]),
        unread=header.get("unread", False),
        pinned_at=pinned,
        pinned_ms=None if pinned is None else _required_ms(pinned),
        title=title.get("text"),
        title_source=title.get("source"),
        provider=model.get("provider"),
        model=model.get("id"),
        effort=model.get("effort"),
        permission=header["permissionPreset"],
        generation=generation,
        start=start,
        size=size,
        message_count=message_count,
    )


def _required_ms(text: str) -> int:
    ms = parse_date_ms(text)
    if ms is None:  # pragma: no cover - the header was validated
        raise ValueError(text)
    return ms
