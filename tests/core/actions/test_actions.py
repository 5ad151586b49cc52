"""Actions: bulk, partial failure, toasts, read-only, what an owner takes back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import InvalidArgument, ReadOnly, StorageFailed
from loop_core.model import SessionKey
from loop_core.outcome import Progress
from loop_core.plans import Intent

Tree = Callable[[Path], dict[str, tuple[Any, ...]]]
Open = Callable[..., Any]
PIN, ARCHIVE, RESTORE = Intent(do="pin"), Intent(do="archive"), Intent(do="restore")


def test_one_and_many(box: Any, open_actions: Open, tmp_path: Path) -> None:
    """failures row 114: thirty sessions, one question, one journal entry."""
    actions = open_actions(box)
    ids = [box.add(f"S{n}") for n in range(30)]
    seen: list[Progress] = []
    begin = time.process_time()
    outcome = actions.perform([box.key(i) for i in ids], ARCHIVE, seen.append)
    assert time.process_time() - begin < 2
    assert outcome.text == "Archived 30 sessions"
    assert outcome.undoable
    assert box.archived() == set(ids)
    assert seen == [Progress(n + 1, 30) for n in range(30)]
    lines = (tmp_path / "state" / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["do"] for line in lines] == ["begin", "end"]
    assert actions.perform([box.key(ids[3])], RESTORE).text == "Restored “S3”"
    assert actions.perform([box.key(ids[3])], PIN).text == "Pinned “S3”"


def test_archive_and_back_leaves_the_header_alone(box: Any, open_actions: Open, tree: Tree) -> None:
    """failures row 111."""
    session = box.add()
    before = tree(box.collection / session)
    actions = open_actions(box)
    actions.perform([box.key(session)], ARCHIVE)
    assert tree(box.collection / session) == before
    actions.restore([box.key(session)])
    assert tree(box.collection / session) == before
    assert box.archived() == set()


def test_unread_survives_the_archive(box: Any, open_actions: Open) -> None:
    """failures row 112: the count of unread active sessions follows both ways."""
    session, other = box.add(), box.add()
    actions = open_actions(box)

    def unread() -> int:
        rows = [box.look(box.key(i)) for i in box.ids()]
        return sum(row.unread and not row.archived for row in rows)

    assert unread() == 2
    actions.perform([box.key(session)], ARCHIVE)
    assert unread() == 1
    actions.perform([box.key(session)], RESTORE)
    assert unread() == 2
    actions.perform([box.key(other)], Intent(do="read"))
    assert unread() == 1


def test_delete_list_restart(box: Any, open_actions: Open) -> None:
    """failures rows 96, 107: deleted stays deleted."""
    keep, go = box.add("keep"), box.add("go")
    outcome = open_actions(box).trash([box.key(go)])
    assert outcome.text == "Moved “go” to the trash"
    again = open_actions(box)
    again.recover()
    assert box.ids() == {keep}
    assert [e.session for e in box.trashed()] == [go]


def test_bulk_with_one_failure(box: Any, open_actions: Open) -> None:
    """failures row 103: two go, one stays with its reason, one undo brings the two back."""
    ids = [box.add(f"S{n}", traced=True) for n in range(3)]
    (box.traces / ids[1] / "lock").write_text("1")
    actions = open_actions(box)
    outcome = actions.trash([box.key(i) for i in ids])
    assert [done.id for done in outcome.done] == [ids[0], ids[2]]
    assert [(f.key, f.reason) for f in outcome.failed] == [
        (box.key(ids[1]), "a trace is owned by a live process")
    ]
    assert outcome.text == "Moved 2 sessions to the trash; 1 session not reached"
    assert not outcome.ok
    assert box.ids() == {ids[1]}
    assert len(actions.undo().done) == 2
    assert box.ids() == set(ids)


def test_a_failure_on_the_way_names_the_path(
    box: Any, open_actions: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 99: the row stays, the reason names the path."""
    session = box.add()
    from loop_core.fsio_calls import calls

    def refuse(a: str, b: str) -> None:
        raise PermissionError(1, "Operation not permitted", a)

    monkeypatch.setattr(calls, "rename_new", refuse)
    outcome = open_actions(box).trash([box.key(session)])
    assert outcome.done == ()
    assert "Operation not permitted" in outcome.failed[0].reason
    assert str(box.collection / session) in outcome.failed[0].reason
    assert not outcome.undoable
    assert box.ids() == {session}


def test_already_so(box: Any, open_actions: Open, tmp_path: Path) -> None:
    session = box.add()
    actions = open_actions(box)
    actions.perform([box.key(session)], PIN)
    size = (tmp_path / "state" / "journal.jsonl").stat().st_size
    outcome = actions.perform([box.key(session), box.key(session)], PIN)
    assert len(outcome.done) == 1
    assert not outcome.undoable
    assert (tmp_path / "state" / "journal.jsonl").stat().st_size == size


def test_nothing_given_is_a_mistake(box: Any, open_actions: Open) -> None:
    with pytest.raises(InvalidArgument):
        open_actions(box).perform([], PIN)


def test_gone_meanwhile(box: Any, open_actions: Open) -> None:
    missing = SessionKey(box.id, "nobody")
    outcome = open_actions(box).perform([missing, box.key(box.add())], PIN)
    assert (len(outcome.done), len(outcome.failed)) == (1, 1)
    foreign = open_actions(box).trash([SessionKey("elsewhere", "x")])
    assert foreign.failed[0].reason == "its store is not open"


