"""The row of a session as Loop itself writes it, with as little work as can be.

A list of ten thousand sessions is made of such rows. Everything else (a pin, an odd title, a
date in another form, a number written as 2.0) gives None and takes the way of `rows`, whose
verdict and row are the same.
"""

from __future__ import annotations

import re
from datetime import datetime
from math import floor
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from loop_core.loop.rows import model_name
from loop_core.loop.titles import STORED_BYTES
from loop_core.model import SessionKey, SessionRow, Stamp

__all__ = ["Quick", "quick_row", "read_quickly"]

_Moment = Annotated[datetime, Meta(tz=True)]
_Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class _Model(Struct, gc=False):
    provider: str
    id: str
    effort: Literal["default", "off", "minimal", "low", "medium", "high", "xhigh", "max"] = "off"


class _TitleModel(Struct, gc=False):
    provider: str
    id: str


class _Title(Struct, gc=False, rename="camel"):
    text: str
    source: Literal["fallback", "model", "user"]
    message_indices: list[_Count]
    model: _TitleModel | UnsetType = UNSET


class _Header(Struct, gc=False, rename="camel"):
    """In Loop's order of keys, which the decoder expects next."""

    format: Literal["loop-session"]
    version: Literal[2]
    permission_preset: Literal["read-only", "workspace-write", "danger-full-access"]
    id: str
    cwd: str
    created_at: _Moment
    updated_at: _Moment
    unread: bool = False
    title: _Title | UnsetType = UNSET
    model: _Model | UnsetType = UNSET
    pinned_at: str | UnsetType = UNSET


class Quick(Struct, gc=False, rename="camel"):
    """A decoded meta.json."""

    format: Literal["loop-session"]
    version: Literal[3]
    header: _Header
    generation: str
    start: _Count
    bytes: _Count
    message_count: _Count


_decode = msgspec.json.Decoder(Quick).decode
# Patterns in the types would cost more than all the rest of the decoding; so would three
# matches instead of this one, of the id, the generation, and a title of plain words.
_is_plain = re.compile(r"[a-f0-9-]{36} [0-9a-f]{64}(?: [!-~]++)*+").fullmatch


def read_quickly(raw: bytes) -> Quick | None:
    """The metadata when it is as Loop writes it and holds nothing rare."""
    try:
        file = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    header = file.header
    title = header.title
    names = text = f"{header.id} {file.generation}"
    if title is not UNSET:
        text = f"{names} {title.text}"
        indices = title.message_indices
        if len(indices) > 1 and indices != sorted(set(indices)):
            return None
        if len(title.text) > 120:
            return None
    if _is_plain(text) is None and (
        title is UNSET or _is_plain(names) is None or not _is_title(title.text)
    ):
        return None
    if (
        header.cwd[:1] != "/"
        or (file.bytes == 0) != (file.message_count == 0)
        or header.pinned_at is not UNSET
    ):
        return None
    return file


def _is_title(text: str) -> bool:
    """Whether a title is in normal form, whatever its script.

    Of what is printable, which a screen may see as it is, only spaces and length can be wrong.
    """
    return (
        text.isprintable()
        and text != ""
        and "  " not in text
        and text[0] != " " != text[-1]
        and len(text.encode()) <= STORED_BYTES
    )


def quick_row(  # noqa: PLR0917 - called for each of thousands of sessions
    file: Quick,
    key: SessionKey,
    path: str,
    project: str,
    stamp: Stamp,
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
    return SessionRow(
        key,
        "loop",
        "loop3",
        header.id,
        path,
        project,
        header.cwd,
        None if title is UNSET else title.text,
        None if title is UNSET else title.source,
        # Digits beyond the millisecond do not count; a float holds microseconds.
        floor(header.created_at.timestamp() * 1000 + 0.0005) or None,
        floor(header.updated_at.timestamp() * 1000 + 0.0005),
        header.unread,
        None,  # pinned_ms
        archived,
        None,  # trashed_ms
        file.message_count,
        size,
        None if model is UNSET else model_name(model.provider, model.id),
        header.permission_preset,
        None,  # status
        (),  # labels
        False,  # hidden  # noqa: FBT003
        size == 0,
        missing,
        linked,
        changed_ms,
        owner_live,
        problem,
        None,  # problem_line
        stamp,
    )
