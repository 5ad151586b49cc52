"""JSON as JavaScript reads it, and edits of single values by byte span."""

from __future__ import annotations

import base64
import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core import _jsontext
from loop_core.jsonvalue import (
    BOM,
    JS_SPACE,
    JsonSyntaxError,
    dumps,
    edit,
    get_span,
    is_finite,
    is_integer,
    is_number,
    is_safe_integer,
    js_trim,
    loads,
)

DATA = Path(__file__).parent.parent / "data"
KEYS = st.sampled_from(["a", "b", "pinnedAt", "é", "\ud800", '"', ""]) | st.text(max_size=3)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def javascript(kind: str) -> list[tuple[Any, Any]]:
    """Inputs and what Node answers for them."""
    folder = DATA / "javascript"
    inputs = json.loads((folder / "inputs.json").read_text())[kind]
    return list(zip(inputs, json.loads((folder / "outputs.json").read_text())[kind], strict=True))


def test_reads_and_writes_what_node_reads_and_writes() -> None:
    for given_text, answer in javascript("json"):
        data = base64.b64decode(given_text)
        try:
            ours = dumps(loads(data))
        except JsonSyntaxError:
            ours = None
        assert ours == (answer and base64.b64decode(answer)), data


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "NaN", "-Infinity", "01", "1.", ".5", "+1", "[1,]", '{"a":1,}', "[1] 2", "tru"),
        *('"\t"', '"\\x"', '"\\u12"', "{1:2}", "'a'", "\x0b1", "\x001", "\ufeff1", "\u00a01"),
    ],
)
@pytest.mark.parametrize("parse", [loads, _jsontext.parse, _jsontext.parse_deep])
def test_refuses_what_json_parse_refuses(parse: Any, text: str) -> None:
    with pytest.raises(JsonSyntaxError):
        parse(text)


def test_reads_what_python_and_msgspec_refuse() -> None:
    assert loads(rb'"\ud83d"') == "\ud83d"
    assert loads(rb'"\ud83d\ude00\udc00"') == "\U0001f600\udc00"
    assert loads(b'"a\xff\xe2\x82b\xed\xa0\x80"') == "a\ufffd\ufffdb\ufffd\ufffd\ufffd"
    assert loads(b"1e999") == math.inf
    assert loads(b"-1e999") == -math.inf
    assert loads(b"9" * 5000) == math.inf
    assert loads(b'{"a":1,"a":[2]}') == {"a": [2]}


@pytest.mark.parametrize("depth", [2_000, 200_000])
@pytest.mark.parametrize(("start", "middle", "end"), [("[", "1", "]"), ('{"a":', "1", "}")])
def test_any_nesting_is_read_and_written(depth: int, start: str, middle: str, end: str) -> None:
    text = (start * depth + middle + end * depth).encode()
    value = loads(text)
    assert dumps(value) == text
    inner = value
    for _ in range(depth):
        inner = inner[0] if isinstance(inner, list) else inner["a"]
    assert inner == 1


@given(VALUES)
def test_both_readers_agree_on_what_is_written(value: Any) -> None:
    text = dumps(value).decode("utf-8")
    assert _same(loads(text), _jsontext.parse(text))
    assert _same(_jsontext.parse(text), json.loads(text))


@given(st.binary(max_size=40))
def test_any_bytes_give_a_value_or_a_syntax_error(data: bytes) -> None:
    try:
        value = loads(data)
    except JsonSyntaxError:
        with pytest.raises(JsonSyntaxError):
            _jsontext.parse(data.decode("utf-8", "replace"))
    else:
        assert _same(value, _jsontext.parse(data.decode("utf-8", "replace")))


TOKENS = ["[", "]", "{", "}", ",", ":", "1", " ", "\n", "null", '""', '"a"', '"],{\\""', "NaN", '"']


