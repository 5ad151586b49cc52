"""The tolerant scan of a place of Loop sessions (loop-format, "Our decisions" 6).

A place is an agent directory, whose folders under ``sessions/`` are collections, or one
collection the user named. Nothing here raises for what it finds.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from loop_core.loop.collection import Collection
from loop_core.loop.folders import Folders, read_names
from loop_core.loop.known import Place
from loop_core.loop.ours import Ours
from loop_core.loop.paths import ARCHIVE_FILE, META_FILE, is_session_id
from loop_core.loop.trashed import Trashed
from loop_core.model import Problem, Project, SessionRow, StoreScan
from loop_core.store import Cancelled

__all__ = ["Scanner"]

#: Rows after which the first step is shown; each further step waits for twice as many.
_FIRST_STEP = 256


class Scanner:
    """What is known of one place. Not thread-safe: the store holds a lock."""

    def __init__(
        self, store: str, root: str, *, agent: bool, traces: str | None, titles: bool = True
    ) -> None:
        self.store = store
        self.titles = titles  # whether a scan reads the fallback titles
        self.root = root
        self.agent = agent
        self.sessions = os.path.join(root, "sessions") if agent else root
        self.traces = traces
        self.folders = Folders(store)
        self.ours = Ours()
        self.collections: dict[str, Collection] = {}
        self._problem: Problem | None = None
        self._trash = Trashed(store, self.trash_dir, self.folders, None if agent else root)

    @property
    def trash_dir(self) -> str:
        """DESIGN "Words", *Trash*."""
        if self.agent:
            return os.path.join(self.root, "loop-tui-trash")
        return os.path.join(os.path.dirname(self.root), ".loop-tui-trash")

    # --- places

    def path_of(self, ref: str) -> str | None:
        """A path that, looked at, brings the session of a reference up to date."""
        if ref.startswith("trash:"):
            return os.path.join(self.trash_dir, ref[6:])
        parts = ref.split("/")
        if any(part in ("", ".", "..") for part in parts) or len(parts) > 2:
            return None
        return os.path.join(self.sessions, *parts)

    def collection_of(self, row: SessionRow) -> str:
        """The folder whose archive.json holds the membership of a session."""
        folder = os.path.dirname(row.path)
        return folder if row.form == "loop2" else os.path.dirname(folder)

    def collection_paths(self) -> list[str]:
        """The collections there are now, known or not."""
        if not self.agent:
            return [self.root]
        try:
            found, _ = self._names()
        except OSError:
            return []
        return [os.path.join(self.sessions, name) for name in found]

    def traces_of(self, row: SessionRow) -> str | None:
        """Where the traces of a session are, were it to have some."""
        if self.traces is None or not is_session_id(row.id) or row.trashed_ms is not None:
            return None
        return os.path.join(self.traces_in(self.collection_of(row)) or "", row.id)

    def traces_in(self, collection: str) -> str | None:
        """The trace directories of the sessions of a collection."""
        return self.traces and os.path.join(self.traces, os.path.basename(collection))

    # --- everything

    def scan(self, cancelled: Cancelled) -> Iterator[StoreScan]:
        """Look at the whole place, in growing steps; the last one is complete unless it failed."""
        self.folders.look_again()
        self._read_names()
        complete = self._list()
        # Steps show first rows soon; a place already shown needs none.
        due = _FIRST_STEP if not any(map(len, self.collections.values())) else 1 << 60
        for step in self._steps(cancelled):
            if cancelled():
                break
            if step >= due:
                yield self.result(complete=False)
                due = step * 4
        self._trash.refresh()
        yield self.result(complete=complete and not cancelled())

    def _steps(self, cancelled: Cancelled) -> Iterator[int]:
        done = 0
        for collection in list(self.collections.values()):
            for _ in collection.scan(cancelled):
                yield done + 256
                if cancelled():
                    return
            done += len(collection)
            yield done
        if not self.titles:
            return
        for collection in list(self.collections.values()):
            for _ in collection.resolve_titles(cancelled):
                done += 256
                yield done
            if cancelled():
                return

    def result(self, *, complete: bool) -> StoreScan:
        rows: list[SessionRow] = []
        problems = [] if self._problem is None else [self._problem]
        unsettled: list[str] = []
        unsupported = 0
        for collection in self.collections.values():
            rows += collection.rows()
            problems += collection.problems()
            unsettled += collection.unsettled
            unsupported += collection.unsupported
        rows += self._trash.rows.values()
        problems += self._trash.problems
        return StoreScan(
            store=self.store,
            rows=tuple(rows),
            projects=self._projects(rows),
            problems=tuple(problems),
            unsupported=unsupported,
            unsettled=tuple(unsettled),
            complete=complete,
        )

    def _projects(self, rows: list[SessionRow]) -> tuple[Project, ...]:
        used = {row.project for row in rows}
        return tuple(one for key, one in self.folders.projects.items() if key in used)

    # --- the place itself

    def _list(self) -> bool:
        """Find the collections; False when they could not be listed, keeping those known."""
        self._problem = None
        if not self.agent:
            self._add(self.root, "", named=True)
            return True
        try:
            found, loose = self._names()
        except OSError as error:
            if error.errno == errno.ENOENT:
                self._drop_but(set())
                return True
            reason = f"the sessions cannot be listed: {error.strerror}"
            self._problem = Problem(
                store=self.store, path=self.sessions, reason=reason, kind="unreadable"
            )
            return False
        direct = self._sessions_among(found)
        paths = {os.path.join(self.sessions, name) for name in found if name not in direct}
        for path in sorted(paths):
            self._add(path, f"{os.path.basename(path)}/", named=False)
        if direct or loose:
            self._add(self.sessions, "", named=False, only=direct)
            paths.add(self.sessions)
        self._drop_but(paths)
        return True

    def _names(self) -> tuple[list[str], bool]:
        """Folders under ``sessions/``, and whether session files lie there directly."""
        found: list[str] = []
        links: list[os.DirEntry[str]] = []
        loose = False
        with os.scandir(self.sessions) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    loose = loose or entry.name.endswith(".jsonl")
                    if _is_dir(entry):
                        found.append(entry.name)
                        if entry.is_symlink():
                            links.append(entry)
        if links:
            real = os.path.realpath(self.sessions)
            shown = {real, *(os.path.join(real, name) for name in found)}
            shown -= {os.path.join(real, link.name) for link in links}
            for link in links:
                # A link to what is listed anyway would list it twice, or forever.
                if os.path.realpath(link.path) in shown:
                    found.remove(link.name)
        return found, loose

    def _sessions_among(self, names: list[str]) -> set[str]:
        """Session directories that lie where collections are expected."""
        return {name for name in names if os.path.lexists(f"{self.sessions}/{name}/{META_FILE}")}

    def _add(self, path: str, ref: str, *, named: bool, only: set[str] | None = None) -> None:
        collection = self.collections.get(path)
        if collection is None:
            place = Place(self.store, path, ref, named, self.traces_in(path))
            collection = self.collections[path] = Collection(place, self.folders, self.ours)
        collection.only = only

    def _drop_but(self, paths: set[str]) -> None:
        for path in [p for p in self.collections if p not in paths]:
            del self.collections[path]

    def _read_names(self) -> None:
        if self.agent:
            self.folders.rename(read_names(self.root))

    # --- some paths

    def rescan(self, paths: set[str], cancelled: Cancelled) -> StoreScan:
        """Look at what changed at `paths` only, and give everything."""
        if self.look_at(paths, cancelled):
            return self.result(complete=not cancelled())
        *_, last = self.scan(cancelled)
        return last

    def look_at(self, paths: set[str], cancelled: Cancelled) -> bool:
        """Look at what changed at `paths`; False when only a scan can tell."""
        self.folders.look_again()
        wanted: dict[str, set[str]] = {}
        trash = False
        for path in paths:
            if path == self.trash_dir or path.startswith(self.trash_dir + os.sep):
                trash = True
                continue
            collection, stem = self._split(path)
            if collection is not None:
                wanted.setdefault(collection, set()).update(() if stem is None else (stem,))
            elif self._concerns(path):
                return False
        if trash:
            self._trash.refresh()
        for name, stems in wanted.items():
            found = self.collections[name]
            found.look_at(stems)
            for _ in found.resolve_titles(cancelled, stems):
                pass
        return True

    def row_of(self, ref: str) -> SessionRow | None:
        """The row of a reference as last looked at."""
        if ref.startswith("trash:"):
            return self._trash.rows.get(ref)
        folder, _, stem = ref.rpartition("/")
        collection = self.collections.get(os.path.join(self.sessions, folder).rstrip(os.sep))
        known = None if collection is None else collection.sessions.known.get(stem)
        return None if known is None else known.row

    def _split(self, path: str) -> tuple[str | None, str | None]:
        """The known collection a path lies in, and the stem of its session (None: archive)."""
        collection = self.sessions
        if not path.startswith(collection + os.sep):
            return None, None
        parts = path[len(collection) + 1 :].split(os.sep)
        if self.agent and os.path.join(collection, parts[0]) in self.collections:
            collection = os.path.join(collection, parts.pop(0))
        elif collection not in self.collections:
            return None, None
        if not parts:
            return None, None
        if parts[0] == ARCHIVE_FILE or parts[0].startswith("."):
            return collection, None
        return collection, parts[0].removesuffix(".jsonl") if len(parts) == 1 else parts[0]

    def _concerns(self, path: str) -> bool:
        """Whether an unknown path can change what is listed."""
        names = os.path.join(self.root, "web-ui")
        inside = path == self.sessions or path.startswith(self.sessions + os.sep)
        return inside or path in (self.root, names, os.path.join(names, "projects.json"))


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
