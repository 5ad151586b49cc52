"""Exports for both front ends: from a session to a file or a stream of text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from loop_core import fsio
from loop_core.errors import Refused, SessionNotFound
from loop_core.export import FORMATS, ExportSource, Format, export, file_name

if TYPE_CHECKING:
    from loop_core.model import Damage, SessionKey, SessionRow
    from loop_tui.service import Service

__all__ = ["FORMATS", "Format", "damage_of", "form_of", "target_of", "text_of", "write"]

_BLOCK = 1 << 16


def _source(service: Service, key: SessionKey) -> ExportSource:
    row = service.row(key)
    if row is None:
        raise SessionNotFound("the session is not there any more")
    names = {project.key: project.name for project in service.snapshot.projects}
    return ExportSource(
        row=row,
        project=names.get(row.project, ""),
        header=lambda: service.header(key),
        messages=lambda: service.messages(key),
        rounds=lambda: service.rounds(key),
        image=lambda block: service.image_data(key, block),
        damage=lambda: damage_of(service, key),
    )


def damage_of(service: Service, key: SessionKey) -> tuple[Damage, ...]:
    """What of the session could not be read, as far as it is known."""
    return service.page(key, rounds=1).damage


def form_of(path: str, wanted: Format | None = None) -> Format:
    """The format asked for, else the one a file's ending names, else Markdown."""
    if wanted is not None:
        return wanted
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    endings: dict[str, Format] = {"htm": "html", "html": "html", "json": "json"}
    return endings.get(ending, "md")


def text_of(service: Service, key: SessionKey, form: Format) -> Iterator[str]:
    """The export as text chunks. Raises LoopError when the session cannot be read."""
    return export(_source(service, key), form)


def target_of(row: SessionRow, path: str, form: Format | None = None) -> str:
    """The file meant: absolute, and in a folder that was named a file called by the title."""
    target = os.path.abspath(os.path.expanduser(path))
    return os.path.join(target, file_name(row, form or "md")) if os.path.isdir(target) else target


def write(
    service: Service,
    key: SessionKey,
    path: str,
    form: Format,
    *,
    force: bool = False,
    told: Callable[[int], object] | None = None,
) -> str:
    """Write the export whole or not at all; the absolute path written (see `target_of`).

    `told` hears the bytes made so far. Raises Refused when the file exists and `force` is
    not given, or when its folder does not; StorageFailed otherwise.
    """
    target = target_of(_source(service, key).row, path, form)
    if not os.path.isdir(os.path.dirname(target)):
        raise Refused("there is no such folder", os.path.dirname(target))
    chunks = _blocks(text_of(service, key, form))
    if told is not None:
        chunks = _counted(chunks, told)
    if force:
        fsio.atomic_write(target, chunks, follow=True)
    elif os.path.lexists(target) or not fsio.create_by_link(target, chunks):
        raise Refused("the file exists; nothing was written", target)
    return target


def _blocks(chunks: Iterator[str]) -> Iterator[bytes]:
    """UTF-8 in blocks of a useful size; a lone surrogate becomes U+FFFD."""
    held: list[str] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _BLOCK:
            yield "".join(held).encode("utf-8", "replace")
            held, size = [], 0
    yield "".join(held).encode("utf-8", "replace")


def _counted(blocks: Iterator[bytes], told: Callable[[int], object]) -> Iterator[bytes]:
    size = 0
    for block in blocks:
        yield block
        size += len(block)
        told(size)
