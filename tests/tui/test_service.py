"""The service: stores found, sessions named, actions end to end on real files."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_core.errors import InvalidArgument, ReadOnly, SessionNotFound
from loop_core.loop.paths import get_session_dir
from loop_core.model import SessionKey, SessionRow
from loop_core.plans import Intent
from loop_tui.resolve import resolve
from loop_tui.service import Options, Service

NOW = "2026-11-05T10:00:00.000Z"
IDS = [f"{n:08x}-1111-4111-8111-111111111111" for n in range(10)]


def message(text: str, role: str = "user") -> bytes:
    value: dict[str, Any] = {"role": role, "content": text, "timestamp": 1}
    if role == "assistant":
        value |= {"content": [{"type": "text", "text": text}], "api": "a", "provider": "p"}
        value |= {"model": "m", "usage": {}, "stopReason": "stop"}
    return json.dumps(value).encode() + b"\n"


def write_session(agent: Path, cwd: Path, session: str, title: str = "", **header: Any) -> Path:
    """A version-3 session with one round, as Loop writes it."""
    folder = get_session_dir(cwd, agent) / session
    folder.mkdir(parents=True)
    body = message(title or "Hello there") + message("Done", "assistant")
    head = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": session,
        "cwd": os.path.realpath(cwd),
        "createdAt": NOW,
        "updatedAt": NOW,
        "unread": True,
        **header,
    }
    if title:
        head["title"] = {"text": title, "source": "user", "messageIndices": []}
    envelope = {
        "format": "loop-session",
        "version": 3,
        "header": head,
        "generation": hashlib.sha256(body).hexdigest(),
        "start": 0,
        "bytes": len(body),
        "messageCount": 2,
    }
    (folder / "messages.jsonl").write_bytes(body)
    (folder / "meta.json").write_text(json.dumps(envelope) + "\n")
    for path in folder.iterdir():
        path.chmod(0o600)
        os.utime(path, ns=(1_700_000_000_000_000_000, 1_700_000_000_123_456_789))
    return folder


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return tmp_path / "agent"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def open_service(agent: Path) -> Iterator[Callable[..., Service]]:
    opened: list[Service] = []

    def make(**options: Any) -> Service:
        given: dict[str, Any] = {"agent_dir": str(agent), "no_craft": True} | options
        service = Service.open(Options(**given))
        opened.append(service)
        service.scan()
        return service

    yield make
    for service in opened:
        service.close()


def by_id(service: Service, session: str) -> SessionRow:
    return next(row for row in service.snapshot.rows if row.id == session)


def tree_of(root: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(root))] = (status.st_mode, status.st_mtime_ns, content)
    return found


# --- naming


def row(session: str, path: str, *, trashed: int | None = None) -> SessionRow:
    form: Any = "loop2" if path.endswith(f"{session}.jsonl") else "loop3"
    return SessionRow(
        key=SessionKey("s", path),
        source="loop",
        form=form,
        id=session,
        path=path,
        project="p",
        trashed_ms=trashed,
    )


def test_resolve() -> None:
    rows = [
        row("aa1-x", "/c/aa1-x/meta.json"),
        row("aa2-x", "/c/aa2-x.jsonl"),
        row("b", "/c/b/meta.json"),
        row("b", "/d/b/meta.json"),
        row("gone", "/t/0/gone/meta.json", trashed=1),
        row("aa1-x", "/t/1/aa1-x/meta.json", trashed=2),
        row("aa1", "/e/aa1/meta.json"),
    ]

    def path_of(text: str) -> str:
        return resolve(rows, text).ref

    assert path_of("aa1-x") == "/c/aa1-x/meta.json"  # a live one before one in the trash
    assert path_of("aa1") == "/e/aa1/meta.json"  # a whole id before a prefix
    assert path_of("aa2") == "/c/aa2-x.jsonl"
    assert path_of("gone") == "/t/0/gone/meta.json"
    assert path_of("/c/aa1-x") == path_of("/c/aa1-x/meta.json") == "/c/aa1-x/meta.json"
    assert path_of("/c/../c/aa2-x.jsonl") == "/c/aa2-x.jsonl"
    assert path_of("/t/1/aa1-x") == "/t/1/aa1-x/meta.json"
    with pytest.raises(InvalidArgument, match="aa1-x, aa2-x, aa1"):
        resolve(rows, "aa")
    with pytest.raises(InvalidArgument, match=r"/c/b/meta\.json, /d/b/meta\.json"):
        resolve(rows, "b")
    for text in ("zzz", "/c", "/c/aa2-x", "/nowhere"):
        with pytest.raises(SessionNotFound):
            resolve(rows, text)
    with pytest.raises(InvalidArgument):
        resolve(rows, "")


# --- places


def test_nothing_there(open_service: Callable[..., Service], agent: Path, tmp_path: Path) -> None:
    """failures row 34: a missing store, a store that is a file, nothing at all."""
    service = open_service()
    assert service.snapshot.rows == ()
    assert service.empty_reason() == f"No sessions: {agent} does not exist."
    assert not agent.exists()
    agent.mkdir()
    assert "holds no session" in str(open_service().empty_reason())
    agent.rmdir()
    agent.write_text("a file")
    service = open_service()
    assert service.snapshot.rows == ()
    nothing = open_service(no_loop=True)
    assert nothing.empty_reason() == "No sessions: every source is switched off."
    assert nothing.undo().text == "Nothing to undo"


def test_own_places(
    open_service: Callable[..., Service], private_home: Path, tmp_path: Path
) -> None:
    named = dict(open_service().paths())
    assert named["state"] == str(private_home / ".local/state/loop-tui")
    assert named["settings"] == str(private_home / ".config/loop-tui")
    assert named["cache"] == str(private_home / ".cache/loop-tui")
    apart = open_service(base=str(tmp_path / "own"))
    for name in ("settings", "state", "cache"):
        assert dict(apart.paths())[name].startswith(str(tmp_path / "own"))
    assert not (tmp_path / "own").exists()


def test_looking_writes_nothing(
    open_service: Callable[..., Service], agent: Path, cwd: Path, private_home: Path
) -> None:
    """DESIGN invariant 2: scan, page, details, resolve and peeks change no store."""
    write_session(agent, cwd, IDS[0], "One")
    before = tree_of(agent)
    service = open_service()
    key = service.resolve(IDS[0])
    assert service.page(key).total == 2
    assert service.raw_page(key).messages[0]["content"] == "One"
    assert [index for index, _ in service.messages(key)] == [0, 1]
    assert next(iter(service.find(key, "DONE"))).message == 1
    assert service.details(key)
    assert service.capabilities(key).pin is None
    assert service.peek_undo() is None
    assert tree_of(agent) == before
    assert not (private_home / ".local/state/loop-tui").exists()


# --- actions


def test_triage_end_to_end(open_service: Callable[..., Service], agent: Path, cwd: Path) -> None:
    """failures rows 107, 111, 112: each action, seen in the snapshot at once, and undone."""
    for n in range(3):
        write_session(agent, cwd, IDS[n], f"S{n}")
    before = tree_of(agent)
    service = open_service()
    keys = [service.resolve(i) for i in IDS[:3]]
    assert service.act(keys[:1], Intent(do="pin")).text == "Pinned “S0”"
    assert by_id(service, IDS[0]).pinned_ms is not None
    service.act(keys[:2], Intent(do="read"))
    assert [by_id(service, i).unread for i in IDS[:3]] == [False, False, True]
    service.act(keys[1:], Intent(do="archive"))
    assert [by_id(service, i).archived for i in IDS[:3]] == [False, True, True]
    assert service.trash(keys[:2]).text == "Moved 2 sessions to the trash"
    assert [by_id(service, i).trashed_ms is None for i in IDS[:3]] == [False, False, True]
    trashed = service.resolve(IDS[0])
    assert trashed.ref.startswith("trash:")
    assert service.page(trashed).total == 2
    for of in ("trash", "archive", "read", "pin"):
        assert service.undo().of == of
    assert service.undo().text == "Nothing to undo"
    after = tree_of(agent)
    for name in ("meta.json", "messages.jsonl"):
        for path in (p for p in before if p.endswith(name)):
            assert after[path][0] == before[path][0]
            assert after[path][2] == before[path][2]
    for of in ("pin", "read", "archive", "trash"):
        assert service.redo().of == of
    assert sum(row.trashed_ms is not None for row in service.snapshot.rows) == 2


def test_delete_and_undo_is_byte_exact(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    """failures rows 92, 104, across restarts: bytes, modes, times, nested files, traces."""
    first = write_session(agent, cwd, IDS[0], "A")
    write_session(agent, cwd, IDS[1], "B")
    (first / "agents" / "one").mkdir(parents=True)
    (first / "agents" / "one" / "log").write_bytes(b"\x00\xff")
    (first / "agents").chmod(0o711)
    os.utime(first / "agents", ns=(7, 1_600_000_000_000_000_007))
    traces = agent / "traces" / first.parent.name / IDS[0]
    traces.mkdir(parents=True)
    (traces / "segment-1").write_bytes(b"t" * 100)
    (first.parent / f"{IDS[0]}.jsonl").write_text("the version-2 backup\n")
    before = tree_of(agent)
    for session in IDS[:2]:
        service = open_service()
        assert service.trash([service.resolve(session)]).ok
    assert not first.exists()
    assert not traces.exists()
    assert not (first.parent / f"{IDS[0]}.jsonl").exists()
    for session in reversed(IDS[:2]):
        assert [done.id for done in open_service().undo().done] == [session]
    after = tree_of(agent)
    moved_under = {str(p.relative_to(agent)) for p in (first.parent, traces.parent)}
    ignore = {"sessions", "traces", "loop-tui-trash", *moved_under}
    assert {k: v for k, v in after.items() if k not in ignore} == {
        k: v for k, v in before.items() if k not in ignore
    }


def test_archived_and_deleted_comes_back_archived(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    folder = write_session(agent, cwd, IDS[0], "A")
    index = folder.parent / "archive.json"
    index.write_text(json.dumps([IDS[0], IDS[5]]))
    service = open_service()
    service.trash([service.resolve(IDS[0])])
    assert json.loads(index.read_text()) == [IDS[5]]
    service.restore([service.resolve(IDS[0])])
    assert set(json.loads(index.read_text())) == {IDS[0], IDS[5]}
    assert by_id(service, IDS[0]).archived


def test_restore_refused_when_the_id_is_there(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    """failures row 96."""
    write_session(agent, cwd, IDS[0], "old")
    service = open_service()
    service.trash([service.resolve(IDS[0])])
    write_session(agent, cwd, IDS[0], "new")
    outcome = service.undo()
    assert "exists there again" in outcome.failed[0].reason
    service.scan()
    titles = {row.title: row.trashed_ms is None for row in service.snapshot.rows}
    assert titles == {"old": False, "new": True}


def test_a_live_trace_lock_refuses(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    """failures row 103: two go, the owned one stays with its reason."""
    folders = [write_session(agent, cwd, IDS[n], f"S{n}") for n in range(3)]
    traces = agent / "traces" / folders[1].parent.name / IDS[1]
    traces.mkdir(parents=True)
    (traces / "lock").write_text(str(os.getpid()))
    service = open_service()
    outcome = service.trash([service.resolve(i) for i in IDS[:3]])
    assert {done.id for done in outcome.done} == {IDS[0], IDS[2]}
    assert [failed.id for failed in outcome.failed] == [IDS[1]]
    assert folders[1].exists()
    assert (traces / "lock").exists()


def test_purge_archived_and_trashed(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    folders = [write_session(agent, cwd, IDS[n], f"S{n}") for n in range(3)]
    service = open_service()
    service.trash([service.resolve(IDS[0])])
    service.act([service.resolve(IDS[1])], Intent(do="archive"))
    outcome = service.purge([service.resolve(i) for i in IDS[:3]])
    assert {done.id for done in outcome.done} == set(IDS[:2])
    assert [failed.id for failed in outcome.failed] == [IDS[2]]
    assert [row.id for row in service.snapshot.rows] == [IDS[2]]
    assert not folders[1].exists()
    assert not os.listdir(agent / "loop-tui-trash")


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system that is not the one of `tmp_path`."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system here")
    folder = Path(tempfile.mkdtemp(dir=memory))
    yield folder
    shutil.rmtree(folder)


def test_traces_on_another_disk(
    open_service: Callable[..., Service], agent: Path, cwd: Path, other_disk: Path
) -> None:
    """failures rows 100, 109: they move within their own file system, as part of the entry."""
    folder = write_session(agent, cwd, IDS[0], "A")
    for traces in (other_disk / folder.parent.name / IDS[0], other_disk / IDS[0]):
        traces.mkdir(parents=True)
        (traces / "segment").write_bytes(b"t" * 1000)
    before = tree_of(other_disk)
    service = open_service(trace_dir=str(other_disk))
    assert service.trash([service.resolve(IDS[0])]).ok
    moved = [p for p in other_disk.rglob("segment") if ".loop-tui-trash" in p.parts]
    assert len(moved) == 1
    assert service.undo().ok
    after = tree_of(other_disk)
    assert {k: v[2] for k, v in after.items()} == {k: v[2] for k, v in before.items()}
    assert service.redo().ok
    assert service.purge([service.resolve(IDS[0])]).ok
    assert len(list(other_disk.rglob("segment"))) == 1
    assert not list(other_disk.rglob(".loop-tui-trash"))


def test_sessions_on_another_disk_than_the_agent_directory(
    open_service: Callable[..., Service], agent: Path, cwd: Path, other_disk: Path
) -> None:
    """A linked sessions folder: the session stays on its file system and comes back."""
    write_session(other_disk, cwd, IDS[0], "A")
    agent.mkdir()
    (agent / "sessions").symlink_to(other_disk / "sessions")
    before = tree_of(other_disk)
    service = open_service()
    outcome = service.trash([service.resolve(IDS[0])])
    if outcome.ok:
        assert service.undo().ok
    after = tree_of(other_disk)
    assert {k: v for k, v in after.items() if v[2]} == {k: v for k, v in before.items() if v[2]}


def test_read_only_touches_nothing(
    open_service: Callable[..., Service], agent: Path, cwd: Path, private_home: Path
) -> None:
    write_session(agent, cwd, IDS[0], "A")
    before = tree_of(agent)
    service = open_service(read_only=True)
    key = service.resolve(IDS[0])
    acts: list[Callable[[], Any]] = [
        lambda: service.act([key], Intent(do="pin")),
        lambda: service.trash([key]),
        lambda: service.restore([key]),
        lambda: service.purge([key], force=True),
        service.undo,
        service.redo,
    ]
    for act in acts:
        with pytest.raises(ReadOnly):
            act()
    assert tree_of(agent) == before
    assert not (private_home / ".local/state/loop-tui").exists()


def test_the_owner_takes_a_pin_back(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    """loop-format "Our decisions" 4: a running Loop saves its own header over ours."""
    folder = write_session(agent, cwd, IDS[0], "A")
    owner_keeps = (folder / "meta.json").read_text()
    service = open_service()
    key = service.resolve(IDS[0])
    service.act([key], Intent(do="pin"))
    assert service.look([key]) == []
    temporary = folder / "meta.json.1.tmp"
    temporary.write_text(owner_keeps)
    temporary.replace(folder / "meta.json")
    assert [found.text for found in service.look([key])] == ["its program has taken back the pin"]
    assert service.undo().ok  # it is as before already


def test_collections_named_by_hand(
    open_service: Callable[..., Service], agent: Path, cwd: Path, tmp_path: Path
) -> None:
    """A collection beside the agent directory has its trash beside itself."""
    source = write_session(agent, cwd, IDS[0], "A").parent
    shelf = tmp_path / "shelf" / "chats"
    shutil.copytree(source, shelf)
    shutil.rmtree(agent)
    service = open_service(sessions=(str(shelf),), no_loop=True)
    key = service.resolve(IDS[0])
    assert service.resolve(str(shelf / IDS[0])) == key
    assert service.trash([key]).ok
    assert os.listdir(tmp_path / "shelf" / ".loop-tui-trash")
    assert service.undo().ok
    assert (shelf / IDS[0] / "meta.json").exists()


def test_version_2_files(
    open_service: Callable[..., Service], agent: Path, cwd: Path, loop_data: Path
) -> None:
    """Pin changes line 1 only; delete and undo give the same file; nothing migrates."""
    folder = get_session_dir(cwd, agent)
    folder.mkdir(parents=True)
    head = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": IDS[0],
        "cwd": os.path.realpath(cwd),
        "createdAt": NOW,
        "updatedAt": NOW,
    }
    path = folder / f"{IDS[0]}.jsonl"
    path.write_bytes(json.dumps(head).encode() + b"\n" + message("Hi"))
    before = path.read_bytes()
    service = open_service()
    key = service.resolve(IDS[0])
    service.act([key], Intent(do="pin"))
    assert path.read_bytes().partition(b"\n")[2] == before.partition(b"\n")[2]
    assert service.undo().ok
    assert path.read_bytes() == before
    service.trash([key])
    assert not path.exists()
    service.undo()
    assert path.read_bytes() == before
    assert [p.name for p in folder.iterdir()] == [path.name]


def test_craft_sessions(
    open_service: Callable[..., Service], craft_data: Path, tmp_path: Path
) -> None:
    """failures rows 92, 111, 115: Craft-Agents folders, all actions, there and back."""
    root = tmp_path / "golden"
    shutil.copytree(craft_data / "tree", root, symlinks=True)
    config = root / "home" / ".craft-agent"
    for path in config.rglob("config.json"):
        path.write_text(path.read_text().replace("<ROOT>", str(root)))
    service = open_service(no_loop=True, no_craft=False, craft_dirs=(str(config),))
    rows = [r for r in service.snapshot.rows if r.problem is None and "/demo/" in r.path]
    assert rows
    row = next(r for r in rows if not r.archived)
    folder = Path(row.path).parent
    before = tree_of(folder)
    assert service.act([row.key], Intent(do="archive")).ok
    header = json.loads(Path(row.path).read_bytes().partition(b"\n")[0])
    assert header["isArchived"] is True
    assert header["archivedAt"] > 1_600_000_000_000
    assert service.undo().ok
    assert {k: (m, c) for k, (m, _, c) in tree_of(folder).items()} == {
        k: (m, c) for k, (m, _, c) in before.items()
    }
    before = tree_of(folder)
    assert service.trash([row.key]).ok
    assert not folder.exists()
    assert service.undo().ok
    assert tree_of(folder) == before
    assert service.snapshot.rows


def test_two_stores_one_of_them_gone(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    service = open_service()
    stranger = SessionKey("loop:/nowhere", "x")
    with pytest.raises(InvalidArgument, match="no open store"):
        service.page(stranger)
    outcome = service.trash([stranger])
    assert outcome.failed
    assert outcome.done == ()


def test_watching_sees_an_outside_change(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    write_session(agent, cwd, IDS[0], "A")
    service = open_service()
    stop, seen = threading.Event(), threading.Event()

    def watch() -> None:
        for changes in service.watch(stop):
            service.scan() if changes.everything else service.refresh(changes.paths)
            if any(row.id == IDS[1] for row in service.snapshot.rows):
                seen.set()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        folder = write_session(agent, cwd, IDS[1], "B")
        for _ in range(100):  # the watcher may not have been ready for the first
            if seen.wait(0.1):
                break
            (folder / "meta.json").touch()
        assert seen.is_set()
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()


_MOVER = """
import sys
from loop_tui.service import Options, Service
service = Service.open(Options(agent_dir=sys.argv[1], no_craft=True))
service.scan()
print("ready", flush=True)
while True:
    live = [r.key for r in service.snapshot.rows if r.trashed_ms is None]
    service.trash(live)
    service.undo()