@given(st.lists(st.sampled_from([*TOKENS, "[", "]", ",", '{"k":', '"k":', "}", "[]"]), max_size=14))
def test_the_reader_of_deep_values_agrees_on_what_is_one(tokens: list[str]) -> None:
    text = "".join(tokens)
    try:
        value = _jsontext.parse(text)
    except JsonSyntaxError:
        with pytest.raises(JsonSyntaxError):
            _jsontext.parse_deep(text)
    else:
        assert _same(value, _jsontext.parse_deep(text))


@given(VALUES, st.integers(0, 3))
def test_what_lies_deep_is_read_as_what_lies_shallow(value: Any, spaces: int) -> None:
    text = dumps([value, {"a": value}, value]).decode().replace(",", "," + " " * spaces)
    deep = f"{'[' * 1500}{text}{']' * 1500}"
    found = loads(deep)
    for _ in range(1500):
        (found,) = found
    assert _same(found, loads(text))


def test_what_nests_deeply_and_is_endless_is_refused_at_sight() -> None:
    most = _jsontext.MOST_DEEP
    assert loads("[" * most + "]" * most)
    for text in ("[" * (most + 1) + "]" * (most + 1), '[{"a":' * 2_000_000, "[" * 10_000_000):
        began = time.process_time()
        with pytest.raises(JsonSyntaxError):
            loads(text)
        assert time.process_time() - began < 5


def _same(a: Any, b: Any) -> bool:
    return dumps(a) == dumps(b)


@pytest.mark.parametrize(
    ("value", "number", "finite", "integer", "safe"),
    [
        (1, True, True, True, True),
        (1.0, True, True, True, True),
        (-0.0, True, True, True, True),
        (1e3, True, True, True, True),
        (0.5, True, True, False, False),
        (2**53 - 1, True, True, True, True),
        (2**53, True, True, True, False),
        (-(2.0**53), True, True, True, False),
        (math.inf, True, False, False, False),
        (10**400, True, False, False, False),
        (2**1024 - 2**970 - 1, True, True, True, False),
        (2**1024 - 2**970, True, False, False, False),
        (True, False, False, False, False),
        (None, False, False, False, False),
        ("1", False, False, False, False),
    ],
)
def test_numbers_are_judged_as_in_javascript(
    value: Any, number: bool, finite: bool, integer: bool, safe: bool
) -> None:
    assert is_number(value) is number
    assert is_finite(value) is finite
    assert is_integer(value) is integer
    assert is_safe_integer(value) is safe


def test_writes_as_json_stringify() -> None:
    value = {"b": [1.0, 1e21, 1e-7, -0.0, math.inf], "10": "\u2028\x7f\x01", "2": "\ud83d"}
    assert dumps(value) == (
        b'{"2":"\\ud83d","10":"\xe2\x80\xa8\x7f\\u0001","b":[1,1e+21,1e-7,0,null]}'
    )
    assert dumps("\ud83d\ude00") == '"\U0001f600"'.encode()


def test_writing_refuses_what_is_no_json() -> None:
    loop: list[Any] = []
    loop.append({"a": loop})
    with pytest.raises(ValueError, match="itself"):
        dumps(loop)
    for wrong in ({1, 2}, {1: 2}, [b"x"], object()):
        with pytest.raises(TypeError):
            dumps(wrong)
    shared = [1]
    assert dumps([shared, shared]) == b"[[1],[1]]"


def test_trim_knows_javascript_spaces(loop_data: Path) -> None:
    table = json.loads((loop_data / "tables.json").read_bytes())["jsTrimCodePoints"]
    assert {chr(int(point, 16)) for point in table} <= set(JS_SPACE)
    assert js_trim("\ufeff\u00a0 x\u0085 \u2029") == "x\u0085"
    assert js_trim("\x1cx\x1f") == "\x1cx\x1f"


# --- edits -------------------------------------------------------------------------------

PRETTY = b'{\n  "header" : {\n    "a": 1,\n    "b": [ {"a": "}"} ]\n  },\n  "z": 1.0\n}\n'


