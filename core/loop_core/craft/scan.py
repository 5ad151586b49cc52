"""Scanning one workspace: what changed since the last time, without losing what is there.

A session's row is kept while the stamp of its file is the same. A file missing for a moment
is the application's gap between unlink and rename, not a deletion: we look again before we
say so (craft-format rule 1; failures row 55).
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

import msgspec

from loop_core.craft.gaps import Gaps, may_be_renamed
from loop_core.craft.quick import new_tuple, quick_row
from loop_core.craft.rows import OPEN_FLAGS, Place, bare_row, read_head, row_from
from loop_core.craft.sessions import SESSION_FILE
from loop_core.craft.statuses import load_statuses
from loop_core.craft.trashed import TRASH_NAME, TrashedSessions, stamp_at
from loop_core.craft.workspaces import Workspace
from loop_core.model import Problem, Project, SessionKey, SessionRow
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled, never_cancelled

__all__ = ["TRASH_NAME", "Found", "WorkspaceScanner"]

_TMP = SESSION_FILE + ".tmp"
_FIRST_STEP = 250  # rows of the first step; each later one has four times as many
_ORDINARY = 2048  # bytes that hold the header of most sessions
_FOLDER_END = -len(SESSION_FILE) - 1
_LOOKS = (0.0, 0.002, 0.01, 0.03, 0.06, 0.1)
_LONE = (
    "only session.jsonl.tmp is left of a crash; Craft-Agents does not list the session "
    "and deletes the file; restore brings it back"
)


class Found(NamedTuple):
    """What one scan of one workspace found."""

    rows: tuple[SessionRow, ...] = ()
    problems: tuple[Problem, ...] = ()
    complete: bool = True


class WorkspaceScanner:
    """The sessions of one workspace, remembered between scans.

    Callers hold `lock` while they scan, refresh or look.
    """

    def __init__(self, store: str, workspace: Workspace) -> None:
        self.store = store
        self.workspace = workspace
        self.lock = threading.Lock()
        self.root = workspace.root
        self.sessions = os.path.join(workspace.root, "sessions")
        self.trashed = TrashedSessions(store, workspace.root)
        self.trash = self.trashed.path
        self._rows_by_name: dict[str, SessionRow] = {}
        self._unsure: set[str] = set()  # rows to be read again whatever their stamp says
        self._gaps = Gaps()
        self._known: frozenset[str] = frozenset()
        self._known_stamp: object = object()
        self._missing: dict[str, bool] = {}
        self._problems: tuple[Problem, ...] = ()

    @property
    def project(self) -> Project:
        workspace = self.workspace
        return Project(
            key=self.root,
            source="craft",
            store=self.store,
            name=safe_line(workspace.name, 200) + (" (remote)" if workspace.remote else ""),
            cwd=None,
            path=self.root,
            parent=safe_line(os.path.basename(os.path.dirname(self.root))),
            kind="remote" if workspace.remote else "workspace",
        )

    @property
    def unsettled(self) -> list[str]:
        """Session folders to look at again soon: their file is missing, their row is kept."""
        return [f"{self.sessions}/{name}" for name in self._gaps.open]

    def scan(self, *, cancelled: Cancelled = never_cancelled) -> Iterator[Found]:
        """Everything, in growing steps; the last one is complete unless cancelled or broken."""
        self._missing.clear()
        self._read_statuses()
        try:
            with os.scandir(self.sessions) as entries:
                listed = sorted(entries, key=attrgetter("name"), reverse=True)
        except (FileNotFoundError, NotADirectoryError) as error:
            yield self._without_sessions(error)
            return
        except OSError as error:
            problem = self.problem(self.sessions, f"cannot be read: {error.strerror}")
            yield Found(self._rows(), (problem,), complete=False)
            return
        known = self._rows_by_name
        step = _FIRST_STEP
        rows: dict[str, SessionRow] = {}
        strays: list[Problem] = []
        for number, entry in enumerate(listed, start=1):
            if cancelled():
                yield Found(self._rows(), complete=False)
                return
            name = entry.name
            if entry.is_dir(follow_symlinks=False):  # told by the listing itself
                rows[name] = self._session(name) if name in known else self._first(name)
            elif (row := self._other(entry, strays)) is not None:
                rows[name] = row
            if number == step and number < len(listed):
                step *= 4
                yield Found(tuple(rows.values()), complete=False)
        self._rows_by_name = rows
        self._unsure &= rows.keys()
        self._gaps.keep(rows)
        self._problems = tuple(strays)
        yield self._finished()

    def refresh(self, names: Iterable[str]) -> Found:
        """The workspace again after changes of the session folders `names` only."""
        for name in names:
            folder = os.path.join(self.sessions, name)
            try:
                linked = os.path.islink(folder)
                present = os.path.isdir(folder)
            except OSError:
                present = False
            if present:
                self._rows_by_name[name] = self._session(name, linked=linked)
            else:
                self._rows_by_name.pop(name, None)
                self._gaps.close(name)
        return self._finished()

    def look(self, name: str) -> SessionRow | None:
        """The row of one session as the disk has it now; None when its folder is gone."""
        self._read_statuses()
        self.refresh((name,))
        return self._rows_by_name.get(name)

    def row_of(self, name: str) -> SessionRow | None:
        """The row last seen."""
        return self._rows_by_name.get(name)

    # --- inside

    def _finished(self) -> Found:
        trashed, problems = self.trashed.scan(self._known)
        return Found((*self._rows(), *trashed), (*self._problems, *problems))

    def _rows(self) -> tuple[SessionRow, ...]:
        return tuple(self._rows_by_name.values())

    def problem(self, path: str, reason: str) -> Problem:
        """Something of this workspace that cannot be read."""
        return Problem(store=self.store, path=path, reason=reason, kind="unreadable")

    def _without_sessions(self, error: OSError) -> Found:
        """No `sessions` folder: an empty workspace, or one that is not there at all."""
        if os.path.isdir(self.root) or self.workspace.remote:
            self._rows_by_name = {}
            return self._finished()
        reason = f"workspace {safe_line(self.workspace.name, 80)}: the folder is not there"
        problem = Problem(store=self.store, path=self.root, reason=reason, kind="store", line=None)
        if isinstance(error, NotADirectoryError):
            problem = self.problem(self.root, "workspace is not a folder")
        # The disk may come back: what was there is kept.
        return Found(self._rows(), (problem,), complete=not self._rows_by_name)

    def _read_statuses(self) -> None:
        path = os.path.join(self.root, "statuses", "config.json")
        try:
            status = os.stat(path)
            stamp: object = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            stamp = None
        if stamp != self._known_stamp:
            self._known_stamp = stamp
            self._known = frozenset(status.id for status in load_statuses(self.root))
            self._unsure.update(self._rows_by_name)

    def _other(self, entry: os.DirEntry[str], strays: list[Problem]) -> SessionRow | None:
        """What is no folder: a link to one is a row, anything else a problem."""
        try:
            linked = entry.is_symlink()
            if entry.is_dir():
                return self._session(entry.name, linked=linked)
        except OSError as error:
            strays.append(self.problem(entry.path, f"cannot be read: {error.strerror}"))
            return None
        if entry.name != ".DS_Store":
            what = "a link that leads nowhere" if linked else "a file"
            strays.append(
                Problem(
                    store=self.store,
                    path=entry.path,
                    reason=f"{what} among the session folders; left alone",
                    kind="leftover",
                )
            )
        return None

    def _place(self, name: str, file: str, *, linked: bool) -> Place:
        folder = f"{self.sessions}/{name}"
        path = f"{folder}/{file}"
        return Place(self.store, folder, folder, name, path, self.root, self._known, linked)

    def _first(self, name: str) -> SessionRow:
        """A session not seen before: no stamp to compare, so it is read at once."""
        try:
            return self._read(name, f"{self.sessions}/{name}/{SESSION_FILE}")
        except OSError:
            return self._session(name)

    def _session(self, name: str, *, linked: bool = False) -> SessionRow:
        """One session folder: unchanged, read anew, or with the reason why it cannot be."""
        old = None if name in self._unsure else self._rows_by_name.get(name)
        path = f"{self.sessions}/{name}/{SESSION_FILE}"
        for wait in _LOOKS:
            if wait:
                time.sleep(wait)
            try:
                if old is not None:
                    status = os.stat(path)
                    if old.stamp == (status.st_mtime_ns, status.st_size, status.st_ino):
                        return old
                row = self._read(name, path, linked=linked)
            except FileNotFoundError:
                if not wait and not self._may_come_back(name):
                    break
                continue
            except OSError as error:
                self._unsure.add(name)
                self._gaps.close(name)
                place = self._place(name, SESSION_FILE, linked=linked)
                return bare_row(place, _unreadable(error), _changed(path))
            self._unsure.discard(name)
            self._gaps.close(name)
            return row
        return self._without_file(name, linked=linked)

    def _read(self, name: str, path: str, *, linked: bool = False) -> SessionRow:
        """The row from the file itself; the ordinary session in one open and one read."""
        fd = os.open(path, OPEN_FLAGS)
        try:
            status = os.fstat(fd)
            if not linked and stat.S_ISREG(status.st_mode):
                data = os.read(fd, _ORDINARY)
                end = data.find(b"\n")
                if end > 0:
                    key = new_tuple(SessionKey, (self.store, path[:_FOLDER_END]))
                    row = quick_row(data[:end], status, key, name, path, self.root, self._known)
                    if row is not None:
                        return row if row.cwd == key.ref else self._with_folder(row)
        finally:
            os.close(fd)
        row = row_from(read_head(path), self._place(name, SESSION_FILE, linked=linked))
        return self._with_folder(row)

    def _may_come_back(self, name: str) -> bool:
        """Whether a missing file is worth waiting for: the application writes just now."""
        if name in self._rows_by_name:
            return name not in self._unsure
        return may_be_renamed(stamp_at(f"{self.sessions}/{name}/{_TMP}"))

    def _without_file(self, name: str, *, linked: bool) -> SessionRow:
        """No `session.jsonl`: a gap, a crash left a lone `.tmp`, or the folder holds no session."""
        self._unsure.add(name)
        old = self._rows_by_name.get(name)
        if old is not None and old.stamp is not None and old.path.endswith(SESSION_FILE):
            tmp = stamp_at(f"{self.sessions}/{name}/{_TMP}")
            if self._gaps.holds(name, tmp):
                return old  # every look tries again until the gap is clear
        place = self._place(name, _TMP, linked=linked)
        try:
            head = read_head(place.path)
        except OSError:
            place = self._place(name, SESSION_FILE, linked=linked)
            return bare_row(place, "no session.jsonl in this folder", _changed(place.folder))
        return self._with_folder(row_from(head, place, _LONE))

    def _with_folder(self, row: SessionRow) -> SessionRow:
        """Mark a session whose working directory is gone; each directory is looked at once."""
        cwd = row.cwd
        if cwd is None or cwd == row.key.ref:
            return row
        missing = self._missing.get(cwd)
        if missing is None:
            missing = self._missing[cwd] = not os.path.isdir(cwd)
        return msgspec.structs.replace(row, folder_missing=True) if missing else row


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _unreadable(error: OSError) -> str:
    if isinstance(error, IsADirectoryError):
        return "session.jsonl is a folder"
    return f"session.jsonl cannot be read: {error.strerror or error}"
