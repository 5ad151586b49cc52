"""The library against what the real application said about every fixture session."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core import craft
from loop_core.craft.messages import known_fields

DATA = Path(__file__).parents[1] / "data" / "craft"
VERDICTS: dict[str, Any] = json.loads((DATA / "verdicts.json").read_text("utf-8"))
Normal = Callable[[Any, str], Any]
CASES = [
    (workspace, session)
    for workspace, verdict in VERDICTS["workspaces"].items()
    for session in verdict["sessions"]
]


def cut_deep(value: Any, like: Any) -> Any:
    """`value` cut where the verdict says how many levels follow."""
    if isinstance(like, dict) and set(like) == {"$deep"}:
        levels, node = 0, value
        while isinstance(node, (dict, list)) and node:
            node = next(iter(node.values())) if isinstance(node, dict) else node[0]
            levels += 1
        return {"$deep": levels + (1 if isinstance(node, dict) else 0)}
    if isinstance(like, dict) and isinstance(value, dict):
        return {k: cut_deep(v, like.get(k)) for k, v in value.items()}
    if isinstance(like, list) and isinstance(value, list) and len(like) == len(value):
        return [cut_deep(v, w) for v, w in zip(value, like, strict=True)]
    return value


@pytest.mark.parametrize(("workspace", "session"), CASES)
def test_header_and_full_read(tree: Any, as_verdict: Normal, workspace: str, session: str) -> None:
    verdict = VERDICTS["workspaces"][workspace]["sessions"][session]
    if verdict["kind"] == "file":
        pytest.skip("a plain file has no session to read")
    root = str(tree.root)
    file = tree.root / workspace / "sessions" / session / "session.jsonl"
    header = craft.read_session_header(file)
    assert as_verdict(header, root) == verdict["readSessionHeader"]

    full = craft.read_session_jsonl(file)
    expected = verdict["readSessionJsonl"]
    if expected is None:
        assert full is None
        return
    assert full is not None
    messages = expected.pop("messages")
    assert as_verdict(known_fields(full.header), root) == expected
    got = as_verdict(full.messages, root)
    assert [cut_deep(m, w) for m, w in zip(got, messages, strict=True)] == messages
    assert [line for line, _ in full.dropped] == verdict["lines"]["droppedLines"]
    assert all(reason for _, reason in full.dropped)


@pytest.mark.parametrize("workspace", VERDICTS["workspaces"])
def test_list_order_and_filters(tree: Any, as_verdict: Normal, workspace: str) -> None:
    verdict = VERDICTS["workspaces"][workspace]
    root = str(tree.root)
    place = tree.root / workspace
    entries = craft.list_sessions(place)
    for name, session in verdict["sessions"].items():
        expected = session["listEntry"]
        if session["listed"]:
            assert expected in [as_verdict(e, root) for e in entries], name
        elif session["kind"] == "dir":
            assert name not in [e.get("id") for e in entries]
    present = {
        s["listEntry"].get("id") if isinstance(s["listEntry"], dict) else None
        for s in verdict["sessions"].values()
        if s["listed"]
    }
    order = [ident for ident in verdict["order"] if ident in present and ident is not None]
    got = [e.get("id") for e in entries if e.get("id") is not None]
    if verdict["orderIsUndefined"]:
        assert sorted(map(str, got)) == sorted(map(str, order))
    else:
        assert got == order
        for name, expected in verdict["filters"].items():
            kept = craft.filter_sessions(entries, name, place)
            assert [e.get("id") for e in kept] == expected, name


def test_listing_changes_nothing(tree: Any) -> None:
    """Unlike the application's: no `.tmp` deleted, no icon made."""

    def snapshot() -> list[tuple[str, int]]:
        return sorted((str(p), p.lstat().st_mtime_ns) for p in tree.root.rglob("*"))

    before = snapshot()
    for workspace in VERDICTS["workspaces"]:
        craft.list_sessions(tree.root / workspace)
    craft.load_workspaces(tree.config)
    assert snapshot() == before


def test_workspaces_and_discovery(tree: Any) -> None:
    expected = [
        w["rootPath"].replace("<ROOT>", str(tree.root))
        for w in VERDICTS["loadStoredConfig"]["workspaces"]
    ]
    found = craft.load_workspaces(tree.config)
    assert [w.root for w in found] == expected
    assert [w.name for w in found] == [
        w["name"] for w in VERDICTS["loadStoredConfig"]["workspaces"]
    ]
    assert [w.remote for w in found] == [False, False, False, True]
    assert "EXAMPLE-NOT-A-SECRET" not in repr(found)
    roots = [
        r.replace("<ROOT>", str(tree.root)) for r in VERDICTS["discoverWorkspacesInDefaultLocation"]
    ]
    assert craft.discover_workspaces() == roots


