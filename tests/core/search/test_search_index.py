"""The index on disk: incremental, and right after whatever happened to it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from loop_core import fsio
from loop_core.errors import Conflict, StorageFailed
from loop_core.search import catalog
from loop_core.search import index as index_module
from loop_core.search.catalog import Catalog
from loop_core.search.index import IndexFailed, SearchIndex
from loop_core.search.indexer import update
from loop_core.search.query import parse

pytest.importorskip("tantivy")

ROOT = Path(__file__).parents[3]


def talk(speak: Any, rounds: int, word: str = "alpha") -> list[Any]:
    """Rounds with `word` in each message but the first, which gives the title."""
    found: list[Any] = [speak.user("Title"), speak.agent("fine")]
    for number in range(rounds):
        found += [speak.user(f"question{number} {word}"), speak.agent(f"answer{number} {word} é")]
    return found


def documents(ground: Any, text: str) -> dict[int, int]:
    """What the index holds of `text`, whoever knows of it: documents by session number."""
    index = SearchIndex(ground.cache)
    assert index.open()
    return index.sessions(parse(text))


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Bytes read from messages files since the last call."""
    real = os.pread
    total = [0]

    def counting(fd: int, length: int, at: int) -> bytes:
        data = real(fd, length, at)
        total[0] += len(data)
        return data

    monkeypatch.setattr(os, "pread", counting)

    def taken() -> int:
        now, total[0] = total[0], 0
        return now

    return taken


def test_titles_bodies_and_tool_output_are_searched(ground: Any, speak: Any) -> None:
    """failures row 126: the title, the body and tool output, each alone."""
    title = ground.write([speak.user("x")], title={"text": "Harbour lights", "source": "user"})
    body = ground.write([speak.user("x"), speak.agent("the harbour")])
    tool = ground.write([speak.user("x"), speak.agent(speak.call("bash")), speak.result("harbour")])
    for _ in range(2):
        assert ground.ids("harbour") == sorted((title, body, tool))
        assert ground.ids("harbour role:title") == [title]
        assert ground.ids("harbour role:assistant") == [body]
        assert ground.ids("harbour role:tool") == [tool]
        ground.index()


def test_text_far_into_a_message_and_phrases(ground: Any, speak: Any) -> None:
    """failures row 127: a needle at byte 10 million; a quoted phrase is exact."""
    far = ground.write([speak.user("haystacks " * 1_000_000 + "needle here")])
    near = ground.write([speak.user("here needle")])
    for _ in range(2):
        assert ground.ids("needle") == sorted((far, near))
        assert ground.ids('"needle here"') == [far]
        assert ground.ids("eedl") == []
        assert ground.ids("eedl", exact=True) == sorted((far, near))
        ground.index()


def test_what_is_left_out_is_counted(ground: Any, speak: Any) -> None:
    """failures row 113: matches in the archive are counted, and found when asked for."""
    kept = ground.write([speak.user("walrus")])
    gone = ground.write([speak.user("walrus")])
    (ground.collection / "archive.json").write_text(f'["{gone}"]\n')
    for _ in range(2):
        found = ground.search("walrus")
        assert found.total == 1
        assert found.left_out.archived == 1
        assert ground.ids("walrus is:archived") == [gone]
        assert ground.ids("walrus -is:archived") == [kept]
        ground.index()


def test_a_grown_session_is_read_on(ground: Any, speak: Any, read_bytes: Callable[[], int]) -> None:
    session = ground.write(talk(speak, 2_000))
    ground.index()
    whole = read_bytes()
    added = ground.append(session, [speak.user("brandnew"), speak.agent("zebra")])
    done = ground.index()
    assert (done.done, done.total) == (1, 1)
    assert whole > 100_000
    assert read_bytes() < added + 2_000
    assert ground.ids("zebra") == ground.ids("question0") == [session]
    found = ground.search("zebra")
    assert (found.engine, found.scanned) == ("index", 0)
    assert [hit.round for hit in found.sessions[0].hits] == [2_001]
    assert ground.search("answer1999").sessions[0].count == 1


