"""Every version-2 fixture gets the verdict of the real program."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import InvalidSession, UnsupportedSession
from loop_core.loop.check import check
from loop_core.loop.envelope import peek_legacy
from loop_core.loop.legacy import parse_legacy

ROOT = Path(__file__).parent.parent / "data" / "loop-v2"
VERDICTS: dict[str, Any] = json.loads((ROOT / "verdicts.json").read_bytes())["files"]

#: Where the physical line of the fault is known from what the file is about.
LINES = {
    "file-blank-line-inside": 3,
    "file-truncated-last-line": 5,
    "pair-result-twice": 5,
    "pair-result-missing-before-user": 4,
    "order-cwd-before-message-json": 1,
    "order-messages-before-runtime-contexts": 2,
    "msg-null-line": 2,
}


def expected(verdict: dict[str, Any]) -> tuple[bool, bool]:
    ok = verdict["ok"] or verdict.get("v050") == "accept"
    return ok, not ok and verdict["unsupported"]


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_verdict(name: str) -> None:
    verdict = VERDICTS[name]
    result = check(ROOT / name)
    assert (result.ok, result.unsupported) == expected(verdict), result
    if verdict["ok"]:
        indices = result.title_indices
        assert {
            "title": result.title,
            "titleSource": result.title_source,
            "titleIndices": None if indices is None else list(indices),
            "messageCount": result.message_count,
            "userMessageCount": result.user_message_count,
            "unread": result.unread,
            "pinnedAt": result.pinned_at,
        }.items() <= verdict.items()
    elif not result.ok:
        assert result.error
        assert "\n" not in result.error
        assert result.unsupported or result.line == LINES.get(Path(name).stem, result.line)
        assert result.unsupported or result.line is not None


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_a_row_and_the_header_agree(name: str) -> None:
    """The cheap reader of lists says the same as the full one, up to the messages."""
    verdict = VERDICTS[name]
    try:
        legacy = parse_legacy(ROOT / name)
    except (InvalidSession, UnsupportedSession) as error:
        legacy, refused = None, error
    if legacy is None:
        assert isinstance(refused, UnsupportedSession) is verdict["unsupported"]
        assert not verdict["ok"]
        return
    row = peek_legacy(legacy.raw)
    stored = legacy.header.get("title")
    assert row.id == legacy.header["id"]
    assert row.pinned_at == legacy.header.get("pinnedAt")
    assert row.title == (stored and stored["text"])


def test_checking_changes_nothing() -> None:
    before = {path: (path.stat(), path.read_bytes()) for path in ROOT.rglob("*.jsonl")}
    for path in before:
        check(path)
    for path, (status, content) in before.items():
        assert path.read_bytes() == content
        assert path.stat().st_mtime_ns == status.st_mtime_ns


SAME = (
    *("ok", "title", "title_source", "title_indices", "message_count"),
    *("user_message_count", "unread", "pinned_at"),
)

# --- the same history as version 3 ---------------------------------------------------------


def published(directory: Path, source: Path, *, tail: bytes = b"", front: bytes = b"") -> Path:
    """The version-3 form of a version-2 file: its header, and its lines with LF."""
    legacy = parse_legacy(source)
    lines = source.read_bytes()[legacy.start : legacy.end].split(b"\n")
    body = b"".join(line.strip(b" \t\r") + b"\n" for line in lines if legacy.start < legacy.end)
    directory.mkdir(parents=True)
    (directory / "messages.jsonl").write_bytes(front + body + tail)
    rest = {
        "generation": hashlib.sha256(body).hexdigest(),
        "start": len(front),
        "bytes": len(body),
        "messageCount": body.count(b"\n"),
    }
    envelope = b'{"format":"loop-session","version":3,"header":' + legacy.raw + b","
    meta = directory / "meta.json"
    meta.write_bytes(envelope + json.dumps(rest).encode()[1:] + b"\n")
    return meta


@pytest.mark.parametrize("name", [name for name in sorted(VERDICTS) if "hdr-cwd" not in name])
def test_the_verdict_as_version_3(name: str, tmp_path: Path) -> None:
    """The rules are the same inside the envelope, with older generations and a tail around."""
    source = ROOT / name
    try:
        meta = published(tmp_path / "s", source, front=b'{"old":1}\n{"old":2}\n', tail=b'{"half')
    except (InvalidSession, UnsupportedSession):
        return
    was, now = check(source), check(meta.parent)
    assert [getattr(was, key) for key in SAME] == [getattr(now, key) for key in SAME], now
    if not was.ok and now.error and now.error.startswith("messages.jsonl"):
        assert was.line is not None
        assert now.line == was.line - 1 + 2


# --- random damage --------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    pieces = (b"", b"\n", b"null", b'"', b"\xff", b"1e999", b"{}", b"\x00", b"true", b"\\ud800")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice(pieces) + data[at + rng.randrange(4) :]
    return data


def check_many(tmp_path: Path, seed: int, count: int) -> None:
    rng = random.Random(seed)
    sources = [path for path in sorted(ROOT.rglob("*.jsonl")) if path.stat().st_size < 20_000]
    target = tmp_path / "x.jsonl"
    for _ in range(count):
        target.write_bytes(damaged(rng.choice(sources).read_bytes(), rng))
        result = check(target)
        assert result.ok or result.error, target.read_bytes()
        assert result.ok or result.unsupported or result.line, target.read_bytes()


def test_damage_gives_a_verdict(tmp_path: Path) -> None:
    check_many(tmp_path, 1, 400)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_much_damage_gives_a_verdict(tmp_path: Path) -> None:
    check_many(tmp_path, 2, 50_000)
