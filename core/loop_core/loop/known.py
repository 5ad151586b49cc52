"""The sessions of one folder as last read, and how one of them is brought up to date.

Version-2 files are looked at by `known_legacy`.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

import msgspec
from msgspec import Struct

from loop_core.errors import StorageFailed, UnsupportedSession
from loop_core.loop.folders import Folders
from loop_core.loop.heads import Head, read_head
from loop_core.loop.ours import Ours
from loop_core.loop.paths import MESSAGES_FILE, META_FILE, is_session_id
from loop_core.loop.probe import is_gone, read_at, stat_at
from loop_core.loop.quick import Quick, quick_row, read_quickly
from loop_core.loop.rows import (
    Seen,
    make_row,
    messages_problem,
    seen_meta,
    unreadable,
)
from loop_core.loop.traces import owner_of
from loop_core.model import Form, SessionKey, SessionRow, Stamp

__all__ = ["Known", "Place", "Sessions", "entitle"]

_RECENT_MS = 86_400_000
#: A named tuple without its keyword handling: half the cost, thousands of times a scan.
_new = tuple.__new__


class Place(NamedTuple):
    """What a collection is to its store. `ref` is the start of its sessions' references."""

    store: str
    path: str
    ref: str
    named: bool  # by the user: sessions are grouped by their working directory
    traces: str | None = None


class Known(Struct, gc=False):
    """A session as last read. `messages` is the stamp of messages.jsonl (version 3)."""

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
        self._places: dict[str, tuple[str, bool]] = {}

    def begin(self, members: frozenset[str]) -> None:
        """Take in what concerns all sessions, before they are looked at."""
        self.members = members
        self.now_ms = time.time_ns() // 1_000_000
        self.traced = frozenset()
        self._places = {}
        if self.place.traces is not None and os.path.isdir(self.place.traces):
            try:
                self.traced = frozenset(os.listdir(self.place.traces))
            except OSError:
                # Unreadable traces say nothing about who is running.
                return

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
                resting = not thorough and self.now_ms - known.row.changed_ms > _RECENT_MS
                if resting or known.messages == stat_at(f"{stem}/{MESSAGES_FILE}", folder):
                    self.touch(known)
                    return True
        path = f"{self.place.path}/{stem}/{META_FILE}"
        stamp = None
        try:
            raw, stamp = read_at(f"{stem}/{META_FILE}", folder, path)
            quick = read_quickly(raw)
            if quick is not None:
                messages = stat_at(f"{stem}/{MESSAGES_FILE}", folder)
                self._keep_quickly(stem, quick, path, stamp, messages, linked)
                return True
            seen = seen_meta(raw, path)
        except UnsupportedSession:
            self.count_unsupported(stem, stamp)
            return True
        except StorageFailed as error:
            if is_gone(error):
                return False
            seen = unreadable(error)
        messages = stat_at(f"{stem}/{MESSAGES_FILE}", folder)
        self.keep(stem, seen, "loop3", path, (stamp, messages), linked=linked)
        return True

    def _keep_quickly(  # noqa: PLR0917 - once for each of thousands of sessions
        self,
        stem: str,
        file: Quick,
        path: str,
        stamp: Stamp,
        messages: Stamp | None,
        linked: bool,
    ) -> None:
        """`keep` for metadata as Loop writes it."""
        if stem in self.unsupported:
            del self.unsupported[stem]
        place, header = self.place, file.header
        changed = stamp.mtime_ns
        if messages is not None and messages.mtime_ns > changed:
            changed = messages.mtime_ns
        changed //= 1_000_000
        if self.ours.writes:
            changed = self.ours.changed_ms(path, stamp, messages)
        session, start, end = header.id, file.start, file.start + file.bytes
        found = self._places.get(header.cwd)
        if found is None:
            found = self.folders.place_of(header.cwd, place.path, named=place.named)
            self._places[header.cwd] = found
        row = quick_row(
            file,
            _new(SessionKey, (place.store, place.ref + stem)),
            path,
            found[0],
            stamp,
            session in self.members,
            found[1],
            linked,
            changed,
            session in self.traced and self._owned(session, changed),
            None
            if messages is not None and messages.size >= end
            else messages_problem(end, messages),
        )
        if session == stem and (row.title is not None or row.empty):
            self.known[stem] = Known(row, stamp, messages, start, titled=True)
        else:
            self._enter(stem, row, (stamp, messages), start, session)

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
            owner_live=session in self.traced and self._owned(session, changed),
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
        owned = row.id in self.traced and self._owned(row.id, row.changed_ms)
        if row.archived != archived or row.folder_missing != missing or row.owner_live != owned:
            row = msgspec.structs.replace(
                row, archived=archived, folder_missing=missing, owner_live=owned
            )
        if self.ours.writes:
            # Another thread may have met our write before it was noted.
            changed = self.ours.changed_ms(row.path, known.stamp, known.messages)
            if row.changed_ms != changed:
                row = msgspec.structs.replace(row, changed_ms=changed)
        known.row = row

    def _owned(self, session: str, changed_ms: int) -> bool:
        """Whether a live process holds the traces; asked only of sessions of the last day."""
        if self.now_ms - changed_ms > _RECENT_MS or not is_session_id(session):
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
