"""The three files of a version-3 session, written (S0 "Commit and index recovery").

Message bytes are appended and synced first; the metadata that makes them visible follows in
one step. A new session, or one that migrates, is complete in a staging directory before it
gets its name. What a crash leaves is an ignored tail, or a staging directory with our mark.
"""

from __future__ import annotations

import errno
import hashlib
import os
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from loop_core import fsio
from loop_core.errors import Conflict, StorageFailed
from loop_core.loop.paths import MESSAGES_FILE, META_FILE
from loop_core.model import Stamp

__all__ = [
    "STAGING_MARK",
    "Place",
    "cut_tail",
    "envelope_text",
    "is_staging_name",
    "publish",
    "staging_name",
    "write_messages",
]

#: In the name of every staging directory of ours; all begin with a dot, which Loop ignores.
STAGING_MARK = "loop-tui-"
#: A tail younger than this may be a commit of a running Loop that is not published yet.
TAIL_AGE_NS = 5_000_000_000


class Place(NamedTuple):
    """The committed range of one published session, as this process last saw or wrote it."""

    directory: str
    generation: str
    start: int
    bytes: int
    messages: int

    @property
    def end(self) -> int:
        return self.start + self.bytes

    @property
    def messages_path(self) -> str:
        return os.path.join(self.directory, MESSAGES_FILE)

    @property
    def meta_path(self) -> str:
        return os.path.join(self.directory, META_FILE)


def staging_name(purpose: str) -> str:
    """A name for a staging directory: ``.<purpose>-loop-tui-<uuid>``."""
    return f".{purpose}-{STAGING_MARK}{uuid.uuid4()}"


def is_staging_name(name: str, purpose: str) -> bool:
    """Whether a directory entry is a staging directory of ours for this purpose."""
    return name.startswith(f".{purpose}-{STAGING_MARK}")


def envelope_text(header: bytes, generation: str, start: int, size: int, messages: int) -> bytes:
    """A new meta.json around the header's JSON text: compact, with one line feed."""
    return (
        b'{"format":"loop-session","version":3,"header":%b,"generation":"%b",'
        b'"start":%d,"bytes":%d,"messageCount":%d}\n'
        % (header, generation.encode(), start, size, messages)
    )


def publish(
    collection: str, session_id: str, header: bytes, lines: Iterable[bytes], *, purpose: str
) -> Place:
    """A whole new session directory, under its name in one step.

    `lines` are the messages' JSON texts without line feeds, streamed. Raises Conflict when
    a session of that name is there already; StorageFailed. Nothing stays behind then.
    """
    fsio.make_private_dir(collection)
    target = os.path.join(collection, session_id)
    with fsio.lock_dir(collection):
        staging = os.path.join(collection, staging_name(purpose))
        fsio.make_private_dir(staging)
        try:
            counted = _Counted(lines)
            fsio.write_new(os.path.join(staging, MESSAGES_FILE), counted.chunks())
            place = Place(target, counted.hasher.hexdigest(), 0, counted.size, counted.lines)
            meta = envelope_text(header, place.generation, 0, place.bytes, place.messages)
            fsio.write_new(os.path.join(staging, META_FILE), meta)
            _give_name(staging, target)
        except BaseException:
            _drop(staging)
            raise
    return place


def _give_name(staging: str, target: str) -> None:
    """The rename that publishes; taken back when it cannot be made durable."""
    try:
        # Only an empty, hence unpublished, directory can be replaced by this.
        fsio.rename(staging, target, replace=True)
    except StorageFailed as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise Conflict("something of this id is there already", target) from error
        if not os.path.lexists(staging):
            with suppress(StorageFailed):
                fsio.rename(target, staging)
        raise


def _drop(staging: str) -> None:
    """Remove a staging directory; if that fails it stays, marked, for the next start."""
    for _ in range(2):
        try:
            fsio.remove_tree(staging)
        except StorageFailed:
            continue
        return


class _Counted:
    """Lines on their way to a file: bytes, lines and the hash of what went through."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = lines
        self.hasher = hashlib.sha256()
        self.size = 0
        self.lines = 0

    def chunks(self) -> Iterable[bytes]:
        parts: list[bytes] = []
        waiting = 0
        for line in self._lines:
            parts.append(line)
            waiting += len(line) + 1
            self.lines += 1
            if waiting >= 1 << 20:
                yield self._take(parts)
                parts, waiting = [], 0
        if parts:
            yield self._take(parts)

    def _take(self, parts: list[bytes]) -> bytes:
        chunk = b"\n".join(parts) + b"\n"
        self.hasher.update(chunk)
        self.size += len(chunk)
        return chunk


def write_messages(place: Place, lines: Sequence[bytes], own_tail: Stamp | None) -> None:
    """Append lines behind the committed range, cutting off an uncommitted tail; durable.

    Raises Conflict for a tail younger than five seconds that is not `own_tail`, the stamp of
    what an earlier failed save of ours left.
    """
    path = place.messages_path
    stamp = fsio.stamp_of(path, follow=False)
    tail = stamp is not None and stamp.size > place.end
    if tail and stamp is not None and stamp != own_tail:
        age = fsio.now_ns() - stamp.mtime_ns
        if abs(age) < TAIL_AGE_NS:
            raise Conflict("another program may be saving this session", path)
    if lines or tail or stamp is None:
        fsio.append(path, place.end, _Counted(lines).chunks())


def cut_tail(place: Place) -> Stamp | None:
    """Cut off what a failed save left behind the range; None, or the stamp of a tail that stays."""
    try:
        fsio.append(place.messages_path, place.end, b"")
    except StorageFailed:
        return fsio.stamp_of(place.messages_path, follow=False)
    return None
