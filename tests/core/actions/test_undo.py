"""Undo and redo: exact, across restarts, refused when wrong, and against a model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from loop_core import trash
from loop_core.actions import Actions
from loop_core.errors import Refused
from loop_core.journal import Journal
from loop_core.model import SessionKey
from loop_core.plans import Intent

Tree = Callable[[Path], dict[str, tuple[Any, ...]]]
Open = Callable[..., Any]
PIN, UNPIN, ARCHIVE = Intent(do="pin"), Intent(do="unpin"), Intent(do="archive")


def test_two_deletes_two_undos(box: Any, open_actions: Open, tree: Tree) -> None:
    """failures rows 92, 104: both back, byte for byte, also after a restart."""
    a, b = box.add("A", backup=True, traced=True), box.add("B")
    before = [tree(box.collection / i) for i in (a, b)]
    open_actions(box).trash([box.key(a)])
    open_actions(box).trash([box.key(b)])
    assert box.ids() == set()
    first = open_actions(box).undo()
    assert first.text == "Undid: moved “B” to the trash"
    assert [done.id for done in first.done] == [b]
    assert open_actions(box).undo().done[0].id == a
    assert [tree(box.collection / i) for i in (a, b)] == before
    assert open_actions(box).undo().text == "Nothing to undo"
    redone = open_actions(box).redo()
    assert redone.text == "Redid: moved “A” to the trash"
    assert box.ids() == {b}
    assert open_actions(box).undo().done[0].id == a


def test_the_exact_former_value_comes_back(box: Any, open_actions: Open) -> None:
    session = box.add()
    odd = "2026-11-05T10:00:00.123Z, not what we would write"
    box.put(session, pinnedAt=odd, unread=7)
    before = (box.collection / session / "meta.json").read_bytes()
    actions = open_actions(box)
    actions.perform([box.key(session)], UNPIN)
    actions.perform([box.key(session)], Intent(do="read"))
    assert "pinnedAt" not in box.meta(session)
    actions.undo()
    actions.undo()
    assert box.meta(session)["pinnedAt"] == odd
    assert box.meta(session)["unread"] == 7
    assert len((box.collection / session / "meta.json").read_bytes()) == len(before)
    # And absence comes back as absence.
    other = box.add()
    actions.perform([box.key(other)], PIN)
    actions.undo()
    assert "pinnedAt" not in box.meta(other)


def test_refused_when_somebody_changed_it(box: Any, open_actions: Open) -> None:
    """The other's value stays, the reason is told, and the next undo passes it over."""
    first, second = box.add("first"), box.add("second")
    actions = open_actions(box)
    actions.perform([box.key(first)], PIN)
    actions.perform([box.key(second)], PIN)
    box.put(second, pinnedAt="2027-01-01T00:00:00.000Z")
    outcome = actions.undo()
    assert outcome.done == ()
    assert outcome.failed[0].id == second
    assert outcome.text == "Cannot undo: pinned “second”: another program changed it"
    assert box.meta(second)["pinnedAt"] == "2027-01-01T00:00:00.000Z"
    assert "pinnedAt" in box.meta(first)
    assert actions.undo().done[0].id == first
    assert actions.redo().done[0].id == first
    box.put(first, pinnedAt=None)
    actions.undo()
    assert box.meta(first)["pinnedAt"] is None


def test_a_restore_taken_back_leaves_the_delete_undoable(box: Any, open_actions: Open) -> None:
    session = box.add()
    actions = open_actions(box)
    actions.trash([box.key(session)])
    actions.restore([box.trash_key(session)])
    assert actions.undo().of == "restore"
    assert actions.undo().of == "trash"
    assert box.ids() == {session}
    assert actions.redo().ok
    assert actions.redo().ok
    assert box.ids() == {session}


def test_only_its_own_effect(box: Any, open_actions: Open) -> None:
    """What else was written to the session meanwhile stays."""
    session = box.add()
    actions = open_actions(box)
    actions.perform([box.key(session)], PIN)
    box.put(session, title="renamed by its program", unread=False, more=[1])
    actions.undo()
    meta = box.meta(session)
    assert meta == {"title": "renamed by its program", "unread": False, "more": [1]}


