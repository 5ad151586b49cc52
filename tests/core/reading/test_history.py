"""Pages of a history: joined they are the history, and they read what they must only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_core.errors import InvalidArgument, InvalidSession, StaleRevision
from loop_core.loop import pages as pages_module
from loop_core.loop.envelope import read_envelope
from loop_core.loop.history import read_rounds
from loop_core.loop.store import LoopStore
from loop_core.model import NoteBlock, Page, SessionRow, TextBlock


def walk(store: LoopStore, row: SessionRow, rounds: int = 3) -> list[Page]:
    """Pages from the latest to the first, in the order of the history."""
    pages = [store.page(row.key, rounds=rounds)]
    while pages[0].start:
        pages.insert(
            0,
            store.page(row.key, before=pages[0].start, rounds=rounds, revision=pages[0].revision),
        )
    return pages


def texts(pages: list[Page]) -> list[str]:
    return [
        block.text
        for page in pages
        for round_ in page.rounds
        for block in round_.blocks
        if isinstance(block, TextBlock)
    ]


_kind = st.sampled_from(["user", "assistant"])
_index = st.sampled_from(["right", "none", "stale", "shifted", "short", "dense", "junk"])


def lying_index(rounds: list[dict[str, int]], generation: str, how: str, total: int) -> bytes:
    """An index of the right generation with wrong offsets, or another fault."""
    rounds = [dict(entry) for entry in rounds]
    if how == "junk":
        return b'{"rounds": 7'
    if how == "shifted":
        for entry in rounds[1:]:
            entry["byteOffset"] += 1
    if how == "short":
        rounds = rounds[:-1]
    if how == "dense" and rounds and rounds[-1]["messageIndex"] + 1 < total:
        last = rounds[-1]
        rounds.append({"messageIndex": total - 1, "byteOffset": last["byteOffset"] + 1})
    name = "0" * 64 if how == "stale" else generation
    return json.dumps({"generation": name, "rounds": rounds}).encode()


@settings(max_examples=150)
@given(
    kinds=st.lists(_kind, max_size=24),
    how=_index,
    before=st.sampled_from([b"", b'{"role":"user","content":"old"}\n', b"no line end"]),
    tail=st.sampled_from([b"", b'{"role":"user","content":"uncommitted"}\n', b'{"ro']),
    rounds=st.integers(1, 4),
    form=st.sampled_from(["v3", "v2"]),
)
def test_pages_walked_to_the_start_are_the_whole_history(
    tmp_path_factory: pytest.TempPathFactory,
    kit: Any,
    kinds: list[str],
    how: str,
    before: bytes,
    tail: bytes,
    rounds: int,
    form: str,
) -> None:
    """With and without an index, lying ones, tails, generations, leading messages, no user."""
    disk = kit.disk(tmp_path_factory.mktemp("agent"))
    messages = [
        kit.user(f"m{n}") if kind == "user" else kit.assistant(f"m{n}")
        for n, kind in enumerate(kinds)
    ]
    if form == "v2":
        disk.v2(messages)
    else:
        path = disk.v3(messages, before=before, tail=tail, index=None)
        if how != "none":
            generation = json.loads(path.read_text())["generation"]
            raw = lying_index(kit.right_rounds(messages), generation, how, len(messages))
            (path.parent / "index.json").write_bytes(raw)
    store, row = disk.only_row()
    pages = walk(store, row, rounds)
    assert texts(pages) == [f"m{n}" for n in range(len(kinds))]
    assert pages[-1].at_end
    assert pages[-1].total == len(kinds)
    assert all(page.end == after.start for page, after in pairwise(pages))
    assert not pages[-1].damage
    if form == "v3":
        strict = strict_walk(path, rounds)
        assert strict == [json.dumps(m, separators=(",", ":")).encode() for m in messages]


def strict_walk(path: Path, rounds: int) -> list[bytes]:
    """The same through the form the session manager uses."""
    envelope = read_envelope(path)
    page = read_rounds(str(path.parent), envelope, rounds=rounds)
    lines = list(page.lines)
    while page.start:
        page = read_rounds(str(path.parent), envelope, before=page.start, rounds=rounds)
        lines = [*page.lines, *lines]
    return lines


def test_with_a_right_index_metadata_index_and_page_are_read_and_no_more(
    disk: Any, kit: Any, count_reads: Callable[[], int]
) -> None:
    """failures row 7: the last page of a long session reads little."""
    messages = []
    for n in range(400):
        messages += [kit.user(f"q{n}"), kit.assistant("x" * 5000)]
    path = disk.v3(messages)
    store, row = disk.only_row()
    count_reads()
    page = store.page(row.key)
    folder = path.parent
    last = len(kit.encoded(messages[-6:]))
    allowed = path.stat().st_size + (folder / "index.json").stat().st_size + last + 1
    assert count_reads() <= allowed
    assert page.read_bytes <= allowed
    store.page(row.key, before=page.start)
    assert count_reads() <= allowed
    envelope = read_envelope(path)
    count_reads()
    read_rounds(str(folder), envelope)
    assert count_reads() <= allowed


def test_appended_rounds_are_read_alone(
    disk: Any, kit: Any, count_reads: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 16: bytes read follow the bytes appended; the history goes on."""
    messages = [m for n in range(300) for m in (kit.user(f"q{n}"), kit.assistant("y" * 3000))]
    path = disk.v3(messages, index=None)
    store, row = disk.only_row()
    first = store.page(row.key)
    session = json.loads(path.read_text())["header"]["id"]
    messages += [kit.user("more"), kit.assistant("and more")]
    disk.v3(messages, index=None, id=session)
    count_reads()
    page = store.page(row.key, revision=first.revision)
    assert count_reads() < 40_000
    assert page.revision == first.revision
    assert (page.total, page.total_rounds) == (602, 301)
    assert texts([page])[-2:] == ["more", "and more"]


