"""History by rounds: paging, damage, nesting, revisions, and how much is read."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_core.craft import records
from loop_core.craft.history import HistoryReader
from loop_core.craft.images import image_of
from loop_core.craft.texts import CraftTexts
from loop_core.errors import InvalidArgument, StaleRevision
from loop_core.jsonvalue import dumps
from loop_core.model import (
    AttachmentBlock,
    NoteBlock,
    Page,
    SessionKey,
    TextBlock,
    ToolBlock,
    UnknownBlock,
)

KEY = SessionKey("craft:x", "y")
Make = Callable[..., Path]


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"id": f"u-{text}", "content": text, "type": "user", **more}


def answer(text: str, **more: Any) -> dict[str, Any]:
    return {"id": f"a-{text}", "content": text, "type": "assistant", **more}


def read(file: Path, **options: Any) -> Page:
    return HistoryReader().page(KEY, str(file.parent), **options)


def texts(page: Page) -> list[str]:
    return [b.text for r in page.rounds for b in r.blocks if isinstance(b, TextBlock)]


def test_three_rounds_at_a_time_back_to_the_first(make_session: Make) -> None:
    messages: list[Any] = [answer("before anything")]
    for number in range(10):
        messages += [user(f"q{number}"), answer(f"c{number}", isIntermediate=True), answer("a")]
    file = make_session("261201-calm-pond", *messages)
    reader = HistoryReader()
    page = reader.page(KEY, str(file.parent))
    assert (page.start, page.end, page.total) == (22, 31, 31)
    assert (page.first_round, page.total_rounds, page.at_end) == (7, 10, True)
    seen = list(page.rounds)
    while page.start > 0:
        page = reader.page(KEY, str(file.parent), before=page.start, revision=page.revision)
        assert not page.at_end
        seen = [*page.rounds, *seen]
    assert [r.index for r in seen] == [-1, *range(10)]
    assert [(r.start, r.end) for r in seen] == [
        (0, 1),
        *((n * 3 + 1, n * 3 + 4) for n in range(10)),
    ]
    # A place inside a round is rounded up to its end; a round number works as well.
    assert reader.page(KEY, str(file.parent), before=23).end == 25
    assert reader.page(KEY, str(file.parent), before_round=5).first_round == 2
    assert reader.page(KEY, str(file.parent), before=0).rounds == ()
    with pytest.raises(InvalidArgument):
        reader.page(KEY, str(file.parent), rounds=0)


def test_a_page_reads_only_its_bytes(make_session: Make) -> None:
    messages = [m for n in range(200) for m in (user(f"q{n}"), answer("x" * 2500))]
    file = make_session("261201-calm-pond", *messages)
    page = read(file)
    assert page.read_bytes < 3 * 5200
    assert sum(r.size for r in page.rounds) == page.read_bytes


def test_blocks_of_every_type(make_session: Make) -> None:
    file = make_session(
        "261201-calm-pond",
        user(
            "look",
            attachments=[{"name": "t.csv", "type": "text", "size": 15, "storedPath": "/a/t.csv"}],
            badges=[{"type": "skill", "label": "sort"}],
        ),
        answer("thinking about it", isIntermediate=True),
        {
            "type": "tool",
            "toolName": "Task",
            "toolUseId": "t1",
            "toolStatus": "completed",
            "toolResult": "done",
            "toolDisplayName": "Sub agent",
        },
        {
            "type": "tool",
            "toolName": "Bash",
            "toolUseId": "t2",
            "parentToolUseId": "t1",
            "toolInput": {"command": "wc -l"},
            "toolStatus": "error",
            "toolDuration": 41,
            "toolResult": "Error: no",
        },
        answer("inside", isIntermediate=True, parentToolUseId="t2"),
        {"type": "tool", "toolName": "mcp__x", "toolUseId": "t3", "toolStatus": "executing"},
        {"type": "plan", "content": "1. go", "planPath": "{{SESSION_PATH}}/plans/p.md"},
        {"type": "error", "content": "busy", "errorTitle": "Rate limited", "errorOriginal": "429"},
        {"type": "info", "content": "Compacted", "statusType": "compaction_complete"},
        {"type": "warning", "content": "icons"},
        {"type": "auth-request", "content": "", "authSourceName": "Mail", "authStatus": "failed"},
        {"type": "hologram", "content": {"a": 1}},
        None,
        [1],
        answer("see {{SESSION_PATH}}/x"),
        user("later", isQueued=True),
    )
    page = read(file)
    blocks = [*page.rounds[0].blocks]
    attachment, badge, text, commentary, task = blocks[:5]
    assert isinstance(attachment, AttachmentBlock)
    assert (attachment.name, attachment.size, attachment.path) == ("t.csv", 15, "/a/t.csv")
    assert badge == NoteBlock("skill", "skill: sort", "", 0)
    assert text == TextBlock("look", 0, "user")
    assert isinstance(commentary, TextBlock)
    assert commentary.commentary
    assert isinstance(task, ToolBlock)
    assert (task.status, task.verb, task.target) == ("ok", "Used", "Sub agent")
    bash = task.children[0]
    assert isinstance(bash, ToolBlock)
    assert (bash.verb, bash.target, bash.status) == ("Run", "wc -l", "error")
    assert (bash.result, bash.duration_ms) == ("Error: no", 41)
    assert bash.children == (TextBlock("inside", 4, "assistant", commentary=True),)
    waiting = blocks[5]
    assert isinstance(waiting, ToolBlock)
    assert waiting.status == "waiting"
    notes = [b for b in blocks if isinstance(b, NoteBlock)]
    assert [n.kind for n in notes] == ["skill", "plan", "error", "compaction", "warning", "auth"]
    assert notes[2].text == "busy\n429"
    assert "Mail" in notes[5].title
    assert "failed" in notes[5].title
    assert [b.type for b in blocks if isinstance(b, UnknownBlock)] == ["hologram", "null", "array"]
    assert texts(page)[-2] == f"see {file.parent}/x"
    last = page.rounds[1].blocks[-1]
    assert isinstance(last, NoteBlock)
    assert last.kind == "queued"


def test_running_shows_a_call_at_work(make_session: Make) -> None:
    call = {"type": "tool", "toolName": "Bash", "toolUseId": "t", "toolStatus": "executing"}
    file = make_session("261201-calm-pond", user("a"), call, user("b"), call)
    page = read(file, running=True)
    statuses = [b.status for r in page.rounds for b in r.blocks if isinstance(b, ToolBlock)]
    assert statuses == ["waiting", "running"]


def test_a_chain_of_parents_has_an_end(make_session: Make) -> None:
    calls = [
        {"type": "tool", "toolName": "Task", "toolUseId": f"t{n}", "parentToolUseId": f"t{n - 1}"}
        for n in range(3000)
    ]
    file = make_session("261201-calm-pond", user("deep"), *calls)
    page = read(file)

    def count(blocks: Any) -> int:
        return sum(1 + count(getattr(b, "children", ())) for b in blocks)

    assert count(page.rounds[0].blocks) == 3001


def test_glued_records_are_both_shown_and_counted_once(make_session: Make) -> None:
    """failures row 37: two records on one line; one damage, both visible, even a user's."""
    head = b'{"id":"s","createdAt":1}\n'
    glued = dumps(answer('one {"}{')) + dumps(user("two")) + b"\n"
    raw = head + dumps(user("zero")) + b"\n" + glued + dumps(answer("three")) + b"\n"
    file = make_session("261201-calm-pond", raw=raw)
    page = read(file)
    assert texts(page) == ["zero", 'one {"}{', "two", "three"]
    assert (page.total, page.total_rounds) == (4, 2)
    assert [d.line for d in page.damage] == [3]
    reader = HistoryReader()
    stored = [value for _, value in reader.messages(str(file.parent))]
    assert [reader.message(str(file.parent), n) for n in range(4)] == stored
    assert list(reader.raw_page(str(file.parent), rounds=9).messages) == stored


