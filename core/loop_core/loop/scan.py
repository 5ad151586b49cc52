"""The tolerant scan of a place of Loop sessions (loop-format, "Our decisions" 6).

A place is an agent directory, whose folders under ``sessions/`` are collections, or one
collection the user named. Nothing here raises for what it finds.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

import msgspec

from loop_core.errors import StorageFailed, UnsupportedSession
from loop_core.loop.collection import Collection
from loop_core.loop.folders import Folders, read_names
from loop_core.loop.heads import read_head
from loop_core.loop.known import Place
from loop_core.loop.paths import MESSAGES_FILE, META_FILE, is_session_id
from loop_core.loop.probe import open_folder, read_at, read_first_line, stat_at
from loop_core.loop.rows import make_row, seen_legacy, seen_meta, unreadable
from loop_core.model import Problem, Project, SessionKey, SessionRow, StoreScan
from loop_core.sanitize import safe_line
from loop_core.store import Cancelled
from loop_core.trash import TrashEntry, read_entries

__all__ = ["Scanner"]

#: Rows after which the first step is shown; each further step waits for twice as many.
_FIRST_STEP = 256


class Scanner:
    """What is known of one place. Not thread-safe: the store holds a lock."""

    def __init__(self, store: str, root: str, *, agent: bool, traces: str | None) -> None:
        self.store = store
        self.root = root
        self.agent = agent
        self.sessions = os.path.join(root, "sessions") if agent else root
        self.traces = traces
        self.folders = Folders(store)
        self.collections: dict[str, Collection] = {}
        self._problem: Problem | None = None
        self._trash: dict[str, SessionRow] = {}
        self._trash_problems: list[Problem] = []

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
        self.look_at_trash()
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
        for collection in list(self.collections.values()):
            for _ in collection.resolve_titles(cancelled):
                done += 256
                yield done
            if cancelled():
                return

    def result(self, *, complete: bool) -> StoreScan:
        rows: list[SessionRow] = []
        problems = [] if self._problem is None else [self._problem]
        unsupported = 0
        for collection in self.collections.values():
            rows += collection.rows()
            problems += collection.problems()
            unsupported += collection.unsupported
        rows += self._trash.values()
        problems += self._trash_problems
        return StoreScan(
            store=self.store,
            rows=tuple(rows),
            projects=self._projects(rows),
            problems=tuple(problems),
            unsupported=unsupported,
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
        return {
            name for name in names if os.path.lexists(os.path.join(self.sessions, name, META_FILE))
        }

    def _add(self, path: str, ref: str, *, named: bool, only: set[str] | None = None) -> None:
        collection = self.collections.get(path)
        if collection is None:
            place = Place(self.store, path, ref, named, self.traces_in(path))
            collection = self.collections[path] = Collection(place, self.folders)
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
            self.look_at_trash()
        for name, stems in wanted.items():
            found = self.collections[name]
            found.look_at(stems)
            for _ in found.resolve_titles(cancelled, stems):
                pass
        return True

    def row_of(self, ref: str) -> SessionRow | None:
        """The row of a reference as last looked at."""
        if ref.startswith("trash:"):
            return self._trash.get(ref)
        folder, _, stem = ref.rpartition("/")
        collection = self.collections.get(os.path.join(self.sessions, folder).rstrip(os.sep))
        known = None if collection is None else collection.sessions.known.get(stem)
        return None if known is None else known.row

    def _split(self, path: str) -> tuple[str | None, str | None]:
        """The known collection a path lies in, and the stem of its session (None: archive)."""
        for root in (self.sessions,):
            if not path.startswith(root + os.sep):
                break
            parts = path[len(root) + 1 :].split(os.sep)
            collection = root
            if self.agent and os.path.join(root, parts[0]) in self.collections:
                collection = os.path.join(root, parts.pop(0))
            elif collection not in self.collections:
                break
            if not parts:
                break
            if parts[0] == "archive.json" or parts[0].startswith("."):
                return collection, None
            return collection, parts[0].removesuffix(".jsonl") if len(parts) == 1 else parts[0]
        return None, None

    def _concerns(self, path: str) -> bool:
        """Whether an unknown path can change what is listed."""
        names = os.path.join(self.root, "web-ui")
        inside = path == self.sessions or path.startswith(self.sessions + os.sep)
        return inside or path in (self.root, names, os.path.join(names, "projects.json"))

    # --- the trash

    def look_at_trash(self) -> None:
        if not os.path.isdir(os.path.dirname(self.trash_dir)):
            self._trash, self._trash_problems = {}, []
            return
        listing = read_entries(self.trash_dir, self.store)
        known, self._trash = self._trash, {}
        self._trash_problems = list(listing.problems)
        for entry in listing.entries:
            if entry.source != "loop" or not self._is_ours(entry):
                continue
            row = known.get(entry.key_ref) or self._trashed_row(entry)
            if row is not None:
                self._trash[entry.key_ref] = row

    def _is_ours(self, entry: TrashEntry) -> bool:
        """A trash beside a collection may serve several of them."""
        return self.agent or not entry.collection or entry.collection == self.root

    def _trashed_row(self, entry: TrashEntry) -> SessionRow | None:
        path = entry.session_path
        legacy = entry.form == "loop2"
        meta = path if legacy else os.path.join(path, META_FILE)
        messages = stamp = None
        try:
            if legacy:
                first = read_first_line(meta)
                stamp = first.stamp
                seen = seen_legacy(first.raw, meta)
                size = max(0, first.stamp.size - first.end - 1)
                seen = seen._replace(peek=msgspec.structs.replace(seen.peek, size=size))
                head = read_head(meta, first.end + 1, size)
            else:
                folder = open_folder(path)
                try:
                    raw, stamp = read_at(META_FILE, folder, meta)
                    messages = stat_at(MESSAGES_FILE, folder)
                finally:
                    os.close(folder)
                seen = seen_meta(raw, meta)
                head = read_head(
                    os.path.join(path, MESSAGES_FILE), seen.peek.start, seen.peek.size or 0
                )
        except UnsupportedSession:
            return None
        except StorageFailed as error:
            seen, head = unreadable(error), None
        except OSError as error:
            seen, head = unreadable(StorageFailed(error, path)), None
        cwd = seen.peek.cwd or (entry.cwd or "")
        row = make_row(
            seen,
            key=SessionKey(self.store, entry.key_ref),
            form=entry.form,
            path=meta,
            stem=entry.session,
            project=self.folders.project_of(
                cwd, entry.collection or self.root, named=not self.agent
            ),
            archived=entry.archived,
            folder_missing=bool(cwd) and self.folders.folder(cwd).missing,
            linked=False,
            changed_ms=0,
            owner_live=False,
            stamp=stamp,
            messages=messages,
        )
        title, source = row.title, row.title_source
        if title is None and head is not None and head.title is not None:
            title, source = head.title, "fallback"
        elif title is None and entry.title:
            title = safe_line(entry.title, 400)
        return msgspec.structs.replace(
            row, title=title, title_source=source, trashed_ms=entry.trashed_ms
        )


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
