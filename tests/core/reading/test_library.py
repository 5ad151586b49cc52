"""All stores as one snapshot: order, merging, and stores that fail or hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.errors import InvalidArgument, StorageFailed
from loop_core.library import Library
from loop_core.model import SessionKey, SessionRow, Snapshot, StoreScan, WatchRoot
from loop_core.order import Ordered, in_order


def row(name: str, store: str = "s", **more: Any) -> SessionRow:
    fields: dict[str, Any] = {"source": "loop", "form": "loop3", "path": f"/{store}/{name}"}
    return SessionRow(key=SessionKey(store, name), id=name, project=store, **fields | more)


class FakeStore:
    """Yields the scans it is given."""

    source = "loop"
    label = "fake"

    def __init__(self, name: str, *scans: StoreScan) -> None:
        self.id = name
        self.root = Path("/") / name
        self.scans = list(scans)
        self.told: list[set[str]] = []
        self.gate: threading.Event | None = None
        self.error: Exception | None = None

    def scan(self, **_: Any) -> Iterator[StoreScan]:
        if self.gate is not None:
            self.gate.wait(5)
        if self.error is not None:
            raise self.error
        yield from self.scans

    def rescan(self, paths: set[str]) -> StoreScan:
        self.told.append(paths)
        return self.scans[-1]

    def watch_roots(self) -> tuple[WatchRoot, ...]:
        return (WatchRoot(f"/watched/{self.id}"),)

    def trash_dirs(self) -> tuple[str, ...]:
        return (f"/trash/{self.id}",)


def library(*stores: FakeStore, **more: Any) -> Library:
    return Library(stores, **more)  # type: ignore[arg-type]


def found(name: str, *rows: SessionRow, complete: bool = True) -> StoreScan:
    return StoreScan(store=name, rows=rows, complete=complete)


def ids(snapshot: Snapshot) -> list[str]:
    return [one.id for one in snapshot.rows]


def test_the_order_is_pins_then_activity_then_id() -> None:
    rows = [
        row("a", updated_ms=5),
        row("b", updated_ms=9),
        row("c", updated_ms=1, pinned_ms=2),
        row("d", updated_ms=9),
        row("e", pinned_ms=7),
    ]
    assert [one.id for one in in_order(rows)] == ["e", "c", "d", "b", "a"]


_ROWS = st.lists(
    st.builds(
        row,
        st.sampled_from("abcdefgh"),
        store=st.sampled_from("st"),
        pinned_ms=st.none() | st.integers(0, 2),
        updated_ms=st.integers(0, 3),
    ),
    max_size=40,
    unique_by=lambda one: one.key,
)


@given(st.lists(_ROWS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_changes_of_some_are_ordered_as_all_would_be(
    drawn: list[list[SessionRow]], chance: Any
) -> None:
    ordered, rows = Ordered(), list[SessionRow]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("loop_core.order._FEW", 1)  # one by one, however many
        for some in drawn:
            changed = {one.key: one for one in some}
            rows = [changed.pop(one.key, one) for one in rows if chance.random() < 0.8]
            for one in changed.values():
                rows.insert(chance.randint(0, len(rows)), one)
            if chance.random() < 0.2:
                chance.shuffle(rows)
            ordered.update(list(rows))
            assert list(map(id, ordered.rows)) == list(map(id, in_order(rows)))
            assert {key: id(one) for key, one in ordered.by_key.items()} == {
                one.key: id(one) for one in rows
            }


def test_two_rows_with_one_key_are_both_there() -> None:
    twin, other = row("a"), row("b", updated_ms=3)
    ordered = Ordered()
    many = [row(f"{number:03}") for number in range(100)]
    ordered.update([*many, twin, other])
    again = msgspec.structs.replace(twin, title="again")
    ordered.update([*many, twin, again, other])
    assert sorted(one.title or "" for one in ordered.rows if one.id == "a") == ["", "again"]
    ordered.update([*many, again, other])
    assert ordered.by_key[twin.key] is again
    assert list(ordered.rows) == in_order([*many, again, other])


def test_a_refresh_of_one_among_many_orders_only_that_one() -> None:
    many = [row(f"{number:04}", updated_ms=number) for number in range(1000)]
    changed = [*many[:500], msgspec.structs.replace(many[500], updated_ms=2000), *many[501:]]
    store = FakeStore("s", found("s", *many))
    lib = library(store)
    first = lib.scan()
    store.scans = [found("s", *changed)]
    second = lib.refresh({"/s/0500"})
    assert second.generation == first.generation + 1
    assert list(second.rows) == in_order(changed)
    assert lib.row(many[500].key) is second.rows[0]
    store.scans = [found("s", *changed[1:])]
    assert lib.refresh({"/s/0000"}).rows == second.rows[:-1]
    assert lib.row(many[0].key) is None
    assert lib.refresh({"/s/0000"}) is lib.snapshot


def test_stores_become_one_snapshot(disk: Any, kit: Any) -> None:
    disk.v3([kit.user("a")])
    disk.v2([kit.user("b")], cwd=disk.cwd("other"))
    both = Library([disk.store(), disk.store(collection=True)])
    steps: list[Snapshot] = []
    snapshot = both.scan(steps.append)
    assert snapshot.complete
    assert len(snapshot.rows) == 2
    assert len(snapshot.projects) == 2
    one = snapshot.rows[0]
    assert both.row(one.key) == one
    assert both.store_of(one.key).page(one.key).total == 1
    with pytest.raises(InvalidArgument):
        both.store_of(SessionKey("other", "x"))
    assert both.scan() is snapshot


def test_an_incomplete_scan_removes_nothing() -> None:
    store = FakeStore("s", found("s", row("a", updated_ms=1), row("b")))
    lib = library(store)
    lib.scan()
    store.scans = [found("s", row("a", updated_ms=7), complete=False)]
    snapshot = lib.scan()
    assert ids(snapshot) == ["a", "b"]
    assert snapshot.rows[0].updated_ms == 7
    assert not snapshot.complete
    store.scans = [found("s", row("a"))]
    assert ids(lib.scan()) == ["a"]


def test_steps_grow_and_generations_rise() -> None:
    store = FakeStore("s")
    rows = tuple(row(f"r{n}") for n in range(3))

    def slowly(**_: Any) -> Iterator[StoreScan]:
        for n in range(3):
            yield found("s", *rows[: n + 1], complete=n == 2)
            time.sleep(0.07)

    store.scan = slowly  # type: ignore[method-assign]
    steps: list[Snapshot] = []
    last = library(store).scan(steps.append)
    sizes = [len(step.rows) for step in steps]
    assert sizes == sorted(sizes)
    assert sizes[0] < 3
    assert len(last.rows) == 3
    assert last.generation >= steps[-1].generation > 0


def test_a_store_that_hangs_blocks_nobody_and_keeps_its_rows() -> None:
    slow, quick = (
        FakeStore("slow", found("slow", row("a", "slow"))),
        FakeStore("quick", found("quick", row("b", "quick"))),
    )
    lib = library(slow, quick, patience=0.1)
    assert len(lib.scan().rows) == 2
    slow.gate = threading.Event()
    slow.scans = [found("slow", row("a", "slow"), row("c", "slow"))]
    quick.scans = [found("quick", row("b", "quick"), row("d", "quick"))]
    snapshot = lib.scan()
    assert sorted(ids(snapshot)) == ["a", "b", "d"]
    (problem,) = snapshot.problems
    assert (problem.kind, problem.path, problem.reason) == ("store", "/slow", "does not answer")
    assert not snapshot.complete
    begin = time.monotonic()
    assert len(lib.scan().rows) == 3
    assert time.monotonic() - begin < 0.1
    slow.gate.set()
    deadline = time.monotonic() + 2
    while len(lib.scan().rows) != 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(ids(lib.snapshot)) == ["a", "b", "c", "d"]
    assert lib.snapshot.problems == ()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StorageFailed(OSError(5, "Input/output error"), "/x"), "Input/output error"),
        (ValueError("surprise"), "the scan failed: ValueError: surprise"),
    ],
)
def test_a_store_that_fails_is_a_problem(error: Exception, reason: str) -> None:
    bad, good = (
        FakeStore("bad", found("bad", row("a", "bad"))),
        FakeStore("good", found("good", row("b", "good"))),
    )
    lib = library(bad, good)
    lib.scan()
    bad.error = error
    snapshot = lib.scan()
    assert sorted(ids(snapshot)) == ["a", "b"]
    assert [problem.reason for problem in snapshot.problems] == [reason]
    bad.error = None
    assert lib.scan().problems == ()


def test_a_refresh_asks_only_the_stores_it_concerns() -> None:
    one, two = FakeStore("one", found("one", row("a", "one"))), FakeStore("two", found("two"))
    lib = library(one, two)
    before = lib.scan()
    lib.refresh({"/one/x", "/trash/two/y", "/elsewhere", "/onewhere"})
    assert one.told == [{"/one/x"}]
    assert two.told == [{"/trash/two/y"}]
    assert lib.refresh({"/watched/one"}) is before


def test_an_echo_of_our_own_write_changes_nothing(disk: Any, kit: Any) -> None:
    from loop_core.plans import Intent

    path = disk.v3([kit.user("a")], unread=True)
    lib = Library([disk.store()])
    (one,) = lib.scan().rows
    store = lib.store_of(one.key)
    store.perform(store.plan(one.key, Intent(do="read")))
    after = lib.refresh({str(path)})
    assert [r.unread for r in after.rows] == [False]
    assert lib.refresh({str(path), str(path.parent)}) is after


def test_listing_hundreds_of_megabytes_reads_little(disk: Any, kit: Any, count_reads: Any) -> None:
    """failures rows 1, 5: rows come from metadata, whatever the conversations weigh."""
    for n in range(60):
        path = disk.v3(
            [kit.user(f"chat {n}")],
            title={"text": f"t{n}", "source": "model", "messageIndices": []},
        )
        with (path.parent / "messages.jsonl").open("r+b") as file:
            file.truncate(20 << 20)
    lib = Library([disk.store()])
    count_reads()
    assert len(lib.scan().rows) == 60
    assert count_reads() < 60 * 1000


def test_projects_hold_their_old_sessions(disk: Any, kit: Any) -> None:
    """failures rows 24, 27: no limit before grouping, one stable project each."""
    for n in range(50):
        disk.v3([kit.user("b")], cwd=disk.cwd("b"), updatedAt=f"2026-10-09T10:00:{n:02}.000Z")
    for _ in range(5):
        disk.v3([kit.user("a")], cwd=disk.cwd("a"), updatedAt="2020-01-01T00:00:00.000Z")
    snapshot = Library([disk.store()]).scan()
    (mine,) = [p.key for p in snapshot.projects if p.name == "a"]
    assert sum(one.project == mine for one in snapshot.rows) == 5
    moments = [one.updated_ms for one in snapshot.rows]
    assert moments == sorted(moments, reverse=True)
