"""What we write ourselves does not make a session look as if its owner ran."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loop_core import trash
from loop_core.loop import changes, edits
from loop_core.loop.edits import Written
from loop_core.loop.ours import Ours
from loop_core.loop.store import LoopStore
from loop_core.model import SessionRow, Stamp
from loop_core.plans import Intent

_LONG_AGO = time.time_ns() - 3_600_000_000_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def at_rest(path: Path) -> int:
    """Make the files of a session old; the time they have now, in milliseconds."""
    for file in (path, path.with_name("messages.jsonl")):
        if file.exists():
            os.utime(file, ns=(_LONG_AGO, _LONG_AGO))
    return _LONG_AGO // 1_000_000


def rewrite(path: Path, **fields: Any) -> None:
    """As Loop saves: a new file by rename."""
    first, *rest = path.read_text().split("\n", 1)
    meta = json.loads(first)
    meta.get("header", meta).update(fields)
    aside = path.with_name("aside")
    aside.write_text("\n".join([json.dumps(meta), *rest]))
    aside.replace(path)


def do(store: LoopStore, row: SessionRow, what: str) -> SessionRow:
    return store.perform(store.plan(row.key, Intent(do=what)))  # type: ignore[arg-type]


@pytest.fixture(params=["v3", "v2"])
def make(request: pytest.FixtureRequest, disk: Any) -> Any:
    return disk.v3 if request.param == "v3" else disk.v2


def test_marks_of_ours_are_no_activity(make: Any, disk: Any, kit: Any) -> None:
    path = make([kit.user("a"), kit.assistant("b")], unread=True)
    rested = at_rest(path)
    store, row = disk.only_row()
    for what in ("read", "pin", "unread", "unpin", "archive", "restore"):
        row = do(store, row, what)
        assert row.changed_ms == rested
    assert path.stat().st_mtime_ns > _LONG_AGO
    assert not row.running(now_ms())
    assert not store.page(row.key).running
    for seen in (
        kit.scanned(store).rows,
        store.rescan({str(path)}).rows,
        (store.look(row.key),),
    ):
        (again,) = seen
        assert again.changed_ms == rested


def test_a_row_decoded_anew_keeps_its_time(disk: Any, kit: Any) -> None:
    """Messages changed and changed back: the row is made again from the file we wrote."""
    path = disk.v3([kit.user("a")])
    rested = at_rest(path)
    store, row = disk.only_row()
    do(store, row, "pin")
    messages = path.with_name("messages.jsonl")
    os.utime(messages)
    (busy,) = store.rescan({str(messages)}).rows
    assert busy.running(now_ms())
    os.utime(messages, ns=(_LONG_AGO, _LONG_AGO))
    (row,) = store.rescan({str(messages)}).rows
    assert row.changed_ms == rested


def test_the_owners_next_write_counts(make: Any, disk: Any, kit: Any) -> None:
    path = make([kit.user("a")])
    at_rest(path)
    store, row = disk.only_row()
    row = do(store, row, "pin")
    rewrite(path, unread=True)
    (row,) = store.rescan({str(path)}).rows
    assert row.running(now_ms())
    # And a mark of ours on top of it does not take that away.
    changed = row.changed_ms
    assert do(store, row, "read").changed_ms == changed


def test_a_write_of_the_owner_just_before_ours_counts(
    make: Any, disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make([kit.user("a")])
    at_rest(path)
    store, row = disk.only_row()
    change = store.plan(row.key, Intent(do="pin"))
    real = edits.edit_header

    def late(*args: Any) -> Written:
        rewrite(path, unread=True)
        return real(*args)

    monkeypatch.setattr(changes, "edit_header", late)
    row = store.perform(change)
    assert row.pinned_ms is not None
    assert row.running(now_ms())


def test_a_scan_that_met_our_write_first_is_put_right(
    make: Any, disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make([kit.user("a")])
    rested = at_rest(path)
    store, row = disk.only_row()
    real = edits.edit_header

    def watched(*args: Any) -> Written:
        written = real(*args)
        (seen,) = store.rescan({str(path)}).rows
        assert seen.running(now_ms())
        return written

    monkeypatch.setattr(changes, "edit_header", watched)
    assert do(store, row, "pin").changed_ms == rested
    (row,) = kit.scanned(store).rows
    assert row.changed_ms == rested


def test_back_from_the_trash_a_session_has_its_times(make: Any, disk: Any, kit: Any) -> None:
    path = make([kit.user("a")], pinnedAt="2026-10-02T00:00:00.000Z")
    rested = at_rest(path)
    store, row = disk.only_row()
    row = do(store, row, "unpin")
    before = path.stat().st_mtime_ns
    entry = trash.move_in(store.plan_trash(row.key), store)
    (binned,) = kit.scanned(store).rows
    assert not binned.running(now_ms())
    trash.put_back(entry, store)
    (back,) = kit.scanned(store).rows
    assert path.stat().st_mtime_ns == before
    assert back == row
    assert back.changed_ms == rested
    # A program that knows nothing of our write goes by the file.
    (other,) = kit.scanned(disk.store()).rows
    assert other.changed_ms == before // 1_000_000


def test_what_is_remembered_is_bounded(disk: Any, kit: Any) -> None:
    disk.v3([kit.user("a")])
    _, row = disk.only_row()
    ours = Ours()
    now = Stamp(9_000_000, 1, 1)
    assert row.stamp is not None
    for n in range(10_000):
        ours.note(
            msgspec.structs.replace(row, path=f"/{n}"),
            Written(b"", now, changed=True, before=row.stamp),
        )
    assert len(ours.writes) < 5000
    assert ours.changed_ms("/9999", now, None) == row.changed_ms
    assert ours.changed_ms("/0", now, None) == 9
