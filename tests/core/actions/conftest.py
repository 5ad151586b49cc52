"""A small store of real directories: what actions, trash and undo need of one, no more."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loop_core import fsio, trash
from loop_core.actions import Actions
from loop_core.errors import Conflict, SessionNotFound, TraceLocked
from loop_core.journal import Journal
from loop_core.model import SessionKey, SessionRow, Source, WatchRoot
from loop_core.plans import Change, Edit, Intent, TrashMove, TrashPlan

_FIELDS = {
    "pin": ("pinnedAt", '"2026-11-05T10:00:00.000Z"'),
    "unpin": ("pinnedAt", None),
    "read": ("unread", "false"),
    "unread": ("unread", "true"),
    "archive": ("archive.json", "true"),
    "restore": ("archive.json", None),
}


class BoxStore:
    """`<root>/sessions/<id>/{meta.json,messages.jsonl}`, `<id>.jsonl` backups, `traces/<id>`.

    meta.json is a JSON object of raw values; a session is locked while `traces/<id>/lock`
    exists.
    """

    source: Source = "loop"

    def __init__(self, root: Path, traces: Path | None = None) -> None:
        self.root = root
        self.id = f"box:{root}"
        self.label = root.name
        self.traces = traces or root / "traces"
        (root / "sessions").mkdir(parents=True, exist_ok=True)
        self.membership_fails: Exception | None = None

    # --- making and looking

    @property
    def collection(self) -> Path:
        return self.root / "sessions"

    def add(self, title: str = "A session", *, backup: bool = False, traced: bool = False) -> str:
        session = str(uuid.uuid4())
        folder = self.collection / session
        folder.mkdir(mode=0o700)
        (folder / "meta.json").write_text(json.dumps({"title": title, "unread": True}))
        (folder / "messages.jsonl").write_bytes(os.urandom(3000))
        (folder / "messages.jsonl").chmod(0o600)
        if backup:
            (self.collection / f"{session}.jsonl").write_text("{}\n")
        if traced:
            (self.traces / session / "deep" / "deeper").mkdir(parents=True)
            (self.traces / session / "deep" / "deeper" / "segment").write_bytes(b"\0" * 999)
            (self.traces / session / "deep").chmod(0o750)
        return session

    def key(self, session: str) -> SessionKey:
        return SessionKey(self.id, session)

    def meta(self, session: str) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self._meta_path(session).read_bytes())
        return value

    def put(self, session: str, **values: Any) -> None:
        """What another program would write."""
        self._meta_path(session).write_text(json.dumps(self.meta(session) | values))

    def archived(self) -> set[str]:
        path = self.collection / "archive.json"
        return set(json.loads(path.read_text())) if path.exists() else set()

    def ids(self) -> set[str]:
        return {path.parent.name for path in self.collection.glob("*/meta.json")}

    def trashed(self) -> list[trash.TrashEntry]:
        return trash.entries_in(self.trash_dirs()[0])

    def trash_key(self, session: str) -> SessionKey:
        entry = next(e for e in self.trashed() if e.session == session)
        return SessionKey(self.id, entry.key_ref)

    # --- the protocol, as far as actions use it

    def watch_roots(self) -> tuple[WatchRoot, ...]:
        return (WatchRoot(str(self.root)),)

    def trash_dirs(self) -> tuple[str, ...]:
        return (str(self.root / "loop-tui-trash"),)

    def recover(self) -> tuple[str, ...]:
        return ()

    def _meta_path(self, session: str) -> Path:
        return self.collection / session / "meta.json"

    def _value(self, session: str, name: str) -> str | None:
        if name == "archive.json":
            return "true" if session in self.archived() else None
        try:
            meta = self.meta(session)
        except (FileNotFoundError, NotADirectoryError):
            raise SessionNotFound("not there", str(self._meta_path(session))) from None
        return json.dumps(meta[name]) if name in meta else None

    def plan(self, key: SessionKey, intent: Intent) -> Change:
        session = key.ref
        name, after = _FIELDS[intent.do]
        self._value(session, "title")
        before = self._value(session, name)
        edits = () if before == after else (Edit(name, before, after),)
        title = self.meta(session)["title"]
        path = str(self._meta_path(session))
        return Change(key=key, id=session, path=path, title=title, edits=edits)

    def perform(self, change: Change) -> SessionRow:
        session = change.key.ref
        self._value(session, "title")
        for edit in change.edits:
            now = self._value(session, edit.field)
            if now == edit.after:
                continue
            if now != edit.before:
                raise Conflict("another program changed it", change.path)
            if edit.field == "archive.json":
                self.set_membership(str(self.collection), [session], archived=edit.after == "true")
                continue
            meta = self.meta(session)
            if edit.after is None:
                del meta[edit.field]
            else:
                meta[edit.field] = json.loads(edit.after)
            fsio.atomic_write(change.path, json.dumps(meta).encode())
        row = self.look(change.key)
        assert row is not None
        return row

    def plan_trash(self, key: SessionKey, *, force: bool = False) -> TrashPlan:
        session = key.ref
        folder = self.collection / session
        if not folder.exists():
            raise SessionNotFound("not there", str(folder))
        if (self.traces / session / "lock").exists():
            raise TraceLocked("a trace is owned by a live process", str(self.traces / session))
        return TrashPlan(
            key=key,
            id=session,
            source="loop",
            form="loop3",
            title=self.meta(session)["title"],
            cwd="/tmp",
            trash_dir=self.trash_dirs()[0],
            moves=(
                TrashMove(str(folder), "session"),
                TrashMove(str(self.collection / f"{session}.jsonl"), "backup"),
                TrashMove(str(self.traces / session), "traces"),
            ),
            archived=session in self.archived(),
            collection=str(self.collection),
            stamp=fsio.stamp_of(folder / "meta.json"),
        )

    def set_membership(self, collection: str, ids: list[str], *, archived: bool) -> None:
        if self.membership_fails is not None:
            raise self.membership_fails
        now = self.archived()
        new = now | set(ids) if archived else now - set(ids)
        if new != now:
            path = os.path.join(collection, "archive.json")
            fsio.atomic_write(path, json.dumps(sorted(new)).encode())

    def look(self, key: SessionKey) -> SessionRow | None:
        if not self._meta_path(key.ref).exists():
            return None
        meta = self.meta(key.ref)
        return SessionRow(
            key=key,
            source="loop",
            form="loop3",
            id=key.ref,
            path=str(self._meta_path(key.ref)),
            project="p",
            title=meta["title"],
            unread=bool(meta.get("unread")),
            pinned_ms=1 if "pinnedAt" in meta else None,
            archived=key.ref in self.archived(),
        )


class Boxes:
    """Several stores as actions see a library."""

    def __init__(self, *stores: BoxStore) -> None:
        self.stores: tuple[Any, ...] = stores

    def store_of(self, key: SessionKey) -> Any:
        for store in self.stores:
            if store.id == key.store:
                return store
        raise SessionNotFound("its store is not open")

    def row(self, key: SessionKey) -> SessionRow | None:
        for store in self.stores:
            if store.id == key.store:
                row: SessionRow | None = store.look(key)
                return row
        return None


@pytest.fixture
def box(tmp_path: Path) -> BoxStore:
    return BoxStore(tmp_path / "box")


@pytest.fixture
def make_box(tmp_path: Path) -> Callable[..., BoxStore]:
    return lambda name, **kw: BoxStore(tmp_path / name, **kw)


@pytest.fixture
def open_actions(tmp_path: Path) -> Callable[..., Actions]:
    """Actions over some stores, with the one journal of the test: call again to restart."""

    def make(*stores: BoxStore, read_only: bool = False, **kw: Any) -> Actions:
        journal = Journal(tmp_path / "state" / "journal.jsonl", writable=not read_only)
        return Actions(Boxes(*stores), journal, read_only=read_only, **kw)

    return make


def tree_of(root: Path) -> dict[str, tuple[Any, ...]]:
    """Every path below `root` with its type, mode, time in nanoseconds, and bytes."""
    found: dict[str, tuple[Any, ...]] = {}
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = Path(folder, name)
            status = path.lstat()
            content = b"" if path.is_dir() and not path.is_symlink() else _content(path)
            found[str(path.relative_to(root))] = (status.st_mode, status.st_mtime_ns, content)
    return found


def _content(path: Path) -> bytes:
    return os.readlink(path).encode() if path.is_symlink() else path.read_bytes()


@pytest.fixture
def tree() -> Callable[[Path], dict[str, tuple[Any, ...]]]:
    return tree_of


@pytest.fixture
def writable_again(tmp_path: Path) -> Iterator[None]:
    """Give directories their modes back, so that the temporary directory can be removed."""
    yield
    for folder, _, _ in os.walk(tmp_path):
        os.chmod(folder, 0o700)


@pytest.fixture
def boxes() -> type:
    return Boxes