def test_the_id_exists_again(box: Any, open_actions: Open) -> None:
    """failures row 96: undo of a delete refuses, the trash keeps it, earlier steps work."""
    pinned, session = box.add(), box.add("mine")
    actions = open_actions(box)
    actions.perform([box.key(pinned)], PIN)
    actions.trash([box.key(session)])
    (box.collection / session).mkdir()
    outcome = actions.undo()
    assert "exists there again" in outcome.failed[0].reason
    assert actions.undo().done[0].id == pinned
    (box.collection / session).rmdir()
    assert actions.restore([box.trash_key(session)]).ok


def test_what_cannot_go_for_now_stays(box: Any, open_actions: Open) -> None:
    ids = [box.add(traced=True), box.add()]
    actions = open_actions(box)
    actions.trash([box.key(i) for i in ids])
    actions.restore([box.trash_key(i) for i in ids])
    lock = box.traces / ids[0] / "lock"
    lock.write_text("1")
    outcome = actions.undo()
    assert [done.id for done in outcome.done] == [ids[1]]
    assert [failed.id for failed in outcome.failed] == [ids[0]]
    assert actions.peek_undo().ids == (ids[0],)
    lock.unlink()
    assert actions.undo().ok
    assert box.ids() == set()
    assert actions.redo().ok
    assert box.ids() == set(ids)


def test_refused_by_the_owner_stays(box: Any, open_actions: Open) -> None:
    session = box.add()
    actions = open_actions(box)
    actions.perform([box.key(session)], ARCHIVE)
    real = box.perform

    def running(change: Any) -> Any:
        raise Refused("its application runs")

    box.perform = running
    assert actions.undo().failed[0].reason == "its application runs"
    box.perform = real
    assert actions.undo().ok
    assert box.archived() == set()


def test_what_fails_twice_is_passed_over(box: Any, open_actions: Open) -> None:
    """A refusal that does not end must not bar the way to earlier actions."""
    first, second = box.add(), box.add()
    open_actions(box).perform([box.key(first)], PIN)
    open_actions(box).perform([box.key(second)], PIN)
    real = box.perform

    def refusing(change: Any) -> Any:
        if change.id == second:
            raise Refused("never again")
        return real(change)

    box.perform = refusing
    for _ in range(2):
        assert open_actions(box).undo().failed[0].reason == "never again"
    assert open_actions(box).undo().done[0].id == first
    assert open_actions(box).undo().text == "Nothing to undo"


def test_only_stores_now_open(make_box: Any, open_actions: Open) -> None:
    one, two = make_box("one"), make_box("two")
    a, b = one.add("a"), two.add("b")
    open_actions(one, two).perform([one.key(a)], PIN)
    open_actions(one, two).perform([two.key(b)], PIN)
    alone = open_actions(one)
    assert alone.peek_undo().text == "Undo: pinned “a”"
    assert alone.undo().done[0].id == a
    assert alone.undo().text == "Nothing to undo"
    assert "pinnedAt" in two.meta(b)
    both = open_actions(one, two)
    assert both.peek_redo().ids == (a,)
    assert both.undo().done[0].id == b
    # A new action in one store leaves the other's redo to whoever opens it.
    open_actions(one).perform([one.key(a)], ARCHIVE)
    assert open_actions(one).peek_redo() is None
    assert open_actions(two).peek_redo().ids == (b,)


def test_a_new_action_clears_redo(box: Any, open_actions: Open) -> None:
    session = box.add()
    actions = open_actions(box)
    actions.perform([box.key(session)], PIN)
    actions.undo()
    assert actions.peek_redo() is not None
    actions.perform([box.key(session)], ARCHIVE)
    assert actions.peek_redo() is None
    assert actions.redo().text == "Nothing to redo"


def test_the_automatic_read_mark_is_no_step(box: Any, open_actions: Open) -> None:
    session = box.add()
    actions = open_actions(box)
    actions.perform([box.key(session)], PIN)
    outcome = actions.perform([box.key(session)], Intent(do="read"), step=False)
    assert not outcome.undoable
    assert actions.undo().of == "pin"
    assert box.meta(session)["unread"] is False


