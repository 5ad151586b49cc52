"""What every form of an export shares: its source, the facts on top, names and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from loop_core.model import Damage, ImageBlock, Round, SessionRow
from loop_core.sanitize import safe_line

Format = Literal["md", "html", "json"]
FORMATS: tuple[Format, ...] = ("md", "html", "json")
ImageData = Callable[[ImageBlock], tuple[str, str] | None]
#: Stands above the damage, where there is any.
UNREADABLE = "Not everything could be read"
_NAMED = 100
_UNFIT = re.compile(r"[^\w.-]+")


class ExportSource(Struct, frozen=True, kw_only=True):
    """What an export reads: lazily, so that only what is written is held.

    `rounds` and `messages` start a new pass at each call. `image` answers with the media
    type and the base64 text of an image, or None when the store cannot give it. `damage` is
    asked at the end: what of the session could not be read.
    """

    row: SessionRow
    project: str
    header: Callable[[], Any]
    messages: Callable[[], Iterator[tuple[int, Any]]]
    rounds: Callable[[], Iterable[Round]]
    image: ImageData
    damage: Callable[[], Sequence[Damage]] = tuple


def file_name(row: SessionRow, form: Format) -> str:
    """A name for the file: the title in plain characters, the start of the id, the ending."""
    words = _UNFIT.sub("-", safe_line(row.title or "session", 60)).strip("-.") or "session"
    short = _UNFIT.sub("", row.id)[:8].strip("-.")
    return "-".join(part for part in (words, short) if part) + f".{form}"


def facts(source: ExportSource) -> list[tuple[str, str]]:
    """What stands above the conversation: label and sanitized value."""
    row = source.row
    pairs = [
        ("Project", source.project),
        ("Folder", safe_line(row.cwd or "")),
        ("Session", safe_line(row.id)),
        ("Model", safe_line(row.model or "")),
        ("Created", when(row.created_ms)),
        ("Last activity", when(row.updated_ms or None)),
        ("Messages", "" if row.message_count is None else f"{row.message_count:,}"),
        ("Damage", safe_line(row.problem or "")),
    ]
    return [(label, value) for label, value in pairs if value]


def damage_lines(source: ExportSource) -> list[str]:
    """What could not be read, a line of plain text each; the first hundred places."""
    damage = source.damage()
    lines = [
        safe_line(each.reason if each.line is None else f"Line {each.line:,}: {each.reason}")
        for each in damage[:_NAMED]
    ]
    if len(damage) > _NAMED:
        lines.append(f"and {len(damage) - _NAMED:,} more")
    return lines


def round_name(one: Round) -> str:
    """What stands above a round."""
    return "Before the first message" if one.index < 0 else f"Round {one.index + 1}"


def title_of(source: ExportSource) -> str:
    """The session's title, or the words a list shows for none."""
    return safe_line(source.row.title or "New session")


def when(ms: int | None) -> str:
    """A local date and minute, or nothing."""
    if ms is None:
        return ""
    try:
        return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):
        return ""


def seconds(ms: int) -> str:
    """A duration as Loop words it: whole seconds, minutes from sixty on."""
    whole = ms // 1000
    return f"{whole}s" if whole < 60 else f"{whole // 60}m {whole % 60}s"


def size_of(count: int) -> str:
    """Bytes for a person."""
    value = float(count)
    for unit in ("bytes", "KB", "MB"):
        if value < 1000:
            return (
                f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
            )
        value /= 1000
    return f"{value:.1f} GB"
