"""Rounds as lines: exact in cells, complete, quick on anything."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from loop_core.model import (
    AttachmentBlock,
    Block,
    ImageBlock,
    NoteBlock,
    Round,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
)
from loop_core.sanitize import safe
from loop_tui.layout import (
    LaidRound,
    Options,
    layout,
    layout_round,
    line_text,
    line_width,
)
from loop_tui.layout.code import highlight
from loop_tui.layout.lines import breaks, hard_breaks
from loop_tui.layout.marks import find_in
from loop_tui.layout.tools import clip_middle, summary

FOLDED = Options()
UNFOLDED = Options(tools="full", thinking=True)
MARKS = (
    "`",
    "*",
    "_",
    "[",
    "]",
    "(",
    ")",
    "|",
    ">",
    "#",
    "-",
    "~",
    "\n",
    " ",
    "1.",
    "```",
    "\\",
    "&#27;",
)
pieces = st.one_of(
    st.characters(),
    st.sampled_from(
        ["\u200d", "\ufe0f", "日本", "👩", "\x1b[2J", "\t", "\ud83d", "مرحبا", "a\u0301"]
    ),
    st.sampled_from(MARKS),
)
anything = st.lists(pieces, max_size=80).map("".join)


def tool(**fields: object) -> ToolBlock:
    values: dict[str, object] = {
        "name": "bash",
        "verb": "Ran",
        "target": "pytest -q",
        "status": "ok",
        "call_id": "c",
        "message": 1,
        "result": "done",
    }
    return ToolBlock(**(values | fields))  # type: ignore[arg-type]


def a_round(*blocks: Block, index: int = 3) -> Round:
    return Round(index=index, start=0, end=20, time_ms=1_760_000_000_000, blocks=blocks)


def texts(laid: LaidRound) -> list[str]:
    return [line_text(line).rstrip() for line in laid.lines]


def one(block: Block, width: int = 80, options: Options = FOLDED) -> list[str]:
    return texts(layout_round(a_round(block), width, options))[2:-1]


def assistant(text: str) -> TextBlock:
    return TextBlock(text, 1)


def every_block(text: str) -> tuple[Block, ...]:
    inner = tool(target=text, result=text, arguments=text, status="error")
    return (
        TextBlock(text, 0, role="user"),
        ThinkingBlock(text, 1),
        TextBlock(text, 1),
        TextBlock(text, 2, commentary=True),
        tool(target=text, arguments=text, result=text, children=(inner, TextBlock(text, 3))),
        ImageBlock(text, 3, 3, name=text),
        AttachmentBlock(text, 3, 3, text=text),
        NoteBlock("compaction", text, text, 4),
        NoteBlock("plan", text, text, 4),
        NoteBlock("error", text, text, 4),
        UnknownBlock(text, text, 5),
    )


@settings(max_examples=150)
@given(anything, st.integers(8, 300), st.sampled_from(["off", "line", "clipped", "full"]))
def test_any_text_at_any_width(text: str, width: int, level: str) -> None:
    """failures rows 43, 84, 87, 88: no line too wide, no control or bidi character left."""
    options = Options(tools=level, thinking=level == "full", ascii=level == "off")  # type: ignore[arg-type]
    laid = layout_round(a_round(*every_block(text)), width, options)
    for line in laid.lines:
        joined = line_text(line)
        assert line_width(line) <= width
        assert cell_len(joined) == line_width(line)
        assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in joined)
        assert joined == safe(joined)
        joined.encode("utf-8")
    ends = [part.first + part.height for part in laid.parts]
    assert all(end <= len(laid.lines) for end in ends)


@given(anything.map(safe), st.integers(1, 60))
def test_breaks_lose_nothing_but_spaces(text: str, width: int) -> None:
    text = text.replace("\n", " ").replace("\t", " ")
    for break_text in (breaks, hard_breaks):
        cuts = break_text(text, width)
        at = 0
        for start, end in cuts:
            assert not cell_len(text[at:start].strip(" "))
            assert cell_len(text[start:end]) <= max(width, 2)
            at = end
        assert not cell_len(text[at:].strip(" "))
    assert "".join(text[start:end] for start, end in hard_breaks(text, width)) == text


def test_no_line_starts_with_closing_punctuation() -> None:
    text = "これは長い文章です。" * 12
    lines = one(TextBlock(text, 0, role="user"), 33)
    assert all(not line[2:].startswith("。") for line in lines)
    assert "".join(line[2:] for line in lines) == text


def test_quotes_nest_with_one_blank_line() -> None:
    assert one(assistant("> a\n>\n> > b\n\nc")) == ["  │ a", "  │", "  │ │ b", "", "  c"]


def test_line_separators_do_not_split_a_line() -> None:
    """failures row 42: U+2028, U+0085, VT and FS are signs inside one line."""
    lines = one(TextBlock("a\u2028b\x85c\x0bd\x1ce", 0, role="user"))
    assert len([line for line in lines if line]) == 1
    assert "a␤b␤c␋d␜e" in lines[0]


def test_escape_sequences_become_signs() -> None:
    """failures row 87: CSI, OSC, DCS, BEL, BS and C1 in tool output; also as entities."""
    hostile = "\x1b[2J\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1bP1\x1b\\\b\x9b31m"
    laid = layout_round(
        a_round(tool(result=hostile), assistant("a &#27;[2J &#x9b; b")), 80, UNFOLDED
    )
    shown = "\n".join(texts(laid))
    assert "␛[2J" in shown
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in shown.replace("\n", ""))


def test_bidi_overrides_are_marked() -> None:
    """failures row 88: an override in a path or from an entity shows as a sign."""
    laid = layout_round(
        a_round(tool(target="evil\u202etxt.exe"), assistant("see &#x202e; and \u2066x")),
        80,
        Options(),
    )
    shown = "\n".join(texts(laid))
    assert "\u202e" not in shown
    assert "\u2066" not in shown
    assert shown.count("\ufffd") == 3


def test_markup_is_literal() -> None:
    """failures row 89: what would be markup elsewhere is text here."""
    assert one(TextBlock("fix [/] parser [@click=app.quit]x[/]", 0, role="user"))[0].endswith(
        "fix [/] parser [@click=app.quit]x[/]"
    )


def test_markdown_elements() -> None:
    text = """# One

