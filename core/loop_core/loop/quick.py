"""The row of a session as Loop itself writes it, with as little work as can be.

A list of ten thousand sessions is made of such rows. Everything else (a pin, an odd title, a
date in another form, a number written as 2.0) gives None and takes the way of `rows`, whose
verdict and row are the same.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from loop_core.loop.rows import model_name
from loop_core.model import SessionKey, SessionRow, Stamp

__all__ = ["Quick", "quick_row", "read_quickly"]

_Moment = Annotated[datetime, Meta(tz=True)]
_Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class _Model(Struct, gc=False):
    provider: str
    id: str
    effort: Literal["off", "minimal", "low", "medium", "high", "xhigh", "max", None] = None


class _Title(Struct, gc=False, rename="camel"):
    text: str
    source: Literal["fallback", "model", "user"]
    message_indices: list[_Count]
    model: msgspec.Raw | None = None


class _Header(Struct, gc=False, rename="camel"):
    format: Literal["loop-session"]
    version: Literal[2]
    id: Annotated[str, Meta(pattern="^[a-f0-9-]{36}$", max_length=36)]
    cwd: Annotated[str, Meta(pattern="^/")]
    created_at: _Moment
    updated_at: _Moment
    permission_preset: Literal["read-only", "workspace-write", "danger-full-access"]
    unread: bool = False
    pinned_at: str | None = None
    title: _Title | None = None
    model: _Model | None = None


class Quick(Struct, gc=False, rename="camel"):
    """A decoded meta.json."""

    format: Literal["loop-session"]
    version: Literal[3]
    header: _Header
    generation: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
    start: _Count
    bytes: _Count
    message_count: _Count


_decode = msgspec.json.Decoder(Quick).decode
_is_plain = re.compile(r"[!-~]++(?: [!-~]++)*+").fullmatch


def read_quickly(raw: bytes) -> Quick | None:
    """The metadata when it is as Loop writes it and holds nothing rare."""
    try:
        file = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    header = file.header
    # A null is not absence: the rules decide. So they do on whatever is rare.
    if header.pinned_at is not None or b"null" in raw:
        return None
    if (file.bytes == 0) != (file.message_count == 0):
        return None
    title = header.title
    if title is not None:
        plain = len(title.text) <= 120 and _is_plain(title.text) is not None
        if not plain or len(title.message_indices) > 1 or title.model is not None:
            return None
    return file


def quick_row(
    file: Quick,
    key: SessionKey,
    path: str,
    project: str,
    stamp: Stamp,
    *,
    archived: bool,
    missing: bool,
    linked: bool,
    changed_ms: int,
    owner_live: bool,
    problem: str | None,
) -> SessionRow:
    """The row; equal to what `rows.make_row` makes of the same metadata."""
    header = file.header
    title, model, size = header.title, header.model, file.bytes
    created = round(header.created_at.timestamp() * 1000)
    updated = created
    if header.updated_at is not header.created_at:
        updated = round(header.updated_at.timestamp() * 1000)
    return SessionRow(
        key=key,
        source="loop",
        form="loop3",
        id=header.id,
        path=path,
        project=project,
        cwd=header.cwd,
        title=None if title is None else title.text,
        title_source=None if title is None else title.source,
        created_ms=created or None,
        updated_ms=updated,
        unread=header.unread,
        archived=archived,
        message_count=file.message_count,
        size=size,
        model=None if model is None else model_name(model.provider, model.id),
        permission=header.permission_preset,
        empty=size == 0,
        folder_missing=missing,
        linked=linked,
        changed_ms=changed_ms,
        owner_live=owner_live,
        problem=problem,
        stamp=stamp,
    )