def test_nothing_new_reads_nothing(ground: Any, speak: Any, read_bytes: Callable[[], int]) -> None:
    ground.write(talk(speak, 50))
    ground.index()
    read_bytes()
    assert ground.index().total == 0
    assert read_bytes() == 0


def test_a_replaced_generation_is_read_anew(ground: Any, speak: Any) -> None:
    session = ground.write(talk(speak, 20))
    ground.index()
    old = speak.encoded(talk(speak, 20))
    ground.write([speak.user("replaced"), speak.agent("beta")], session=session, before=old)
    assert ground.ids("alpha") == []
    ground.index()
    assert ground.ids("alpha") == []
    assert ground.ids("beta") == [session]
    assert ground.search("beta").engine == "index"


def test_a_rewritten_version_2_session(ground: Any, speak: Any) -> None:
    session = "000000aa-0000-4000-8000-00000000abcd"
    ground.v2(session, [speak.user("first walrus"), speak.agent("one")])
    ground.index()
    assert ground.ids("walrus") == [session]
    time.sleep(0.01)
    ground.v2(session, [speak.user("second lion"), speak.agent("one"), speak.user("third")])
    assert ground.ids("walrus") == []
    ground.index()
    assert (ground.ids("walrus"), ground.ids("lion")) == ([], [session])


def test_a_session_that_is_gone_is_never_found(ground: Any, speak: Any) -> None:
    keep, gone = (ground.write(talk(speak, 3)) for _ in range(2))
    ground.index()
    shutil.rmtree(ground.collection / gone)
    assert ground.ids("alpha") == [keep]
    ground.index()
    assert ground.ids("alpha") == [keep]
    entries = Catalog(ground.cache)
    assert entries.load()
    assert len(entries.entries) == 1
    assert list(documents(ground, "alpha").values()) == [3]  # its words as well


def test_an_update_under_way_leaves_the_index_in_use(ground: Any, speak: Any) -> None:
    ground.write(talk(speak, 3))
    ground.index()
    index = SearchIndex(ground.cache)
    assert index.open()
    writer = index.writer(large=False)
    index.add_title(writer, 99, "alpha")
    index.commit(writer)  # the catalog is saved only after this
    found = ground.search("alpha")
    assert (found.engine, found.total, found.scanned) == ("index", 1, 0)


