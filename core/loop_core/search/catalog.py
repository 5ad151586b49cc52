"""What the index holds of which session, in one private file beside it."""

from __future__ import annotations

import os

import msgspec
from msgspec import Struct

from loop_core import fsio
from loop_core.errors import StorageFailed
from loop_core.model import SessionKey, SessionRow, Stamp, TextMark

__all__ = ["VERSION", "Catalog", "Entry"]

#: Raise it when documents, words or fields change: an index of another version is rebuilt.
VERSION = 3
_NAME = "catalog.json"


class Entry(Struct):
    """One indexed session. `number` names its documents; `stamp` is its metadata file's."""

    number: int
    stamp: Stamp | None
    title: str | None
    mark: TextMark

    def holds(self, row: SessionRow) -> bool:
        """Whether the index has what `row` shows."""
        return self.stamp is not None and self.stamp == row.stamp and self.title == row.title


class _File(Struct):
    version: int
    next: int
    entries: list[tuple[str, str, Entry]]
    files: dict[str, Stamp]
    leaving: list[int] = []


class Catalog:
    """Entries by session key, of which the saved ones never know more than the index holds.

    So what was added is saved after the index commits, and what is taken away before:
    `leaving` numbers the documents that no entry names and the index may still hold.
    `files` are the index's data files as they were then, to notice damage (`intact`).
    """

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, _NAME)
        self.entries: dict[SessionKey, Entry] = {}
        self.next = 1
        self.leaving: list[int] = []
        self.files: dict[str, Stamp] = {}
        self._stamp: Stamp | None = None

    def load(self) -> bool:
        """Read the file when it changed. False: there is none that can be used."""
        try:
            stamp = fsio.stamp_of(self.path)
            if stamp is not None and stamp == self._stamp:
                return True
            raw, self._stamp = fsio.read_file_stamped(self.path)
            file = msgspec.json.decode(raw, type=_File)
        except (StorageFailed, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            file = None
        if file is None or file.version != VERSION:
            self.clear()
            return False
        self.entries = {SessionKey(store, ref): entry for store, ref, entry in file.entries}
        self.next, self.files, self.leaving = file.next, file.files, file.leaving
        return True

    def clear(self) -> None:
        """Know nothing."""
        self.entries, self.next, self.leaving, self.files = {}, 1, [], {}
        self._stamp = None

    def save(self, files: dict[str, Stamp]) -> None:
        """Write the file; `files` are the index's as they are now. Raises StorageFailed."""
        self.files = files
        entries = [(key.store, key.ref, entry) for key, entry in self.entries.items()]
        raw = msgspec.json.encode(_File(VERSION, self.next, entries, files, self.leaving))
        self._stamp = fsio.atomic_write(self.path, raw)

    def number(self, key: SessionKey) -> int:
        """The number of a session's documents, a new one for a new session."""
        entry = self.entries.get(key)
        if entry is not None:
            return entry.number
        self.next += 1
        return self.next - 1
