"""A published session as this process writes it: bytes first, then the metadata.

`Published.commit` is what `SessionManager.commit` does on disk. It notices another writer of
the same session instead of overwriting it (loop-format "Our decisions" 3): a committed range
that is not the one we know, or a young tail, is a Conflict; header values another program
changed are kept, except those this save sets.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from loop_core import fsio
from loop_core.errors import Conflict, LoopError, SessionNotFound, StorageFailed
from loop_core.jsonvalue import dumps, edit, loads
from loop_core.loop.conversation import Conversation
from loop_core.loop.edits import change_metadata, raw_value, recover_metadata
from loop_core.loop.envelope import Envelope, parse_envelope, read_envelope
from loop_core.loop.header import OBSOLETE
from loop_core.loop.paths import INDEX_FILE
from loop_core.loop.publish import Place, cut_tail, write_messages
from loop_core.loop.rounds import RoundIndex, encode_index
from loop_core.loop.values import deep_equal
from loop_core.model import Stamp

__all__ = ["Changes", "Published", "apply_changes", "write_index"]

#: Header key to its new JSON text; None takes the key away.
Changes = Mapping[str, bytes | None]
_RANGE = ("generation", "start", "bytes", "messageCount")


class Published:
    """Where the session is, the range we know to be committed, and our own leftover tail."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._own_tail: Stamp | None = None

    def commit(self, new: Place, lines: Sequence[bytes], changes: Changes) -> dict[str, Any]:
        """Append `lines`, then publish the range `new`; returns the header on disk after.

        Raises Conflict, SessionNotFound, StorageFailed; the metadata is then what it was, or
        what another program made it, and the appended bytes are cut off again.
        """
        try:
            with fsio.lock_dir(self.place.directory):
                header = self._commit(new, lines, changes)
        except StorageFailed as error:
            if isinstance(error.error, FileNotFoundError):
                reason = "the session is no longer there"
                raise SessionNotFound(reason, self.place.directory) from error
            raise
        self.place, self._own_tail = new, None
        return header

    def _commit(self, new: Place, lines: Sequence[bytes], changes: Changes) -> dict[str, Any]:
        recover_metadata(self.place.meta_path)
        current = read_envelope(self.place.meta_path)
        # An earlier attempt may have got through although the system reported a failure.
        if _range_in(current) == _range_of(new):
            return self._publish(new, changes)
        self._expect_known(current)
        try:
            write_messages(self.place, lines, self._own_tail)
            return self._publish(new, changes)
        except Conflict:
            raise
        except BaseException:
            self._take_back()
            raise

    def _publish(self, new: Place, changes: Changes) -> dict[str, Any]:
        path = self.place.meta_path

        def change(raw: bytes) -> bytes:
            current = parse_envelope(raw, path)
            if _range_in(current) != _range_of(new):
                self._expect_known(current)
            envelope = {
                key: dumps(value) for key, value in zip(_RANGE, _range_of(new), strict=True)
            }
            raw = apply_changes(raw, (), envelope)
            return apply_changes(raw, ("header",), {**changes, OBSOLETE: None})

        return parse_envelope(change_metadata(path, "loop3", change).raw, path).header

    def _expect_known(self, current: Envelope) -> None:
        if _range_in(current) != _range_of(self.place):
            raise Conflict(
                "another program saved this session; open it again", self.place.meta_path
            )

    def _take_back(self) -> None:
        """Cut the new bytes off again, if the metadata still shows the range from before."""
        self._own_tail = None
        with suppress(LoopError):
            if _range_in(read_envelope(self.place.meta_path)) == _range_of(self.place):
                self._own_tail = cut_tail(self.place)
                return
        with suppress(LoopError):
            self._own_tail = fsio.stamp_of(self.place.messages_path, follow=False)

    def change_header(self, decide: Callable[[Envelope], Changes]) -> dict[str, Any]:
        """Apply ``decide(envelope)`` to the header in one guarded write; the header after.

        `decide` may be called several times, with what another program wrote meanwhile.
        """
        path = self.place.meta_path

        def change(raw: bytes) -> bytes:
            return apply_changes(raw, ("header",), decide(parse_envelope(raw, path)))

        return parse_envelope(change_metadata(path, "loop3", change).raw, path).header

    def publish_index(self, conversation: Conversation) -> None:
        """index.json after a save: a hint, so a failure to write it does not undo the save."""
        place = self.place
        users, offsets = array("Q", conversation.users), array("Q", conversation.offsets)
        index = RoundIndex(place.generation, place.bytes, place.messages, users, offsets)
        with suppress(LoopError):
            write_index(place.directory, index)


def write_index(directory: str, index: RoundIndex) -> None:
    """Publish a round index (S0 "Commit and index recovery"). Raises StorageFailed, Conflict."""
    fsio.atomic_write(os.path.join(directory, INDEX_FILE), encode_index(index), durable=False)


def apply_changes(raw: bytes, prefix: tuple[str, ...], changes: Changes) -> bytes:
    """Set or remove values by byte span; a value that already equals the new one stays."""
    for key, value in changes.items():
        now = raw_value(raw, *prefix, key)
        if now == value:
            continue
        if now is None or value is None or not deep_equal(loads(now), loads(value)):
            raw = edit(raw, (*prefix, key), value)
    return raw


def _range_of(place: Place) -> tuple[Any, ...]:
    return (place.generation, place.start, place.bytes, place.messages)


def _range_in(envelope: Envelope) -> tuple[Any, ...]:
    return (envelope.generation, envelope.start, envelope.bytes, envelope.message_count)
