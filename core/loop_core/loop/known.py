"""The sessions of one folder as last read, and how one of them is brought up to date.

Version-2 files are looked at by `known_legacy`.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import Struct

from loop_core.errors import StorageFailed, UnsupportedSession
from loop_core.loop.folders import Folders
from loop_core.loop.heads import Head, read_head
from loop_core.loop.ours import Ours
from loop_core.loop.paths import MESSAGES_FILE, META_FILE, is_session_id
from loop_core.loop.probe import is_gone, read_at, stat_at
from loop_core.loop.rows import (
    Seen,
    make_row,
    seen_meta,
    unreadable,
)
from loop_core.loop.traces import owner_of
from loop_core.model import Form, SessionKey, SessionRow, Stamp

__all__ = ["RECENT_MS", "Known", "Place", "Sessions", "entitle"]

#: Milliseconds after which a session that was not changed is at rest.
RECENT_MS = 86_400_000


class Place(NamedTuple):
    """What a collection is to its store. `ref` is the start of its sessions' references."""

    store: str
    path: str
    ref: str
    named: bool  # by the user: sessions are grouped by their working directory
    traces: str | None = None


class Known(Struct, gc=False):
    """A session as last read. `messages` is the stamp of messages.jsonl (version 3).

    A session found at rest has none: its message file is not looked at again with the others.
    """

    row: SessionRow
    stamp: Stamp | None
    messages: Stamp | None = None
    start: int = 0
    titled: bool = False  # the fallback title was looked for
    warning: str | None = None


