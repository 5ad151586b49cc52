"""Places: the agent directory and the workspace hash."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

import loop_core
from loop_core.loop.paths import (
    get_agent_dir,
    get_session_dir,
    get_trace_dir,
    is_session_id,
    os_path,
    workspace_hash,
)


def test_the_hash_is_of_the_real_path(loop_data: Path, tmp_path: Path) -> None:
    table = json.loads((loop_data / "tables.json").read_bytes())["workspaceHash"]
    for path in ("/", "/tmp", "/tmp/", "/tmp/../tmp"):
        assert workspace_hash(path) == table[path]
    odd = tmp_path / "ünï-漢字 dir"
    odd.mkdir()
    (tmp_path / "link").symlink_to(odd)
    assert workspace_hash(odd) == hashlib.sha256(str(odd).encode()).hexdigest()[:24]
    assert workspace_hash(tmp_path / "link") == workspace_hash(odd)


def test_a_missing_folder_is_hashed_as_written(loop_data: Path) -> None:
    table = json.loads((loop_data / "tables.json").read_bytes())["workspaceHash"]
    path = "/tmp/loop-hash-ünï-漢字 dir"
    assert workspace_hash(path) == table[path]
    assert workspace_hash("//gone/") == workspace_hash("/gone")
    assert workspace_hash("/gone\ud800") == workspace_hash("/gone\ufffd")
    assert len(workspace_hash("/gone\0")) == 24


def test_the_agent_directory_follows_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, private_home: Path
) -> None:
    assert get_agent_dir() == private_home / ".loop"
    monkeypatch.chdir(tmp_path)
    here = Path.cwd()
    for value, expected in (
        ("", here),
        ("sub/../x", here / "x"),
        ("~/a", here / "~" / "a"),
        ("/abs/", Path("/abs")),
    ):
        monkeypatch.setenv("LOOP_DATA_DIR", value)
        assert get_agent_dir() == expected


def test_links_in_the_agent_directory_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("LOOP_DATA_DIR", str(tmp_path / "link"))
    assert get_agent_dir() == tmp_path / "link"


def test_session_and_trace_directories(tmp_path: Path) -> None:
    assert get_session_dir("/tmp", tmp_path) == tmp_path / "sessions" / "e9671acd244849c57167c658"
    assert get_trace_dir("/tmp", tmp_path) == tmp_path / "traces" / "e9671acd244849c57167c658"
    assert loop_core.get_session_dir("/tmp") == get_agent_dir() / "sessions" / workspace_hash(
        "/tmp"
    )


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("0a1b2c3d-0000-4000-8000-000000000001", True),
        ("-" * 36, True),
        ("0A1B2C3D-0000-4000-8000-000000000001", False),
        ("0a1b2c3d-0000-4000-8000-000000000001\n", False),
        ("../../../../../../../../../../../etc", False),
        ("٠" * 36, False),
        ("a" * 35, False),
        (None, False),
        (1, False),
    ],
)
def test_ids(text: object, good: bool) -> None:
    assert is_session_id(text) is good


def test_paths_reach_the_system_as_node_encodes_them() -> None:
    assert os_path("/é") == "/é".encode()
    assert os_path("/a\ud83d") == b"/a\xef\xbf\xbd"
    with pytest.raises(ValueError, match="NUL"):
        os_path("/a\0b")
    assert os.path.isdir(os_path("/tmp"))
