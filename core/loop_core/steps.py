"""One session's part of an action: planned, done, taken back, looked at again.

`forward` and `backward` return the paths they touched and raise LoopError with the session
as it was. Both may be repeated: what is already so is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from loop_core import trash
from loop_core.errors import LoopError, NotUndoable, Refused, SessionNotFound, StorageFailed
from loop_core.journal import Item
from loop_core.model import SessionKey, SessionRow
from loop_core.outcome import Reverted
from loop_core.plans import Change, Intent
from loop_core.sanitize import safe_line
from loop_core.trash import TrashEntry

if TYPE_CHECKING:
    from loop_core.actions import Router

__all__ = ["Steps"]

_REMEMBERED = 2000


class _Written(NamedTuple):
    """What a session looked like right after we wrote it."""

    fields: dict[str, Any] | None  # None: it left for the trash
    title: str | None


class Steps:
    """The steps over the stores of `library`; remembers what was written, for `look`."""

    def __init__(self, library: Router, trusted: Sequence[str]) -> None:
        self._library = library
        self._trusted = tuple(trusted)
        self._written: dict[SessionKey, _Written] = {}

    def forget(self) -> None:
        self._written.clear()

    def title_of(self, key: SessionKey) -> str | None:
        row = self._library.row(key)
        return None if row is None else row.title

    def id_of(self, key: SessionKey) -> str:
        row = self._library.row(key)
        return key.ref if row is None else row.id

    # --- planning

    def plan(self, key: SessionKey, intent: Intent) -> Item | None:
        """None: it is so already. What is in the trash can only be restored, from there."""
        if key.ref.startswith(trash.PREFIX):
            if intent.do == "restore":
                return self._plan_restore(key)
            raise Refused("it is in the trash; restore it first")
        store = self._library.store_of(key)
        change = store.plan(key, intent)
        if not change.edits:
            return None
        row = store.look(key) if intent.force else None
        return Item(
            kind="change",
            key=change.key,
            id=change.id,
            path=change.path,
            title=self._shown(key, change.title),
            edits=change.edits,
            force=row is not None and _ABLE.get(intent.do) in store.capabilities(row).forced,
            lasting=change.lasting,
        )

    def plan_trash(self, key: SessionKey, *, force: bool) -> Item:
        if key.ref.startswith(trash.PREFIX):
            raise Refused("it is in the trash already")
        plan = self._library.store_of(key).plan_trash(key, force=force)
        return Item(
            kind="trash",
            key=plan.key,
            id=plan.id,
            path=next(move.source for move in plan.moves if move.kind == "session"),
            title=self._shown(key, plan.title),
            trash_dir=plan.trash_dir,
            entry=trash.new_entry_id(),
            force=force,
        )

    def _plan_restore(self, key: SessionKey) -> Item:
        entry = self._entry_of(key)
        return Item(
            kind="untrash",
            key=SessionKey(key.store, entry.ref or key.ref),
            id=entry.session,
            path=entry.original_path,
            title=self._shown(key, entry.title),
            trash_dir=os.path.dirname(entry.path),
            entry=entry.id,
        )

    def plan_purge(self, key: SessionKey, *, force: bool) -> Item:
        if key.ref.startswith(trash.PREFIX):
            item = self._plan_restore(key)
            item.kind, item.key = "purge", key
            return item
        store = self._library.store_of(key)
        row = store.look(key)
        if row is None:
            raise SessionNotFound("the session is not there any more")
        if not (row.archived or force):
            raise Refused("only sessions in the archive or the trash are removed for good")
        item = self.plan_trash(key, force=force)
        item.kind = "purge"
        return item

    # --- doing

    def forward(self, item: Item) -> set[str]:
        if item.kind == "change":
            return self._change(item.change())
        if item.kind == "trash":
            return self._to_trash(item)
        if item.kind == "untrash":
            return self._from_trash(item)
        if not item.key.ref.startswith(trash.PREFIX):
            self._to_trash(item)
        entry = trash.entry_at(os.path.join(item.trash_dir, item.entry))
        trash.purge(entry, self._library.store_of(item.key), self._trusted)
        return {item.path, item.trash_dir}

    def backward(self, item: Item) -> set[str]:
        """The inverse. Raises NotUndoable when the session is no longer as we left it."""
        if item.kind == "change":
            return self._change(item.change().inverse())
        if item.kind == "trash":
            return self._from_trash(item)
        if item.kind == "untrash":
            return self._to_trash(item)
        raise NotUndoable("a permanent removal cannot be taken back")

    def _change(self, change: Change) -> set[str]:
        store = self._library.store_of(change.key)
        try:
            row = store.perform(change)
        except StorageFailed:
            # It may have failed after the value was published (a directory that could not be
            # synced). A second call leaves what is so already, or tells the truth.
            row = store.perform(change)
        fields = {name for edit in change.edits for name in _SHOWN_BY.get(edit.field, ())}
        self._remember(change.key, row.title, {name: getattr(row, name) for name in fields})
        touched = {change.path, row.path}
        if any(edit.field == "archive.json" for edit in change.edits):
            folder = os.path.dirname(row.path)
            collection = os.path.dirname(folder) if row.form == "loop3" else folder
            touched.add(os.path.join(collection, "archive.json"))
        return touched

    def _to_trash(self, item: Item) -> set[str]:
        store = self._library.store_of(item.key)
        if os.path.lexists(os.path.join(item.trash_dir, item.entry)):
            return set()  # a claim repeated after a kill: it is there already
        plan = store.plan_trash(item.key, force=item.force)
        entry = trash.move_in(plan, store, item.entry)
        self._remember(item.key, item.title, None)
        return {*(part.source for part in entry.parts), plan.trash_dir}

    def _from_trash(self, item: Item) -> set[str]:
        store = self._library.store_of(item.key)
        path = os.path.join(item.trash_dir, item.entry)
        if not os.path.lexists(path):
            if store.look(item.key) is not None:
                return set()  # restored already
            raise SessionNotFound("it is not in the trash any more")
        entry = trash.entry_at(path)
        trash.put_back(entry, store, self._trusted)
        self._written.pop(item.key, None)
        return {*(part.source for part in entry.parts), item.trash_dir}

    def _entry_of(self, key: SessionKey) -> TrashEntry:
        name = os.path.basename(key.ref.removeprefix(trash.PREFIX))
        for folder in self._library.store_of(key).trash_dirs():
            path = os.path.join(folder, name)
            if name and os.path.lexists(path):
                return trash.entry_at(path)
        raise SessionNotFound("it is not in the trash any more")

    def _shown(self, key: SessionKey, title: str | None) -> str | None:
        row = self._library.row(key)
        if row is not None and row.title is not None:
            return row.title
        return None if title is None else safe_line(title)

    # --- looking again

    def _remember(self, key: SessionKey, title: str | None, fields: dict[str, Any] | None) -> None:
        self._written.pop(key, None)
        self._written[key] = _Written(fields, title)
        while len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]

    def look(self, keys: Iterable[SessionKey]) -> list[Reverted]:
        found = []
        for key in keys:
            written = self._written.get(key)
            if written is None:
                continue
            try:
                row = self._library.store_of(key).look(key)
            except LoopError:
                continue  # what cannot be read now is not known to be undone
            text = _difference(written, row)
            if text is not None:
                del self._written[key]
                session_id = row.id if row is not None else self.id_of(key)
                found.append(Reverted(key, session_id, written.title, text))
        return found


_SHOWN_BY: dict[str, tuple[str, ...]] = {
    # Loop
    "pinnedAt": ("pinned_ms",),
    "unread": ("unread",),
    "title": ("title",),
    "archive.json": ("archived",),
    # Craft-Agents
    "isFlagged": ("pinned_ms",),
    "hasUnread": ("unread",),
    "name": ("title",),
    "isArchived": ("archived",),
    "sessionStatus": ("status",),
    "labels": ("labels",),
}

#: The capability (`plans.Capabilities`) that says whether an intent had to be forced.
_ABLE = {"archive": "archive", "restore": "archive", "read": "read", "unread": "read"}

_WORDS = {
    "pinned_ms": "the pin",
    "unread": "the read mark",
    "title": "the name",
    "archived": "the archive state",
    "status": "the status",
    "labels": "the labels",
}


def _difference(written: _Written, row: SessionRow | None) -> str | None:
    if written.fields is None:
        return None if row is None else "its program has created it again"
    if row is None:
        return None  # gone is not undone
    undone = [_WORDS[name] for name, value in written.fields.items() if getattr(row, name) != value]
    return f"its program has taken back {' and '.join(sorted(undone))}" if undone else None
