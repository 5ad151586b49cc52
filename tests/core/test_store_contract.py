"""One suite over every kind of store: Loop version 3, Loop version 2, Craft-Agents.

Each store holds the same three conversations; what the protocol promises has to hold for all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from loop_core import trash
from loop_core.craft.store import CraftStore
from loop_core.errors import Conflict, InvalidArgument, LoopError, SessionNotFound, StaleRevision
from loop_core.loop.paths import workspace_hash
from loop_core.loop.store import LoopStore
from loop_core.model import SessionKey, SessionRow, StoreScan, TextBlock
from loop_core.plans import Edit, Intent
from loop_core.store import SessionStore

ROUNDS = 7
NAMES = ("first", "second", "third")


class Ground(NamedTuple):
    """A store, the directory it lies in, and how to lengthen a session in the owner's way."""

    store: SessionStore
    base: Path
    grow: Callable[[SessionRow], None]


def turn(name: str, number: int, *, craft: bool) -> list[dict[str, Any]]:
    question, answer = f"{name} question {number} Ünique", f"{name} answer {number} \u202e"
    if craft:
        return [
            {"id": f"u{number}", "content": question, "timestamp": 1000 + number, "type": "user"},
            {
                "id": f"a{number}",
                "content": answer,
                "timestamp": 1001 + number,
                "type": "assistant",
            },
        ]
    more = {"api": "a", "provider": "p", "model": "m", "usage": {}, "stopReason": "stop"}
    return [
        {"role": "user", "content": question, "timestamp": 1000 + number},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": answer}],
            "timestamp": 1001 + number,
            **more,
        },
    ]


def history(name: str, rounds: int = ROUNDS, *, craft: bool) -> list[dict[str, Any]]:
    return [message for n in range(rounds) for message in turn(name, n, craft=craft)]


def lines(values: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(v, separators=(",", ":")).encode() + b"\n" for v in values)


def loop_header(number: int, cwd: Path) -> dict[str, Any]:
    return {
        "format": "loop-session",
        "version": 2,
        "id": f"{number:08x}-0000-4000-8000-00000000abcd",
        "cwd": str(cwd),
        "createdAt": "2026-10-01T09:00:00.000Z",
        "updatedAt": f"2026-10-0{number + 1}T10:00:00.000Z",
        "permissionPreset": "read-only",
        "unread": True,
        "title": {"source": "model", "text": NAMES[number], "messageIndices": [0]},
    }