@pytest.mark.parametrize(
    ("path", "new", "after"),
    [
        (("header", "a"), b"[2]", PRETTY.replace(b'"a": 1', b'"a": [2]')),
        (("header", "c"), b"2", PRETTY.replace(b"]\n  }", b'],\n    "c": 2\n  }')),
        (("header", "a"), None, PRETTY.replace(b'"a": 1,\n    ', b"")),
        (("header", "b"), None, PRETTY.replace(b',\n    "b": [ {"a": "}"} ]', b"")),
        (("z",), b"null", PRETTY.replace(b"1.0", b"null")),
        (("header", "none"), None, PRETTY),
    ],
)
def test_an_edit_changes_one_value(path: tuple[str, ...], new: bytes | None, after: bytes) -> None:
    assert edit(PRETTY, path, new) == after


@pytest.mark.parametrize(
    ("before", "key", "new", "after"),
    [
        (b"{}", "a", b"1", b'{"a":1}'),
        (b"{ }", "a", b"1", b'{"a":1 }'),
        (b'{"a":1}', "a", None, b"{}"),
        (b'{ "a":1 ,"a":2 }', "a", None, b"{  }"),
        (b'{"a":1,"b":2,"a":3}', "a", b"9", b'{"a":1,"b":2,"a":9}'),
        (b'{"a":1 , "b":2, "a":3}', "a", None, b'{"b":2}'),
        (b'{"x":0,"a":1,"a":2,"y":3}', "a", None, b'{"x":0,"y":3}'),
        (b'{"\\u0061":1}', "a", b"2", b'{"\\u0061":2}'),
        (BOM + b'{"b":"\xff"}', "a", b"2", BOM + b'{"b":"\xff","a":2}'),
        (b'{"b":1}', "\ud83d", b"2", b'{"b":1,"\\ud83d":2}'),
    ],
)
def test_edits_keep_every_other_byte(
    before: bytes, key: str, new: bytes | None, after: bytes
) -> None:
    assert edit(before, (key,), new) == after


def test_edits_refuse_what_is_not_json() -> None:
    with pytest.raises(JsonSyntaxError):
        edit(b'{"a":1', ("a",), b"2")
    with pytest.raises(JsonSyntaxError):
        edit(b'{"a":1}', ("a",), b"2,")
    for data in (b'{"a":1}', b'{"a":[]}', b'{"b":{}}', b"[]"):
        with pytest.raises(KeyError):
            edit(data, ("a", "b"), b"1")


SPACES = st.sampled_from(["", " ", "\n  ", "\t", "\r\n"])


@st.composite
def objects(draw: st.DrawFn) -> tuple[bytes, list[tuple[str, Any]]]:
    """An object's text with odd spacing and repeated keys, and its members."""
    members = draw(st.lists(st.tuples(st.sampled_from("abc"), VALUES), max_size=6))
    pieces = [
        "".join(
            (
                *(draw(SPACES), dumps(key).decode(), draw(SPACES), ":", draw(SPACES)),
                *(dumps(value).decode(), draw(SPACES)),
            )
        )
        for key, value in members
    ]
    inner = ",".join(pieces) or draw(SPACES)
    return f"{draw(SPACES)}{{{inner}}}{draw(SPACES)}".encode(), members


@given(objects(), st.sampled_from("abcd"), VALUES)
def test_an_edit_reads_back_and_can_be_taken_back(
    made: tuple[bytes, list[tuple[str, Any]]], key: str, value: Any
) -> None:
    data, members = made
    before = loads(data)
    changed = edit(data, (key,), dumps(value))
    assert _same(loads(changed), {**before, key: loads(dumps(value))})
    span = get_span(changed, key)
    assert span is not None
    assert changed[slice(*span)] == dumps(value)
    old = get_span(data, key)
    raw = None if old is None else data[slice(*old)]
    assert edit(changed, (key,), raw) == data

    removed = edit(data, (key,), None)
    assert _same(loads(removed), {k: v for k, v in before.items() if k != key})
    assert get_span(removed, key) is None
    for other in {k for k, _ in members} - {key}:
        here, there = get_span(data, other), get_span(removed, other)
        assert here is not None
        assert there is not None
        assert data[slice(*here)] == removed[slice(*there)]
