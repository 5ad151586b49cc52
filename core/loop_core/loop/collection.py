"""One folder of Loop sessions, scanned tolerantly and incrementally.

Every session becomes a row from its metadata alone; whatever is no session and no file of
Loop's becomes a `Problem`. Only what changed since the last look (by `Stamp`) is decoded. A
failure to list the folder keeps what was known. A file that is missing for a moment, between
the unlink and the rename of its writer, is waited for; the row stays while it may come back.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator

from loop_core.loop.archived import Archived
from loop_core.loop.folder_listing import Lister, forms_of
from loop_core.loop.folders import Folders
from loop_core.loop.known import Place, Sessions
from loop_core.loop.known_legacy import look_legacy
from loop_core.loop.ordinary import take_new, unchanged
from loop_core.loop.ours import Ours
from loop_core.loop.probe import open_folder
from loop_core.model import Problem, SessionRow
from loop_core.store import Cancelled

__all__ = ["Collection"]

#: Seconds a look waits for a missing file.
GRACE = 0.25
#: Seconds from the first such look until the session counts as gone.
PATIENCE = 1.2
_WAIT = 0.02
_STEP = 256


class Collection:
    """The rows and problems of one folder. Not thread-safe: its store holds a lock."""

    def __init__(self, place: Place, folders: Folders, ours: Ours) -> None:
        self.place = place
        self.only: set[str] | None = None  # directories that are sessions; None: all
        self.sessions = Sessions(place, folders, ours)
        self._archived = Archived(place.store, place.path)
        self._lister = Lister()
        self._oddities: list[Problem] = []
        self._unpublished: set[str] = set()
        self._missed: dict[str, float] = {}  # since when a kept row has no file
        self._failure: Problem | None = None

    def __len__(self) -> int:
        return len(self.sessions.known)

    @property
    def unsupported(self) -> int:
        return len(self.sessions.unsupported)

    @property
    def unsettled(self) -> list[str]:
        """Paths to look at again soon: sessions kept although their file is missing."""
        return [os.path.join(self.place.path, stem) for stem in self._missed]

    def rows(self) -> list[SessionRow]:
        """One row a session; a version-2 file behind a published directory has none."""
        known = self.sessions.known
        legacy = [stem for stem, one in known.items() if one.row.form == "loop2"]
        if not legacy:
            return [one.row for one in known.values()]
        published = {one.row.id for one in known.values() if one.row.form == "loop3"}
        hidden = {stem for stem in legacy if known[stem].row.id in published}
        return [one.row for stem, one in known.items() if stem not in hidden]

    def problems(self) -> list[Problem]:
        found = [p for p in (self._failure, self._archived.problem) if p is not None]
        found += self._oddities
        for stem in sorted(self._unpublished):
            reason = "a session directory without meta.json: never published"
            found.append(self._problem(stem, reason, "unpublished"))
        for one in self.sessions.known.values():
            if one.warning is not None:
                row = one.row
                store = self.place.store
                found.append(Problem(store=store, path=row.path, reason=one.warning, key=row.key))
        return found

    def _problem(self, name: str, reason: str, kind: str) -> Problem:
        path = os.path.join(self.place.path, name) if name else self.place.path
        return Problem(store=self.place.store, path=path, reason=reason, kind=kind)  # type: ignore[arg-type]

    # --- looking

    def scan(self, cancelled: Cancelled) -> Iterator[None]:
        """Look at everything; pauses every few hundred sessions."""
        try:
            folder = open_folder(self.place.path)
        except OSError as error:
            self._failed(error)
            return
        try:
            try:
                listed = self._lister.list(folder, self.only)
            except OSError as error:
                self._failed(error)
                return
            self._failure = None
            self._oddities = [self._problem(*oddity) for oddity in listed.oddities]
            self._archived.refresh(folder)
            self.sessions.begin(self._archived.members)
            missing: list[str] = []
            stems = list(listed.stems.items())
            for at in range(0, len(stems), _STEP):
                missing += self._look_at_some(stems[at : at + _STEP], folder)
                if at + _STEP <= len(stems):
                    yield
                    if cancelled():
                        return
            missing += [stem for stem in self.sessions.known if stem not in listed.stems]
            self._settle(missing, set(self._missed), folder)
        finally:
            os.close(folder)
        self._unpublished.intersection_update(listed.stems)
        for stem in [s for s in self.sessions.unsupported if s not in listed.stems]:
            del self.sessions.unsupported[stem]

    def look_at(self, stems: set[str]) -> None:
        """Look at these sessions only, and at the archive."""
        try:
            folder = open_folder(self.place.path)
        except OSError as error:
            self._failed(error)
            return
        try:
            self._oddities = [one for one in self._oddities if os.path.lexists(one.path)]
            before = self._archived.members
            self._archived.refresh(folder)
            self.sessions.begin(self._archived.members)
            missing = []
            for stem in stems:
                forms = forms_of(self.place.path, stem)
                if forms:
                    if not self._look(stem, forms, folder, thorough=True):
                        missing.append(stem)
                else:
                    self._unpublished.discard(stem)
                    self.sessions.unsupported.pop(stem, None)
                    missing.append(stem)
            self._settle(missing, stems, folder)
        finally:
            os.close(folder)
        if before != self._archived.members:
            for one in self.sessions.known.values():
                self.sessions.touch(one)

    def resolve_titles(self, cancelled: Cancelled, only: set[str] | None = None) -> Iterator[None]:
        """Read the fallback titles that are wanted, newest session first."""
        wanted = [
            (one.row.updated_ms, stem)
            for stem, one in self.sessions.known.items()
            if not one.titled and (only is None or stem in only)
        ]
        for count, (_, stem) in enumerate(sorted(wanted, reverse=True), 1):
            self.sessions.resolve_title(stem)
            if count % _STEP == 0:
                yield
                if cancelled():
                    return

    def _failed(self, error: OSError) -> None:
        """The folder is gone, or cannot be listed: then what was known stays."""
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            self.sessions.known, self.sessions.unsupported = {}, {}
            self._unpublished, self._oddities, self._failure = set(), [], None
            self._missed = {}
        else:
            reason = f"the folder cannot be read: {error.strerror}"
            self._failure = self._problem("", reason, "unreadable")

    def _look_at_some(self, stems: list[tuple[str, str]], folder: int) -> list[str]:
        """Bring sessions up to date; gives those known that are not there."""
        sessions = self.sessions
        odd = self._unpublished.union(sessions.unsupported)
        known, new, rest = [], [], []
        for stem, forms in stems:
            if forms != "d" or stem in odd:
                rest.append((stem, forms))
            elif stem in sessions.known:
                known.append(stem)
            else:
                new.append(stem)
        rest += [(stem, "d") for stem in unchanged(sessions, known, folder)]
        rest += [(stem, "d") for stem in take_new(sessions, new, folder)]
        return [stem for stem, forms in rest if not self._look(stem, forms, folder)]

    def _look(self, stem: str, forms: str, folder: int, *, thorough: bool = False) -> bool:
        """Bring one session up to date; False when what was known of it is not there."""
        sessions = self.sessions
        first = forms[0]
        if first in "dD":
            linked = first == "D"
            if sessions.look_published(stem, folder, linked=linked, thorough=thorough):
                if stem in self._unpublished:
                    self._unpublished.discard(stem)
                return True
            known = sessions.known.get(stem)
            if known is not None and known.row.form == "loop3":
                return False
            self._unpublished.add(stem)
        elif stem in self._unpublished:
            self._unpublished.discard(stem)
        if forms[-1] in "fF":
            return look_legacy(sessions, stem, folder, linked=forms[-1] == "F")
        return True

    def _settle(self, missing: list[str], looked_at: set[str], folder: int) -> None:
        """Wait a moment for files that were known and are not there, the first time.

        Later looks find them or, after `PATIENCE`, let the session go.
        """
        known = self.sessions.known
        missing = [stem for stem in missing if stem in known]
        deadline = time.monotonic() + GRACE
        while missing:
            missing = [stem for stem in missing if not self._returned(stem, folder)]
            new = [stem for stem in missing if stem not in self._missed]
            if not any(map(self._may_return, new)) or time.monotonic() >= deadline:
                break
            time.sleep(_WAIT)
        for stem in looked_at.difference(missing):
            self._missed.pop(stem, None)
        now = time.monotonic()
        for stem in missing:
            since = self._missed.setdefault(stem, now)
            if now - since >= PATIENCE or not self._is_being_replaced(stem):
                del known[stem], self._missed[stem]
                # A version-2 backup may be what is left.
                self._returned(stem, folder)

    def _returned(self, stem: str, folder: int) -> bool:
        forms = forms_of(self.place.path, stem)
        return bool(forms) and self._look(stem, forms, folder)

    def _may_return(self, stem: str) -> bool:
        """A directory is only ever moved as a whole; a file may be on its way."""
        row = self.sessions.known[stem].row
        return row.form == "loop2" or os.path.isdir(os.path.dirname(row.path))

    def _is_being_replaced(self, stem: str) -> bool:
        """Whether what lies beside a missing file says that its writer is not done."""
        if self.sessions.known[stem].row.form == "loop3":
            return self._may_return(stem)
        try:
            names = os.listdir(self.place.path)
        except OSError:
            return False
        return any(name.endswith(".tmp") and f"{stem}.jsonl" in name for name in names)