def test_a_session_that_comes_back_out_of_the_trash_is_found(
    ground: Any, speak: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the update that took it out was killed at any of its steps."""
    ids = sorted(ground.write(talk(speak, 2, word)) for word in ("alpha", "alpha", "beta"))
    ground.index()
    one = next(row for row in ground.rows if row.id == ids[0])
    away = ground.base / "away"
    whole = ground.ids("answer0")
    for step in range(8):
        calls = [0]

        def dying(real: Any, calls: list[int] = calls, step: int = step) -> Any:
            def run(*args: Any, **more: Any) -> Any:
                calls[0] += 1
                if calls[0] > step:
                    raise KeyboardInterrupt
                return real(*args, **more)

            return run

        os.rename(Path(one.path).parent, away)
        with monkeypatch.context() as patch:
            for owner, name in ((Catalog, "save"), (SearchIndex, "remove")):
                patch.setattr(owner, name, dying(getattr(owner, name)))
            patch.setattr(SearchIndex, "commit", staticmethod(dying(SearchIndex.commit)))
            with suppress(KeyboardInterrupt):
                ground.index()
        assert one.id not in ground.ids("answer0")
        os.rename(away, Path(one.path).parent)
        assert ground.ids("answer0") == whole, f"killed at step {step}"
        ground.index()
        found = ground.search("answer0")
        assert sorted(session.count for session in found.sessions) == [1, 1, 1]
        assert found.scanned == 0
    assert calls[0] <= step  # the last update ran to its end


def test_what_could_not_be_read_whole_leaves_nothing_behind(
    ground: Any, speak: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground.write(talk(speak, 30))
    stop = [False]
    add = SearchIndex.add_unit

    def halfway(writer: Any, number: int, unit: Any) -> int:
        stop[0] = stop[0] or unit.round == 7
        return add(writer, number, unit)

    monkeypatch.setattr(SearchIndex, "add_unit", staticmethod(halfway))
    for _ in range(3):
        stop[0] = False
        ground.index(cancelled=lambda: stop[0])
    assert documents(ground, "alpha") == {}


def test_a_failed_scan_takes_nothing_out(ground: Any, speak: Any) -> None:
    ground.write(talk(speak, 3))
    ground.index()
    update(ground.cache, (), lambda _: ground.store)
    kept = Catalog(ground.cache)
    assert kept.load()
    assert len(kept.entries) == 1


def damage(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    kind = rng.choice(("cut", "noise", "empty", "gone", "longer"))
    if kind == "gone":
        path.unlink()
        return
    if kind == "cut":
        data = data[: rng.randrange(len(data) + 1)]
    elif kind == "empty":
        data = bytearray()
    elif kind == "longer":
        data += rng.randbytes(40)
    else:
        for _ in range(20 if data else 0):
            data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("seed", range(25))
def test_a_damaged_index_answers_from_the_files_and_is_built_anew(
    ground: Any, speak: Any, seed: int
) -> None:
    rng = random.Random(seed)
    ids = sorted(ground.write(talk(speak, 5)) for _ in range(3))
    ground.index()
    names = [p for p in Path(ground.cache).rglob("*") if p.is_file() and ".lock" not in p.name]
    for path in rng.sample(sorted(names), rng.choice((1, 1, 2))):
        damage(path, rng)
    assert ground.ids("alpha") == ids
    assert ground.ids('"answer3 alpha"') == ids
    ground.index()
    found = ground.search("alpha")
    assert sorted(s.count for s in found.sessions) == [5, 5, 5]
    assert ground.ids("alpha") == ids


def test_another_version_is_built_anew(
    ground: Any, speak: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ground.write(talk(speak, 3))
    ground.index()
    monkeypatch.setattr(catalog, "VERSION", catalog.VERSION + 1)
    assert ground.ids("alpha") == [session]
    assert ground.search("alpha").engine == "scan"
    assert ground.index().done == 1
    assert ground.search("alpha").engine == "index"


def test_without_the_engine_the_files_answer(
    ground: Any, speak: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ground.write(talk(speak, 3))
    monkeypatch.setattr(index_module, "find_spec", lambda _: None)
    assert ground.ids("alpha") == [session]
    assert ground.search("alpha").engine == "scan"


def test_two_indexers_at_once(ground: Any, speak: Any) -> None:
    session = ground.write(talk(speak, 3))
    fsio.make_private_dir(ground.cache)
    with _held(ground.cache), pytest.raises(Conflict, match="another process"):
        ground.index()
    assert ground.ids("alpha") == [session]
    ground.index()
    assert ground.search("alpha").engine == "index"


def _held(directory: str) -> Any:
    """The lock as another process holds it."""
    import fcntl
    from contextlib import contextmanager

    @contextmanager
    def hold() -> Any:
        fd = os.open(directory, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(fd)

    return hold()


@pytest.mark.parametrize("method", ["writer", "add_unit", "add_title", "commit", "finish"])
def test_a_full_disk_is_said_and_loses_nothing(
    ground: Any, speak: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    session = ground.write(talk(speak, 3))
    ground.index()
    ground.append(session, [speak.user("later"), speak.agent("zebra")])

    def full(*_: Any, **__: Any) -> Any:
        raise IndexFailed("An IO error occurred: 'No space left on device (os error 28)'")

    with monkeypatch.context() as patch:
        patch.setattr(SearchIndex, method, full)
        with pytest.raises(StorageFailed, match="No space left"):
            ground.index()
    assert ground.ids("zebra") == [session]
    ground.index()
    found = ground.search("alpha")
    assert (found.engine, found.scanned, found.sessions[0].count) == ("index", 0, 3)


@pytest.mark.parametrize("kind", ["ENOSPC", "EIO", "kill"])
def test_a_catalog_that_cannot_be_written(
    ground: Any, speak: Any, faults: Any, killed: type[BaseException], kind: str
) -> None:
    session = ground.write(talk(speak, 3))
    for number in range(0, 60, 7):
        with faults.at(number, kind), suppress(StorageFailed, killed):
            ground.index()
        assert ground.ids("alpha") == [session]
    ground.index()
    assert ground.ids("alpha") == [session]


KILLED = """
import sys
from loop_core.loop.store import LoopStore
from loop_core.search import indexer
indexer._COMMIT_CHARS = 20_000
agent, cache, rounds = sys.argv[1:]
store = LoopStore(agent, cache_dir=rounds)
*_, scan = store.scan()
print("go", flush=True)
indexer.update(cache, scan.rows, lambda _: store, forget={store.id})
"""


def test_a_killed_indexer_leaves_nothing_wrong(ground: Any, speak: Any) -> None:
    rng = random.Random(7)
    ids = sorted(ground.write(talk(speak, rng.randrange(1, 120))) for _ in range(25))
    ground.scan()
    counts = {row.id: row.message_count // 2 - 1 for row in ground.rows}
    command = [sys.executable, "-c", KILLED, str(ground.agent), ground.cache, str(ground.base)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "core")}
    for _ in range(6):
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(rng.random() * 0.25)
            process.send_signal(signal.SIGKILL)
        assert ground.ids("alpha") == ids
    ground.index()
    found = ground.search("alpha")
    names = {row.key: row.id for row in ground.rows}
    assert {names[s.key]: s.count for s in found.sessions} == counts
    assert (found.engine, found.scanned) == ("index", 0)


def test_encoded_data_is_not_indexed(ground: Any, speak: Any) -> None:
    blob = "iVBORw0KGgo" + "QUJDREVG" * 400
    image = {"type": "image", "data": blob, "mimeType": "image/png"}
    message = speak.user("see this")
    message["content"] = [{"type": "text", "text": f"see data:image/png;base64,{blob} end"}, image]
    session = ground.write([speak.user("Title"), message])
    ground.index()
    assert ground.ids("ivborw0kggo", typing=True) == []
    assert ground.ids("see end") == [session]


def test_filters_alone_list_sessions(ground: Any, speak: Any) -> None:
    one = ground.write([speak.user("x")], unread=True)
    other = ground.write([speak.user("x"), speak.agent(speak.call("bash"))])
    assert ground.ids("is:unread") == [one]
    assert ground.ids("-is:unread") == [other]
    assert ground.ids("project:shop") == sorted((one, other))
    assert ground.ids("project:other") == []
    assert ground.ids("after:2027-01-01") == []
    assert ground.ids("before:2027-01-01") == sorted((one, other))
    for _ in range(2):
        assert ground.ids("tool:bash") == [other]
        ground.index()


def test_a_budget_leaves_the_rest_pending(ground: Any, speak: Any) -> None:
    for _ in range(3):
        ground.write(talk(speak, 3))
    found = ground.search("alpha", budget=-1.0)
    assert (found.total, found.left_out.pending) == (0, 3)
    assert ground.search("alpha", budget=60.0).left_out.pending == 0


def test_a_damaged_session_is_counted(ground: Any, speak: Any) -> None:
    session = ground.write(talk(speak, 2))
    path = ground.collection / session / "messages.jsonl"
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b'"content":"question1', b'"content";"question1', 1))
    for _ in range(2):
        found = ground.search("alpha")
        assert found.left_out.damaged == 1
        assert found.total == 1
        ground.index()
