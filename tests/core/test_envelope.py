"""The version-3 envelope, and the cheap reader of lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_core.errors import InvalidSession, LoopError, StorageFailed, UnsupportedSession
from loop_core.jsonvalue import dumps, loads
from loop_core.loop.envelope import (
    EMPTY_GENERATION,
    header_of,
    parse_envelope,
    parse_header,
    peek,
    peek_legacy,
    read_envelope,
)

HEADER: dict[str, Any] = {
    "format": "loop-session",
    "version": 2,
    "permissionPreset": "read-only",
    "id": "0a1b2c3d-0000-4000-8000-000000000001",
    "cwd": "/tmp",
    "createdAt": "2026-10-01T09:00:00.000Z",
    "updatedAt": "2026-10-01T09:00:00.123Z",
    "unread": True,
    "pinnedAt": "2026-10-01T09:00:01.000Z",
    "title": {"text": "Wörter", "source": "model", "messageIndices": [0, 2]},
    "model": {"provider": "p", "id": "m", "effort": "high"},
    "runTimings": "ignored",
}
META: dict[str, Any] = {
    "format": "loop-session",
    "version": 3,
    "header": HEADER,
    "generation": "a" * 64,
    "start": 5,
    "bytes": 10,
    "messageCount": 2,
    "unknown": {"kept": True},
}


def meta(change: dict[str, Any] | None = None, **header: Any) -> bytes:
    return dumps({**META, "header": {**HEADER, **header}, **(change or {})}) + b"\n"


def outcome(raw: bytes) -> str:
    """How `parse_envelope` judges `raw`; `peek` must judge the same."""
    found: list[tuple[str, str, int | None]] = []
    for read in (parse_envelope, peek):
        try:
            read(raw, "meta.json")
        except (UnsupportedSession, InvalidSession) as error:
            found.append((type(error).__name__, error.reason, getattr(error, "line", None)))
        else:
            found.append(("valid", "", None))
    assert found[0] == found[1]
    return found[0][0]


def test_reads_everything() -> None:
    raw = meta()
    envelope = parse_envelope(raw)
    assert envelope.header == {key: value for key, value in HEADER.items() if key != "runTimings"}
    assert (envelope.start, envelope.bytes, envelope.message_count) == (5, 10, 2)
    assert envelope.end == 15
    assert envelope.raw == raw
    assert header_of(raw) == envelope.header


def test_a_row_has_what_the_header_says() -> None:
    row = peek(meta())
    assert (row.id, row.cwd, row.unread, row.permission) == (
        *(HEADER["id"], "/tmp", True, "read-only"),
    )
    assert (row.created_ms, row.updated_ms) == (1790845200000, 1790845200123)
    assert (row.pinned_at, row.pinned_ms) == (HEADER["pinnedAt"], 1790845201000)
    assert (row.title, row.title_source) == ("Wörter", "model")
    assert (row.provider, row.model, row.effort) == ("p", "m", "high")
    assert (row.generation, row.start, row.size, row.message_count) == ("a" * 64, 5, 10, 2)
    legacy = peek_legacy(dumps(HEADER))
    assert (legacy.size, legacy.message_count, legacy.title) == (None, None, "Wörter")


CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "valid"),
    ({"start": 5.0, "bytes": 1e1, "version": 3.0}, "valid"),
    ({"format": "loop-session-storage"}, "valid"),
    ({"bytes": 0, "messageCount": 0, "generation": EMPTY_GENERATION}, "valid"),
    ({"format": "other"}, "UnsupportedSession"),
    ({"format": None}, "UnsupportedSession"),
    ({"version": 2}, "UnsupportedSession"),
    ({"version": 4}, "UnsupportedSession"),
    ({"version": "3"}, "UnsupportedSession"),
    ({"version": True}, "UnsupportedSession"),
    ({"header": None}, "UnsupportedSession"),
    ({"header": {**HEADER, "version": 3}}, "UnsupportedSession"),
    ({"header": {**HEADER, "format": "loop-session-2"}}, "UnsupportedSession"),
    ({"generation": "A" * 64}, "InvalidSession"),
    ({"generation": "a" * 63}, "InvalidSession"),
    ({"generation": "a" * 64 + "\n"}, "InvalidSession"),
    ({"generation": None}, "InvalidSession"),
    ({"start": -1}, "InvalidSession"),
    ({"start": 0.5}, "InvalidSession"),
    ({"bytes": True}, "InvalidSession"),
    ({"bytes": 2**53}, "InvalidSession"),
    ({"messageCount": "2"}, "InvalidSession"),
    ({"messageCount": None}, "InvalidSession"),
    ({"bytes": 0}, "InvalidSession"),
    ({"messageCount": 0}, "InvalidSession"),
]


@pytest.mark.parametrize(("change", "verdict"), CASES)
def test_verdicts(change: dict[str, Any], verdict: str) -> None:
    assert outcome(meta(change)) == verdict


@pytest.mark.parametrize(
    ("header", "verdict"),
    [
        ({"id": "x"}, "InvalidSession"),
        ({"unread": None}, "InvalidSession"),
        ({"pinnedAt": "2026-02-30T00:00:00.000Z"}, "InvalidSession"),
        ({"pinnedAt": None}, "InvalidSession"),
        ({"cwd": "relative"}, "InvalidSession"),
        ({"createdAt": "2026-W40-4T09:00:00.000Z"}, "InvalidSession"),
        ({"createdAt": "2026-10-01T09:00:00,000Z"}, "InvalidSession"),
        ({"createdAt": "Oct 1 2026"}, "valid"),
        ({"createdAt": "2026-02-30T00:00:00.000Z"}, "valid"),
        ({"title": {**HEADER["title"], "text": "two  spaces"}}, "InvalidSession"),
        ({"title": {**HEADER["title"], "text": "\u00ad ok"}}, "valid"),
        ({"title": {**HEADER["title"], "messageIndices": [1.0]}}, "valid"),
        ({"title": {**HEADER["title"], "messageIndices": [2**53]}}, "InvalidSession"),
        ({"title": {**HEADER["title"], "messageIndices": [3, 3]}}, "InvalidSession"),
        ({"title": {**HEADER["title"], "model": None}}, "InvalidSession"),
        ({"model": {**HEADER["model"], "effort": "none"}}, "InvalidSession"),
        ({"runtimeContexts": [{"skills": [{"content": "\ud800" * 50}]}]}, "valid"),
        ({"deep": [[[[[[[[[[[["x"]]]]]]]]]]]]}, "valid"),
    ],
)
def test_header_verdicts(header: dict[str, Any], verdict: str) -> None:
    assert outcome(meta(None, **header)) == verdict


@pytest.mark.parametrize(
    ("raw", "verdict"),
    [
        (b"", "InvalidSession"),
        (b"{", "InvalidSession"),
        (meta()[:-20], "InvalidSession"),
        (meta() + b"x", "InvalidSession"),
        (b"\xef\xbb\xbf" + meta(), "valid"),
        (b"\n " + json.dumps(META, indent=2).encode() + b"\r\n", "valid"),
        (b"null", "UnsupportedSession"),
        (b"[]", "UnsupportedSession"),
        (b'"loop-session"', "UnsupportedSession"),
        (meta().replace(b'"start":5', b'"start":"x","start":5'), "valid"),
        (meta().replace(b'"start":5', b'"start":5,"start":"x"'), "InvalidSession"),
        (meta().replace(b'"start":5', b'"start":05'), "InvalidSession"),
        (meta().replace(b'"kept":true', b'"kept":' + b"[" * 3000 + b"]" * 3000), "valid"),
        (meta().replace(b"ignored", b"\xff\xfe"), "valid"),
        (meta().replace(b"ignored", b"\x01"), "InvalidSession"),
    ],
)
def test_texts(raw: bytes, verdict: str) -> None:
    assert outcome(raw) == verdict


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, 1, -1, 2.0, 2**53, 0.5, 3, "", "x", "\ud800", "/tmp", "user", "a  b"),
        *("2026-10-01 09:00:00Z", "2026-10-01T09:00:00+0300", "2026-02-30T00:00:00.000Z"),
        *([], {}, [0], [1, 0]),
    ]
)


@settings(max_examples=400)
@given(st.data())
def test_both_readers_agree_on_any_change(data: st.DataObject) -> None:
    value = loads(meta())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(["", "header", "title", "model"]))
        target = value.get("header", {})
        target = {"": value, "header": target}.get(place, target) if place else value
        if place in ("title", "model") and isinstance(target, dict):
            target = target.get(place, {})
        if not isinstance(target, dict):
            continue
        key = data.draw(st.sampled_from([*target, "zz"]))
        if data.draw(st.booleans()):
            target[key] = data.draw(ODD)
        else:
            target.pop(key, None)
    raw = dumps(value)
    if outcome(raw) == "valid":
        header, row = parse_envelope(raw).header, peek(raw)
        assert row.id == header["id"]
        assert row.title == header.get("title", {}).get("text")
        assert row.unread is header.get("unread", False)


@given(st.binary(max_size=60), st.integers(0, 700), st.integers(0, 5))
def test_any_bytes_give_a_typed_error(piece: bytes, at: int, cut: int) -> None:
    raw = meta()
    outcome(piece)
    outcome(raw[:at] + piece + raw[at + cut :])


def test_dates_of_a_row_are_those_of_the_header() -> None:
    for text, ms in [
        ("2026-10-01T09:00:00+03:00", 1790834400000),
        ("2026-10-01t09:00:00.1234z", 1790845200123),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0001-01-01T00:00:00Z", -62135596800000),
        ("Thu, 01 Oct 2026 09:00:00 GMT", 1790845200000),
    ]:
        assert peek(meta(None, updatedAt=text)).updated_ms == ms, text


def test_the_first_line_of_a_version_2_file() -> None:
    assert "runTimings" not in parse_header(dumps(HEADER))
    with pytest.raises(InvalidSession) as caught:
        parse_header(dumps({**HEADER, "cwd": ""}), "a.jsonl", 3)
    assert (caught.value.path, caught.value.line) == ("a.jsonl", 3)
    for read in (parse_header, peek_legacy):
        with pytest.raises(UnsupportedSession):
            read(dumps({**HEADER, "version": 3}), "a.jsonl")
        with pytest.raises(InvalidSession):
            read(b"\xef\xbb\xbf" + dumps(HEADER), "a.jsonl")


def test_a_missing_file_is_a_storage_error(tmp_path: Any) -> None:
    with pytest.raises(StorageFailed):
        read_envelope(tmp_path / "meta.json")
    (tmp_path / "meta.json").write_bytes(b"\xff")
    with pytest.raises(LoopError) as caught:
        read_envelope(tmp_path / "meta.json")
    assert isinstance(caught.value, InvalidSession)
    assert caught.value.path == str(tmp_path / "meta.json")
