"""Links that lead out of a store are read and marked; nothing is written behind them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from loop_core.actions import Actions
from loop_core.errors import Refused
from loop_core.journal import Journal
from loop_core.library import Library
from loop_core.plans import Intent

_EVERYTHING = ("pin", "unread", "rename", "archive")


def tree(root: Path) -> dict[str, tuple[Any, ...]]:
    """Everything below a directory: kind, content, mode and times."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in (root, *sorted(root.rglob("*"))):
        status = path.lstat()
        data = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, data)
    return found


def intent(what: Any) -> Intent:
    return Intent(do=what, value="a name" if what == "rename" else None)


def test_a_linked_session_directory_is_not_written(disk: Any, kit: Any, tmp_path: Path) -> None:
    """The archive, which is in the store, and the link itself may change."""
    path = disk.v3([kit.user("x"), kit.assistant("y")])
    moved = disk.base / "moved"
    path.parent.rename(moved)
    path.parent.symlink_to(moved)
    store, row = disk.only_row()
    before = tree(moved)
    able = store.capabilities(row)
    for reason in (able.pin, able.read, able.rename):
        assert reason is not None
        assert str(moved) in reason
    for what in ("pin", "unread", "rename"):
        with pytest.raises(Refused, match="out of the store"):
            store.plan(row.key, intent(what))
    assert able.archive is able.trash is None
    library = Library([store])
    library.scan()
    actions = Actions(library, Journal(tmp_path / "journal"))
    failed = actions.perform([row.key], intent("pin")).failed
    assert [str(moved) in one.reason for one in failed] == [True]
    assert actions.perform([row.key], intent("archive")).ok
    assert actions.trash([row.key]).ok
    assert not os.path.lexists(path.parent)
    assert actions.undo().ok
    assert path.parent.is_symlink()
    assert tree(moved) == before


def test_a_linked_collection_is_not_written(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("x")])
    old = disk.v2([kit.user("z")])
    moved = disk.base / "moved"
    collection = path.parent.parent
    assert old.parent == collection
    collection.rename(moved)
    collection.symlink_to(moved)
    store = disk.store()
    rows = kit.scanned(store).rows
    assert len(rows) == 2
    before = tree(moved)
    for row in rows:
        able = store.capabilities(row)
        for reason in (able.pin, able.read, able.rename, able.archive, able.trash):
            assert reason is not None
            assert str(moved) in reason
        for what in _EVERYTHING:
            with pytest.raises(Refused, match="out of the store"):
                store.plan(row.key, intent(what))
        with pytest.raises(Refused, match="out of the store"):
            store.plan_trash(row.key)
    left = moved / ".loop-tui-x.tmp"
    left.write_text("")
    before[str(moved)] = tree(moved)[str(moved)]
    store.recover()
    left.unlink()
    assert {name: one[3] for name, one in tree(moved).items()} == {
        name: one[3] for name, one in before.items()
    }


def test_a_store_that_is_a_link_itself_is_written(disk: Any, kit: Any) -> None:
    """Where a store lies is its owner's choice: the agent directory, and ``sessions`` in it."""
    disk.v3([kit.user("x")])
    for place in (disk.agent / "sessions", disk.agent):
        moved = disk.base / f"moved-{place.name}"
        place.rename(moved)
        place.symlink_to(moved)
        store, row = disk.only_row()
        assert store.capabilities(row).pin is None
        for what in ("pin", "unpin"):
            row = store.perform(store.plan(row.key, intent(what)))
            assert (row.pinned_ms is not None) == (what == "pin")


def test_a_linked_file_is_written_where_it_is(disk: Any, kit: Any) -> None:
    """failures row 56: still a link, its target updated (loop-format "Our decisions" 12)."""
    path = disk.v3([kit.user("x")])
    target = disk.base / "meta.json"
    path.rename(target)
    path.symlink_to(target)
    store, row = disk.only_row()
    store.perform(store.plan(row.key, intent("pin")))
    assert path.is_symlink()
    assert b"pinnedAt" in target.read_bytes()