class Sessions:
    """Sessions by stem: the name of a directory, or of a version-2 file without its ending.

    `members` are the archived ids, `traced` the ids with traces, both set before looking.
    """

    def __init__(self, place: Place, folders: Folders, ours: Ours) -> None:
        self.place = place
        self.folders = folders
        self.ours = ours
        self.known: dict[str, Known] = {}
        self.unsupported: dict[str, Stamp | None] = {}
        self.members: frozenset[str] = frozenset()
        self.traced: frozenset[str] = frozenset()
        self.now_ms = 0
        self.places: dict[str, tuple[str, bool, str]] = {}  # found in this scan, by directory

    def begin(self, members: frozenset[str]) -> None:
        """Take in what concerns all sessions, before they are looked at."""
        self.members = members
        self.now_ms = time.time_ns() // 1_000_000
        self.traced = frozenset()
        self.places = {}
        if self.place.traces is not None:
            # Traces that are not there, or unreadable, say nothing about who is running.
            with suppress(OSError):
                self.traced = frozenset(os.listdir(self.place.traces))

    # --- version 3

    def look_published(self, stem: str, folder: int, *, linked: bool, thorough: bool) -> bool:
        """Bring a session directory up to date; False: there is no meta.json.

        Unless `thorough`, the message file of a session at rest is taken to be as it was.
        """
        known = self.known.get(stem)
        if known is not None or stem in self.unsupported:
            stamp = stat_at(f"{stem}/{META_FILE}", folder)
            if stamp is not None and self.unsupported.get(stem) == stamp:
                return True
            if known is not None and stamp is not None and known.stamp == stamp:
                resting = not thorough and self.now_ms - known.row.changed_ms > RECENT_MS
                if resting or known.messages == stat_at(f"{stem}/{MESSAGES_FILE}", folder):
                    self.touch(known)
                    return True
        path = f"{self.place.path}/{stem}/{META_FILE}"
        try:
            raw, stamp = read_at(f"{stem}/{META_FILE}", folder, path)
        except StorageFailed as error:
            if is_gone(error):
                return False
            self._keep_published(stem, unreadable(error), None, folder, linked=linked)
        else:
            self.take(stem, raw, stamp, folder, linked=linked)
        return True

    def take(self, stem: str, raw: bytes, stamp: Stamp, folder: int, *, linked: bool) -> None:
        """Take in metadata that was read under `stamp`."""
        path = f"{self.place.path}/{stem}/{META_FILE}"
        try:
            seen = seen_meta(raw, path)
        except UnsupportedSession:
            self.count_unsupported(stem, stamp)
            return
        self._keep_published(stem, seen, stamp, folder, linked=linked)

    def _keep_published(
        self, stem: str, seen: Seen, stamp: Stamp | None, folder: int, *, linked: bool
    ) -> None:
        path = f"{self.place.path}/{stem}/{META_FILE}"
        messages = stat_at(f"{stem}/{MESSAGES_FILE}", folder)
        self.keep(stem, seen, "loop3", path, (stamp, messages), linked=linked)

    def find_place(self, cwd: str) -> tuple[str, bool, str]:
        """For `places`: the project of a directory, whether it is gone, and one text of it."""
        place = self.place
        found = (*self.folders.place_of(cwd, place.path, named=place.named), cwd)
        self.places[cwd] = found
        return found

    # --- both forms

    def count_unsupported(self, stem: str, stamp: Stamp | None) -> None:
        """A session of another version: no row, but known not to be read again."""
        self.unsupported[stem] = stamp
        self.known.pop(stem, None)

    def keep(
        self,
        stem: str,
        seen: Seen,
        form: Form,
        path: str,
        stamps: tuple[Stamp | None, Stamp | None],
        *,
        linked: bool,
    ) -> Known:
        """Make the row of a session that was read."""
        self.unsupported.pop(stem, None)
        peek, place = seen.peek, self.place
        stamp, messages = stamps
        changed = self.ours.changed_ms(path, stamp, messages)
        session = peek.id or stem
        project, missing = self.folders.place_of(peek.cwd, place.path, named=place.named)
        row = make_row(
            seen,
            key=SessionKey(place.store, place.ref + stem),
            form=form,
            path=path,
            stem=stem,
            project=project,
            archived=session in self.members,
            folder_missing=missing,
            linked=linked,
            changed_ms=changed,
            owner_live=session in self.traced and self.owned(session, changed),
            stamp=stamp,
            messages=messages,
        )
        return self._enter(stem, row, stamps, peek.start, peek.id)

    def _enter(
        self,
        stem: str,
        row: SessionRow,
        stamps: tuple[Stamp | None, Stamp | None],
        start: int,
        session: str,
    ) -> Known:
        """Remember a row that was made, with the title it had if that is still true."""
        stamp, messages = stamps
        titled = row.title is not None or row.size == 0 or row.form == "loop2"
        if not titled:
            old = self.known.get(stem)
            if old is not None and _same_start(old, start, messages):
                row = msgspec.structs.replace(row, title=old.row.title, title_source="fallback")
                titled = True
        warning = None
        if session and session != stem:
            warning = f"the id inside, {row.id}, is not the name it is stored under"
        known = self.known[stem] = Known(row, stamp, messages, start, titled, warning)
        return known

    def touch(self, known: Known) -> None:
        """Bring up to date what may change without the session's own files."""
        row = known.row
        archived = row.id in self.members
        missing = row.cwd is not None and self.folders.folder(row.cwd).missing
        owned = row.id in self.traced and self.owned(row.id, row.changed_ms)
        if row.archived != archived or row.folder_missing != missing or row.owner_live != owned:
            row = msgspec.structs.replace(
                row, archived=archived, folder_missing=missing, owner_live=owned
            )
        if row.path in self.ours.writes:
            # Another thread may have met our write before it was noted.
            changed = self.ours.changed_ms(row.path, known.stamp, known.messages)
            if row.changed_ms != changed:
                row = msgspec.structs.replace(row, changed_ms=changed)
        known.row = row

    def owned(self, session: str, changed_ms: int) -> bool:
        """Whether a live process holds the traces; asked only of sessions of the last day."""
        if self.now_ms - changed_ms > RECENT_MS or not is_session_id(session):
            return False
        return owner_of(os.path.join(self.place.traces or "", session)) is not None

    def resolve_title(self, stem: str) -> None:
        """Read the fallback title of a version-3 session from its messages."""
        known = self.known[stem]
        path = os.path.join(os.path.dirname(known.row.path), MESSAGES_FILE)
        entitle(known, read_head(path, known.start, known.row.size))


def entitle(known: Known, head: Head) -> None:
    """Give a session the title that the head of its messages shows."""
    known.titled = True
    row = known.row
    empty = head.whole and not head.user
    title, source = row.title, row.title_source
    if title is None and head.title is not None:
        title, source = head.title, "fallback"
    known.row = msgspec.structs.replace(row, title=title, title_source=source, empty=empty)


def _same_start(old: Known, start: int, messages: Stamp | None) -> bool:
    """Whether the first messages are the ones a title was taken from."""
    return (
        old.row.title is not None
        and old.row.title_source == "fallback"
        and old.start == start
        and old.messages is not None
        and messages is not None
        and old.messages.inode == messages.inode
    )
