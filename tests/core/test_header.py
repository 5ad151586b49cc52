"""The version-2 header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import InvalidSession
from loop_core.loop.header import EFFORTS, PRESETS, check_cwd, header_problem, is_supported

GOOD: dict[str, Any] = {
    "format": "loop-session",
    "version": 2,
    "permissionPreset": "read-only",
    "id": "0a1b2c3d-0000-4000-8000-000000000001",
    "cwd": "/tmp",
    "createdAt": "2026-10-01",
    "updatedAt": "Thu, 01 Oct 2026 09:00:00 GMT",
    "unread": True,
    "pinnedAt": "2026-10-01T09:00:00.000Z",
    "title": {"text": "a", "source": "user", "messageIndices": []},
    "model": {"provider": "", "id": "", "effort": "max", "more": 1},
    "unknown": None,
}


@pytest.mark.parametrize(
    ("header", "supported"),
    [
        (GOOD, True),
        ({**GOOD, "version": 2.0}, True),
        ({**GOOD, "version": "2"}, False),
        ({**GOOD, "version": 3}, False),
        ({**GOOD, "version": None}, False),
        ({**GOOD, "format": "loop-session-2"}, False),
        ({"version": 2}, False),
        (None, False),
        ([GOOD], False),
        ("loop-session", False),
    ],
)
def test_what_is_supported(header: Any, supported: bool) -> None:
    assert is_supported(header) is supported
    assert is_supported({"format": "loop-session", "version": True}) is False


def test_required_and_optional_fields() -> None:
    assert header_problem(GOOD) is None
    optional = {"unread", "pinnedAt", "title", "model", "unknown", "format", "version"}
    for key in GOOD:
        rest = {other: value for other, value in GOOD.items() if other != key}
        assert (header_problem(rest) is None) is (key in optional), key
        free = {"unknown", "format", "version"}
        assert (header_problem({**GOOD, key: None}) is None) is (key in free), key


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"id": GOOD["id"].upper()}, "id"),
    ({"id": GOOD["id"] + "\n"}, "id"),
    ({"cwd": "tmp"}, "cwd"),
    ({"cwd": ""}, "cwd"),
    ({"cwd": ["/"]}, "cwd"),
    ({"createdAt": ""}, "createdAt"),
    ({"updatedAt": 1790845200000}, "updatedAt"),
    ({"updatedAt": "2026-13-01"}, "updatedAt"),
    ({"unread": 1}, "unread"),
    ({"pinnedAt": "2026-10-01"}, "pinnedAt"),
    ({"pinnedAt": "2026-02-30T00:00:00.000Z"}, "pinnedAt"),
    ({"pinnedAt": True}, "pinnedAt"),
    ({"permissionPreset": "Read-Only"}, "permissionPreset"),
    ({"permissionPreset": ["read-only"]}, "permissionPreset"),
    ({"model": {"provider": "p"}}, "model"),
    ({"model": {"provider": "p", "id": "i", "effort": None}}, "model.effort"),
    ({"model": {"provider": "p", "id": "i", "effort": "none"}}, "model.effort"),
    ({"model": []}, "model"),
    ({"title": "text"}, "title"),
]


@pytest.mark.parametrize(("change", "field"), CHANGES)
def test_the_reason_names_the_field(change: dict[str, Any], field: str) -> None:
    assert (header_problem({**GOOD, **change}) or "").startswith(field)


def test_all_presets_and_efforts() -> None:
    for preset in PRESETS:
        assert header_problem({**GOOD, "permissionPreset": preset}) is None
    for effort in EFFORTS:
        model = {"provider": "p", "id": "i", "effort": effort}
        assert header_problem({**GOOD, "model": model}) is None
    assert header_problem({**GOOD, "pinnedAt": "+012026-10-01T09:00:00.000Z"}) is None


def test_the_working_directory_has_to_be_one(tmp_path: Path) -> None:
    check_cwd({"cwd": str(tmp_path)})
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    odd = tmp_path / "\ufffd"
    odd.mkdir()
    check_cwd({"cwd": f"{tmp_path}/\ud83d"})  # an unpaired surrogate is written as U+FFFD
    for bad in ("gone", "file", "file/x", "loop", "x\0y", "n" * 300):
        with pytest.raises(InvalidSession, match="working directory") as caught:
            check_cwd({"cwd": f"{tmp_path}/{bad}"}, "x.jsonl", 3)
        assert (caught.value.path, caught.value.line) == ("x.jsonl", 3)
