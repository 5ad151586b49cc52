"""Sessions of a place that lie in our trash, as rows that can be looked at and read."""

from __future__ import annotations

import os

import msgspec

from loop_core.errors import StorageFailed, UnsupportedSession
from loop_core.loop.folders import Folders
from loop_core.loop.heads import Head, read_head
from loop_core.loop.paths import MESSAGES_FILE, META_FILE
from loop_core.loop.probe import open_folder, read_at, read_first_line, stat_at
from loop_core.loop.rows import Seen, make_row, seen_legacy, seen_meta, unreadable
from loop_core.model import Problem, SessionKey, SessionRow, Stamp
from loop_core.sanitize import safe_line
from loop_core.trash import TrashEntry, read_entries

__all__ = ["Trashed"]


class Trashed:
    """The rows of a trash directory. `collection` is the only one it serves (None: all).

    An entry does not change while it is kept, so each is read once.
    """

    def __init__(
        self, store: str, directory: str, folders: Folders, collection: str | None
    ) -> None:
        self.rows: dict[str, SessionRow] = {}
        self.problems: list[Problem] = []
        self._store = store
        self._directory = directory
        self._folders = folders
        self._collection = collection

    def refresh(self) -> None:
        """Look at the directory again."""
        known, self.rows, self.problems = self.rows, {}, []
        if not os.path.isdir(os.path.dirname(self._directory)):
            return
        listing = read_entries(self._directory, self._store)
        self.problems = list(listing.problems)
        for entry in listing.entries:
            if entry.source == "loop" and self._is_ours(entry):
                row = known.get(entry.key_ref) or self._row(entry)
                if row is not None:
                    self.rows[entry.key_ref] = row

    def _is_ours(self, entry: TrashEntry) -> bool:
        """A trash beside a collection may serve several of them."""
        return self._collection is None or entry.collection in ("", self._collection)

    def _row(self, entry: TrashEntry) -> SessionRow | None:
        path = entry.session_path
        meta = path if entry.form == "loop2" else os.path.join(path, META_FILE)
        stamps: tuple[Stamp | None, Stamp | None] = (None, None)
        head = None
        try:
            read = _read_legacy if entry.form == "loop2" else _read_published
            seen, head, stamps = read(path)
        except UnsupportedSession:
            return None
        except StorageFailed as error:
            seen = unreadable(error)
        cwd = seen.peek.cwd or entry.cwd or ""
        folder = entry.collection or self._collection or self._directory
        project, missing = self._folders.place_of(cwd, folder, named=self._collection is not None)
        row = make_row(
            seen,
            key=SessionKey(self._store, entry.key_ref),
            form=entry.form,
            path=meta,
            stem=entry.session,
            project=project,
            archived=entry.archived,
            folder_missing=missing,
            linked=False,
            changed_ms=0,
            owner_live=False,
            stamp=stamps[0],
            messages=stamps[1],
        )
        title, source = row.title, row.title_source
        if title is None and head is not None and head.title is not None:
            title, source = head.title, "fallback"
        elif title is None and entry.title:
            title = safe_line(entry.title, 400)
        return msgspec.structs.replace(
            row, title=title, title_source=source, trashed_ms=entry.trashed_ms
        )


_Read = tuple[Seen, Head, tuple[Stamp | None, Stamp | None]]


def _read_legacy(path: str) -> _Read:
    first = read_first_line(path)
    size = max(0, first.stamp.size - first.end - 1)
    seen = seen_legacy(first.raw, path)
    seen = seen._replace(peek=msgspec.structs.replace(seen.peek, size=size))
    return seen, read_head(path, first.end + 1, size), (first.stamp, None)


def _read_published(path: str) -> _Read:
    meta = os.path.join(path, META_FILE)
    try:
        folder = open_folder(path)
    except OSError as error:
        raise StorageFailed(error, path) from error
    try:
        raw, stamp = read_at(META_FILE, folder, meta)
        messages = stat_at(MESSAGES_FILE, folder)
    finally:
        os.close(folder)
    seen = seen_meta(raw, meta)
    file = os.path.join(path, MESSAGES_FILE)
    return seen, read_head(file, seen.peek.start, seen.peek.size or 0), (stamp, messages)
