"""The journal: recorded before and after, shared, torn, broken, bounded, unwritable."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from loop_core import journal as journal_module
from loop_core.journal import Item, Journal
from loop_core.model import SessionKey
from loop_core.plans import Edit

PIN = Edit("pinnedAt", None, '"2026-11-05T10:00:00.000Z"')


def item(name: str = "a", store: str = "s") -> Item:
    return Item(kind="change", key=SessionKey(store, name), id=name, title=name, edits=(PIN,))


def do(journal: Journal, *items: Item, step: bool = True) -> str:
    entry = journal.begin("pin", items, ["s"], step=step)
    journal.end(entry, "do", ["done"] * len(items))
    return entry.id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.jsonl"


def test_private_and_recorded_before_it_happens(path: Path) -> None:
    """failures row 110: what, when, to which session, from what to what."""
    journal = Journal(path)
    assert not path.parent.exists()  # nothing is made before it is needed
    old = os.umask(0)
    try:
        journal.begin("pin", [item()], ["s"])
    finally:
        os.umask(old)
    line = json.loads(path.read_text())
    assert (line["do"], line["action"], line["items"][0]["id"]) == ("begin", "pin", "a")
    assert line["items"][0]["edits"] == [{"field": "pinnedAt", "before": None, "after": PIN.after}]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_killed_action_can_be_taken_back(path: Path) -> None:
    Journal(path).begin("pin", [item()], ["s"])
    entry = Journal(path).peek("undo", {"s"})
    assert entry is not None
    assert entry.states == ["done"]


def test_stacks_across_restarts(path: Path) -> None:
    first, second = do(Journal(path), item("a")), do(Journal(path), item("b"))
    journal = Journal(path)
    top = journal.peek("undo", {"s"})
    assert top is not None
    assert top.id == second
    journal.claim(top, "undo")
    journal.end(top, "undo", ["undone"])
    again = Journal(path)
    assert [getattr(again.peek(way, {"s"}), "id", None) for way in ("undo", "redo")] == [
        first,
        second,
    ]
    do(again, item("c"))
    assert Journal(path).peek("redo", {"s"}) is None


def test_a_new_action_clears_only_the_redo_it_can_reach(path: Path) -> None:
    journal = Journal(path)
    entry = journal.begin("pin", [item("x", "other")], ["other"])
    journal.end(entry, "do", ["done"])
    journal.end(entry, "undo", ["undone"])
    do(journal, item("a"))
    assert journal.peek("redo", {"other"}) is not None
    assert journal.peek("redo", {"s"}) is None
    assert journal.peek("undo", {"other"}) is None


def test_the_automatic_read_mark_is_no_step(path: Path) -> None:
    journal = Journal(path)
    entry = journal.begin("pin", [item("a")], ["s"])
    journal.end(entry, "do", ["done"])
    journal.end(entry, "undo", ["undone"])
    do(journal, item("b"), step=False)
    assert journal.peek("undo", {"s"}) is None
    assert journal.peek("redo", {"s"}) is not None  # nor does it clear redo
    assert [e.items[0].id for e in Journal(path).entries()] == ["a", "b"]


def test_two_processes_append(path: Path) -> None:
    one, two = Journal(path), Journal(path)
    for number in range(20):
        do(one, item(f"one{number}"))
        do(two, item(f"two{number}"))
    for journal in (one, two, Journal(path)):
        assert len(journal.entries()) == 40
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            mine = Journal(path)
            for n in range(15):
                do(mine, item(f"{number}-{n}"))
            os._exit(0)
        children.append(child)
    assert {os.waitpid(child, 0)[1] for child in children} == {0}
    assert len(Journal(path).entries()) == 100
    assert Journal(path).problems() == ()


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_torn_last_line(path: Path, cut: int) -> None:
    do(Journal(path), item("kept"))
    do(Journal(path), item("torn"))
    path.write_bytes(path.read_bytes()[:-cut])
    journal = Journal(path)
    assert journal.problems() == ()
    assert [e.items[0].id for e in journal.entries()] == ["kept", "torn"]
    do(journal, item("next"))
    after = Journal(path)
    assert after.problems() == ()
    assert [e.items[0].id for e in after.entries()] == ["kept", "torn", "next"]


@pytest.mark.parametrize(
    "junk",
    [
        b"\x00" * 100,
        b"[]",
        b"{}",
        b'{"do":"begin","v":9}',
        b'{"do":"end","id":"nobody","way":"do","states":[]}',
        b'{"do":"claim","id":"nobody"}',
        b'{"do":"stacks"}',
        b'{"do":"begin","id":5}',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"do":"begin","v":1,"id":"x","when":1,"action":"format-disk","items":[]}',
    ],
)
def test_a_broken_journal_is_kept_aside(path: Path, junk: bytes) -> None:
    do(Journal(path), item("good"))
    with path.open("ab") as file:
        file.write(junk + b"\n")
    do_broken = path.read_bytes()
    reader = Journal(path, writable=False)
    assert "make no sense" in reader.problems()[0]
    assert path.read_bytes() == do_broken
    journal = Journal(path)
    assert [e.items[0].id for e in journal.entries()] == ["good"]
    do(journal, item("next"))
    said = journal.problems()
    assert any("make no sense" in line for line in said)
    aside = [p for p in path.parent.iterdir() if "broken" in p.name]
    assert [p.read_bytes() for p in aside] == [do_broken]
    after = Journal(path)
    assert after.problems() == ()
    assert [e.items[0].id for e in after.entries()] == ["good", "next"]


def test_it_stays_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "KEEP", 10)
    monkeypatch.setattr(journal_module, "_SLACK", 5)
    journal, other = Journal(path), Journal(path)
    ids = [do(journal if n % 3 else other, item(str(n))) for n in range(60)]
    assert len(path.read_bytes().splitlines()) < 45
    for reader in (journal, other, Journal(path)):
        known = [e.id for e in reader.entries()]
        assert known == ids[-len(known) :]
        assert 10 <= len(known) <= 16
        top = reader.peek("undo", {"s"})
        assert top is not None
        assert top.id == ids[-1]
    monkeypatch.setattr(journal_module, "_LARGE", 4000)
    do(journal, item("last"))
    assert path.stat().st_size <= 4000


def test_an_absurd_size_is_kept_aside_unread(path: Path) -> None:
    do(Journal(path), item("lost"))
    os.truncate(path, 1 << 40)  # sparse
    journal = Journal(path)
    assert "too large" in journal.problems()[0]
    assert journal.entries() == []
    do(journal, item("next"))
    assert [e.items[0].id for e in Journal(path).entries()] == ["next"]
    assert [p.stat().st_size for p in path.parent.iterdir() if "broken" in p.name] == [1 << 40]


def test_it_cannot_be_written(path: Path) -> None:
    """failures row 154: said once; undo still works in this run."""
    path.parent.mkdir()
    path.mkdir()
    journal = Journal(path)
    first = do(journal, item("a"))
    second = do(journal, item("b"))
    said = journal.problems()
    assert any("undo reaches only this run" in line for line in said)
    assert journal.problems() == ()
    top = journal.peek("undo", {"s"})
    assert top is not None
    assert top.id == second
    journal.end(top, "undo", ["undone"])
    top = journal.peek("undo", {"s"})
    assert top is not None
    assert top.id == first


def test_a_fifo_does_not_hang_it(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    journal = Journal(path)
    assert journal.entries() == []
    do(journal, item())
    assert len(journal.entries()) == 1
    assert stat.S_ISFIFO(path.lstat().st_mode)


def test_names_that_are_not_unicode(path: Path) -> None:
    odd = os.fsdecode(b"/tmp/\xff\xfe")
    entry = Journal(path).begin(
        "pin", [Item(kind="change", key=SessionKey("s", odd), id="a", path=odd, edits=(PIN,))], []
    )
    assert Journal(path).entries()[0].items[0].path == odd
    assert Journal(path).entries()[0].id == entry.id