Two **bold** `code` ~~gone~~ <b>html</b> [name](https://example.org) <https://example.org>

- a
  - b
1. first
2. second

> quoted
> on

| left | right |
|:--|--:|
| a | 1 |
| bb | 22 |

```python
x = "y"  # note
```

- [x] done
- [ ] open

---
"""
    assert one(assistant(text), 100) == [
        "  One",
        "",
        "  Two bold code gone <b>html</b> name (https://example.org) https://example.org",
        "",
        "  • a",
        "    • b",
        "",
        "  1. first",
        "  2. second",
        "",
        "  │ quoted on",
        "",
        "  left │ right",
        "  ─────┼──────",
        "  a    │     1",
        "  bb   │    22",
        "",
        '  │ x = "y"  # note',
        "",
        "  [x] done",
        "  [ ] open",
        "",
        f"  {'─' * 24}",
    ]


def test_links_are_text_and_styles_are_roles() -> None:
    laid = layout_round(
        a_round(assistant("see [a](https://x.y) **b** `c` *d* ~~e~~")), 80, Options()
    )
    roles = {text.strip(): role for line in laid.lines for text, role in line if text.strip()}
    assert roles["a"] == "link"
    assert roles["(https://x.y)"] == "link.url"
    assert roles["b"] == "text bold"
    assert roles["c"] == "code"
    assert roles["d"] == "text italic"
    assert roles["e"] == "text strike"


def test_code_is_highlighted_lightly() -> None:
    kinds = dict(highlight('return f("x", 12)  # why', "python"))
    assert kinds["return"] == "code.keyword"
    assert kinds["f"] == "code.name"
    assert kinds['"x"'] == "code.string"
    assert kinds["12"] == "code.number"
    assert kinds["# why"] == "code.comment"
    assert highlight("+added", "diff") == [("+added", "code.added")]
    assert highlight('"key": true', "json")[0] == ('"key"', "code.name")
    assert highlight("return 1", "klingon") == [("return 1", "code.text")]


def test_table_shrinks_and_stacks() -> None:
    table = "| a | b |\n|--|--|\n| " + "word " * 20 + "| " + "other " * 20 + "|\n"
    for width in (20, 40, 80):
        laid = layout_round(a_round(assistant(table)), width, Options())
        assert all(line_width(line) <= width for line in laid.lines)
        assert "other" in " ".join(texts(laid))
    many = "|" + "x|" * 40 + "\n|" + "-|" * 40 + "\n|" + "y|" * 40 + "\n"
    assert "y │ y" in "\n".join(one(assistant(many), 40))


def test_rule_has_duration_and_time_where_there_is_room(round_of: Callable[..., Round]) -> None:
    wide = texts(layout_round(round_of(39), 80, FOLDED))[0]
    assert wide.startswith("── Round 40 · Worked for 2m 5s ──")
    assert wide.endswith(" ──")
    assert ":" in wide[-9:]
    narrow = texts(layout_round(round_of(39), 30, Options()))[0]
    assert narrow.startswith("── Round 40 ──")
    assert "Worked" not in narrow
    assert texts(layout_round(a_round(index=-1), 40, Options()))[0].startswith(
        "── Before the first message"
    )


@pytest.mark.parametrize(
    ("width", "has"), [(80, ("✓", "1.9 s", "30 KB")), (52, ("✓", "1.9 s")), (36, ("✓",))]
)
def test_tool_line_drops_columns(width: int, has: tuple[str, ...]) -> None:
    """failures row 90: size goes under 56 columns, time under 40, nothing overlaps."""
    block = tool(result="x" * 30_720, duration_ms=1_900)
    line = one(block, width)[0]
    assert line.startswith("  ▸ Ran  pytest -q")
    assert [word for word in ("✓", "1.9 s", "30 KB") if word in line] == list(has)


def test_every_state_has_a_glyph() -> None:
    """failures row 143: states differ by sign, not only by colour."""
    for plain in (False, True):
        signs = [
            one(tool(status=status, result=None), 40, Options(ascii=plain))[0][-1]
            for status in ("ok", "error", "running", "waiting")
        ]
        assert len(set(signs)) == 4


def test_ascii_is_ascii(round_of: Callable[..., Round]) -> None:
    extra = (NoteBlock("compaction", "Compacted", "text", 5), ImageBlock("image/png", 9, 5))
    for level in ("off", "line", "clipped", "full"):
        options = Options(tools=level, thinking=True, ascii=True)
        for line in layout_round(round_of(9, extra=extra), 60, options).lines:
            assert line_text(line).isascii()


def test_long_output_shows_both_ends_and_its_true_size() -> None:
    """failures row 12: twenty results of 1 MB; head, tail and the size of each."""
    big = "\n".join(f"line {n:06}" for n in range(87_382))
    round_ = a_round(*(tool(result=big, message=n, call_id=str(n)) for n in range(20)))
    laid = layout_round(round_, 80, Options(tools="clipped"))
    shown = texts(laid)
    assert len(shown) < 20 * 30
    assert sum("line 000000" in line for line in shown) == 20
    assert sum("line 087381" in line for line in shown) == 20
    assert sum("87,362 more lines · 1.0 MB in all · Enter opens it whole" in x for x in shown) == 20
    assert all(part.enter_body == "view" for part in laid.parts)


def test_one_huge_line_is_clipped() -> None:
    """failures row 6: a 12 MB line of output opens at once and says how big it is."""
    block = tool(result="x" * 12_000_000)
    begin = time.process_time()
    shown = one(block, 80, Options(tools="clipped"))
    assert time.process_time() - begin < 1
    assert len(shown) < 60
    assert any("11 MB in all" in line for line in shown)
    assert "11 MB" in one(block, 80)[0]


def test_images_are_one_line() -> None:
    """failures row 11: an image is a line with type and size, in a result as well."""
    image = ImageBlock("image/png", 4_194_304, 1, name="screen.png")
    assert one(image) == ["  ▸ image  screen.png  png · 4.0 MB"]
    block = tool(result="", result_images=(image, image))
    assert "2 images" in one(block, 100)[0]
    assert "8.0 MB" in one(block, 100)[0]
    assert any("image · png · 4.0 MB" in line for line in one(block, 100, UNFOLDED))


def test_long_message_is_clipped_before_parsing() -> None:
    laid = layout_round(a_round(assistant("word " * 20_000)), 80, FOLDED)
    assert "16 KB of 98 KB shown · Enter opens it whole" in "\n".join(texts(laid))
    assert laid.parts[0].enter_body == "view"


HOSTILE = {
    "brackets": "[" * 50_000,
    "quotes": ">" * 10_000,
    "one line": "x" * 1_000_000,
    "stars": "*a " * 20_000,
    "images": "![" * 20_000,
    "links": "[a](b)" * 8_000,
    "ticks": "`a" * 20_000,
    "cells": "|a" * 20_000 + "\n" + "|-" * 20_000,
    "lists": "\n".join(" " * depth + "- a" for depth in range(400)),
    "quote": '```python\n"' + '\\"' * 8_000 + "\n```",
    "blank lines": "```\n" + "\n" * 16_000 + "```",
    "emphasis": "**a " * 10_000,
    "marks": "x" + "\u0301" * 20_000,
    "wide": "日" * 20_000,
    "joiners": "👩\u200d" * 10_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_quick(name: str) -> None:
    """CPU time with room for a slow machine; the benchmark has the true numbers."""
    text = HOSTILE[name]
    blocks = (assistant(text), TextBlock(text, 0, role="user"), tool(result=text, target=text))
    begin = time.process_time()
    laid = layout_round(a_round(*blocks), 80, UNFOLDED)
    assert time.process_time() - begin < 1.5
    assert len(laid.lines) < 2_500


def test_unfolding_one_block_and_all() -> None:
    block = tool(result="alpha\nbeta", arguments='{\n  "a": 1,\n  "b": 2\n}')
    folded = layout_round(a_round(block), 80, FOLDED)
    assert [part.height for part in folded.parts] == [1]
    key = folded.parts[0].id
    opened = layout_round(a_round(block), 80, Options(flipped=frozenset({key})))
    assert [line for line in texts(opened) if "beta" in line]
    assert [line for line in texts(opened) if '"b": 2' in line]
    closed = layout_round(a_round(block), 80, Options(tools="full", flipped=frozenset({key})))
    assert texts(closed) == texts(folded)
    inside = opened.part_at(opened.parts[0].first + 2)
    assert inside is not None
    assert inside.id == key
    assert opened.part_at(0) is None


def test_arguments_read_as_what_they_are() -> None:
    edit = tool(
        verb="Edited",
        target="a.py",
        arguments='{"path": "a.py", "oldText": "x = 1\\ny", "newText": "x = 2", "n": 3}',
    )
    shown = one(edit, 60, UNFOLDED)
    assert [line.strip("│ ") for line in shown[2:7]] == [
        "path: a.py",
        "- x = 1",
        "- y",
        "+ x = 2",
        "n: 3",
    ]
    command = tool(arguments='{"command": "echo \\"a\\" | head\\u001b"}', target="x")
    assert any('echo "a" | head␛' in line for line in one(command, 60, UNFOLDED))
    for odd in ("{broken", "[" * 100_000, '{"a": ' * 50_000, "3", '"text"'):
        assert "Parameters" in "".join(one(tool(arguments=odd), 60, UNFOLDED))


def test_calls_inside_calls() -> None:
    child = tool(verb="Read", target="inner.py", message=2)
    parent = tool(verb="Used", target="Task", children=(child, assistant("a report")))
    assert "2 steps" in one(parent, 100)[0]
    shown = one(parent, 100, UNFOLDED)
    assert any(line.startswith("    ▾ Read  inner.py") for line in shown)
    assert any("a report" in line for line in shown)
    deep = child
    for _ in range(300):
        deep = tool(target="again", children=(deep,))
    assert len(one(deep, 60, UNFOLDED)) < 80


def test_tools_off_is_a_sentence() -> None:
    calls = (
        tool(verb="Read", target="a"),
        tool(verb="Edited", target="b"),
        tool(verb="Ran", target="c"),
        tool(verb="Used", target="Search", status="ok"),
        tool(verb="Run", target="d", status="error"),
    )
    assert summary(calls[:1] * 3) == "Read 3 files"
    assert summary(calls) == (
        "Read files, Edited files, Ran commands and Used Search, 1 tool failed"
    )
    assert summary(calls[-1:]) == "1 tool failed"
    laid = layout_round(a_round(*calls), 100, Options(tools="off"))
    assert [part.height for part in laid.parts] == [1]
    opened = layout_round(
        a_round(*calls), 100, Options(tools="off", flipped=frozenset({laid.parts[0].id}))
    )
    assert len(opened.parts) == 6


def test_thinking_notes_and_unknown_records() -> None:
    assert one(ThinkingBlock("first line\nsecond", 1)) == ["  ▸ thought first line"]
    assert one(ThinkingBlock("first line\nsecond", 1), 80, UNFOLDED)[1:] == [
        "  │ first line",
        "  │ second",
    ]
    assert one(NoteBlock("error", "Overloaded", "try again", 1)) == [
        "  ✗ Overloaded",
        "    try again",
    ]
    assert one(NoteBlock("compaction", "Compacted", "", 1))[0].startswith("  ── Compacted ─")
    assert one(UnknownBlock("odd", '{"a": 1}', 1)) == ["  ▸ unknown record odd · 8 B"]
    assert one(AttachmentBlock("a.txt", 2_100, 1, text="x")) == ["  ▸ file  a.txt  2.1 KB"]


def test_an_empty_round_says_so() -> None:
    """failures row 135: what has nothing to read counts as not visible."""
    laid = layout_round(a_round(), 60, Options())
    assert not laid.visible
    assert "nothing to show" in "\n".join(texts(laid))


def test_layout_keeps_the_order_of_rounds(round_of: Callable[..., Round]) -> None:
    laid = layout([round_of(n) for n in range(4)], 80, FOLDED)
    assert [one.number for one in laid.rounds] == [0, 1, 2, 3]
    assert laid.height == sum(len(one.lines) for one in laid.rounds)


@given(st.lists(st.text(max_size=5), max_size=60), st.integers(2, 30))
def test_clip_middle_counts_right(parts: list[str], most: int) -> None:
    text = "\n".join(part.replace("\n", "") for part in parts)
    head, hidden, tail = clip_middle(text, most, most // 2)
    lines = text.rstrip("\n").split("\n")
    shown = head.split("\n") + (tail.split("\n") if hidden and most // 2 else [])
    assert len(shown) + hidden == len(lines)
    assert lines[: len(head.split("\n"))] == head.split("\n")


def test_find_in_ignores_case_and_keeps_offsets() -> None:
    assert find_in("Inode and iNODE", "inode") == [(0, 5), (10, 15)]
    assert find_in("STRASSE straße", "straße".casefold()) == [(0, 7)]
    assert find_in("İx x", "x") == [(1, 2), (3, 4)]