@pytest.mark.parametrize("form", ["v3", "v2"])
def test_a_replaced_history_changes_the_revision(disk: Any, kit: Any, form: str) -> None:
    make = disk.v3 if form == "v3" else disk.v2
    old = kit.encoded([kit.user("a"), kit.assistant("b"), kit.user("c")])
    path = make([kit.user("a"), kit.assistant("b"), kit.user("c")])
    store, row = disk.only_row()
    first = store.page(row.key)
    session = row.id
    new = [kit.user("a"), kit.assistant("another"), kit.user("c"), kit.user("d")]
    if form == "v3":
        disk.v3(new, before=old, id=session)
    else:
        disk.v2(new, id=session)
    with pytest.raises(StaleRevision):
        store.page(row.key, revision=first.revision)
    page = store.page(row.key)
    assert texts([page]) == ["another", "c", "d"] or texts([page])[-2:] == ["c", "d"]
    assert path.exists()


def test_a_version_2_file_rewritten_longer_goes_on(disk: Any, kit: Any) -> None:
    disk.v2([], id="0" * 36)
    store, row = disk.only_row()
    empty = store.page(row.key)
    disk.v2([kit.user("a"), kit.assistant("b")], id=row.id)
    first = store.page(row.key)
    disk.v2([kit.user("a"), kit.assistant("b"), kit.user("c")], id=row.id, unread=True)
    page = store.page(row.key, revision=first.revision)
    assert texts([page]) == ["a", "b", "c"]
    assert page.revision == empty.revision


def test_before_is_rounded_by_the_browser_and_refused_by_the_manager(disk: Any, kit: Any) -> None:
    messages = [m for n in range(5) for m in (kit.user(f"q{n}"), kit.assistant(f"a{n}"))]
    path = disk.v3(messages)
    store, row = disk.only_row()
    assert texts([store.page(row.key, before=5, rounds=1)]) == ["q2", "a2"]
    assert texts([store.page(row.key, before_round=2, rounds=1)]) == ["q1", "a1"]
    envelope = read_envelope(path)
    for before in (5, 0, 11):
        with pytest.raises(InvalidArgument):
            read_rounds(str(path.parent), envelope, before=before)


def test_a_range_that_is_not_there_is_invalid_for_the_manager(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("a")], envelope={"bytes": 900, "messageCount": 1}, index=None)
    with pytest.raises(InvalidSession):
        read_rounds(str(path.parent), read_envelope(path))
    path = disk.v3([kit.user("a")], envelope={"messageCount": 2}, index=None)
    with pytest.raises(InvalidSession):
        read_rounds(str(path.parent), read_envelope(path))


def test_damaged_lines_are_shown_counted_and_numbered(disk: Any, kit: Any) -> None:
    """failures rows 37, 39, 40, 44: glued records, a hole, a control character, a cut line."""
    one, two = kit.encoded([kit.user("glued")]).strip(), kit.encoded([kit.assistant("on")]).strip()
    messages = [
        kit.user("first"),
        one + two,
        b"\x00" * 4096,
        b'{"role":"assistant","content":[{"type":"text","text":"raw \x01 control"}]}',
        b'{"role":"assistant","content":[{"type":"te',
        b"",
        kit.assistant("last"),
    ]
    for index in ("right", None):
        disk.v3(messages, index=index)
    store = disk.store()
    for row in kit.scanned(store).rows:
        page = store.page(row.key)
        assert texts([page]) == ["first", "glued", "on", "raw ␁ control", "last"]
        assert [damage.line for damage in page.damage] == [2, 3, 4, 5, 6]
        assert page.damage[0].reason == "2 records on one line"
        assert store.page(row.key).damage == page.damage


def test_separators_inside_strings_do_not_split(disk: Any, kit: Any) -> None:
    """failures row 42."""
    odd = "a\u2028b\u0085c\u000bd\u001ce"
    line = json.dumps(kit.user(odd), ensure_ascii=False).encode()
    disk.v2([line, kit.assistant("x")])
    store, row = disk.only_row()
    page = store.page(row.key)
    assert page.total == 2
    assert not page.damage
    assert store.message(row.key, 0)["content"] == odd


