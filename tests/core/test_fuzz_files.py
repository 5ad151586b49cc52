"""Arbitrary bytes in every file the program reads: a verdict or a typed error, never more.

Inputs are real files with a few bytes, lines or JSON values changed, because pure noise
seldom comes past the first check. The long form (marker `soak`) runs each for minutes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from loop_core import jsonvalue
from loop_core.check import check
from loop_core.craft import read_session_header, read_session_jsonl
from loop_core.craft.store import CraftStore
from loop_core.errors import LoopError
from loop_core.journal import Item, Journal
from loop_core.loop.annotations import annotations_problem
from loop_core.loop.envelope import parse_envelope
from loop_core.loop.header import header_problem
from loop_core.loop.membership import parse_members
from loop_core.loop.messages import MessageChecker
from loop_core.loop.paths import workspace_hash
from loop_core.loop.rounds import decode_index
from loop_core.loop.store import LoopStore
from loop_core.model import SessionKey, Stamp, TextMark
from loop_core.plans import Edit
from loop_core.search.catalog import Catalog, Entry
from loop_core.trash import read_entries
from loop_tui.settings import SettingsFile

DATA = Path(__file__).parent.parent / "data"
ID = "11234567-1001-4101-8201-abc000001eef"
SHORT, LONG = 100, 20_000

TOKENS = [
    b"", b"null", b"true", b"-0", b"1.0", b"1e999", b"NaN", b"9" * 5000, b"{", b"}", b"[", b"]",
    b"[" * 300, b"[" * 5000, b'"', b"\\", b"\\ud83d", b"\x00", b"\x1b[2J", b"\xff\xfe",
    b"\n", b"\r\n", b"\xef\xbb\xbf",
    b'"\xe2\x80\xa8"', b'{"a":1,"a":2}', b"../../..", b"{}{}", b"-9223372036854775809",
    b'"__proto__":{},', b"0" * 70, b"true,",
]  # fmt: skip


def lines_of(name: str) -> list[bytes]:
    return (DATA / name).read_bytes().splitlines(keepends=True)


VALID = sorted((DATA / "loop-v2" / "valid").glob("*.jsonl"))
CRAFT = sorted((DATA / "craft").rglob("session.jsonl"))
SMALL = [path for path in VALID if path.stat().st_size < 20_000]
SMALL_CRAFT = [path for path in CRAFT if path.is_file() and path.stat().st_size < 20_000]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["user", "assistant", "toolResult", ID, "2026-10-01T09:00:00.000Z", "stop"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "type", "id", "timestamp", "usage", "text", "header", "title",
             "source", "messageIndices", "version", "format", "unread", "x", "state", "parts"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, originals: list[bytes]) -> bytes:
    """One of `originals` with bytes cut, doubled, replaced or a JSON value put in."""
    data = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, min(40, len(data) - at)))
        kind = draw(st.sampled_from(["token", "value", "cut", "double", "noise"]))
        if kind == "token":
            data = data[:at] + draw(st.sampled_from(TOKENS)) + data[at + length :]
        elif kind == "value":
            value = json.dumps(draw(json_values)).encode()
            data = data[:at] + value + data[at + length :]
        elif kind == "cut":
            data = data[:at] if length % 2 else data[:at] + data[at + length :]
        elif kind == "double":
            data = data[:at] + data[at : at + length] * 2 + data[at + length :]
        else:
            data = data[:at] + draw(st.binary(max_size=20)) + data[at + length :]
    return data


def typed(work: Callable[[], object]) -> None:
    """Anything but a `LoopError` fails the test."""
    with suppress(LoopError):
        work()


def envelope_of(path: Path) -> bytes:
    header = json.loads(path.read_bytes().splitlines()[0])
    meta = {"format": "loop-session", "version": 3, "header": header, "generation": "0" * 64}
    return json.dumps(meta | {"start": 0, "bytes": 0, "messageCount": 0}).encode() + b"\n"


@pytest.fixture(params=[SHORT, pytest.param(LONG, marks=pytest.mark.soak)], ids=["short", "long"])
def examples(request: pytest.FixtureRequest) -> int:
    count: int = request.param
    return count


def fuzz(strategy: st.SearchStrategy[Any], run: Callable[[Any], object], count: int) -> None:
    @seed(20_260_102)
    @settings(max_examples=count, database=None)
    @given(strategy)
    def one(value: Any) -> None:
        run(value)

    one()


class TestValues:
    """What is judged without a file."""

    def test_json(self, examples: int) -> None:
        def run(data: bytes) -> None:
            try:
                value = jsonvalue.loads(data)
            except jsonvalue.JsonSyntaxError:
                return
            assert jsonvalue.loads(jsonvalue.dumps(value)) == value

        fuzz(damaged([b"".join(lines_of(f"loop-v2/valid/{p.name}")) for p in SMALL[:6]]), run,
             examples)  # fmt: skip
        fuzz(damaged([line for p in SMALL for line in p.read_bytes().splitlines()]), run, examples)

    def test_headers_and_annotations(self, examples: int) -> None:
        header = json.loads(SMALL[0].read_bytes().splitlines()[0])

        def run(changes: dict[str, Any]) -> None:
            value = header | changes
            problem = header_problem(value)
            assert problem is None or problem
            if problem is None:
                problem = annotations_problem(
                    value, message_count=3, user_count=1, is_user=lambda n: n == 0
                )
                assert problem is None or problem

        keys = [*header, "title", "promptTimings", "pinnedAt", "model", "compactions", "x"]
        fuzz(st.dictionaries(st.sampled_from(keys), json_values, max_size=3), run, examples)

    def test_messages(self, examples: int) -> None:
        lines = [line for path in SMALL for line in path.read_bytes().splitlines()[1:]]

        def run(chosen: list[bytes]) -> None:
            checker = MessageChecker()

            def feed() -> None:
                for number, line in enumerate(chosen, 2):
                    checker.feed(line, number)
                checker.finish()

            typed(feed)

        fuzz(st.lists(st.sampled_from(lines) | damaged(lines), max_size=5), run, examples)

    def test_envelope_index_and_archive(self, examples: int) -> None:
        metas = [envelope_of(path) for path in SMALL[:8]]
        fuzz(damaged(metas), lambda raw: typed(lambda: parse_envelope(raw, "/x")), examples)
        index = b'{"generation":"' + b"0" * 64 + b'","rounds":[{"messageIndex":0,"byteOffset":0}]}'
        fuzz(damaged([index]), lambda raw: decode_index(raw, "0" * 64, 100, 4), examples)
        ids = json.dumps([ID, ID.replace("1", "2")]).encode()
        fuzz(damaged([ids]), lambda raw: typed(lambda: parse_members(raw, "/x")), examples)


class TestStores:
    """Whole stores with one damaged file: listed, paged, searched, checked."""

    def test_a_loop_store(self, tmp_path: Path, examples: int) -> None:
        collection = tmp_path / "sessions" / workspace_hash("/")
        folder = collection / ID
        folder.mkdir(parents=True)
        legacy = collection / f"{ID.replace('1', '2')}.jsonl"
        bodies = [b"".join(p.read_bytes().splitlines(keepends=True)[1:]) for p in SMALL]
        metas = [envelope_of(path) for path in SMALL]
        index = b'{"generation":"' + b"0" * 64 + b'","rounds":[{"messageIndex":0,"byteOffset":0}]}'
        wholes = [path.read_bytes() for path in SMALL]

        def run(files: tuple[bytes, bytes, bytes, bytes, bytes]) -> None:
            meta, body, rounds, archive, whole = files
            (folder / "meta.json").write_bytes(meta)
            (folder / "messages.jsonl").write_bytes(body)
            (folder / "index.json").write_bytes(rounds)
            (collection / "archive.json").write_bytes(archive)
            legacy.write_bytes(whole)
            look_at_all(LoopStore(tmp_path, cache_dir=tmp_path / "cache"))
            for path in (folder / "meta.json", legacy):
                result = check(path)
                assert result.ok or result.unsupported or result.error

        fuzz(
            st.tuples(
                st.sampled_from(metas) | damaged(metas),
                st.sampled_from(bodies) | damaged(bodies),
                damaged([index]),
                damaged([b"[]", json.dumps([ID]).encode()]),
                damaged(wholes),
            ),
            run,
            examples,
        )

    def test_a_craft_store(self, tmp_path: Path, examples: int) -> None:
        workspace = tmp_path / "workspaces" / "one"
        folder = workspace / "sessions" / "260102-calm-river"
        folder.mkdir(parents=True)
        wholes = [path.read_bytes() for path in SMALL_CRAFT]
        configs = [b'{"id":"w","name":"W","slug":"w"}', b'{"workspaces":[{"rootPath":"/"}]}']
        others = [b'{"statuses":[{"id":"todo","label":"Todo"}]}', b'{"pid":1,"startedAt":2}']

        def run(files: tuple[bytes, bytes, bytes]) -> None:
            whole, config, other = files
            file = folder / "session.jsonl"
            file.write_bytes(whole)
            (tmp_path / "config.json").write_bytes(config)
            (workspace / "config.json").write_bytes(config)
            (tmp_path / ".server.lock").write_bytes(other)
            (workspace / "statuses").mkdir(exist_ok=True)
            (workspace / "statuses" / "config.json").write_bytes(other)
            look_at_all(CraftStore(tmp_path))
            typed(lambda: read_session_header(file))
            typed(lambda: read_session_jsonl(file))
            result = check(file)
            assert result.ok or result.unsupported or result.error

        fuzz(st.tuples(damaged(wholes), damaged(configs), damaged(others)), run, examples)


class TestOwnFiles:
    """What we wrote ourselves may be damaged as well."""

    def test_settings(self, tmp_path: Path, examples: int) -> None:
        good = b'{"theme":"day","sort":"title","auto_read":false,"keymap":{"pin":"P"}}'
        file = SettingsFile(str(tmp_path))
        place = Path(file.path)
        place.parent.mkdir(parents=True, exist_ok=True)

        def run(raw: bytes) -> None:
            place.write_bytes(raw)
            read = SettingsFile(str(tmp_path))
            assert read.value is not None
            assert place.read_bytes() == raw

        fuzz(damaged([good]) | st.binary(max_size=40), run, examples)

    def test_journal(self, tmp_path: Path, examples: int) -> None:
        path = tmp_path / "journal.jsonl"
        writing = Journal(path)
        for action in ("pin", "archive"):
            edit = Edit("pinnedAt", None, '"2026-01-02T03:04:05.678Z"')
            item = Item(kind="change", key=SessionKey("loop:/x", ID), id=ID, edits=(edit,))
            entry = writing.begin(action, [item], ["loop:/x"])
            writing.end(entry, "do", ["done"])
        good = path.read_bytes()
        assert good.count(b"\n") == 4

        def run(raw: bytes) -> None:
            path.write_bytes(raw)
            journal = Journal(path, writable=False)
            typed(lambda: (journal.peek("undo", {"loop:/x"}), journal.peek("redo", {"loop:/x"})))
            typed(journal.entries)
            journal.problems()
            assert path.read_bytes() == raw

        fuzz(damaged([good]) | st.binary(max_size=40), run, examples)

    def test_trash_manifests(self, tmp_path: Path, examples: int) -> None:
        entry = tmp_path / "loop-tui-trash" / f"20260102T030405000Z-{ID}"
        entry.mkdir(parents=True)
        part = {"source": "/etc", "kind": "session", "size": 1, "inode": 1, "place": "session"}
        manifest = {
            "version": 1, "id": entry.name, "session": ID, "source": "loop", "form": "loop3",
            "trashed_ms": 1, "state": "kept", "parts": [part],
        }  # fmt: skip

        def run(raw: bytes) -> None:
            (entry / "manifest.json").write_bytes(raw)
            for found in read_entries(entry.parent, "s").entries:
                assert os.path.dirname(found.session_path).startswith(str(tmp_path))

        fuzz(damaged([json.dumps(manifest).encode()]), run, examples)

    def test_search_catalog(self, tmp_path: Path, examples: int) -> None:
        catalog = Catalog(str(tmp_path))
        mark = TextMark("g", 10, 1, (7, "x"))
        catalog.entries[SessionKey("loop:/x", ID)] = Entry(1, Stamp(1, 2, 3), "title", mark)
        catalog.save({"a": Stamp(1, 2, 3)})
        path = Path(catalog.path)
        good = path.read_bytes()
        assert Catalog(str(tmp_path)).load()

        def run(raw: bytes) -> None:
            path.write_bytes(raw)
            read = Catalog(str(tmp_path))
            assert read.load() or not read.entries

        fuzz(damaged([good]), run, examples)


def look_at_all(store: LoopStore | CraftStore) -> None:
    """What the browser does with a store, all of it."""
    *_, found = store.scan()
    assert found.rows or found.problems or found.unsupported
    for row in found.rows:
        key = row.key
        store.capabilities(row)
        for work in (
            lambda: store.page(key),  # noqa: B023 - called at once
            lambda: store.details(key),  # noqa: B023
            lambda: list(store.find(key, "a")),  # noqa: B023
            lambda: list(store.messages(key)),  # noqa: B023
            lambda: list(store.rounds(key)),  # noqa: B023
            lambda: store.header(key),  # noqa: B023
            lambda: list(store.texts(key)),  # noqa: B023
        ):
            typed(work)
    for problem in found.problems:
        assert problem.reason
