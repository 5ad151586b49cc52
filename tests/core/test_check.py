"""Full verification of sessions on disk."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import loop_core
from loop_core.errors import InvalidSession, SessionNotFound, StorageFailed
from loop_core.jsonvalue import dumps
from loop_core.loop import stream
from loop_core.loop.check import check, verify
from loop_core.loop.messages import MessageChecker

HEADER: dict[str, Any] = {
    "format": "loop-session",
    "version": 2,
    "permissionPreset": "read-only",
    "id": "0a1b2c3d-0000-4000-8000-000000000001",
    "cwd": "/",
    "createdAt": "2026-10-01T09:00:00.000Z",
    "updatedAt": "2026-10-01T09:00:00.000Z",
    "unread": True,
}
USER = b'{"role":"user","content":"Why is it so?","timestamp":1}'
REPLY = (
    b'{"role":"assistant","content":[{"type":"text","text":"So."}],"api":"","provider":"",'
    b'"model":"","usage":{},"stopReason":"stop","timestamp":2}'
)
BODY = USER + b"\n" + REPLY + b"\n"


def session(directory: Path, body: bytes = BODY, **change: Any) -> Path:
    """A version-3 session with `body` committed; `change` overrides the envelope."""
    front, tail = change.pop("front", b""), change.pop("tail", b"")
    directory.mkdir(exist_ok=True)
    (directory / "messages.jsonl").write_bytes(front + body + tail)
    envelope = {
        "format": "loop-session",
        "version": 3,
        "header": HEADER,
        "generation": hashlib.sha256(body).hexdigest(),
        "start": len(front),
        "bytes": len(body),
        "messageCount": body.count(b"\n"),
    }
    (directory / "meta.json").write_bytes(dumps({**envelope, **change}) + b"\n")
    return directory


def test_a_good_session(tmp_path: Path) -> None:
    directory = session(tmp_path / "s", front=b"old\n\n", tail=b"half a li")
    for path in (directory, directory / "meta.json", str(directory) + "/"):
        result = loop_core.check(path)
        assert result.ok
        assert result.path == str(path)
        assert (result.title, result.title_source, result.title_indices) == (
            *("Why is it so?", "fallback", (0,)),
        )
        assert (result.message_count, result.user_message_count) == (2, 1)
        assert (result.unread, result.pinned_at, result.error) == (True, None, None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        BODY.replace(b"\n", b"\r\n"),
        b" " + BODY.replace(b"\n", b" \t\n"),
        USER.replace(b"Why", b"\xff\xe2\x80\xa8\\ud83d") + b"\n",
    ],
)
def test_bodies_that_pass(tmp_path: Path, body: bytes) -> None:
    assert check(session(tmp_path / "s", body)).ok


def test_no_line_feed_at_the_end_is_tolerated(tmp_path: Path) -> None:
    assert check(session(tmp_path / "s", BODY[:-1], messageCount=2)).ok


def test_an_empty_session_needs_no_messages_file(tmp_path: Path) -> None:
    directory = session(tmp_path / "s", b"")
    (directory / "messages.jsonl").unlink()
    result = check(directory)
    assert (result.ok, result.message_count, result.title) == (True, 0, None)
    directory = session(tmp_path / "t")
    (directory / "messages.jsonl").unlink()
    assert check(directory).error == "messages.jsonl is missing"


@pytest.mark.parametrize(
    ("body", "change", "line", "word"),
    [
        (BODY, {"generation": "0" * 64}, None, "checksum"),
        (BODY, {"messageCount": 3}, 1, "messageCount"),
        (BODY, {"bytes": len(BODY) + 1}, None, "shorter"),
        (BODY, {"bytes": len(BODY) - 4}, 2, "JSON"),
        (BODY, {"start": 1}, None, "shorter"),
        (USER + b"\n\n" + REPLY + b"\n", {}, 2, "blank"),
        (BODY + b"\n", {}, 3, "blank"),
        (BODY + USER + USER + b"\n", {}, 3, "JSON"),
        (BODY.replace(b'"stop"', b'"other"'), {}, 2, "stopReason"),
        (BODY.replace(b"}\n{", b"}{\n\n"), {}, 1, "JSON"),
        (b"\xef\xbb\xbf" + BODY, {}, 1, "JSON"),
        (BODY, {"header": {**HEADER, "cwd": "/gone/away"}}, 1, "working directory"),
        (BODY, {"header": {**HEADER, "promptTimings": None}}, 1, "promptTimings"),
        (BODY, {"header": {**HEADER, "unread": None}}, 1, "unread"),
    ],
)
@pytest.mark.parametrize("front", [b"", b"first\nsecond\nthird\n"])
def test_faults_name_the_rule_and_the_line(
    tmp_path: Path, body: bytes, change: dict[str, Any], line: int | None, word: str, front: bytes
) -> None:
    if "start" in change:
        change = {"start": len(front) + 1}
    result = check(session(tmp_path / "s", body, front=front, **change))
    assert not result.ok
    assert not result.unsupported
    assert result.error is not None
    assert word in result.error
    in_messages = result.error.startswith("messages.jsonl: ")
    assert result.line == (line + front.count(b"\n") if line and in_messages else line)


def test_syntax_is_reported_before_a_broken_rule(tmp_path: Path) -> None:
    body = USER.replace(b"user", b"system") + b"\n" + USER + b"\n" + b"{\n"
    result = check(session(tmp_path / "s", body))
    assert (result.line, "JSON" in (result.error or "")) == (3, True)
    assert check(session(tmp_path / "s", body[:-2])).line == 1


def test_unsupported_is_not_invalid(tmp_path: Path) -> None:
    for change in ({"version": 4}, {"format": "x"}, {"header": {**HEADER, "version": 3}}):
        result = check(session(tmp_path / "s", b"broken", **change))
        assert (result.ok, result.unsupported) == (False, True)
        assert result.error


@pytest.mark.timeout(20)
def test_what_is_no_session_is_an_error_and_never_hangs(tmp_path: Path) -> None:
    """failures rows 151: unreadable and odd files are reported, not raised."""
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dir.jsonl").mkdir()
    odd = session(tmp_path / "odd")
    (odd / "messages.jsonl").unlink()
    os.mkfifo(odd / "messages.jsonl")
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / "meta.json").symlink_to("nowhere")
    names = ["empty", "pipe.jsonl", "circle", "dir.jsonl", "odd", "dangling", "none", "a\0b"]
    for path in [*(f"{tmp_path}/{name}" for name in names), "/dev/zero", "/dev/null"]:
        result = check(path)
        assert not result.ok, path
        assert not result.unsupported, path
        assert result.error, path
    with pytest.raises(SessionNotFound):
        verify(tmp_path / "none")
    with pytest.raises(SessionNotFound):
        verify(tmp_path / "empty")
    with pytest.raises(StorageFailed):
        verify(tmp_path / "pipe.jsonl")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_no_permission_is_an_error(tmp_path: Path) -> None:
    directory = session(tmp_path / "s")
    (directory / "messages.jsonl").chmod(0)
    assert "ermission" in (check(directory).error or "")


def test_links_are_followed(tmp_path: Path) -> None:
    directory = session(tmp_path / "s")
    (tmp_path / "link").symlink_to(directory)
    assert check(tmp_path / "link").ok


def test_checking_writes_nothing(tmp_path: Path) -> None:
    """failures row 62: looking leaves bytes and times as they are."""
    directory = session(tmp_path / "s", tail=b"tail")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()}
    check(directory)
    assert before == {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()
    }
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("block", [7, 64, 200])
def test_blocks_of_any_size_give_the_same_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    good = session(tmp_path / "good", BODY * 5, front=b"x\ny\n")
    bad = session(tmp_path / "bad", BODY * 3 + USER + b",\n" + BODY)
    unfinished = session(tmp_path / "cut", BODY * 3 + USER[:-1], messageCount=7)
    expected = [check(path) for path in (good, bad, unfinished)]
    assert [(result.ok, result.line) for result in expected] == [
        *((True, None), (False, 7), (False, 7)),
    ]
    monkeypatch.setattr(stream, "BLOCK", block)
    assert [check(path) for path in (good, bad, unfinished)] == expected


def test_a_file_cut_while_it_is_read(tmp_path: Path) -> None:
    path = session(tmp_path / "s") / "messages.jsonl"
    data = path.read_bytes()
    checker = MessageChecker(str(path))
    seen = stream.check_lines(lambda at, size: data[at : at + size], 0, len(data) + 500, checker)
    assert seen == len(data)


_PEAK = """
from loop_core.loop.check import check
print(check({path!r}).ok)
with open("/proc/self/status") as status:
    print(*(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(directory: Path) -> int:
        code = _PEAK.format(path=str(directory))
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        ok, kilobytes = done.stdout.split()
        assert ok == "True"
        return int(kilobytes)

    small = peak(session(tmp_path / "small"))
    large = peak(session(tmp_path / "large", (USER.replace(b"Why", b"w" * 5000) + b"\n") * 8000))
    assert large - small < 16 << 10
    # One huge line is held once, not twice.
    huge = peak(
        session(tmp_path / "huge", USER + b"\n" + USER.replace(b"Why", b"w" * (40 << 20)) + b"\n")
    )
    assert huge - small < 60 << 10


def test_importing_the_package_costs_nothing() -> None:
    code = (
        "import sys, loop_core; loop_core.errors; loop_core.get_agent_dir();"
        "print(sorted(name for name in sys.modules if name.startswith(('msgspec', 'textual'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_package_names_its_sdk() -> None:
    module = import_module("loop_core.check")
    assert module.check is check
    functions: list[Any] = [loop_core.check, module]  # the import puts the module in its place
    for function in functions:
        assert function("/none") == check("/none")
    assert loop_core.InvalidSession is InvalidSession
    assert set(loop_core.__all__) <= set(dir(loop_core))
    for name in loop_core.__all__:
        assert getattr(loop_core, name) is not None
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = loop_core.nothing_here
