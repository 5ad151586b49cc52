"""The round index: one bounded pass that agrees with reading every line."""

from __future__ import annotations

import json
import os
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.errors import InvalidArgument, Refused
from loop_core.loop import round_scan
from loop_core.loop.round_scan import build
from loop_core.loop.rounds import RoundIndex, decode_index, encode_index, window

USER = b'{"role":"user","content":"hello","timestamp":1}'
OTHER = b'{"role":"assistant","content":[{"type":"text","text":"he said \\"user\\""}]}'
LONG = USER[:-1] + b',"more":"' + b"x" * 300 + b'"}'
ODD = [
    b'{"timestamp":1,"role":"user","content":"\\ud83d"}',
    b'{"content":"x","r\\u006fle":"\\u0075ser"}',
    b'{"role":"user","role":"assistant"}',
    b'{"details":{"role":"user"},"role":"toolResult"}',
    b'["user"]',
    b'"user"',
    b"",
    b'{"role":"user","content":"cut',
    b'{"role":"assistant"}{"role":"user"}',
    b"\x00\x00\x00",
    b'{"role":"user","content":"\x01"}',
    '{"role":"user","content":"a\u2028b\u0085"}'.encode(),
]


def role_is_user(line: bytes) -> bool:
    """The slow truth for lines of strict JSON."""
    try:
        value: Any = json.loads(line)
    except ValueError:
        return line in (ODD[8], ODD[10])
    return isinstance(value, dict) and value.get("role") == "user"


def index_of(path: Path, base: int, length: int, **more: Any) -> RoundIndex:
    fd = os.open(path, os.O_RDONLY)
    try:
        return build(fd, base, length, **more)
    finally:
        os.close(fd)


def plain_index(lines: list[bytes]) -> RoundIndex:
    at, messages, offsets = 0, array("Q"), array("Q")
    for number, line in enumerate(lines):
        if role_is_user(line):
            messages.append(number)
            offsets.append(at)
        at += len(line) + 1
    return RoundIndex("", at, len(lines), messages, offsets)


@given(
    st.lists(st.sampled_from([USER, OTHER, *ODD]) | st.just(LONG)),
    st.integers(0, 40),
    st.sampled_from([7, 16, 64, 1 << 20]),
)
def test_one_pass_finds_what_reading_every_line_finds(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], base: int, chunk: int
) -> None:
    """failures rows 37, 39, 42: glued records, holes, and separators inside strings."""
    path = tmp_path_factory.mktemp("m") / "messages.jsonl"
    body = b"".join(line + b"\n" for line in lines)
    path.write_bytes(b"z" * base + body + b'{"role":"user"}\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(round_scan, "CHUNK", chunk)
        found = index_of(path, base, len(body))
        wanted = plain_index(lines)
        assert found == wanted
        half = len(lines) // 2
        known = plain_index(lines[:half])
        assert index_of(path, base, len(body), known=known) == wanted


def test_a_range_without_its_last_line_feed_counts_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(USER + b"\n" + OTHER)
    assert index_of(path, 0, path.stat().st_size).total == 2


def test_a_file_that_ends_early_gives_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(USER + b"\n")
    found = index_of(path, 0, 10_000)
    assert (found.length, found.total, len(found)) == (len(USER) + 1, 1, 1)


def test_a_pass_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(USER + b"\n")
    with pytest.raises(Refused):
        index_of(path, 0, 40, cancelled=lambda: True)


def test_a_page_is_the_latest_three_rounds() -> None:
    users = [2, 5, 9, 10]
    assert window(users, 12) == (1, 4, 5, 12)
    assert window(users, 12, before=5) == (0, 1, 0, 5)
    assert window(users, 12, before=12, rounds=1) == (3, 4, 10, 12)
    assert window(users, 12, before=2) == (0, 0, 0, 2)
    assert window([], 7) == (0, 0, 0, 7)
    assert window([], 0) == (0, 0, 0, 0)


@pytest.mark.parametrize("before", [0, -1, 3, 13, True, 5.0])
def test_before_must_begin_a_round(before: Any) -> None:
    with pytest.raises(InvalidArgument):
        window([2, 5, 9], 12, before)


def test_index_json_round_trips() -> None:
    index = RoundIndex("g", 100, 9, array("Q", [0, 4]), array("Q", [0, 50]))
    assert decode_index(encode_index(index), "g", 100, 9) == index
    assert json.loads(encode_index(index)) == {
        "generation": "g",
        "rounds": [
            {"messageIndex": 0, "byteOffset": 0},
            {"messageIndex": 4, "byteOffset": 50},
        ],
    }


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b'{"generation":"g"}',
        b'{"generation":"h","rounds":[]}',
        b'{"generation":"g","rounds":[{"messageIndex":0}]}',
        b'{"generation":"g","rounds":[{"messageIndex":-1,"byteOffset":0}]}',
        b'{"generation":"g","rounds":[{"messageIndex":0,"byteOffset":99999999999999999999}]}',
        b'{"generation":"g","rounds":[{"messageIndex":1,"byteOffset":0}]}',
        b'{"generation":"g","rounds":[{"messageIndex":0,"byteOffset":0},'
        b'{"messageIndex":0,"byteOffset":5}]}',
        b'{"generation":"g","rounds":[{"messageIndex":9,"byteOffset":5}]}',
        b'{"generation":"g","rounds":[{"messageIndex":1,"byteOffset":100}]}',
        b'{"generation":"g","rounds":' + b"[" * 5000,
    ],
)
def test_an_impossible_index_is_no_index(raw: bytes) -> None:
    assert decode_index(raw, "g", 100, 9) is None