def test_in_the_trash_only_moves_act(box: Any, open_actions: Open) -> None:
    session = box.add()
    actions = open_actions(box)
    actions.trash([box.key(session)])
    key = box.trash_key(session)
    assert "restore it first" in actions.perform([key], PIN).failed[0].reason
    assert "already" in actions.trash([key]).failed[0].reason
    outcome = actions.restore([key])
    assert outcome.text == "Restored “A session”"
    assert outcome.undoable
    assert box.ids() == {session}
    assert "not in the trash" in actions.restore([key]).failed[0].reason


def test_purge(box: Any, open_actions: Open) -> None:
    """failures row 110: for good, recorded, and no step of undo."""
    trashed, archived, active = box.add("t"), box.add("a", backup=True, traced=True), box.add("n")
    actions = open_actions(box)
    actions.trash([box.key(trashed)])
    actions.perform([box.key(archived)], ARCHIVE)
    outcome = actions.purge([box.trash_key(trashed), box.key(archived), box.key(active)])
    assert {done.id for done in outcome.done} == {trashed, archived}
    assert "archive or the trash" in outcome.failed[0].reason
    assert not outcome.undoable
    assert box.ids() == {active}
    assert box.archived() == set()
    assert not (box.traces / archived).exists()
    assert box.trashed() == []
    assert actions.purge([box.key(active)], force=True).text == "Removed “n” for good"
    assert box.ids() == set()
    # Undo passes over what cannot come back and says why.
    first = actions.undo()
    assert first.of == "archive"
    assert first.failed
    assert actions.undo().of == "trash"
    assert actions.undo().text == "Nothing to undo"


@pytest.mark.parametrize("name", ["perform", "trash", "restore", "purge", "undo", "redo"])
def test_read_only_refuses_everything(
    box: Any, open_actions: Open, tree: Tree, name: str, tmp_path: Path
) -> None:
    session, gone = box.add(), box.add()
    writer = open_actions(box)
    writer.trash([box.key(gone)])
    writer.perform([box.key(session)], PIN)
    before = tree(tmp_path)
    actions = open_actions(box, read_only=True)
    actions.recover()
    arguments: dict[str, tuple[Any, ...]] = {
        "perform": ([box.key(session)], ARCHIVE),
        "trash": ([box.key(session)],),
        "restore": ([box.trash_key(gone)],),
        "purge": ([box.trash_key(gone)],),
    }
    with pytest.raises(ReadOnly, match="read-only"):
        getattr(actions, name)(*arguments.get(name, ()))
    assert actions.peek_undo().ids == (session,)
    assert tree(tmp_path) == before


def test_look_tells_what_the_owner_took_back(box: Any, open_actions: Open) -> None:
    pinned, kept, gone, back = box.add("P"), box.add(), box.add(), box.add()
    actions = open_actions(box)
    keys = [box.key(i) for i in (pinned, kept)]
    actions.perform(keys, PIN)
    actions.perform([box.key(gone)], PIN)
    actions.trash([box.key(back)])
    meta = box.meta(pinned)
    del meta["pinnedAt"]
    (box.collection / pinned / "meta.json").write_text(json.dumps(meta))
    box.put(kept, other=1)
    import shutil

    shutil.rmtree(box.collection / gone)
    (box.collection / back).mkdir()
    (box.collection / back / "meta.json").write_text('{"title":"empty"}')
    every = [*keys, box.key(gone), box.key(back)]
    found = actions.look(every)
    assert [(r.id, r.text) for r in found] == [
        (pinned, "its program has taken back the pin"),
        (back, "its program has created it again"),
    ]
    assert found[0].title == "P"
    assert actions.look(every) == []  # told once


def test_without_a_journal_actions_go_on(box: Any, open_actions: Open, tmp_path: Path) -> None:
    """failures row 154."""
    (tmp_path / "state").write_text("in the way")
    session = box.add()
    actions = open_actions(box)
    outcome = actions.trash([box.key(session)])
    assert outcome.ok
    assert "undo reaches only this run" in outcome.text
    assert actions.recover() == ()  # said once
    assert actions.undo().text == "Undid: moved “A session” to the trash"
    assert box.ids() == {session}


def test_titles_cannot_reach_the_terminal(box: Any, open_actions: Open) -> None:
    session = box.add("evil\x1b]0;x\x07\n\u202e" + "y" * 200)
    outcome = open_actions(box).perform([box.key(session)], PIN)
    assert not any(ord(c) < 32 or c == "\u202e" for c in outcome.text)
    assert len(outcome.text) < 80


def test_unexpected_failures_are_still_recorded(
    box: Any, open_actions: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop in the middle of a bulk action leaves a step that takes the done part back."""
    ids = [box.add(), box.add()]
    actions = open_actions(box)
    real, count = box.perform, [0]

    def interrupted(change: Any) -> Any:
        count[0] += 1
        if count[0] == 2:
            raise KeyboardInterrupt
        return real(change)

    box.perform = interrupted
    with pytest.raises(KeyboardInterrupt):
        actions.perform([box.key(i) for i in ids], PIN)
    box.perform = real
    assert "pinnedAt" in box.meta(ids[0])
    outcome = open_actions(box).undo()
    assert [done.id for done in outcome.done] == [ids[0]]
    assert "pinnedAt" not in box.meta(ids[0])


def test_recover_reports_a_store_that_fails(box: Any, open_actions: Open) -> None:
    def fails() -> tuple[str, ...]:
        raise StorageFailed(OSError(5, "Input/output error"), "/dev/x")

    box.recover = fails
    assert open_actions(box).recover() == (f"{box.label}: Input/output error",)
