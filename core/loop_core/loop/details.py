"""A session's details, one line each, as the browser shows them on demand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from loop_core import fsio
from loop_core.errors import LoopError, reason_of
from loop_core.loop.dates import iso_from_ms
from loop_core.loop.paths import MESSAGES_FILE
from loop_core.loop.reader import Reader, open_session
from loop_core.loop.traces import owner_of
from loop_core.model import Detail, SessionRow
from loop_core.sanitize import safe_line

__all__ = ["details_of"]

_DAMAGE_SHOWN = 5


def details_of(
    row: SessionRow, reader: Reader, project: str, traces: str | None
) -> tuple[Detail, ...]:
    """Everything known about one session. Reads its metadata and one page."""
    lines = list(_identity(row, project))
    try:
        opened = open_session(row.path)
        header = opened.header if isinstance(opened.header, dict) else {}
        lines += _header_lines(header)
        lines += _history_lines(row, reader)
        lines += _storage_lines(row, opened.content.where.base, opened.content.where.length)
    except LoopError as error:
        lines.append(Detail("Cannot be read", safe_line(reason_of(error))))
    lines += _trace_lines(traces)
    if row.problem is not None:
        where = "" if row.problem_line is None else f" (line {row.problem_line})"
        lines.append(Detail("Problem", row.problem + where))
    return tuple(lines)


def _identity(row: SessionRow, project: str) -> Iterator[Detail]:
    forms = {"loop3": "Loop, version 3", "loop2": "Loop, version 2 (a newer Loop migrates it)"}
    yield Detail("Title", row.title or "New session")
    yield Detail("Id", row.id)
    yield Detail("Path", safe_line(row.path))
    yield Detail("Form", forms.get(row.form, row.form))
    yield Detail("Project", project)
    gone = " (missing: Loop cannot resume)" if row.folder_missing else ""
    yield Detail("Folder", safe_line(row.cwd or "unknown") + gone)
    yield Detail("Model", row.model or "not chosen")
    yield Detail("Permissions", row.permission or "unknown")
    for label, moment in (
        ("Created", row.created_ms),
        ("Updated", row.updated_ms or None),
        ("Pinned", row.pinned_ms),
        ("In the trash since", row.trashed_ms),
    ):
        if moment is not None:
            yield Detail(label, iso_from_ms(moment))


def _header_lines(header: dict[str, Any]) -> Iterator[Detail]:
    for label, key in (
        ("Compactions", "compactions"),
        ("Recorded prompts", "promptTimings"),
        ("System prompt changes", "systemPromptCheckpoints"),
    ):
        entries = header.get(key)
        if isinstance(entries, list) and entries:
            yield Detail(label, f"{len(entries):,}")


def _history_lines(row: SessionRow, reader: Reader) -> Iterator[Detail]:
    page = reader.page(row.key, row.path, rounds=1)
    yield Detail("Rounds", f"{page.total_rounds:,}")
    yield Detail("Messages", f"{page.total:,}")
    if page.damage:
        shown = [
            damage.reason if damage.line is None else f"line {damage.line}: {damage.reason}"
            for damage in page.damage[:_DAMAGE_SHOWN]
        ]
        more = len(page.damage) - len(shown)
        shown += [f"and {more:,} more"] if more > 0 else []
        yield Detail("Damage", safe_line("; ".join(shown)))


def _storage_lines(row: SessionRow, start: int, length: int) -> Iterator[Detail]:
    yield Detail("Bytes", f"{length:,}")
    if row.form != "loop3":
        return
    directory = os.path.dirname(row.path)
    stamp = fsio.stamp_of(os.path.join(directory, MESSAGES_FILE))
    size = 0 if stamp is None else stamp.size
    yield Detail("Unreachable bytes", f"{start:,}")
    if size > start + length:
        yield Detail("Uncommitted bytes", f"{size - start - length:,}")
    backup = directory + ".jsonl"
    if os.path.isfile(backup):
        kept = fsio.stamp_of(backup)
        yield Detail("Version-2 backup", f"{0 if kept is None else kept.size:,} bytes")


def _trace_lines(traces: str | None) -> Iterator[Detail]:
    if traces is None or not os.path.isdir(traces):
        yield Detail("Traces", "none")
        return
    owner = owner_of(traces)
    yield Detail("Traces", safe_line(traces if owner is None else f"{traces} ({owner})"))
