"""Which files a session path means, and version-2 files becoming directories.

S0 "Header": opening a version-2 file validates it and publishes a three-file directory; the
original stays, byte for byte, as a backup. A published directory always wins over its backup,
also when it is invalid: stale history is never shown in its place.
"""

from __future__ import annotations

import os
from contextlib import suppress

from loop_core import fsio
from loop_core.errors import Conflict, LoopError, SessionNotFound
from loop_core.jsonvalue import edit
from loop_core.loop.edits import recover_metadata
from loop_core.loop.header import OBSOLETE
from loop_core.loop.opening import Opened, OpenedLegacy, open_directory, open_legacy
from loop_core.loop.paths import META_FILE
from loop_core.loop.publish import publish

__all__ = ["LEGACY_SUFFIX", "is_published", "open_any", "shadow_of"]

LEGACY_SUFFIX = ".jsonl"


def is_published(directory: str) -> bool:
    """Whether a meta.json is there, valid or not; a link that leads nowhere counts."""
    return fsio.stamp_of(os.path.join(directory, META_FILE), follow=False) is not None


def open_any(path: str | os.PathLike[str]) -> Opened:
    """Open meta.json, a session directory, or a version-2 file, which is migrated.

    Raises SessionNotFound, UnsupportedSession, InvalidSession, StorageFailed.
    """
    text = os.path.abspath(path)
    if os.path.basename(text) == META_FILE:
        return _open_to_write(os.path.dirname(text))
    if os.path.isdir(text):
        return _open_to_write(text)
    if not text.endswith(LEGACY_SUFFIX):
        raise SessionNotFound("not a session: no meta.json, session directory or .jsonl", text)
    by_name = text.removesuffix(LEGACY_SUFFIX)
    if is_published(by_name):
        return _open_to_write(by_name)
    legacy = open_legacy(text)
    directory = shadow_of(text, legacy.header["id"])
    return _migrate(text, legacy) if directory is None else _open_to_write(directory)


def _open_to_write(directory: str) -> Opened:
    # Where nothing can be written, nothing can go wrong by what a killed process left either.
    with suppress(LoopError):
        recover_metadata(os.path.join(directory, META_FILE))
    return open_directory(directory)


def shadow_of(path: str, session_id: str) -> str | None:
    """The published directory that stands for a version-2 file: by its name or its id."""
    for name in (os.path.basename(path).removesuffix(LEGACY_SUFFIX), session_id):
        directory = os.path.join(os.path.dirname(path), name)
        if is_published(directory):
            return directory
    return None


def _migrate(path: str, legacy: OpenedLegacy) -> Opened:
    header = edit(legacy.header_text, (OBSOLETE,), None)
    collection = os.path.dirname(path)
    session_id = legacy.header["id"]
    try:
        place = publish(
            collection, session_id, header, legacy.conversation.lines, purpose="migrate"
        )
    except Conflict:
        directory = os.path.join(collection, session_id)
        if not is_published(directory):
            raise
        return _open_to_write(directory)  # another process migrated it first
    return Opened(legacy.header, legacy.conversation, place)