def test_bad_lines_are_told_with_their_numbers(make_session: Make) -> None:
    """failures row 44: three bad lines, each with its line number and a reason."""
    lines = [
        b'{"id":"s","createdAt":1}',
        dumps(user("a")),
        b'{"id":"x","content":"cut',
        b"",
        b"   ",
        dumps(answer("b")),
        b"\0\0\0",
        b'{"a":NaN}',
    ]
    file = make_session("261201-calm-pond", raw=b"\n".join(lines) + b"\n")
    page = read(file)
    assert [d.line for d in page.damage] == [3, 5, 7, 8]
    assert all(d.reason for d in page.damage)
    assert texts(page) == ["a", "b"]


def test_a_session_without_a_header_still_shows_its_messages(make_session: Make) -> None:
    first = make_session("261201-calm-pond", raw=dumps(user("a")) + b"\n" + dumps(answer("b")))
    assert texts(read(first)) == ["a", "b"]
    assert read(first).damage[0].line == 1
    second = make_session("261202-calm-pond", raw=b'{"cut\n' + dumps(user("a")) + b"\n")
    assert texts(read(second)) == ["a"]


def test_text_is_safe_for_a_screen(make_session: Make) -> None:
    file = make_session("261201-calm-pond", user("a\x1b]0;x\x07\u202eb\u2028c"))
    assert texts(read(file)) == ["a␛]0;x␇\ufffdb␤c"]