def test_a_lone_surrogate_is_read(disk: Any, kit: Any) -> None:
    """failures row 43."""
    disk.v3([b'{"role":"user","content":"half \\ud83d","timestamp":1}'])
    store, row = disk.only_row()
    assert texts([store.page(row.key)]) == ["half \ufffd"]
    assert store.raw_page(row.key).messages[0]["content"] == "half \ud83d"


def test_a_short_file_is_shown_as_far_as_it_goes(disk: Any, kit: Any) -> None:
    path = disk.v3([kit.user("here"), kit.assistant("gone")])
    messages = path.parent / "messages.jsonl"
    os.truncate(messages, messages.stat().st_size - 20)
    store, row = disk.only_row()
    assert row.problem == "messages.jsonl is shorter than the metadata says"
    page = store.page(row.key)
    assert texts([page]) == ["here"]
    assert page.damage[0].reason == "the file is shorter than its metadata says"


def test_rounds_too_large_together_come_fewer_at_a_time(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 12: megabytes of tool output are paged, not swallowed."""
    monkeypatch.setattr(pages_module, "PAGE_BUDGET", 10_000)
    disk.v3([m for n in range(6) for m in (kit.user(f"q{n}"), kit.assistant("z" * 8000))])
    store, row = disk.only_row()
    assert len(store.page(row.key).rounds) == 1
    assert len(texts(walk(store, row))) == 12


def test_a_huge_round_is_read_at_its_ends(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch, count_reads: Callable[[], int]
) -> None:
    """failures row 8: a history far larger than memory opens."""
    monkeypatch.setattr(pages_module, "ROUND_BUDGET", 100_000)
    monkeypatch.setattr(pages_module, "_CUT_HEAD", 10_000)
    monkeypatch.setattr(pages_module, "_CUT_TAIL", 20_000)
    disk.v3([kit.user("start"), *[kit.assistant(f"{n} " + "z" * 900) for n in range(400)]])
    store, row = disk.only_row()
    count_reads()
    page = store.page(row.key)
    assert count_reads() < 60_000
    shown = texts([page])
    assert shown[0] == "start"
    assert shown[-1].startswith("399 ")
    (note,) = [b for b in page.rounds[0].blocks if isinstance(b, NoteBlock)]
    assert "messages left out" in note.title
    assert (page.total, page.end) == (401, 401)


def test_a_large_sparse_session_needs_little_memory(disk: Any, kit: Any) -> None:
    """failures row 8, small form: a hole between a valid head and a valid tail."""
    head, tail = kit.encoded([kit.user("head")]), kit.encoded([kit.user("tail")])
    path = disk.v3([kit.user("x")], index=None)
    hole = 300 << 20
    with (path.parent / "messages.jsonl").open("wb") as file:
        file.write(head)
        file.seek(len(head) + hole)
        file.write(b"\n" + tail)
    meta = json.loads(path.read_text())
    meta |= {"bytes": len(head) + hole + 1 + len(tail), "messageCount": 3}
    path.write_text(json.dumps(meta))
    store, row = disk.only_row()
    assert texts([store.page(row.key, rounds=1)]) == ["tail"]
    assert "head" in texts([store.page(row.key, before_round=1)])


def test_a_rebuilt_index_is_kept_in_the_cache_only(
    disk: Any, kit: Any, count_reads: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from loop_core.loop import round_cache

    monkeypatch.setattr(round_cache, "WORTH", 1000)
    messages = [m for n in range(200) for m in (kit.user(f"q{n}"), kit.assistant("y" * 3000))]
    path = disk.v3(messages, index=None)
    store, row = disk.only_row()
    store.page(row.key)
    assert sorted(p.name for p in path.parent.iterdir()) == ["messages.jsonl", "meta.json"]
    (kept,) = (disk.base / "cache").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    again = disk.store()
    kit.scanned(again)
    count_reads()
    page = again.page(row.key)
    assert count_reads() < 60_000
    assert page.total_rounds == 200
    kept.write_bytes(kept.read_bytes()[:-8])
    assert disk.store().page(row.key).total_rounds == 200
    kept.unlink()
    kept.parent.chmod(0o500)
    try:
        assert disk.store().page(row.key).total_rounds == 200
    finally:
        kept.parent.chmod(0o700)


def test_single_messages_and_finding(disk: Any, kit: Any) -> None:
    messages = [
        kit.assistant("before"),
        kit.user("Where is the Needle?"),
        kit.assistant(kit.call("bash", command="grep -i NEEDLE *")),
        kit.result("straße", name="bash"),
        kit.user("thanks"),
    ]
    disk.v3(messages)
    store, row = disk.only_row()
    assert [store.message(row.key, n) for n in range(5)] == messages
    assert list(store.messages(row.key)) == list(enumerate(messages))
    hits = list(store.find(row.key, "needle"))
    assert [(hit.round, hit.message) for hit in hits] == [(0, 1), (0, 2)]
    assert "Needle" in hits[0].snippet
    assert [hit.message for hit in store.find(row.key, "STRASSE")] == [3]
    assert list(store.find(row.key, "  ")) == []
    assert list(store.find(row.key, "needle", cancelled=lambda: True)) == []
