"""Guarded edits: the one value changes and nothing else, in both forms."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.errors import (
    Conflict,
    InvalidSession,
    SessionNotFound,
    StorageFailed,
    UnsupportedSession,
)
from loop_core.fsio_calls import calls
from loop_core.loop import edits
from loop_core.loop.edits import change_metadata, edit_header
from loop_core.loop.values import copy_value, deep_equal
from loop_core.plans import Edit

Form = Literal["loop2", "loop3"]
HEADER = (
    b'{"format":"loop-session","version":2,"permissionPreset":"read-only",'
    b'"id":"0a1b2c3d-0000-4000-8000-00000000abcd","cwd":"/tmp","createdAt":"2026-01-01",'
    b'"updatedAt":"2026-01-01","unread":false , "odd":[1e21,-0,1.0,"\\u00e9\\/\\ud83d"],'
    b'"z":{"unread":1},"a":2}'
)
REST = b'\r\n{"role":"user","content":"\xff","timestamp":1}\n\n \xe3\x80\x80'
LEAD = b"\xef\xbb\xbf \n"
TAIL = b',"generation":"%b","start":0,"bytes":0,"messageCount":0, "future":{} }' % (
    b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)
PIN = '"2026-01-02T03:04:05.678Z"'


def around(form: Form, header: bytes) -> bytes:
    if form == "loop2":
        return LEAD + header + REST
    return b'{"format":"loop-session-x","version":3.0,\n"header": ' + header + TAIL


@pytest.fixture(params=["loop2", "loop3"])
def form(request: pytest.FixtureRequest) -> Form:
    return "loop2" if request.param == "loop2" else "loop3"


@pytest.fixture
def path(form: Form, tmp_path: Path) -> Path:
    path = tmp_path / ("x.jsonl" if form == "loop2" else "meta.json")
    path.write_bytes(around(form, HEADER))
    path.chmod(0o640)
    return path


def test_one_value_changes(path: Path, form: Form) -> None:
    written = edit_header(path, [Edit("unread", "false", "true")], form)
    expected = around(form, HEADER.replace(b'"unread":false', b'"unread":true'))
    assert path.read_bytes() == expected
    assert written.changed
    assert path.stat().st_ino == written.stamp.inode
    assert path.stat().st_mode & 0o777 == 0o640
    edit_header(path, [Edit("unread", "true", "false"), Edit("pinnedAt", None, PIN)], form)
    pinned = HEADER.replace(b'"a":2}', b'"a":2,"pinnedAt":' + PIN.encode() + b"}")
    assert path.read_bytes() == around(form, pinned)
    edit_header(path, [Edit("pinnedAt", PIN, None)], form)
    assert path.read_bytes() == around(form, HEADER)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_version_2_file_with_a_header_only(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for lead, behind in ((b"", b""), (b"\n\n", b"\xc2\xa0 \n"), (b"\xef\xbb\xbf", b"\xef\xbb\xbf")):
        path.write_bytes(lead + HEADER + behind)
        edit_header(path, [Edit("a", "2", None)], "loop2")
        assert path.read_bytes() == lead + HEADER.replace(b',"a":2', b"") + behind


def test_done_already_or_changed_by_somebody(path: Path, form: Form) -> None:
    stamp = os.stat(path).st_mtime_ns
    assert not edit_header(path, [Edit("unread", "true", "false")], form).changed
    assert not edit_header(path, [Edit("a", "1", "2.0")], form).changed
    assert os.stat(path).st_mtime_ns == stamp
    for before in ("1", None, "true"):
        with pytest.raises(Conflict):
            edit_header(path, [Edit("unread", "false", "true"), Edit("a", before, "3")], form)
    assert path.read_bytes() == around(form, HEADER)


def test_nothing_is_written_that_loop_would_refuse(path: Path, form: Form) -> None:
    for edit in (Edit("unread", "false", "null"), Edit("pinnedAt", None, '"yesterday"')):
        with pytest.raises(InvalidSession):
            edit_header(path, [edit], form)
    with pytest.raises(UnsupportedSession):
        edit_header(path, [Edit("version", "2", "3")], form)
    if form == "loop2":
        with pytest.raises(InvalidSession):
            edit_header(path, [Edit("a", "2", "[\n]")], form)
    assert path.read_bytes() == around(form, HEADER)


def test_what_is_damaged_is_not_edited(path: Path, form: Form) -> None:
    """failures row 49"""
    for content, kind in (
        (b"{", InvalidSession),
        (b"", InvalidSession),
        (b"[]\n", UnsupportedSession),
        (around(form, HEADER.replace(b'"version":2', b'"version":1')), UnsupportedSession),
        (around(form, HEADER.replace(b'"read-only"', b'"all"')), InvalidSession),
    ):
        path.write_bytes(content)
        with pytest.raises(kind):
            edit_header(path, [Edit("unread", "false", "true")], form)
        assert path.read_bytes() == content
    path.unlink()
    with pytest.raises(SessionNotFound):
        edit_header(path, [Edit("unread", "false", "true")], form)
    os.mkfifo(path)
    with pytest.raises(StorageFailed):
        edit_header(path, [Edit("unread", "false", "true")], form)


def test_links(path: Path, form: Form, tmp_path: Path) -> None:
    """failures row 56"""
    target = tmp_path / "elsewhere" / "target"
    target.parent.mkdir()
    path.rename(target)
    path.symlink_to(target)
    edit_header(path, [Edit("unread", "false", "true")], form)
    assert path.is_symlink()
    assert b'"unread":true' in target.read_bytes()
    target.write_bytes(b"no session at all")
    with pytest.raises((InvalidSession, UnsupportedSession)):
        edit_header(path, [Edit("unread", "false", "true")], form)
    assert target.read_bytes() == b"no session at all"


def replace_like_loop(path: Path, data: bytes) -> None:
    other = path.with_name(path.name + ".x.tmp")
    other.write_bytes(data)
    other.rename(path)


def test_the_change_is_made_on_what_the_other_program_wrote(
    path: Path, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = calls.exchange
    texts = [HEADER.replace(b'"a":2', b'"a":%d' % number) for number in (3, 4, 5)]

    def exchange(a: str, b: str) -> None:
        if texts and ".loop-tui-swap" in b:
            replace_like_loop(path, around(form, texts.pop(0)))
        real(a, b)

    monkeypatch.setattr(calls, "exchange", exchange)
    edit_header(path, [Edit("unread", "false", "true")], form)
    final = HEADER.replace(b'"a":2', b'"a":5').replace(b'"unread":false', b'"unread":true')
    assert path.read_bytes() == around(form, final)


def test_a_writer_without_pause_is_a_conflict(
    path: Path, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = calls.exchange
    number = 2

    def exchange(a: str, b: str) -> None:
        nonlocal number
        if ".loop-tui-swap" in b:
            number += 1
            replace_like_loop(path, around(form, HEADER.replace(b'"a":2', b'"a":%d' % number)))
        real(a, b)

    monkeypatch.setattr(calls, "exchange", exchange)
    with pytest.raises(Conflict):
        edit_header(path, [Edit("unread", "false", "true")], form)
    assert number == 2 + edits.ATTEMPTS
    assert path.read_bytes() == around(form, HEADER.replace(b'"a":2', b'"a":%d' % number))


def test_a_large_file_is_streamed(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    line = b'{"role":"user","content":"' + b"x" * 1_000_000 + b'","timestamp":1}\n'
    path.write_bytes(HEADER + b"\n" + line * 20)
    edit_header(path, [Edit("unread", "false", "true")], "loop2")
    content = path.read_bytes()
    assert content == HEADER.replace(b'"unread":false', b'"unread":true') + b"\n" + line * 20


def test_an_unchanged_text_writes_nothing(path: Path, form: Form) -> None:
    stamp = os.stat(path)
    assert not change_metadata(path, form, lambda raw: raw).changed
    assert os.stat(path) == stamp


# --- values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(JSON, JSON)
def test_equality_is_that_of_the_json_texts(a: Any, b: Any) -> None:
    def normal(value: Any) -> str:
        as_js = json.loads(json.dumps(value), parse_int=float)
        return json.dumps(as_js, sort_keys=True).replace("-0.0", "0.0")

    assert deep_equal(a, b) == (normal(a) == normal(b))
    assert deep_equal(a, a)


def test_depth_is_no_limit() -> None:
    a: Any = None
    b: Any = None
    for _ in range(50_000):
        a, b = [a], [b]
    assert deep_equal(a, b)


def test_a_copy_shares_nothing() -> None:
    value = {"a": [1, {"b": "\ud83d"}]}
    copy = copy_value(value)
    assert copy == value
    copy["a"][1]["b"] = "x"
    assert value["a"][1] == {"b": "\ud83d"}