def test_revision_stays_while_the_history_grows(make_session: Make) -> None:
    messages: list[Any] = [user("a"), answer("b"), user("c"), answer("d")]
    reader = HistoryReader()
    file = make_session("261201-calm-pond", *messages)
    first = reader.page(KEY, str(file.parent))
    # Grown, the last round rewritten in place, another header length: still the same.
    messages[3] = answer("d, longer")
    make_session("261201-calm-pond", *messages, user("e"), name="Named meanwhile")
    grown = reader.page(KEY, str(file.parent), revision=first.revision)
    assert grown.revision == first.revision
    assert grown.total_rounds == 3
    # Earlier history replaced.
    messages[1] = answer("B")
    make_session("261201-calm-pond", *messages)
    with pytest.raises(StaleRevision):
        reader.page(KEY, str(file.parent), revision=first.revision)
    assert reader.page(KEY, str(file.parent)).revision != first.revision


def test_find_is_case_insensitive_and_in_order(make_session: Make) -> None:
    file = make_session(
        "261201-calm-pond",
        user("The PUMP leaks"),
        answer("straße"),
        {"type": "tool", "toolName": "Bash", "toolResult": "a pump " + "x" * 500},
        user("other"),
        answer("pump {{SESSION_PATH}}"),
    )
    reader = HistoryReader()
    hits = list(reader.find(str(file.parent), "Pump"))
    assert [(h.round, h.message) for h in hits] == [(0, 0), (0, 2), (1, 4)]
    assert all(len(h.snippet) < 200 for h in hits)
    assert [h.message for h in reader.find(str(file.parent), "STRASSE")] == [1]
    assert [h.message for h in reader.find(str(file.parent), file.parent.name)] == [4]
    assert list(reader.find(str(file.parent), "")) == []


def test_a_huge_round_is_shown_by_its_ends(make_session: Make) -> None:
    tools = [
        {"type": "tool", "toolName": "Bash", "toolUseId": f"t{n}", "toolResult": "x" * 500_000}
        for n in range(50)
    ]
    file = make_session("261201-calm-pond", user("go"), *tools, answer("done"))
    page = read(file)
    assert page.read_bytes < 10 << 20
    assert page.rounds[0].size > 20 << 20
    assert texts(page) == ["go", "done"]
    notes = [b for b in page.rounds[0].blocks if isinstance(b, NoteBlock)]
    shown = sum(isinstance(b, ToolBlock) for b in page.rounds[0].blocks)
    assert notes[0].title == f"{50 - shown} messages are not shown here"
    assert HistoryReader().message(str(file.parent), 30) == tools[29]


def test_a_line_beyond_the_limit_is_named_not_held(
    make_session: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MAX_LINE", 2 << 20)
    big = user("x" * (5 << 20))
    file = make_session("261201-calm-pond", user("a"), big, answer("b"))
    page = read(file)
    assert (page.total, page.total_rounds) == (3, 2)
    assert "bytes" in page.damage[0].reason
    assert texts(page) == ["a", "b"]


def grow(file: Path, megabytes: int) -> None:
    line = dumps({"type": "tool", "toolName": "Bash", "toolResult": "word " * 20_000}) + b"\n"
    with file.open("ab") as out:
        for _ in range(megabytes * 10):
            out.write(dumps(user("next")) + b"\n" + line)


@pytest.mark.parametrize(
    "megabytes", [40, pytest.param(500, marks=pytest.mark.soak, id="500-soak")]
)
def test_a_long_session_pages_with_bounded_memory(make_session: Make, megabytes: int) -> None:
    """Issue 4, "Shows it" 6."""
    file = make_session("261201-calm-pond", user("first"))
    grow(file, megabytes)
    reader = HistoryReader()
    tracemalloc.start()
    try:
        page = reader.page(KEY, str(file.parent))
        assert page.total_rounds == megabytes * 10 + 1
        reader.page(KEY, str(file.parent), before=page.start)
        assert sum(1 for _ in reader.messages(str(file.parent))) == page.total
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24 << 20


LINES = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from(
            [
                dumps(user("u")),
                dumps(answer("a")),
                dumps(user("u")) + dumps(answer("a")),
                b'{"type":"user"}{"cut',
                b'{"type":"user","content":"\xff\xfe"}',
                b"null",
                b"[" * 2000 + b"]" * 2000,
                b'{"a":"}{"}',
                b'{"type":"tool","parentToolUseId":"t","toolUseId":"t"}',
            ]
        ),
    ),
    max_size=12,
)