#: name: (first line, header reader, full reader); ... stands for "the same".
ODD: dict[str, tuple[bytes, Any, Any]] = {
    "h-null": (b"null", None, None),
    "h-empty": (b"{}", {}, {}),
    "h-array": (b"[]", [], {}),
    "h-true": (b"true", True, None),
    "h-path": (
        b'{"id":"../../../etc","lastUsedAt":3}',
        {"id": "../../../etc", "lastUsedAt": 3},
        ...,
    ),
    "h-cut": (b'{"id":"x","na', None, None),
    "h-nan": (b'{"id":NaN}', None, None),
    "h-big": (b'{"id":"x","n":1e400}', {"id": "x", "n": float("inf")}, ...),
    "h-mode": (
        b'{"permissionMode":" EXECUTE ","previousPermissionMode":"ask to edit"}',
        {"permissionMode": "allow-all", "previousPermissionMode": "ask"},
        ...,
    ),
    "h-bad-mode": (b'{"permissionMode":null,"previousPermissionMode":"x"}', {}, {}),
    "h-bom": (b'\xef\xbb\xbf{"id":"b"}\r', {"id": "b"}, ...),
    "h-two-boms": (b'\xef\xbb\xbf\xef\xbb\xbf{"id":"b"}', None, None),
    "h-sdk": (b'{"sdkCwd":7}', {"sdkCwd": 7}, None),
    "h-falsy": (b'{"sdkCwd":0,"workingDirectory":""}', {"sdkCwd": 0, "workingDirectory": ""}, ...),
    "h-utf8": (b'{"id":"\xff\xc3r"}', {"id": "\ufffd\ufffdr"}, ...),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_headers(tmp_path: Path, name: str) -> None:
    """The table of craft-format section 3, "Reading the header"."""
    raw, header, full = ODD[name]
    folder = tmp_path / "sessions" / name
    folder.mkdir(parents=True)
    file = folder / "session.jsonl"
    file.write_bytes(raw + b'\n{"id":"m1","type":"user"}\n')
    assert craft.read_session_header(file) == header
    session = craft.read_session_jsonl(file)
    assert (session is None) == (full is None)
    if session is not None:
        assert session.messages == [{"id": "m1", "type": "user"}]
        assert session.header == (header if full is ... else full)
    entries = craft.list_sessions(tmp_path)
    fails = name == "h-sdk"
    assert len(entries) == (0 if header is None or fails else 1)
    assert all(entry["sessionStatus"] == "todo" for entry in entries)


def test_a_blank_first_line_is_read_only_when_the_file_is_one_value(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(b'\n{"id":"a"}\n')
    assert craft.read_session_header(file) == {"id": "a"}
    file.write_bytes(b'\n{"id":"a"}\n{"id":"m"}\n')
    assert craft.read_session_header(file) is None
    full = craft.read_session_jsonl(file)
    assert full is not None
    assert full.messages == [{"id": "m"}]
    for missing in (tmp_path, tmp_path / "nothing"):
        assert craft.read_session_header(missing) is None
        assert craft.read_session_jsonl(missing) is None


@pytest.mark.parametrize("opening", ["<", "<edit_request>", "[file:", "[folder:", "[skill:a"])
def test_a_preview_of_openings_alone_takes_no_time(opening: str) -> None:
    """Text that opens tags and mentions and closes none: no time by the square of its length."""
    from loop_core.craft.header import clean_text

    text = opening * 20_000
    began = time.process_time()
    clean_text(text)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("content", "preview"),
    [
        ("<edit_request>a\nb</edit_request> c <b>d</b>", "c d"),
        ("[skill:ns:x] [skill:y][source:z] e [file:a b.txt][folder:/q] f", "e f"),
        ("[skill:a:b:c] [Source:x]", "[skill:a:b:c] [Source:x]"),
        ("[source:[skill:x]y] a [file:[source:x]] b", "a [file:] b"),
        ("<edit_request> a </edit_request> <edit_request> b", "b"),
        ("a\u00a0\ufeff\u2028 b\u0085c", "a b\u0085c"),
        ("1 < 2 and 3 > 2", "1 2"),
        ("😀" * 80, "😀" * 75),
        ("x" + "😀" * 80, "x" + "😀" * 74 + "\ud83d"),
        ("<b></b>", None),
        ("", None),
        (7, None),
    ],
)
def test_preview(content: Any, preview: str | None) -> None:
    """craft-format section 3, *Preview*."""
    from loop_core.craft.header import preview_of

    messages = [None, {"type": "assistant", "content": "no"}, {"type": "user", "content": content}]
    assert preview_of(messages) == preview


@pytest.mark.parametrize(
    ("stored", "expanded"),
    [
        ("~", "{home}"),
        ("~/a", "{home}/a"),
        ("${HOME}/a", "{home}/a"),
        ("$HOME/a", "{home}/a"),
        ("$HOMER/a", "{cwd}/$HOMER/a"),
        ("/a//b/../c", "/a/c"),
        ("/a/b/", "/a/b/"),
        ("//a", "/a"),
        ("rel/x", "{cwd}/rel/x"),
        ("~other", "{cwd}/~other"),
    ],
)
def test_paths_of_headers(stored: str, expanded: str) -> None:
    from loop_core.craft.tokens import expand_home, portable_home

    places = {"home": os.environ["HOME"], "cwd": os.getcwd()}
    assert expand_home(stored) == expanded.format(**places)
    assert portable_home(f"{places['home']}/x/y") == "~/x/y"
    assert portable_home(places["home"]) == "~"
    assert portable_home(f"{places['home']}-2/x") == f"{places['home']}-2/x"
