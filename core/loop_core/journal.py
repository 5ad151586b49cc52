"""The record of what was done to sessions, kept before it is done (DESIGN "Words", *Undo*).

An append-only file of JSON lines, private, in our state directory, shared by every process
of ours: appends happen under the directory's lock and start by reading what others appended.
A torn last line (a kill, a full disk) is dropped. Lines that make no sense are reported and
the file is kept aside, its good lines go on. Where the file cannot be written the journal
goes on in memory, and says so once.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec

from loop_core import fsio
from loop_core.errors import LoopError, ReadOnly, reason_of
from loop_core.journal_stacks import Entry, Item, ItemState, Stacks, Way
from loop_core.model import Stamp
from loop_core.outcome import Action

__all__ = ["Entry", "Item", "ItemState", "Journal", "Way"]

KEEP = 1000  # actions
_SLACK = 250  # more than KEEP before the file is rewritten
_LARGE = 16 * 1024 * 1024  # bytes: rewritten with the newest actions that fit in half of it
_ABSURD = 8 * _LARGE  # bytes: nothing we wrote; kept aside unread


class Journal:
    """The journal at `path`; nothing is read or made before it is needed. Thread-safe.

    With `writable` False (a read-only program) the file is read and never touched.
    """

    def __init__(self, path: str | os.PathLike[str], *, writable: bool = True) -> None:
        self.path = os.fspath(path)
        self._writable = writable
        self._mutex = threading.RLock()
        self._stacks = Stacks()
        self._stamp: Stamp | None = None
        self._at = 0  # bytes of whole lines read
        self._torn = False
        self._bad = 0
        self._memory = False  # the file cannot be kept: what is here is the journal
        self._said: set[str] = set()
        self._problems: list[str] = []

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the file, each said once; reads it."""
        with self._mutex:
            self._read()
            found, self._problems = tuple(self._problems), []
            return found

    def begin(
        self,
        action: Action,
        items: Sequence[Item],
        open_stores: Sequence[str],
        *,
        step: bool = True,
    ) -> Entry:
        """Record an action that is about to happen; `end` says how it went."""
        entry = Entry(
            id=str(uuid.uuid4()),
            when=time.time_ns() // 1_000_000,
            action=action,
            items=list(items),
            step=step,
            open=tuple(open_stores),
        )
        with self._mutex:
            self._append({"do": "begin", **msgspec.to_builtins(entry)})
            return self._stacks.entries[entry.id]

    def end(self, entry: Entry, way: Way, states: Sequence[ItemState]) -> None:
        """Record how the action, its undo or its redo went, item by item."""
        with self._mutex:
            self._append({"do": "end", "id": entry.id, "way": way, "states": list(states)})

    def peek(self, way: Way, open_stores: set[str]) -> Entry | None:
        """The action `way` would take, or None."""
        with self._mutex:
            self._read()
            return self._stacks.top(way, open_stores)

    def claim(self, entry: Entry, way: Way) -> None:
        """Record that an action is about to be undone or redone."""
        with self._mutex:
            self._append({"do": "claim", "id": entry.id, "way": way})

    def current(self, entry: Entry) -> Entry:
        """The same action as the journal has it now."""
        with self._mutex:
            return self._stacks.entries.get(entry.id, entry)

    def entries(self) -> list[Entry]:
        """Every action known, oldest first: what was done, when, to which sessions."""
        with self._mutex:
            self._read()
            return list(self._stacks.entries.values())

    # --- the file

    def _append(self, line: dict[str, Any]) -> None:
        """Apply the line, durable first if the file can be written."""
        if not self._memory:
            try:
                self._append_to_file(line)
            except LoopError as error:
                self._memory = True
                self._say(
                    "The journal cannot be kept, so undo reaches only this run: "
                    f"{self.path}: {reason_of(error)}"
                )
        if self._memory:
            self._stacks.feed(json.loads(_encode(line)))

    def _append_to_file(self, line: dict[str, Any]) -> None:
        if not self._writable:
            raise ReadOnly("nothing is changed in read-only mode", self.path)
        with self._locked():
            self._load()
            if self._torn or self._bad:
                self._rewrite()
            fsio.append_line(self.path, _encode(line))
            self._load()
            if len(self._stacks.entries) > KEEP + _SLACK or self._at > _LARGE:
                self._rewrite()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        folder = os.path.dirname(self.path)
        fsio.make_private_dir(folder)
        with fsio.lock_dir(folder):
            yield

    def _read(self) -> None:
        """Catch up with the file as far as it can be read."""
        try:
            self._load()
        except LoopError as error:
            self._say(f"The journal cannot be read: {self.path}: {reason_of(error)}")

    def _load(self) -> None:
        stamp = None if self._memory else fsio.stamp_of(self.path)
        if self._memory or stamp == self._stamp:
            return
        if stamp is None:
            self._reset()
            return
        if self._stamp is None or stamp.inode != self._stamp.inode or stamp.size < self._at:
            self._reset()
        if stamp.size > _ABSURD:
            self._stamp, self._bad = stamp, self._bad + 1
            self._say(f"The journal is too large to be one: {self.path}")
            return
        data = fsio.read_range(self.path, self._at, max(0, stamp.size - self._at))
        self._stamp = stamp
        self._feed(data)

    def _reset(self) -> None:
        self._stacks, self._stamp, self._at = Stacks(), None, 0
        self._torn, self._bad = False, 0

    def _feed(self, data: bytes) -> None:
        whole, _, rest = data.rpartition(b"\n")
        for line in whole.split(b"\n") if whole else ():
            self._feed_line(line)
        self._at += len(data) - len(rest)
        self._torn = bool(rest)
        if self._bad:
            self._say(f"{self._bad} lines of the journal make no sense: {self.path}")

    def _feed_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            self._stacks.feed(json.loads(line))
        except (ValueError, KeyError, IndexError, AttributeError, TypeError, RecursionError):
            self._bad += 1

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._problems.append(text)

    def _rewrite(self) -> None:
        """The newest actions in a fresh file; a broken one is kept aside first."""
        if self._bad:
            aside = f"{self.path}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
            fsio.rename(self.path, aside)
            self._say(f"The broken journal is kept as {aside}")
        for name in list(self._stacks.entries)[:-KEEP]:
            self._stacks.forget(name)
        while True:
            data = b"".join(_encode(line) + b"\n" for line in self._stacks.lines())
            if len(data) <= _LARGE // 2 or len(self._stacks.entries) <= 1:
                break
            for name in list(self._stacks.entries)[: (len(self._stacks.entries) + 1) // 2]:
                self._stacks.forget(name)
        fsio.atomic_write(self.path, data)
        self._torn, self._bad = False, 0
        self._stamp, self._at = fsio.stamp_of(self.path), len(data)


def _encode(line: dict[str, Any]) -> bytes:
    # ASCII escapes carry the lone surrogates that stand for undecodable bytes in paths.
    return json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode("ascii")