"""


def _kills(open_service: Callable[..., Service], agent: Path, cwd: Path, count: int) -> None:
    for n in range(3):
        folder = write_session(agent, cwd, IDS[n], f"S{n}")
        (folder.parent / f"{IDS[n]}.jsonl").write_text("backup\n")
    (folder.parent / "archive.json").write_text(json.dumps([IDS[0]]))
    whole = {k: v for k, v in tree_of(agent).items() if v[2] and "archive.json" not in k}
    chance = random.Random(11)
    for _ in range(count):
        command = [sys.executable, "-c", _MOVER, str(agent)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0, 0.08))
            child.kill()
        service = open_service()
        assert sorted(r.id for r in service.snapshot.rows) == IDS[:3]
        assert service.snapshot.problems == ()
        trashed = [r.key for r in service.snapshot.rows if r.trashed_ms is not None]
        if trashed:
            assert service.restore(trashed).ok
        now = {k: v for k, v in tree_of(agent).items() if v[2] and "archive.json" not in k}
        assert now == whole
        assert json.loads((folder.parent / "archive.json").read_text()) == [IDS[0]]
        assert open_service().recovered == ()


def test_killed_at_any_time(open_service: Callable[..., Service], agent: Path, cwd: Path) -> None:
    """A program killed while it moves sessions: the next start is clean, nothing is lost."""
    _kills(open_service, agent, cwd, 6)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_killed_at_any_time_long(
    open_service: Callable[..., Service], agent: Path, cwd: Path
) -> None:
    _kills(open_service, agent, cwd, 500)


_OPERATIONS = ["pin", "unpin", "archive", "restore", "read", "unread", "trash", "undo", "redo"]


def _state_of(agent: Path) -> tuple[Any, ...]:
    """Headers, membership and place of every session, wherever it lies."""
    found = []
    for path in sorted(agent.rglob("meta.json"), key=lambda p: p.parent.name):
        header = json.loads(path.read_text())["header"]
        kept = json.dumps(header, sort_keys=True)
        found.append((path.parent.name, kept, "loop-tui-trash" in path.parts))
    members: set[str] = set()
    for path in agent.rglob("archive.json"):
        members |= set(json.loads(path.read_text()))
    for path in agent.rglob("manifest.json"):
        entry = json.loads(path.read_text())
        members |= {entry["session"]} if entry["archived"] else set()
    return (*found, tuple(sorted(members)))


@given(
    st.lists(
        st.tuples(st.sampled_from(_OPERATIONS), st.sets(st.integers(0, 2), min_size=1)),
        max_size=20,
    )
)
@settings(max_examples=10)
def test_any_order_of_actions_can_be_taken_back(
    steps: list[tuple[Any, set[int]]],
) -> None:
    """On Loop's own files, against a stack of whole states; a restart at each third step."""
    with tempfile.TemporaryDirectory() as folder:
        agent, cwd = Path(folder) / "agent", Path(folder) / "cwd"
        cwd.mkdir()
        for n in range(3):
            write_session(agent, cwd, IDS[n], f"S{n}")
        options = Options(agent_dir=str(agent), no_craft=True, base=str(Path(folder) / "own"))
        service = Service.open(options)
        past: list[tuple[Any, ...]] = []
        future: list[tuple[Any, ...]] = []
        now = _state_of(agent)
        for number, (do, which) in enumerate(steps):
            if number % 3 == 0:
                service = Service.open(options)
                service.scan()
            if do in ("undo", "redo"):
                outcome = service.undo() if do == "undo" else service.redo()
                source, target = (past, future) if do == "undo" else (future, past)
                assert bool(outcome.done) == bool(source)
                assert outcome.ok
                if source:
                    target.append(now)
                    now = source.pop()
                assert _state_of(agent) == now
                continue
            keys = [service.resolve(IDS[n]) for n in sorted(which)]
            if do == "trash":
                outcome = service.trash(keys)
            elif do == "restore":
                outcome = service.restore(keys)
            else:
                outcome = service.act(keys, Intent(do=do))
            after = _state_of(agent)
            assert outcome.undoable == (after != now)
            if after != now:
                past.append(now)
                future.clear()
                now = after
        while past:
            assert service.undo().ok
            assert _state_of(agent) == past.pop()