def write_v3(folder: Path, header: dict[str, Any], body: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    meta = {
        "format": "loop-session",
        "version": 3,
        "header": header,
        "generation": hashlib.sha256(body).hexdigest(),
        "start": 0,
        "bytes": len(body),
        "messageCount": body.count(b"\n"),
    }
    (folder / "messages.jsonl").write_bytes(body)
    temporary = folder / "meta.json.next"
    temporary.write_text(json.dumps(meta))
    temporary.replace(folder / "meta.json")


def loop_ground(base: Path, *, version: int) -> Ground:
    cwd = base / "project"
    cwd.mkdir()
    cwd = cwd.resolve()
    collection = base / "agent" / "sessions" / workspace_hash(cwd)
    collection.mkdir(parents=True)

    def write(number: int, rounds: int = ROUNDS) -> None:
        header = loop_header(number, cwd)
        messages = history(NAMES[number], rounds, craft=False)
        if version == 3:
            write_v3(collection / header["id"], header, lines(messages))
        else:
            path = collection / f"{header['id']}.jsonl"
            temporary = collection / ".next"
            temporary.write_bytes(lines([header, *messages]))
            temporary.replace(path)

    for number in range(3):
        write(number)
    store = LoopStore(base / "agent", cache_dir=base / "cache")
    return Ground(store, base / "agent", lambda row: write(int(row.id[:8], 16), ROUNDS + 1))


def craft_ground(base: Path) -> Ground:
    root = base / "config" / "workspaces" / "one"
    root.mkdir(parents=True)
    (root / "config.json").write_text('{"name":"One"}')

    def write(number: int, rounds: int = ROUNDS) -> None:
        name = f"26100{number + 1}-calm-pond"
        folder = root / "sessions" / name
        folder.mkdir(parents=True, exist_ok=True)
        header = {
            "id": name,
            "createdAt": 1,
            "lastUsedAt": 9,
            "lastMessageAt": number + 2,
            "name": NAMES[number],
            "hasUnread": True,
            "messageCount": rounds * 2,
            "lastFinalMessageId": "x",
        }
        temporary = folder / "session.jsonl.tmp"
        temporary.write_bytes(lines([header, *history(NAMES[number], rounds, craft=True)]))
        temporary.replace(folder / "session.jsonl")

    for number in range(3):
        write(number)
    store = CraftStore(base / "config")
    return Ground(store, base / "config", lambda row: write(int(row.id[5]) - 1, ROUNDS + 1))


@pytest.fixture(params=["loop3", "loop2", "craft"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    if request.param == "craft":
        return craft_ground(tmp_path)
    return loop_ground(tmp_path, version=int(request.param[-1]))


def scan(store: SessionStore) -> StoreScan:
    return deque(store.scan(), maxlen=1).pop()


def row_named(store: SessionStore, name: str) -> SessionRow:
    return next(row for row in scan(store).rows if row.title == name)


def files(base: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(base)): path.read_bytes()
        for path in sorted(base.rglob("*"))
        if path.is_file()
    }


def test_scan_gives_every_session_once(ground: Ground) -> None:
    before = files(ground.base)
    found = scan(ground.store)
    assert found.complete
    assert not found.problems
    assert sorted(row.title or "" for row in found.rows) == sorted(NAMES)
    assert len({row.key for row in found.rows}) == 3
    for row in found.rows:
        assert row.key.store == ground.store.id
        assert row.source == ground.store.source
        assert row.unread
        assert not row.archived
        assert row.pinned_ms is None
        assert row.problem is None
        assert row.project in {project.key for project in found.projects}
        assert os.path.exists(row.path)
    order = sorted(found.rows, key=lambda row: row.updated_ms)
    assert [row.title for row in order] == list(NAMES)
    # Nothing changed, so the very same rows; and looking changed nothing on disk.
    assert sorted(map(repr, scan(ground.store).rows)) == sorted(map(repr, found.rows))
    assert files(ground.base) == before


def test_pages_walk_back_over_every_round_once(ground: Ground) -> None:
    row = row_named(ground.store, "second")
    page = ground.store.page(row.key)
    assert (page.key, page.total, page.total_rounds) == (row.key, ROUNDS * 2, ROUNDS)
    assert page.at_end
    seen = list(page.rounds)
    while page.start > 0:
        page = ground.store.page(row.key, before=page.start, revision=page.revision)
        assert len(page.rounds) <= 3
        seen = [*page.rounds, *seen]
    assert [r.index for r in seen] == list(range(ROUNDS))
    assert [(r.start, r.end) for r in seen] == [(n * 2, n * 2 + 2) for n in range(ROUNDS)]
    texts = [b.text for r in seen for b in r.blocks if isinstance(b, TextBlock)]
    expected = [
        text
        for n in range(ROUNDS)
        for text in (f"second question {n} Ünique", f"second answer {n} \ufffd")
    ]
    assert texts == expected
    assert [r.index for r in ground.store.rounds(row.key)] == list(range(ROUNDS))


def test_a_place_inside_a_round_is_rounded_up(ground: Ground) -> None:
    key = row_named(ground.store, "first").key
    assert ground.store.page(key, before=5).end == 6
    assert ground.store.page(key, before=6).end == 6
    by_round = ground.store.page(key, before_round=4, rounds=2)
    assert (by_round.first_round, by_round.start, by_round.end) == (2, 4, 8)
    assert ground.store.page(key, rounds=100).start == 0


def test_messages_and_single_reads_agree(ground: Ground) -> None:
    key = row_named(ground.store, "third").key
    stored = list(ground.store.messages(key))
    craft = ground.store.source == "craft"
    assert [value for _, value in stored] == history("third", craft=craft)
    assert [ground.store.message(key, n) for n, _ in stored] == [value for _, value in stored]
    raw = ground.store.raw_page(key, rounds=2)
    assert list(raw.messages) == [value for _, value in stored][-4:]
    assert (raw.start, raw.end, raw.total, raw.total_rounds) == (10, 14, 14, ROUNDS)
    assert (raw.first_round, raw.last_round) == (5, 6)
    with pytest.raises(LoopError):
        ground.store.message(key, 99)


def test_find_gives_hits_in_order(ground: Ground) -> None:
    key = row_named(ground.store, "first").key
    hits = list(ground.store.find(key, "QUESTION"))
    assert [(hit.round, hit.message) for hit in hits] == [(n, n * 2) for n in range(ROUNDS)]
    assert all("question" in hit.snippet.casefold() for hit in hits)
    assert [hit.message for hit in ground.store.find(key, "answer 3")] == [7]
    assert [hit.round for hit in ground.store.find(key, "üNIQUE")] == list(range(ROUNDS))
    assert list(ground.store.find(key, "nowhere")) == []
    assert all("\u202e" not in hit.snippet for hit in ground.store.find(key, "answer"))


def test_search_text_goes_on_where_it_ended(ground: Ground) -> None:
    row = row_named(ground.store, "second")
    first = ground.store.texts(row.key)
    pieces = list(first)
    assert [(p.round, p.message, p.role) for p in pieces][:2] == [
        (0, 0, "user"),
        (0, 1, "assistant"),
    ]
    assert len(pieces) == ROUNDS * 2
    mark = first.mark()
    assert (mark.rounds, mark.damaged) == (ROUNDS, 0)
    assert ground.store.text_mark(row.key).content == mark.content
    ground.grow(row)
    scan(ground.store)
    assert ground.store.text_mark(row.key).content != mark.content
    again = ground.store.texts(row.key, since=mark)
    rest = list(again)
    assert rest[-1].message == ROUNDS * 2 + 1
    assert again.mark().rounds == ROUNDS + 1
    kept = [p for p in pieces if p.round < again.first_round]
    assert [p.text for p in [*kept, *rest]] == [p.text for p in ground.store.texts(row.key)]


def test_a_grown_session_keeps_its_revision_or_says_it_is_stale(ground: Ground) -> None:
    row = row_named(ground.store, "first")
    page = ground.store.page(row.key)
    ground.grow(row)
    found = ground.store.rescan({row.path})
    assert next(r for r in found.rows if r.key == row.key).stamp != row.stamp
    assert ground.store.page(row.key).total == ROUNDS * 2 + 2
    try:
        grown = ground.store.page(row.key, before=page.start, revision=page.revision)
    except StaleRevision:
        assert ground.store.page(row.key).revision != page.revision
    else:
        assert grown.end == page.start
    with pytest.raises(StaleRevision):
        ground.store.page(row.key, revision="of another history")


INTENTS: list[tuple[Any, Any, Callable[[SessionRow], object]]] = [
    ("pin", None, lambda row: row.pinned_ms is not None),
    ("archive", None, lambda row: row.archived),
    ("read", None, lambda row: not row.unread),
    ("rename", "Another name", lambda row: row.title == "Another name"),
]


@pytest.mark.parametrize(("do", "value", "holds"), INTENTS)
def test_every_change_is_one_write_and_has_an_inverse(
    ground: Ground, do: Any, value: Any, holds: Callable[[SessionRow], object]
) -> None:
    row = row_named(ground.store, "second")
    before = files(ground.base)
    change = ground.store.plan(row.key, Intent(do=do, value=value))
    assert files(ground.base) == before
    assert (change.key, change.path) == (row.key, row.path)
    assert change.edits
    after = ground.store.perform(change)
    assert after.key == row.key
    assert holds(after)
    assert ground.store.look(row.key) == after
    assert next(r for r in scan(ground.store).rows if r.key == row.key) == after
    changed = {name for name, data in files(ground.base).items() if before.get(name) != data}
    assert len(changed) == 1
    # Doing it again is no error, and planning it again finds nothing left to do.
    ground.store.perform(change)
    if do != "archive":
        assert ground.store.plan(row.key, Intent(do=do, value=value)).edits == ()
    undone = ground.store.perform(change.inverse())
    again = {"stamp": None, "changed_ms": 0, "size": 0}
    assert msgspec.structs.replace(undone, **again) == msgspec.structs.replace(row, **again)
    messages = [value for _, value in ground.store.messages(row.key)]
    assert messages == history("second", craft=ground.store.source == "craft")


def test_a_change_of_a_value_that_moved_on_is_a_conflict(ground: Ground) -> None:
    row = row_named(ground.store, "first")
    change = ground.store.plan(row.key, Intent(do="rename", value="Ours"))
    ground.store.perform(ground.store.plan(row.key, Intent(do="rename", value="Theirs")))
    with pytest.raises(Conflict):
        ground.store.perform(change)
    looked = ground.store.look(row.key)
    assert looked is not None
    assert looked.title == "Theirs"


def test_an_edit_that_is_done_already_writes_nothing(ground: Ground) -> None:
    row = row_named(ground.store, "first")
    change = ground.store.plan(row.key, Intent(do="rename", value="Ours"))
    ground.store.perform(change)
    before = files(ground.base)
    stale = msgspec.structs.replace(
        change, edits=tuple(Edit(e.field, '"never"', e.after) for e in change.edits)
    )
    ground.store.perform(stale)
    assert files(ground.base) == before


def test_bad_names_are_refused(ground: Ground) -> None:
    row = row_named(ground.store, "first")
    for name in ("", " \n "):
        with pytest.raises((InvalidArgument, LoopError)):
            ground.store.perform(ground.store.plan(row.key, Intent(do="rename", value=name)))
    looked = ground.store.look(row.key)
    assert looked is not None
    assert looked.title == "first"


def test_to_the_trash_and_back(ground: Ground) -> None:
    row = row_named(ground.store, "third")
    before = files(ground.base)
    plan = ground.store.plan_trash(row.key)
    assert files(ground.base) == before
    assert plan.trash_dir in ground.store.trash_dirs()
    assert plan.stamp is not None
    entry = trash.move_in(plan, ground.store)
    assert ground.store.look(row.key) is None
    rows = scan(ground.store).rows
    assert len(rows) == 3
    trashed = next(r for r in rows if r.trashed_ms is not None)
    assert (trashed.title, trashed.id) == (row.title, row.id)
    assert trashed.key.ref == entry.key_ref
    assert ground.store.page(trashed.key).total == ROUNDS * 2
    able = ground.store.capabilities(trashed)
    assert able.pin
    assert able.archive
    with pytest.raises(LoopError):
        ground.store.plan(trashed.key, Intent(do="pin"))
    trash.put_back(entry, ground.store)
    back = row_named(ground.store, "third")
    assert back.key == row.key
    assert files(ground.base) == before


def test_the_details_say_something(ground: Ground) -> None:
    row = row_named(ground.store, "first")
    details = ground.store.details(row.key)
    assert any(row.id in detail.value for detail in details)
    assert all("\n" not in detail.value and detail.label for detail in details)
    header = ground.store.header(row.key)
    assert header["id"] == row.id


def test_a_session_that_went_away_is_not_found(ground: Ground) -> None:
    row = row_named(ground.store, "first")
    path = Path(row.path)
    for part in (
        [path]
        if path.suffix == ".jsonl" and path.name != "session.jsonl"
        else sorted(path.parent.iterdir())
    ):
        part.unlink()
    if path.name in ("session.jsonl", "meta.json"):
        path.parent.rmdir()
    assert row.key not in {r.key for r in ground.store.rescan({row.path}).rows}
    assert ground.store.look(row.key) is None
    for ask in (ground.store.page, ground.store.raw_page, ground.store.details):
        with pytest.raises(SessionNotFound):
            ask(row.key)
    with pytest.raises(SessionNotFound):
        ground.store.plan(row.key, Intent(do="pin"))
    with pytest.raises(SessionNotFound):
        ground.store.page(SessionKey(ground.store.id, "no such place"))


def test_recover_has_nothing_to_do(ground: Ground) -> None:
    scan(ground.store)
    assert ground.store.recover() == ()


def test_watch_roots_are_below_the_store(ground: Ground) -> None:
    roots = ground.store.watch_roots()
    assert roots
    assert all(root.path.startswith(str(ground.base)) for root in roots)
    assert any(root.exists and root.recursive for root in roots)