def test_purged_from_the_trash(box: Any, open_actions: Open) -> None:
    session = box.add()
    actions = open_actions(box)
    actions.trash([box.key(session)])
    actions.purge([box.trash_key(session)])
    outcome = actions.undo()
    assert outcome.failed[0].reason == "it is not in the trash any more"
    assert actions.undo().text == "Nothing to undo"


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_between_the_record_and_the_move(
    box: Any, open_actions: Open, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal that does not know how it ended: undo and redo still come out right."""
    session = box.add()
    actions = open_actions(box)
    real = trash.move_in

    def dies(*args: Any) -> Any:
        if moment == "after":
            real(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trash, "move_in", dies)
        patch.setattr(Journal, "end", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            actions.trash([box.key(session)])
    assert open_actions(box).undo().ok
    assert box.ids() == {session}
    with monkeypatch.context() as patch:
        patch.setattr(trash, "move_in", dies)
        patch.setattr(Journal, "end", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            open_actions(box).redo()
    assert open_actions(box).redo().ok
    assert box.ids() == set()
    assert open_actions(box).undo().ok
    assert box.ids() == {session}


# --- against a model

State = tuple[tuple[str, bool, bool, bool], ...]


class UndoMachine(RuleBasedStateMachine):
    """Random actions, undos, redos and restarts; the model keeps whole states."""

    box_class: Any = None
    boxes_class: Any = None

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.box = self.box_class(Path(self.folder) / "box")
        self.ids = [self.box.add(f"S{n}", backup=n == 0, traced=n == 1) for n in range(3)]
        self.past: list[State] = []
        self.future: list[State] = []
        self.restart()
        self.now = self.seen()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    def seen(self) -> State:
        live, archived = self.box.ids(), self.box.archived()
        rows = []
        for session in self.ids:
            if session not in live:
                entry = next(e for e in self.box.trashed() if e.session == session)
                meta, member = Path(entry.session_path, "meta.json"), entry.archived
            else:
                meta = self.box.collection / session / "meta.json"
                member = session in archived
            rows.append((meta.read_text(), session in live, member, True))
        return tuple(rows)

    @rule()
    def restart(self) -> None:
        journal = Journal(Path(self.folder) / "state" / "journal.jsonl")
        self.actions = Actions(self.boxes_class(self.box), journal)
        self.actions.recover()

    def _did(self, outcome: Any) -> None:
        after = self.seen()
        assert outcome.undoable == (after != self.now)
        if after != self.now:
            self.past.append(self.now)
            self.future.clear()
        self.now = after

    @rule(
        which=st.sets(st.integers(0, 2), min_size=1),
        do=st.sampled_from(["pin", "unpin", "read", "unread", "archive", "restore"]),
    )
    def change(self, which: set[int], do: Any) -> None:
        keys = [self.box.key(self.ids[n]) for n in sorted(which)]
        live = self.box.ids()
        outcome = self.actions.perform(keys, Intent(do=do))
        assert {f.id for f in outcome.failed} == {self.ids[n] for n in which} - live
        self._did(outcome)

    @rule(which=st.sets(st.integers(0, 2), min_size=1))
    def delete(self, which: set[int]) -> None:
        self._did(self.actions.trash([self.box.key(self.ids[n]) for n in sorted(which)]))

    @rule(which=st.integers(0, 2))
    def bring_back(self, which: int) -> None:
        session = self.ids[which]
        live = session in self.box.ids()
        key = SessionKey(self.box.id, "trash:none") if live else self.box.trash_key(session)
        self._did(self.actions.restore([key]))

    @rule()
    def undo(self) -> None:
        outcome = self.actions.undo()
        assert outcome.ok
        assert bool(outcome.done) == bool(self.past)
        if self.past:
            self.future.append(self.now)
            self.now = self.past.pop()

    @rule()
    def redo(self) -> None:
        outcome = self.actions.redo()
        assert outcome.ok
        assert bool(outcome.done) == bool(self.future)
        if self.future:
            self.past.append(self.now)
            self.now = self.future.pop()

    @invariant()
    def disk_is_the_model(self) -> None:
        if not hasattr(self, "now"):
            return
        seen = self.seen()
        for (meta, live, member, _), (meta2, live2, member2, _) in zip(seen, self.now, strict=True):
            assert (live, member) == (live2, member2)
            assert sorted(meta) == sorted(meta2)  # keys may return at another place
        assert (self.actions.peek_undo() is None) == (not self.past)
        assert (self.actions.peek_redo() is None) == (not self.future)
        entries = os.listdir(self.box.trash_dirs()[0]) if self.box.trashed() else []
        assert len(entries) == sum(not live for _, live, _, _ in seen)


def _run_machine(box: Any, boxes: type, examples: int, steps: int) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    machine = type("Bound", (UndoMachine,), {"box_class": type(box), "boxes_class": boxes})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=steps)
    )


def test_model(box: Any, boxes: type) -> None:
    _run_machine(box, boxes, 15, 25)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_model_long(box: Any, boxes: type) -> None:
    _run_machine(box, boxes, 300, 60)
