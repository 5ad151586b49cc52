"""Rebuilt round indexes kept between runs in the cache directory. Only hints.

Looking changes nothing in Loop's directories (loop-format, "Our decisions" 8), so an index
that took a pass over a large file to make is kept here. Whatever goes wrong with a cache
file, the messages decide: every page checks the index it used.
"""

from __future__ import annotations

import hashlib
import os
import sys
from array import array

import msgspec
from msgspec import Struct

from loop_core import fsio
from loop_core.errors import StorageFailed
from loop_core.loop.rounds import RoundIndex, is_possible

__all__ = ["RoundCache"]

_MAGIC = b"loop-tui rounds 1\n"
_LIMIT = 256 << 20
_KEPT = 400
#: Bytes of messages; below, one pass is as quick as reading a cache file.
WORTH = 4 << 20


class _Head(Struct, gc=False):
    identity: str
    length: int
    total: int
    rounds: int


_decode_head = msgspec.json.Decoder(_Head).decode


class RoundCache:
    """A directory of indexes, one file for each message file. None: nothing is kept."""

    def __init__(self, directory: str | None) -> None:
        self.directory = directory

    def load(self, path: str, identity: str) -> RoundIndex | None:
        """The index kept for the messages at `path` while `identity` names their content."""
        if self.directory is None:
            return None
        try:
            raw = fsio.read_file(self._file(path), limit=_LIMIT, follow=False)
        except StorageFailed:
            return None
        end = raw.find(b"\n", len(_MAGIC))
        if not raw.startswith(_MAGIC) or end < 0:
            return None
        try:
            head = _decode_head(raw[len(_MAGIC) : end])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        body = raw[end + 1 :]
        if head.identity != identity or len(body) != head.rounds * 16 or sys.byteorder != "little":
            return None
        messages, offsets = array("Q"), array("Q")
        messages.frombytes(body[: head.rounds * 8])
        offsets.frombytes(body[head.rounds * 8 :])
        index = RoundIndex(identity, head.length, head.total, messages, offsets)
        return index if is_possible(index) else None

    def save(self, path: str, identity: str, index: RoundIndex) -> None:
        """Keep an index worth keeping; a failure to write does not matter."""
        if self.directory is None or index.length < WORTH or sys.byteorder != "little":
            return
        head = _Head(identity, index.length, index.total, len(index))
        body = (index.messages.tobytes(), index.offsets.tobytes())
        data = b"".join((_MAGIC, msgspec.json.encode(head), b"\n", *body))
        try:
            fsio.make_private_dir(self.directory)
            fsio.atomic_write(self._file(path), data, mode=0o600)
            self._prune()
        except StorageFailed:
            # A full or read-only cache costs time at the next start, nothing else.
            return

    def _file(self, path: str) -> str:
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        return os.path.join(self.directory or "", f"{name}.idx")

    def _prune(self) -> None:
        directory = self.directory or ""
        try:
            with os.scandir(directory) as entries:
                files = [(e.stat().st_mtime_ns, e.path) for e in entries if e.name.endswith(".idx")]
        except OSError as error:
            raise StorageFailed(error, directory) from error
        for _, path in sorted(files)[:-_KEPT]:
            fsio.remove_file(path)
