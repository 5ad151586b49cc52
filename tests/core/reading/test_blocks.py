"""Messages as a history shows them (loop-format section 11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.jsonvalue import dumps, loads
from loop_core.loop.attachments import parse_attachment
from loop_core.loop.blocks import HeaderNotes, Message, make_round
from loop_core.loop.lines import decode_line
from loop_core.loop.tools import _plain_json
from loop_core.model import (
    AttachmentBlock,
    ImageBlock,
    NoteBlock,
    Round,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
)


def shown(messages: list[Any], header: Any = None, **more: Any) -> Round:
    numbered = [Message(at, value) for at, value in enumerate(messages)]
    more.setdefault("index", 0)
    return make_round(numbered, start=0, end=len(messages), notes=HeaderNotes(header or {}), **more)


def tools(round_: Round) -> list[ToolBlock]:
    return [block for block in round_.blocks if isinstance(block, ToolBlock)]


@pytest.mark.parametrize(
    ("name", "arguments", "error", "words"),
    [
        ("read", {"path": "a.txt"}, False, ("Read", "a.txt", "ok")),
        ("write", {"path": "a.txt"}, False, ("Wrote", "a.txt", "ok")),
        ("edit", {"path": "a.txt"}, True, ("Edit", "a.txt", "error")),
        ("bash", {"command": "ls -l"}, False, ("Ran", "ls -l", "ok")),
        ("bash", {"command": "ls -l"}, True, ("Run", "ls -l", "error")),
        ("bash", {"command": 7}, False, ("Ran", "bash", "ok")),
        ("search", {"query": "x"}, False, ("Used", "search", "ok")),
        ("search", {"query": "x"}, True, ("Use", "search", "error")),
        ("load_skill", {"handle": "demo-" + "a" * 24}, False, ("Used", "demo", "ok")),
        ("bash", {"command": "printf '\x1b[31m'\n"}, False, ("Ran", "printf '␛[31m'", "ok")),
    ],
)
def test_calls_are_worded_as_loop_words_them(
    kit: Any, name: str, arguments: dict[str, Any], error: bool, words: tuple[str, str, str]
) -> None:
    (tool,) = tools(
        shown(
            [
                kit.user(),
                kit.assistant(kit.call(name, **arguments), stop="toolUse"),
                kit.result("out", name=name, isError=error),
            ]
        )
    )
    assert (tool.verb, tool.target, tool.status) == words
    assert tool.result == "out"
    assert tool.duration_ms == 2500
    assert (tool.message, tool.result_message) == (1, 2)


def test_calls_without_a_result_wait_or_run(kit: Any) -> None:
    messages = [kit.user(), kit.assistant(kit.call("read", path="x"), stop="toolUse")]
    assert tools(shown(messages, last=True))[0].status == "waiting"
    assert tools(shown(messages, last=True, running=True))[0].status == "running"
    assert tools(shown(messages, running=True))[0].status == "waiting"


def test_results_pair_by_position_when_an_id_comes_again(loop_data: Path) -> None:
    (path,) = (loop_data / "valid").glob("11-*")
    messages = [loads(line) for line in path.read_bytes().splitlines()[1:]]
    found = [(t.name, t.call_id, t.result, t.status) for t in tools(shown(messages))]
    assert found == [
        ("read", "c1", "alpha", "ok"),
        ("read", "c2", "no such file", "error"),
        ("bash", "c3", "12 c.txt", "ok"),
        ("edit", "c1", "ok", "ok"),
    ]


def test_a_result_for_an_aborted_call_stands_alone(kit: Any) -> None:
    messages = [
        kit.user(),
        kit.assistant(kit.call("bash", command="sleep"), stop="aborted", errorMessage="stopped"),
        kit.result("late"),
    ]
    first, alone = tools(shown(messages))
    assert (first.status, first.result) == ("waiting", None)
    assert (alone.result, alone.arguments) == ("late", "")
    (note,) = [b for b in shown(messages).blocks if isinstance(b, NoteBlock)]
    assert (note.kind, note.title, note.text) == ("stop", "Stopped", "stopped")


def test_display_names_images_and_arguments(loop_data: Path) -> None:
    (path,) = (loop_data / "valid").glob("10-*")
    messages = [loads(line) for line in path.read_bytes().splitlines()[1:]]
    (tool,) = tools(shown(messages))
    assert (tool.verb, tool.target, tool.display) == ("Used",) + ("Tracker · search",) * 2
    assert json.loads(tool.arguments) == {"query": "crash"}
    assert tool.arguments.count("\n") == 2
    (image,) = tool.result_images
    assert (image.mime, image.size, image.block) == ("image/png", 70, 1)


def test_a_users_message_is_images_files_skills_text(kit: Any) -> None:
    """failures row 11: an image is a line with type and size, whatever its bytes."""
    attached = 'Attached UTF-8 text file (reference content):\n{"name":"a.md","text":"# A"}'
    content = [
        {"type": "text", "text": "Look "},
        {"type": "text", "text": attached},
        {"type": "image", "data": "AAAA" * 1_000_000, "mimeType": "image/png"},
        {"type": "text", "text": "here"},
        {"type": "sound", "data": "x"},
    ]
    header = {"runtimeContexts": [{"userTurn": 0, "skills": [{"name": "demo"}]}]}
    blocks = shown([kit.user(content)], header).blocks
    image, file, skill, text, unknown = blocks
    assert isinstance(image, ImageBlock)
    assert (image.mime, image.size) == ("image/png", 3_000_000)
    assert isinstance(file, AttachmentBlock)
    assert (file.name, file.size, file.text) == ("a.md", 3, "# A")
    assert isinstance(skill, NoteBlock)
    assert (skill.kind, skill.title) == ("skill", "demo")
    assert isinstance(text, TextBlock)
    assert (text.text, text.role) == ("Look here", "user")
    assert isinstance(unknown, UnknownBlock)


def test_thinking_commentary_and_stops(kit: Any) -> None:
    signature = json.dumps({"v": 1, "id": "m", "phase": "commentary"})
    value = kit.assistant(
        {"type": "thinking", "thinking": "hm"},
        {"type": "thinking", "thinking": "", "redacted": True},
        {"type": "text", "text": "working", "textSignature": signature},
        {"type": "text", "text": "  "},
        {"type": "text", "text": "done", "textSignature": "opaque"},
        stop="length",
    )
    thinking, redacted, working, done, stop = shown([kit.user(""), value]).blocks
    assert isinstance(thinking, ThinkingBlock)
    assert not thinking.redacted
    assert isinstance(redacted, ThinkingBlock)
    assert redacted.redacted
    assert isinstance(working, TextBlock)
    assert working.commentary
    assert isinstance(done, TextBlock)
    assert not done.commentary
    assert isinstance(stop, NoteBlock)
    assert stop.title == "Stopped at the output limit"


def test_compactions_stand_where_the_history_was_compacted(disk: Any, loop_data: Path) -> None:
    (path,) = (loop_data / "valid").glob("23-*")
    messages = path.read_bytes().splitlines()[1:]
    header = loads(path.read_bytes().splitlines()[0])
    disk.v2(messages, compactions=header["compactions"])
    store, row = disk.only_row()
    page = store.page(row.key, rounds=9)
    found = {
        round_.index: [b.text for b in round_.blocks if isinstance(b, NoteBlock)]
        for round_ in page.rounds
    }
    assert found[3] == ["## Goal\nFirst summary"]
    assert found[4] == ["Second summary"]
    assert not any(found[n] for n in (0, 1, 2))


def test_prompt_durations_of_both_kinds(kit: Any) -> None:
    header = {
        "promptTimings": [
            {"userMessageIndex": 0, "startedAt": 1000, "finishedAt": 2500},
            {"id": "x", "userMessageIndex": 0, "startedAt": 5000, "finishedAt": 5000.0},
            {"userMessageIndex": 4, "startedAt": 0, "finishedAt": 9},
            {"userMessageIndex": "0", "startedAt": None},
            7,
        ]
    }
    assert shown([kit.user()], header).durations_ms == (1500, 0)


def test_attachments_are_told_apart_as_in_the_table(loop_data: Path) -> None:
    table = json.loads((loop_data / "tables.json").read_text())["attachments"]
    assert len(table) > 5
    for row in table:
        found = parse_attachment(row["text"])
        wanted = row["file"]
        assert (None if found is None else found._asdict()) == (
            None if wanted is None else {"name": wanted["name"], "text": wanted["text"]}
        )


def test_text_is_sanitized_at_the_boundary(kit: Any) -> None:
    nasty = "\x1b]0;x\x07 \u202e \x9b \ud800"
    messages = [
        kit.user(nasty),
        kit.assistant(nasty, kit.call("bash", command=nasty), stop="error", errorMessage=nasty),
        {"role": nasty, "content": nasty},
    ]
    text = repr(shown(messages, {"compactions": [{"historyMessageCount": 1, "summary": nasty}]}))
    assert not set("\x1b\x07\u202e\x9b\ud800") & set(text)
    assert "\\x1b" not in text


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "details", "id", "arguments"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_json, max_size=5), _json)
def test_any_values_make_a_round(values: list[Any], header: Any) -> None:
    """failures row 29: unknown records and shapes are shown, never an exception."""
    roles = ("user", "assistant", "toolResult")
    messages = [
        {**value, "role": roles[n % 3]} if isinstance(value, dict) else value
        for n, value in enumerate(values)
    ]
    assert len(shown(messages, {"compactions": header, "runtimeContexts": header}).blocks) >= 0


@pytest.mark.parametrize(
    ("line", "count", "reason"),
    [
        (b'{"role":"user"}', 1, None),
        (b"", 0, "blank line"),
        (b"   ", 0, "blank line"),
        (b'{"role":"user"}{"role":"assistant"}', 2, "2 records on one line"),
        (b'{"role":"user","con{"role":"user","content":"x"}', 1, "a cut record before another"),
        (b'{"a":1}\x00\x00{"b":2}', 2, "a hole of 2 NUL bytes"),
        (b"\x00" * 5, 0, "5 NUL bytes"),
    ],
)
def test_a_line_is_read_as_far_as_it_goes(line: bytes, count: int, reason: str | None) -> None:
    """failures rows 37, 39, 40."""
    values, found = decode_line(line)
    assert len(values) == count
    assert found == reason


def test_extreme_lines_do_not_raise() -> None:
    """failures rows 5,000 digits, 200,000 levels: refused or read, never an exception."""
    assert decode_line(b"[" * 200_000)[0] == []
    assert len(decode_line(b'{"n":' + b"9" * 5000 + b"}")[0]) == 1
    assert decode_line(b'{"n":NaN}')[0] == []


@given(st.dictionaries(st.text(max_size=8), st.text() | st.just("\ud800\x1b\x7f"), max_size=4))
def test_arguments_of_texts_are_written_as_any_others(arguments: dict[str, str]) -> None:
    assert _plain_json(arguments) in (None, dumps(arguments))


def test_arguments_that_need_care_are_written_with_care() -> None:
    assert _plain_json({"command": 'ls "é"\n'}) == b'{"command":"ls \\"\xc3\xa9\\"\\n"}'
    for careful in ({"1": "a"}, {"a": 1.0}, {"a": "\ud800"}, {"\udfff": "a"}, ["a"], "a", None):
        assert _plain_json(careful) is None
