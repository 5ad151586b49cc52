"""One folder of Loop sessions, scanned tolerantly and incrementally.

Every session becomes a row from its metadata alone; whatever is no session and no file of
Loop's becomes a `Problem`. Only what changed since the last look (by `Stamp`) is decoded. A
failure to list the folder keeps what was known; a file that is missing for a moment, between
the unlink and the rename of its writer, is waited for.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct

from loop_core import fsio
from loop_core.errors import StorageFailed, UnsupportedSession
from loop_core.loop.archived import Archived
from loop_core.loop.folders import Folders
from loop_core.loop.heads import head_of, read_head
from loop_core.loop.paths import MESSAGES_FILE, META_FILE
from loop_core.loop.probe import is_gone, open_folder, read_at, read_first_line, stat_at
from loop_core.loop.rows import Seen, make_row, seen_legacy, seen_meta, unreadable
from loop_core.loop.traces import owner_of
from loop_core.model import Form, Problem, SessionKey, SessionRow, Stamp
from loop_core.store import Cancelled

__all__ = ["Collection", "Known", "Place"]

#: Seconds a file may be missing while its writer replaces it.
GRACE = 0.25
_STEP = 256
_RECENT_NS = 86_400 * 10**9
_GONE = (errno.ENOENT, errno.ENOTDIR)


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
    cwd: str = ""
    start: int = 0
    titled: bool = False  # the fallback title was looked for
    warning: str | None = None


class Collection:
    """The sessions of one folder. Not thread-safe: its store's scan holds a lock."""

    def __init__(self, place: Place, folders: Folders) -> None:
        self.place = place
        self.folders = folders
        self.only: set[str] | None = None  # directories that are sessions; None: all
        self.known: dict[str, Known] = {}
        self.unsupported: set[str] = set()
        self._unsupported_stamps: dict[str, Stamp] = {}
        self._oddities: dict[str, Problem] = {}  # by path: found by listing
        self._unpublished: set[str] = set()
        self._failure: Problem | None = None
        self._archived = Archived(place.store, place.path)

    # --- what is known

    def rows(self) -> Iterable[SessionRow]:
        shadowed = self._shadowed()
        if not shadowed:
            return [known.row for known in self.known.values()]
        return [known.row for stem, known in self.known.items() if stem not in shadowed]

    def problems(self) -> list[Problem]:
        found = [p for p in (self._failure, self._archived.problem) if p is not None]
        found += self._oddities.values()
        found += [
            self._problem(stem, "a session directory without meta.json", "unpublished")
            for stem in sorted(self._unpublished)
        ]
        for known in self.known.values():
            if known.warning is not None:
                row = known.row
                found.append(
                    Problem(
                        store=self.place.store, path=row.path, reason=known.warning, key=row.key
                    )
                )
        return found

    def _shadowed(self) -> set[str]:
        """Version-2 files behind a published directory of the same id but another name."""
        legacy = [s for s, k in self.known.items() if k.row.form == "loop2"]
        if not legacy:
            return set()
        published = {k.row.id for k in self.known.values() if k.row.form == "loop3"}
        return {stem for stem in legacy if self.known[stem].row.id in published}

    def _problem(
        self, name: str, reason: str, kind: str = "unreadable", path: str | None = None
    ) -> Problem:
        full = os.path.join(self.place.path, name) if path is None else path
        return Problem(store=self.place.store, path=full, reason=reason, kind=kind)  # type: ignore[arg-type]

    # --- looking

    def scan(self, cancelled: Cancelled) -> Iterator[None]:
        """Look at everything; pauses every few hundred sessions."""
        try:
            stems = self._list()
        except OSError as error:
            if error.errno in _GONE:
                self._forget_everything()
            else:
                reason = f"the folder cannot be read: {error.strerror}"
                self._failure = self._problem("", reason, path=self.place.path)
            return
        self._failure = None
        self._archived.refresh()
        missing = []
        try:
            descriptor = open_folder(self.place.path)
        except OSError as error:
            reason = f"the folder cannot be entered: {error.strerror}"
            self._failure = self._problem("", reason, path=self.place.path)
            return
        try:
            for count, (stem, forms) in enumerate(stems.items(), 1):
                if not self._look(stem, forms, descriptor):
                    missing.append(stem)
                if count % _STEP == 0:
                    yield
                    if cancelled():
                        return
            missing += [stem for stem in self.known if stem not in stems]
            self._settle(missing, descriptor)
            for stem in [s for s in self._unpublished if s not in stems]:
                self._unpublished.discard(stem)
            self._forget_unsupported(stems)
        finally:
            os.close(descriptor)

    def look_at(self, stems: set[str]) -> None:
        """Look at these sessions only, and at the archive."""
        self._archived.refresh()
        for path in [p for p in self._oddities if not os.path.lexists(p)]:
            del self._oddities[path]
        try:
            descriptor = open_folder(self.place.path)
        except OSError as error:
            if error.errno in _GONE:
                self._forget_everything()
            return
        try:
            missing = []
            for stem in stems:
                forms = self._forms(stem)
                if not forms and stem not in self.known:
                    self._unpublished.discard(stem)
                    self.unsupported.discard(stem)
                elif not self._look(stem, forms, descriptor):
                    missing.append(stem)
            self._settle(missing, descriptor)
            self._mark_archived()
        finally:
            os.close(descriptor)

    def resolve_titles(self, cancelled: Cancelled, only: set[str] | None = None) -> Iterator[None]:
        """Read the fallback titles that are wanted, newest session first."""
        wanted = [
            (known.row.updated_ms, stem)
            for stem, known in self.known.items()
            if not known.titled and (only is None or stem in only)
        ]
        for count, (_, stem) in enumerate(sorted(wanted, reverse=True), 1):
            self._resolve_title(self.known[stem])
            if count % _STEP == 0:
                yield
                if cancelled():
                    return

    def _resolve_title(self, known: Known) -> None:
        row = known.row
        path = os.path.join(os.path.dirname(row.path), MESSAGES_FILE)
        head = read_head(path, known.start, row.size)
        known.titled = True
        known.row = msgspec.structs.replace(
            row,
            title=head.title,
            title_source=None if head.title is None else "fallback",
            empty=head.whole and not head.user,
        )

    # --- listing

    def _list(self) -> dict[str, str]:
        """Stems with the forms found: "d" a directory, "f" a file; upper case where linked."""
        stems: dict[str, str] = {}
        self._oddities = {}
        with os.scandir(self.place.path) as entries:
            for entry in entries:
                name = entry.name
                try:
                    if name.startswith("."):
                        self._hidden(name)
                    elif entry.is_dir():
                        if self.only is not None and name not in self.only:
                            continue
                        stems[name] = _form("d", entry) + stems.get(name, "")
                    elif name.endswith(".jsonl"):
                        if entry.is_file():
                            stem = name[:-6]
                            stems[stem] = stems.get(stem, "") + _form("f", entry)
                        else:
                            self._odd(name, "not a regular file")
                    elif name.endswith(".tmp"):
                        self._odd(name, "a temporary file another program left", "leftover")
                    elif entry.is_symlink() and not entry.is_file():
                        self._odd(name, "a symbolic link that leads nowhere")
                except OSError as error:
                    self._odd(name, f"cannot be looked at: {error.strerror}")
        return stems

    def _hidden(self, name: str) -> None:
        if name.startswith(".delete-"):
            self._odd(name, "an unfinished deletion of another program", "leftover")
        elif name.endswith(".tmp") and not fsio.is_our_temporary(name):
            self._odd(name, "a temporary file another program left", "leftover")

    def _odd(self, name: str, reason: str, kind: str = "unreadable") -> None:
        problem = self._problem(name, reason, kind)
        self._oddities[problem.path] = problem

    def _forms(self, stem: str) -> str:
        path = os.path.join(self.place.path, stem)
        forms = ""
        for form, name, there in (
            ("d", path, os.path.isdir),
            ("f", path + ".jsonl", os.path.isfile),
        ):
            if there(name):
                forms += form.upper() if os.path.islink(name) else form
        return forms

    def _forget_everything(self) -> None:
        self.known, self.unsupported, self._unpublished = {}, set(), set()
        self._oddities, self._failure = {}, None

    def _forget_unsupported(self, stems: dict[str, str]) -> None:
        self.unsupported.intersection_update(stems)
        for stem in [s for s in self._unsupported_stamps if s not in stems]:
            del self._unsupported_stamps[stem]

    def _settle(self, missing: list[str], descriptor: int) -> None:
        """Wait a moment for files that were known and are not there; then they are gone."""
        missing = [stem for stem in missing if stem in self.known]
        deadline = time.monotonic() + GRACE
        while missing:
            missing = [stem for stem in missing if not self._look(stem, None, descriptor)]
            waiting = [stem for stem in missing if self._may_return(stem)]
            if not waiting or time.monotonic() >= deadline:
                break
            time.sleep(0.02)
        for stem in missing:
            del self.known[stem]
            # A version-2 backup may be what is left.
            self._look(stem, None, descriptor)

    def _may_return(self, stem: str) -> bool:
        """A directory is only ever moved as a whole; a file may be on its way."""
        row = self.known[stem].row
        return row.form == "loop2" or os.path.isdir(os.path.dirname(row.path))

    # --- one session

    def _look(self, stem: str, forms: str | None, descriptor: int) -> bool:
        """Bring one session up to date; False when nothing of it is there."""
        forms = self._forms(stem) if forms is None else forms
        if "d" in forms.lower():
            if self._look_published(stem, descriptor, linked="D" in forms):
                self._unpublished.discard(stem)
                return True
            if stem in self.known and self.known[stem].row.form == "loop3":
                return False
            self._unpublished.add(stem)
        else:
            self._unpublished.discard(stem)
        if "f" in forms.lower():
            return self._look_legacy(stem, linked="F" in forms)
        return "d" in forms.lower()

    def _look_published(self, stem: str, descriptor: int, *, linked: bool) -> bool:
        """False: there is no meta.json."""
        known = self.known.get(stem)
        messages = stat_at(f"{stem}/{MESSAGES_FILE}", descriptor)
        if known is not None or stem in self._unsupported_stamps:
            stamp = stat_at(f"{stem}/{META_FILE}", descriptor)
            if stamp is not None and self._unsupported_stamps.get(stem) == stamp:
                return True
            if (
                known is not None
                and stamp is not None
                and known.stamp == stamp
                and known.messages == messages
            ):
                self._touch(known)
                return True
        path = f"{self.place.path}/{stem}/{META_FILE}"
        stamp = None
        try:
            raw, stamp = read_at(f"{stem}/{META_FILE}", descriptor, path)
            seen = seen_meta(raw, path)
        except UnsupportedSession:
            self._count_unsupported(stem, stamp)
            return True
        except StorageFailed as error:
            if is_gone(error):
                return False
            seen = unreadable(error)
        self._known(
            stem, seen, form="loop3", path=path, stamp=stamp, messages=messages, linked=linked
        )
        return True

    def _look_legacy(self, stem: str, *, linked: bool) -> bool:
        path = f"{self.place.path}/{stem}.jsonl"
        known = self.known.get(stem)
        try:
            stamp = fsio.stamp_of(path)
        except StorageFailed:
            stamp = None
        if stamp is not None and self._unsupported_stamps.get(stem) == stamp:
            return True
        if known is not None and known.row.form == "loop2" and stamp and known.stamp == stamp:
            self._touch(known)
            return True
        head = None
        try:
            first = read_first_line(path)
            stamp = first.stamp
            size = max(0, stamp.size - first.end - 1)
            seen = seen_legacy(first.raw, path)
            seen = seen._replace(peek=msgspec.structs.replace(seen.peek, size=size))
            head = head_of(first.rest, whole=len(first.rest) == size)
        except UnsupportedSession:
            self._count_unsupported(stem, stamp)
            return True
        except StorageFailed as error:
            if is_gone(error):
                return False
            seen = unreadable(error)
        known = self._known(
            stem, seen, form="loop2", path=path, stamp=stamp, messages=None, linked=linked
        )
        if head is not None and known.row.title is None:
            known.row = msgspec.structs.replace(
                known.row,
                title=head.title,
                title_source=None if head.title is None else "fallback",
                empty=head.whole and not head.user,
            )
        return True

    def _count_unsupported(self, stem: str, stamp: Stamp | None) -> None:
        self.unsupported.add(stem)
        self.known.pop(stem, None)
        if stamp is not None:
            self._unsupported_stamps[stem] = stamp

    def _known(
        self,
        stem: str,
        seen: Seen,
        *,
        form: Form,
        path: str,
        stamp: Stamp | None,
        messages: Stamp | None,
        linked: bool,
    ) -> Known:
        """Make the row of a session that was read."""
        self.unsupported.discard(stem)
        old = self.known.get(stem)
        peek, place = seen.peek, self.place
        session = peek.id or stem
        changed = max(stamp.mtime_ns if stamp else 0, messages.mtime_ns if messages else 0)
        row = make_row(
            seen,
            key=SessionKey(place.store, place.ref + stem),
            form=form,
            path=path,
            stem=stem,
            project=self.folders.project_of(peek.cwd, place.path, named=place.named),
            archived=session in self._archived.members,
            folder_missing=bool(peek.cwd) and self.folders.folder(peek.cwd).missing,
            linked=linked,
            changed_ms=changed // 1_000_000,
            owner_live=self._owned(session, changed),
            stamp=stamp,
            messages=messages,
        )
        titled = row.title is not None or row.size == 0 or form == "loop2"
        if not titled and old is not None and _same_start(old, peek.start, messages):
            row = msgspec.structs.replace(row, title=old.row.title, title_source="fallback")
            titled = True
        warning = None
        if peek.id and peek.id != stem:
            warning = f"the id inside, {row.id}, is not the name it is stored under"
        known = Known(row, stamp, messages, peek.cwd, peek.start, titled, warning)
        self.known[stem] = known
        return known

    def _touch(self, known: Known) -> None:
        """What may change without the session's own files."""
        row = known.row
        archived = row.id in self._archived.members
        missing = bool(known.cwd) and self.folders.folder(known.cwd).missing
        owned = row.owner_live and self._owned(row.id, row.changed_ms * 1_000_000)
        if row.archived != archived or row.folder_missing != missing or row.owner_live != owned:
            known.row = msgspec.structs.replace(
                row, archived=archived, folder_missing=missing, owner_live=owned
            )

    def _owned(self, session: str, changed_ns: int) -> bool:
        """Whether a live process holds the traces; asked only of sessions of the last day."""
        traces = self.place.traces
        if traces is None or time.time_ns() - changed_ns > _RECENT_NS:
            return False
        directory = os.path.join(traces, session)
        return os.path.isdir(directory) and owner_of(directory) is not None

    def _mark_archived(self) -> None:
        for known in self.known.values():
            if known.row.archived != (known.row.id in self._archived.members):
                self._touch(known)


def _form(form: str, entry: os.DirEntry[str]) -> str:
    return form.upper() if entry.is_symlink() else form


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
