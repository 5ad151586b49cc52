"""The quick way to a row and the careful one agree on every metadata."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.errors import UnsupportedSession
from loop_core.loop.quick import quick_row, read_quickly
from loop_core.loop.rows import make_row, messages_problem, seen_meta
from loop_core.loop.titles import normalize_title, stored_title_problem
from loop_core.model import SessionKey, Stamp
from loop_core.sanitize import safe_line

_GOOD: dict[str, Any] = {
    "format": "loop-session",
    "version": 2,
    "permissionPreset": "read-only",
    "id": "0" * 36,
    "cwd": "/tmp",
    "createdAt": "2026-10-01T09:00:00.123Z",
    "updatedAt": "2026-10-01T10:00:00.999Z",
    "unread": True,
    "title": {"text": "A title", "source": "user", "messageIndices": [0]},
    "model": {"provider": "p", "id": "m", "effort": "high"},
}
_ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        "",
        0,
        1.0,
        2.0,
        True,
        [],
        {},
        "x" * 36,
        "0" * 36 + "\n",
        "2026-02-30T00:00:00.000Z",
        "2026-10-01",
        "2026-10-01T09:00:00+02:00",
        "1970-01-01T00:00:00.000Z",
        "0001-01-01T00:00:00.000Z",
        "1969-12-31T23:59:59.999Z",
        {"text": " x", "source": "user", "messageIndices": []},
        {"text": "x\u202e", "source": "user", "messageIndices": []},
        {"text": "x", "source": "user", "messageIndices": [2, 1]},
        {"text": "x", "source": "user", "messageIndices": [], "model": 7},
        {"text": "x", "source": "model", "messageIndices": [0, 2], "model": {"provider": "p"}},
        {
            "text": "x",
            "source": "model",
            "messageIndices": [0, 2],
            "model": {"provider": "p", "id": "m"},
        },
        {"provider": "p", "id": "m", "effort": "default"},
        "2026-10-01T09:00:00.999600Z",
        "2026-10-01T09:00:00.123456789Z",
        "1969-12-31T23:59:59.9996Z",
        {"provider": "p", "id": "m", "effort": "none"},
        {"provider": "p", "id": "m", "effort": None},
        "read-only",
        -1,
        2**60,
    ]
)
_TITLE = st.text(max_size=50) | st.text(" aé\u0301中\u00a0\u200b\u180e\u2060😀", max_size=70)
_ODD |= _TITLE.map(lambda text: {"text": text, "source": "user", "messageIndices": []})


@given(
    st.dictionaries(st.sampled_from(sorted(_GOOD)), _ODD, max_size=2),
    st.dictionaries(
        st.sampled_from(["format", "version", "generation", "start", "bytes", "messageCount"]),
        _ODD,
        max_size=1,
    ),
    st.sets(st.sampled_from(sorted(_GOOD)), max_size=2),
)
def test_both_ways_make_the_same_row(
    header: dict[str, Any], outer: dict[str, Any], dropped: set[str]
) -> None:
    head = {key: value for key, value in (_GOOD | header).items() if key not in dropped}
    meta = {"format": "loop-session", "version": 3, "header": head, "generation": "a" * 64}
    meta |= {"start": 3, "bytes": 40, "messageCount": 2} | outer
    raw = json.dumps(meta).encode()
    quick = read_quickly(raw)
    if quick is None:
        return
    stamp, messages = Stamp(1, 2, 3), Stamp(4, 5, 6)
    key = SessionKey("s", "r")
    try:
        seen = seen_meta(raw, "/m")
    except UnsupportedSession:
        pytest.fail("the careful way does not support it")
    common: dict[str, Any] = {"archived": False, "linked": False, "owner_live": False}
    careful = make_row(
        seen,
        key=key,
        form="loop3",
        path="/m",
        stem="r",
        project="p",
        folder_missing=False,
        changed_ms=9,
        stamp=stamp,
        messages=messages,
        **common,
    )
    problem = messages_problem(quick.start + quick.bytes, messages)
    made = quick_row(
        quick, key, "/m", "p", stamp, missing=False, changed_ms=9, problem=problem, **common
    )
    assert made == careful


def test_what_loop_writes_goes_the_quick_way() -> None:
    meta = {"format": "loop-session", "version": 3, "header": _GOOD, "generation": "a" * 64}
    meta |= {"start": 0, "bytes": 0, "messageCount": 0}
    assert read_quickly(json.dumps(meta).encode()) is not None


@given(_TITLE.map(normalize_title) | _TITLE | st.text("中 ", min_size=35, max_size=45))
def test_titles_of_any_script_go_the_quick_way(text: str) -> None:
    title = {"text": text, "source": "user", "messageIndices": [0]}
    meta = {"format": "loop-session", "version": 3, "header": {**_GOOD, "title": title}}
    meta |= {"generation": "a" * 64, "start": 0, "bytes": 0, "messageCount": 0}
    quick = read_quickly(json.dumps(meta).encode())
    sound = stored_title_problem(title) is None and safe_line(text, 400) == text
    assert (quick is not None) == (sound and text.isprintable())
