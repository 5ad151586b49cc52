"""A session read whole and validated, as Loop's open does it.

Every line is kept as text. A version-2 file is only read here; `migration` publishes it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from loop_core import fsio
from loop_core.errors import InvalidSession, StorageFailed
from loop_core.loop.annotations import annotations_problem
from loop_core.loop.conversation import EMPTY, Conversation, extended, is_user_in
from loop_core.loop.edits import published
from loop_core.loop.envelope import Envelope, read_envelope
from loop_core.loop.header import check_cwd
from loop_core.loop.legacy import Legacy, iter_messages, parse_legacy
from loop_core.loop.paths import MESSAGES_FILE, META_FILE
from loop_core.loop.publish import Place
from loop_core.loop.stream import iter_blocks, reader

__all__ = ["Opened", "OpenedLegacy", "open_directory", "open_legacy"]


class Opened(NamedTuple):
    """A valid published session in memory."""

    header: dict[str, Any]
    conversation: Conversation
    place: Place


class OpenedLegacy(NamedTuple):
    """A valid version-2 session in memory; `header_text` is its header as written."""

    header: dict[str, Any]
    conversation: Conversation
    header_text: bytes


def open_directory(directory: str) -> Opened:
    """A published session. Raises SessionNotFound, UnsupportedSession, InvalidSession,
    StorageFailed.
    """
    meta = os.path.join(directory, META_FILE)
    envelope = published(meta, lambda: read_envelope(meta))
    check_cwd(envelope.header, meta, 1)
    conversation = _committed(os.path.join(directory, MESSAGES_FILE), envelope)
    _check_arrays(envelope.header, conversation, meta)
    place = Place(
        directory, envelope.generation, envelope.start, envelope.bytes, envelope.message_count
    )
    return Opened(envelope.header, conversation, place)


def _committed(path: str, envelope: Envelope) -> Conversation:
    if envelope.bytes == 0 and envelope.generation != EMPTY.generation:
        raise InvalidSession(path, "the checksum is not that of an empty history")
    try:
        fd = fsio.open_regular(path)
    except StorageFailed as error:
        if not isinstance(error.error, FileNotFoundError):
            raise
        if envelope.bytes == 0:
            return EMPTY
        raise InvalidSession(path, "the messages are missing") from error
    try:
        with fsio.guarded(path):
            _check_size(os.fstat(fd).st_size, envelope, path)
            found = extended(EMPTY, _lines(fd, envelope.start, envelope.end), path)
            generation = found.generation
            if found.size == envelope.bytes + 1:  # the range ends without its line feed
                generation = _hash_of(fd, envelope)
    except InvalidSession as error:
        if error.line is None or envelope.start == 0:
            raise
        before = _count_lines(path, envelope.start)
        raise InvalidSession(path, error.reason, error.line + before) from error
    finally:
        os.close(fd)
    if len(found.lines) != envelope.message_count:
        count = len(found.lines)
        raise InvalidSession(
            path, f"holds {count} messages, its metadata says {envelope.message_count}"
        )
    if generation != envelope.generation:
        raise InvalidSession(path, "the messages do not have the checksum in the metadata")
    return found


def _check_size(size: int, envelope: Envelope, path: str) -> None:
    if size < envelope.end:
        raise InvalidSession(path, "shorter than its metadata says")


def _lines(fd: int, start: int, end: int) -> Iterator[bytes]:
    for block in iter_blocks(reader(fd), start, end):
        yield from block.removesuffix(b"\n").split(b"\n")


def _hash_of(fd: int, envelope: Envelope) -> str:
    digest = hashlib.sha256()
    for block in iter_blocks(reader(fd), envelope.start, envelope.end):
        digest.update(block)
    return digest.hexdigest()


def _count_lines(path: str, end: int) -> int:
    """Physical lines before the committed range: of generations that were replaced."""
    fd = fsio.open_regular(path)
    try:
        with fsio.guarded(path):
            return sum(block.count(b"\n") for block in iter_blocks(reader(fd), 0, end))
    finally:
        os.close(fd)


def open_legacy(path: str) -> OpenedLegacy:
    """A version-2 file. Raises as `open_directory`."""
    legacy = published(path, lambda: parse_legacy(path))
    check_cwd(legacy.header, path, legacy.line)
    fd = fsio.open_regular(path)
    try:
        with fsio.guarded(path):
            found = extended(EMPTY, _texts(fd, legacy), path, legacy.line + 1)
    finally:
        os.close(fd)
    _check_arrays(legacy.header, found, path, legacy.line)
    return OpenedLegacy(legacy.header, found, _as_utf8(legacy.raw))


def _texts(fd: int, legacy: Legacy) -> Iterator[bytes]:
    """Each message's own text: without the white space around it, always valid UTF-8."""
    for line in iter_messages(reader(fd), legacy):
        yield _as_utf8(line.strip(b" \t\r"))


def _as_utf8(text: bytes) -> bytes:
    return text.decode("utf-8", "replace").encode()


def _check_arrays(
    header: dict[str, Any], conversation: Conversation, path: str, line: int = 1
) -> None:
    problem = annotations_problem(
        header,
        message_count=len(conversation.lines),
        user_count=len(conversation.users),
        is_user=is_user_in(conversation.users),
    )
    if problem is not None:
        raise InvalidSession(path, problem, line)
