"""Version-2 files: where the text begins and ends, and its lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_core.errors import InvalidSession, LoopError, StorageFailed, UnsupportedSession
from loop_core.jsonvalue import JS_SPACE, dumps
from loop_core.loop import legacy as module
from loop_core.loop import stream
from loop_core.loop.legacy import iter_messages, parse_legacy, read_legacy, trim_bytes
from loop_core.loop.stream import ReadAt

HEADER: dict[str, Any] = {
    "format": "loop-session",
    "version": 2,
    "permissionPreset": "read-only",
    "id": "0a1b2c3d-0000-4000-8000-000000000001",
    "cwd": "/tmp",
    "createdAt": "2026-10-01",
    "updatedAt": "2026-10-01",
}
LINE = dumps(HEADER)


def memory(data: bytes) -> ReadAt:
    return lambda offset, length: data[offset : offset + length]


PIECES = st.sampled_from(
    [
        *(char.encode() for char in JS_SPACE),
        *(b"\n", b"\n", b"x", b"{}", b"\x85", b"\xc2\x85", b"\x1c", b"\xe2", b"\xe2\x80"),
        *(b"\xa0", b"\xbb\xbf", b"\xff", b"\xc3\xa9", b"\xc2"),
    ]
)
ENDS = st.lists(PIECES, max_size=12).map(b"".join)


@settings(max_examples=400)
@given(ENDS, ENDS, ENDS, st.integers(4, 9))
def test_streaming_finds_what_trimming_the_whole_text_finds(
    front: bytes, middle: bytes, back: bytes, block: int
) -> None:
    data = front + LINE + b"\n" + middle + b"x" + back
    text = data.decode("utf-8", "replace").strip(JS_SPACE)
    lines = text.split("\n")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_BLOCK", block)
            patch.setattr(stream, "BLOCK", block)
            found = read_legacy(memory(data), len(data))
    except (InvalidSession, UnsupportedSession):
        found = None
    if found is None:
        assert lines[0] != LINE.decode()
        return
    assert found.raw.decode("utf-8", "replace") == lines[0]
    assert data[found.header_start : found.header_end] == found.raw
    assert found.line == 1 + data[: found.header_start].count(b"\n")
    messages = [line.decode("utf-8", "replace") for line in iter_messages(memory(data), found)]
    assert messages == lines[1:]


@given(ENDS)
def test_trimming_bytes_is_trimming_text(data: bytes) -> None:
    trimmed = trim_bytes(data).decode("utf-8", "replace")
    assert trimmed == data.decode("utf-8", "replace").strip(JS_SPACE)


def test_a_header_alone_has_no_messages() -> None:
    for data in (LINE, LINE + b"\n", b"\xef\xbb\xbf\n" + LINE + b"\r\n\n \xc2\xa0"):
        found = read_legacy(memory(data), len(data))
        assert found.start == found.end
        assert list(iter_messages(memory(data), found)) == []
        assert found.raw == LINE


@pytest.mark.parametrize(
    ("data", "error", "line"),
    [
        (b"", InvalidSession, 1),
        (b"\n \xef\xbb\xbf\n", InvalidSession, 1),
        (b"\n\nnot json", InvalidSession, 3),
        (b"null\n", UnsupportedSession, None),
        (b"[]", UnsupportedSession, None),
        (dumps({**HEADER, "version": "2"}) + b"\nbroken", UnsupportedSession, None),
        (dumps({**HEADER, "cwd": 1}) + b"\nbroken", InvalidSession, 1),
        (b"\x1f" + LINE, InvalidSession, 1),
    ],
)
def test_what_is_refused(data: bytes, error: type[LoopError], line: int | None) -> None:
    with pytest.raises(error) as caught:
        read_legacy(memory(data), len(data), "x.jsonl")
    assert getattr(caught.value, "line", None) == line
    assert caught.value.path == "x.jsonl"


def test_reads_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINE + b"\n{}\n")
    assert parse_legacy(path).header == HEADER
    with pytest.raises(StorageFailed):
        parse_legacy(tmp_path / "none.jsonl")