@settings(max_examples=150)
@given(LINES, st.integers(1, 4))
def test_any_bytes_page_without_losing_a_record(
    tmp_path_factory: Any, lines: list[bytes], rounds: int
) -> None:
    """Pages, the stream and single reads agree on whatever a file holds."""
    folder = tmp_path_factory.mktemp("s")
    (folder / "session.jsonl").write_bytes(b"\n".join([b'{"id":"s"}', *lines]))
    reader = HistoryReader()
    stored = list(reader.messages(str(folder)))
    assert [n for n, _ in stored] == list(range(len(stored)))
    page = reader.page(KEY, str(folder), rounds=rounds)
    assert page.total == len(stored)
    seen = list(page.rounds)
    while page.start > 0:
        page = reader.page(KEY, str(folder), rounds=rounds, before=page.start)
        seen = [*page.rounds, *seen]
    edges = [edge for r in seen for edge in (r.start, r.end)]
    assert edges == sorted(edges)
    assert (not seen and not stored) or (edges[0], edges[-1]) == (0, len(stored))
    for number, value in stored:
        assert dumps(reader.message(str(folder), number)) == dumps(value)


def test_chunk_edges_do_not_matter(make_session: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [m for n in range(6) for m in (user(f"q{n}"), answer("x" * n * 7))]
    file = make_session("261201-calm-pond", *messages)
    whole = read(file, rounds=9)
    fd = os.open(file, os.O_RDONLY)
    try:
        expected = list(records.lines_in(fd, 0, file.stat().st_size))
        for chunk in (1, 2, 3, 7, 64):
            monkeypatch.setattr(records, "CHUNK", chunk)
            assert list(records.lines_in(fd, 0, file.stat().st_size)) == expected
            assert read(file, rounds=9).rounds == whole.rounds
    finally:
        os.close(fd)


def test_search_text_leaves_encoded_data_out(make_session: Make) -> None:
    icon = "data:image/png;base64," + "QUJD" * 300
    file = make_session(
        "261201-calm-pond",
        user("pump", attachments=[{"name": "plan.pdf", "thumbnailBase64": "QUJD" * 200}]),
        {
            "type": "tool",
            "toolName": "Bash",
            "toolInput": {"command": "ls", "n": 7},
            "toolResult": f"seen {icon}",
        },
        {"type": "error", "content": "busy", "errorTitle": "Rate limited"},
        None,
    )
    pieces = list(CraftTexts(str(file.parent)))
    assert [(p.role, p.tool) for p in pieces] == [
        ("user", ""),
        ("tool", "Bash"),
        ("tool", "Bash"),
        ("assistant", ""),
    ]
    text = "\n".join(p.text for p in pieces)
    assert "QUJD" not in text
    for word in ("plan.pdf", "pump", "command\nls", "seen", "Rate limited", "busy"):
        assert word in text
    only = CraftTexts(str(file.parent), wanted=lambda raw: b"busy" in raw)
    assert [p.message for p in only] == [2]


def test_search_goes_on_only_where_the_history_grew(make_session: Make) -> None:
    messages = [user("a"), answer("b"), user("c"), answer("d")]
    folder = str(make_session("261201-calm-pond", *messages).parent)
    first = CraftTexts(folder)
    assert len(list(first)) == 4
    mark = first.mark()
    make_session("261201-calm-pond", *messages, user("e"), name="Renamed")
    grown = CraftTexts(folder, since=mark)
    assert [p.text for p in grown] == ["c", "d", "e"]
    assert (grown.first_round, grown.mark().rounds) == (1, 3)
    make_session("261201-calm-pond", user("A"), *messages[1:])
    again = CraftTexts(folder, since=mark)
    assert [p.text for p in again] == ["A", "b", "c", "d"]
    assert again.first_round == -1


def test_an_attached_image_is_read_only_from_the_sessions_folder(
    make_session: Make, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"secret")

    def image(**more: Any) -> dict[str, Any]:
        return {"type": "image", "name": "i.png", "mimeType": "image/png", "size": 3, **more}

    file = make_session(
        "261201-calm-pond",
        user(
            "see",
            attachments=[
                image(storedPath="{{SESSION_PATH}}/attachments/i.png"),
                image(storedPath=str(secret), thumbnailBase64="QUJD"),
                image(storedPath="{{SESSION_PATH}}/../../../config.json"),
                {"type": "pdf", "name": "p.pdf"},
            ],
        ),
    )
    folder = file.parent / "attachments"
    folder.mkdir()
    (folder / "i.png").write_bytes(b"ABC")
    message = HistoryReader().message(str(file.parent), 0)
    found = [image_of(message, place, str(file.parent)) for place in range(5)]
    assert found == [("image/png", "QUJD"), ("image/png", "QUJD"), None, None, None]
    (folder / "i.png").unlink()
    (folder / "i.png").symlink_to(secret)
    assert image_of(message, 0, str(file.parent)) is None
    blocks = read(file).rounds[0].blocks
    assert [type(block).__name__ for block in blocks[:4]] == [
        *["ImageBlock"] * 3,
        "AttachmentBlock",
    ]
