"""One contract over every kind of manager: on disk, migrated, draft, in memory."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import (
    Conflict,
    InvalidArgument,
    InvalidSession,
    PendingSave,
    SessionNotFound,
    StaleRevision,
    StorageFailed,
    UnsupportedSession,
)
from loop_core.loop.check import check
from loop_core.loop.manager import KEEP, SessionManager

KINDS = ("disk", "migrated", "draft", "memory")
ON_DISK = ("disk", "migrated")
LEGACY_ID = "0a1b2c3d-0000-4000-8000-00000000abcd"
TITLE = {"text": "A title", "source": "user", "messageIndices": []}


def legacy_file(folder: Path, *messages: Any, **header: Any) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{LEGACY_ID}.jsonl"
    stored = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": LEGACY_ID,
        "cwd": "/tmp",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "unread": False,
        **header,
    }
    path.write_text(
        "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (stored, *messages))
    )
    return path


def make(kind: str, folder: Path) -> SessionManager:
    if kind == "memory":
        return SessionManager.in_memory("/tmp")
    if kind == "draft":
        return SessionManager.draft("/tmp", folder)
    if kind == "disk":
        return SessionManager.create("/tmp", folder)
    return SessionManager.open(legacy_file(folder))


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture(params=KINDS)
def manager(request: pytest.FixtureRequest, collection: Path) -> SessionManager:
    return make(request.param, collection)


@pytest.fixture(params=ON_DISK)
def stored(request: pytest.FixtureRequest, collection: Path) -> SessionManager:
    return make(request.param, collection)


def meta(manager: SessionManager) -> dict[str, Any]:
    assert manager.session_file is not None
    value: dict[str, Any] = json.loads(manager.session_file.read_bytes())
    return value


def log(manager: SessionManager) -> bytes:
    assert manager.session_file is not None
    return (manager.session_file.parent / "messages.jsonl").read_bytes()


def reopened(manager: SessionManager) -> SessionManager:
    assert manager.session_file is not None
    return SessionManager.open(manager.session_file)


def is_unread(manager: SessionManager) -> bool:
    return manager.unread


def same_after_reopening(manager: SessionManager) -> None:
    """What a fresh manager reads is what this one says."""
    if manager.session_file is None or not manager.session_file.exists():
        return
    other = reopened(manager)
    assert other.messages == manager.messages
    assert other.get_header() == manager.get_header()
    assert other.unread == manager.unread
    assert other.read_history() == manager.read_history()
    folder = manager.session_file.parent
    assert {path.name for path in folder.iterdir()} <= {
        "meta.json",
        "messages.jsonl",
        "index.json",
    }


# --- the contract


def test_a_new_session(manager: SessionManager) -> None:
    header = manager.get_header()
    assert list(header) == [
        "format",
        "version",
        "permissionPreset",
        "id",
        "cwd",
        "createdAt",
        "updatedAt",
        "unread",
    ]
    assert header["createdAt"] == header["updatedAt"]
    assert header["permissionPreset"] == "read-only"
    assert (manager.session_id, manager.cwd) == (header["id"], "/tmp")
    assert manager.messages == []
    assert not is_unread(manager)
    assert not manager.has_pending_save
    page = manager.read_history()
    assert (page.messages, page.start, page.end, page.total) == ([], 0, 0, 0)


def test_appending(manager: SessionManager, say: Any) -> None:
    history = [say.user("one")]
    manager.commit(history)
    assert not is_unread(manager)
    history += [say.call(), say.result(), say.agent()]
    manager.commit(history)
    assert manager.messages == history
    assert is_unread(manager)
    assert manager.get_header()["title"] == {
        "text": "one",
        "source": "fallback",
        "messageIndices": [0],
    }
    same_after_reopening(manager)


def test_what_is_handed_out_is_a_copy(manager: SessionManager, say: Any) -> None:
    history = [say.user("one")]
    manager.commit(history, [{"userTurn": 0, "content": "x", "timestamp": 1}])
    history[0]["content"] = "changed"
    manager.messages[0]["content"] = "changed"
    manager.get_header()["id"] = "changed"
    manager.get_runtime_contexts()[0]["content"] = "changed"
    assert manager.messages == [say.user("one")]
    assert manager.session_id != "changed"
    assert manager.get_runtime_contexts()[0]["content"] == "x"


def test_replacing_and_truncating(manager: SessionManager, say: Any) -> None:
    manager.commit([say.user("one"), say.agent("first"), say.user("two")])
    manager.mark_read(3)
    manager.commit([say.user("one"), say.agent("second"), say.user("two")])
    assert not is_unread(manager)  # nothing new behind the old length
    assert [message.get("content") for message in manager.messages][0::2] == ["one", "two"]
    same_after_reopening(manager)
    manager.commit([say.user("one")])
    assert not is_unread(manager)
    same_after_reopening(manager)
    manager.commit([])
    assert manager.messages == []
    same_after_reopening(manager)
    manager.commit([say.user("again")])
    same_after_reopening(manager)


def test_equal_values_are_no_replacement(stored: SessionManager, say: Any) -> None:
    """1 and 1.0 are one number, key order is free: the stored bytes stay."""
    stored.commit([say.user("one", timestamp=1), say.user("two", extra={"a": 1, "b": [-0.0]})])
    before = log(stored)
    stored.commit(
        [
            {"timestamp": 1.0, "content": "one", "role": "user"},
            say.user("two", extra={"b": [0], "a": 1.0}),
            say.user("three"),
        ]
    )
    assert log(stored).startswith(before)
    assert log(stored).count(b"\n") == 3
    assert meta(stored)["start"] == 0
    stored.commit([say.user("one", timestamp=2)])
    assert meta(stored)["start"] == len(before) + len(log(stored).split(b"\n")[2]) + 1


def test_true_is_not_one(stored: SessionManager, say: Any) -> None:
    stored.commit([say.user("one", extra=1)])
    stored.commit([say.user("one", extra=True)])
    assert stored.messages == [say.user("one", extra=True)]
    assert stored.messages[0]["extra"] is True
    assert log(stored).count(b"\n") == 2


def test_arrays_are_kept_replaced_and_removed(manager: SessionManager, say: Any) -> None:
    history = [say.user("one"), say.agent(), say.user("two")]
    contexts = [{"userTurn": 0, "content": "c", "timestamp": 1}]
    timings = [{"userMessageIndex": 0, "startedAt": 1, "finishedAt": 2}]
    usage = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0)
    compactions = [
        {
            "id": LEGACY_ID,
            "firstKeptMessageIndex": 2,
            "historyMessageCount": 3,
            "summary": "s",
            "timestamp": 1,
            "provider": "p",
            "model": "m",
            "usage": usage,
        }
    ]
    checkpoints = [{"messageCount": 1, "timestamp": 1, "sections": {"a": "b"}}]
    manager.commit(
        history,
        contexts,
        timings,
        compactions=compactions,
        system_prompt_checkpoints=checkpoints,
    )
    manager.commit(history)
    assert manager.get_runtime_contexts() == contexts
    assert manager.get_prompt_timings() == timings
    assert manager.get_compactions() == compactions
    assert manager.get_system_prompt_checkpoints() == checkpoints
    same_after_reopening(manager)
    manager.commit(history, [], KEEP, compactions=[])
    assert manager.get_runtime_contexts() == manager.get_compactions() == []
    assert manager.get_prompt_timings() == timings
    assert "runtimeContexts" not in manager.get_header()
    same_after_reopening(manager)


@pytest.mark.parametrize(
    "arrays",
    [
        {"runtime_contexts": [{"userTurn": 2, "content": "c", "timestamp": 1}]},
        {"prompt_timings": [{"userMessageIndex": 5, "startedAt": 1, "finishedAt": 2}]},
        {"compactions": [{}]},
        {"system_prompt_checkpoints": [{"messageCount": 9, "timestamp": 1, "sections": {}}]},
        {"prompt_timings": None},
        {"prompt_timings": "no"},
        {"prompt_timings": [object()]},
    ],
)
def test_arrays_that_do_not_fit_change_nothing(
    manager: SessionManager, say: Any, arrays: dict[str, Any]
) -> None:
    manager.commit([say.user("one")])
    before = manager.get_header()
    with pytest.raises(InvalidArgument):
        manager.commit([say.user("one"), say.user("two")], **arrays)
    assert not manager.has_pending_save
    assert manager.get_header() == before
    assert manager.messages == [say.user("one")]
    manager.commit([say.user("one"), say.user("two")])


def test_kept_arrays_have_to_fit_too(manager: SessionManager, say: Any) -> None:
    timings = [{"userMessageIndex": 1, "startedAt": 1, "finishedAt": 2}]
    manager.commit([say.user("one"), say.user("two")], KEEP, timings)
    with pytest.raises(InvalidArgument):
        manager.commit([say.user("one")])
    manager.commit([say.user("one")], KEEP, [])
    same_after_reopening(manager)


@pytest.mark.parametrize("messages", [None, "text", [{1, 2}], [object()]])
def test_messages_that_are_no_json(manager: SessionManager, messages: Any) -> None:
    with pytest.raises(InvalidArgument):
        manager.commit(messages)
    assert not manager.has_pending_save


def test_an_invalid_message_leaves_the_save_pending(manager: SessionManager, say: Any) -> None:
    manager.commit([say.user("one")])
    before = manager.get_header()
    with pytest.raises(InvalidSession):
        manager.commit([say.user("one"), say.call()])
    assert manager.has_pending_save
    assert is_unread(manager)  # the pending flag
    assert len(manager.messages) == 2
    assert manager.get_header() == before
    with pytest.raises(InvalidSession):
        manager.flush()
    actions: list[Callable[[], object]] = [
        lambda: manager.commit([say.user("one")]),
        lambda: manager.mark_read(1),
        lambda: manager.mark_read(0),
        manager.mark_unread,
        lambda: manager.set_model("p", "m"),
        lambda: manager.set_permission_preset("read-only"),
    ]
    for refused in actions:
        with pytest.raises(PendingSave):
            refused()
    assert manager.set_pinned(True) is not None
    assert manager.set_title(TITLE)
    assert manager.get_header()["title"] == TITLE


def test_pinning(manager: SessionManager, say: Any) -> None:
    manager.commit([say.user("one")])
    before = manager.get_header()
    stamp = manager.set_pinned(True)
    assert manager.set_pinned(True) == stamp == manager.get_header()["pinnedAt"]
    same_after_reopening(manager)
    assert manager.set_pinned(False) is None
    assert manager.get_header() == before  # updatedAt too
    with pytest.raises(InvalidArgument):
        manager.set_pinned(1)  # type: ignore[arg-type]


def test_reading_and_unreading(manager: SessionManager, say: Any) -> None:
    assert manager.mark_read(0) is False
    with pytest.raises(InvalidArgument):
        manager.mark_unread()
    manager.commit([say.user("one"), say.agent()])
    updated = manager.get_header()["updatedAt"]
    assert manager.mark_read(1) is False
    assert is_unread(manager)
    assert manager.mark_read(2) is True
    assert not is_unread(manager)
    assert manager.mark_read(2) is True
    assert manager.mark_read(2.0) is True  # type: ignore[arg-type]
    for wrong in (-1, 1.5, "2", None, True, 2**53):
        with pytest.raises(InvalidArgument):
            manager.mark_read(wrong)  # type: ignore[arg-type]
    assert manager.mark_unread() is True
    assert is_unread(manager)
    assert manager.mark_unread() is True
    assert manager.get_header()["updatedAt"] == updated
    same_after_reopening(manager)
    manager.commit([say.user("one"), say.agent()])
    assert is_unread(manager)  # saving the same again keeps the flag
    manager.mark_read(2)
    manager.commit([say.user("one"), say.agent(), say.user("two")])
    assert not is_unread(manager)
    manager.commit([say.user("one"), say.agent(), say.user("two"), say.agent()])
    assert is_unread(manager)


def test_titles(manager: SessionManager, say: Any) -> None:
    manager.commit([say.user("one")])
    updated = manager.get_header()["updatedAt"]
    assert manager.set_title(TITLE)
    assert manager.get_header()["title"] == TITLE
    assert manager.get_header()["updatedAt"] == updated
    same_after_reopening(manager)
    for wrong in ({}, {**TITLE, "text": " "}, {**TITLE, "source": "x"}, None):
        with pytest.raises(InvalidArgument):
            manager.set_title(wrong)  # type: ignore[arg-type]
    other = {**TITLE, "text": "Another"}
    assert not manager.set_title(other, lambda: False)
    assert manager.get_header()["title"] == TITLE
    answers = [True, False]
    assert not manager.set_title(other, lambda: answers.pop(0))
    assert answers == []
    assert manager.get_header()["title"] == TITLE
    assert manager.set_title(other, lambda: True)
    assert manager.get_header()["title"] == other
    same_after_reopening(manager)


def test_a_title_refused_late_was_never_there(manager: SessionManager, say: Any) -> None:
    manager.commit([say.user("one")])
    answers = [True, False]
    assert not manager.set_title(TITLE, lambda: answers.pop(0))
    assert manager.get_header()["title"]["source"] == "fallback"

    def fail() -> bool:
        if not answers:
            answers.append(True)
            return True
        raise RuntimeError("host failed")

    with pytest.raises(RuntimeError):
        manager.set_title(TITLE, fail)
    assert manager.get_header()["title"]["source"] == "fallback"
    same_after_reopening(manager)


def test_model_and_preset(manager: SessionManager, say: Any) -> None:
    manager.commit([say.user("one")])
    before = manager.get_header()["updatedAt"]
    time.sleep(0.002)
    manager.set_model("p", "m", "default")
    assert manager.get_header()["model"] == {"provider": "p", "id": "m"}
    assert manager.get_header()["updatedAt"] > before
    manager.set_model("p", "m", "high")
    assert manager.get_header()["model"] == {"provider": "p", "id": "m", "effort": "high"}
    manager.set_permission_preset("workspace-write")
    assert manager.get_header()["permissionPreset"] == "workspace-write"
    same_after_reopening(manager)
    actions: list[Callable[[], object]] = [
        lambda: manager.set_model("p", "m", "extreme"),
        lambda: manager.set_model("p", 1),  # type: ignore[arg-type]
        lambda: manager.set_permission_preset("all"),
    ]
    for refused in actions:
        with pytest.raises(InvalidArgument):
            refused()


def test_pages(manager: SessionManager, say: Any) -> None:
    history = [message for n in range(7) for message in (say.user(str(n)), say.agent())]
    manager.commit([say.agent("before"), *history])
    everything = manager.messages
    page = manager.read_history()
    assert (page.start, page.end, page.total) == (9, 15, 15)
    assert page.messages == everything[9:]
    seen = page.messages
    while page.start:
        page = manager.read_history(page.start, page.revision, rounds=2)
        seen = page.messages + seen
    assert seen == everything
    for wrong in (0, -1, 2, 16, 1.5, True, "3"):
        with pytest.raises(InvalidArgument):
            manager.read_history(wrong)  # type: ignore[arg-type]
    with pytest.raises(StaleRevision):
        manager.read_history(revision="0" * 64)
    before = manager.read_history().revision
    manager.commit([*everything, say.user("more")])
    with pytest.raises(StaleRevision):
        manager.read_history(revision=before)


def test_one_after_the_other_from_many_threads(manager: SessionManager, say: Any) -> None:
    manager.commit([say.user("one"), say.agent()])
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(5):
                manager.set_pinned(bool((number + step) % 2))
                manager.mark_read(2)
                manager.mark_unread()
                manager.set_title({**TITLE, "text": f"{number}-{step}"})
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    manager.wait_for_writes()
    assert failures == []
    assert manager.messages == [say.user("one"), say.agent()]
    same_after_reopening(manager)


# --- on disk


def test_a_draft_writes_nothing_before_its_first_user_message(collection: Path, say: Any) -> None:
    manager = SessionManager.draft("/tmp", collection)
    promised = manager.session_file
    manager.set_pinned(True)
    manager.set_title(TITLE)
    manager.set_model("p", "m")
    manager.commit([say.agent()])
    assert not collection.exists()
    assert manager.messages == [say.agent()]
    header = manager.get_header()
    manager.commit([say.agent(), say.user("one")])
    assert manager.session_file == promised
    assert promised is not None
    assert promised.exists()
    after = manager.get_header()
    assert {**after, "updatedAt": header["updatedAt"]} == header
    same_after_reopening(manager)


def test_in_memory_has_no_place(say: Any) -> None:
    manager = SessionManager.in_memory()
    assert manager.session_file is None
    assert manager.get_session_dir() is None
    assert manager.cwd == os.path.realpath(".")


def test_what_create_writes(collection: Path) -> None:
    before = os.umask(0)
    try:
        manager = SessionManager.create("/tmp", collection)
    finally:
        os.umask(before)
    file = manager.session_file
    assert file is not None
    assert manager.get_session_dir() == collection
    assert file == collection / manager.session_id / "meta.json"
    assert {path.name for path in file.parent.iterdir()} == {"meta.json", "messages.jsonl"}
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(collection.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}
    value = meta(manager)
    assert list(value) == [
        "format",
        "version",
        "header",
        "generation",
        "start",
        "bytes",
        "messageCount",
    ]
    assert (value["format"], value["version"]) == ("loop-session", 3)
    assert value["generation"].startswith("e3b0c442")
    assert (value["start"], value["bytes"], value["messageCount"]) == (0, 0, 0)
    assert b": " not in file.read_bytes()
    assert file.read_bytes().endswith(b"}\n")


def test_the_default_collection_is_loops(private_home: Path) -> None:
    manager = SessionManager.create("/tmp")
    assert manager.get_session_dir() == (
        private_home / ".loop" / "sessions" / "e9671acd244849c57167c658"
    )
    assert [info.id for info in SessionManager.list("/tmp")] == [manager.session_id]
    assert SessionManager.continue_recent("/tmp").session_id == manager.session_id
    assert SessionManager.continue_recent("/").session_id != manager.session_id


def test_a_generation_replaced_lies_behind_the_old_bytes(stored: SessionManager, say: Any) -> None:
    stored.commit([say.user("one"), say.agent()])
    old = log(stored)
    stored.commit([say.user("other")])
    value = meta(stored)
    assert log(stored)[: len(old)] == old
    assert value["start"] == len(old)
    assert value["bytes"] == len(log(stored)) - len(old)
    stored.commit([say.user("other"), say.user("more")])
    assert meta(stored)["start"] == len(old)


def test_an_old_tail_is_cut_a_young_one_is_a_conflict(stored: SessionManager, say: Any) -> None:
    """failures row 53: a second writer in the middle of a save is noticed"""
    stored.commit([say.user("one")])
    committed = log(stored)
    assert stored.session_file is not None
    path = stored.session_file.parent / "messages.jsonl"
    with path.open("ab") as file:
        file.write(b'{"role":"us')
    with pytest.raises(Conflict):
        stored.commit([say.user("one"), say.user("two")])
    assert stored.has_pending_save
    assert path.read_bytes() == committed + b'{"role":"us'
    os.utime(path, (time.time() - 6,) * 2)
    stored.flush()
    assert path.read_bytes().startswith(committed + b'{"role":"user","content":"two"')
    same_after_reopening(stored)


@pytest.mark.parametrize("already_open", [True, False])
def test_a_commit_hidden_by_a_kill_is_not_taken_for_a_tail(
    stored: SessionManager, say: Any, already_open: bool
) -> None:
    """Our older text is in meta.json, the newest commit of Loop in our temporary."""
    import hashlib

    stored.commit([say.user("one")])
    file = stored.session_file
    assert file is not None
    read = file.read_bytes()
    ours = reopened(stored)
    ours.set_pinned(True)
    written = file.read_bytes()
    file.write_bytes(read)
    reopened(stored).commit([say.user("one"), say.agent("theirs")])
    name = (
        f".loop-tui-swap.{hashlib.sha256(b'meta.json').hexdigest()[:12]}"
        f"-{hashlib.sha256(read).hexdigest()}-{hashlib.sha256(written).hexdigest()}"
        f".{'0' * 32}.tmp"
    )
    file.rename(file.with_name(name))
    file.write_bytes(written)
    os.utime(file.with_name("messages.jsonl"), (time.time() - 60,) * 2)
    if already_open:
        with pytest.raises(Conflict):
            ours.commit([say.user("one"), say.user("ours")])
    else:
        ours = reopened(stored)
        ours.commit([*ours.messages, say.user("ours")])
    final = reopened(stored)
    assert final.messages[:2] == [say.user("one"), say.agent("theirs")]
    same_after_reopening(final)


def test_another_commit_is_a_conflict_and_loses_nothing(stored: SessionManager, say: Any) -> None:
    """failures row 53"""
    stored.commit([say.user("one")])
    other = reopened(stored)
    other.commit([say.user("one"), say.agent("theirs")])
    attempts: list[Callable[[], object]] = [
        lambda: stored.commit([say.user("one"), say.user("ours")]),
        stored.flush,
    ]
    for attempt in attempts:
        with pytest.raises(Conflict):
            attempt()
    assert reopened(stored).messages == [say.user("one"), say.agent("theirs")]


def test_header_changes_of_others_are_kept(stored: SessionManager, say: Any) -> None:
    stored.commit([say.user("one")])
    other = reopened(stored)
    other.set_title(TITLE)
    other.set_pinned(True)
    stored.set_model("p", "m")
    stored.commit([say.user("one"), say.agent()])
    header = stored.get_header()
    assert header["title"] == TITLE
    assert "pinnedAt" in header
    assert header["model"] == {"provider": "p", "id": "m"}
    assert header["unread"] is True
    same_after_reopening(stored)


def test_a_read_mark_needs_the_history_on_disk(stored: SessionManager, say: Any) -> None:
    stored.commit([say.user("one"), say.agent()])
    reopened(stored).commit([say.user("one"), say.agent(), say.agent("unseen")])
    assert stored.mark_read(2) is False
    assert reopened(stored).unread


def test_opening_changes_nothing(collection: Path, say: Any) -> None:
    """failures row 62"""
    manager = make("disk", collection)
    manager.commit([say.user("one")])
    assert manager.session_file is not None
    folder = manager.session_file.parent
    os.utime(manager.session_file, (1, 1))

    def state() -> list[tuple[str, bytes, int]]:
        return sorted(
            (path.name, path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()
        )

    before = state()
    other = reopened(manager)
    other.read_history()
    assert other.mark_read(1) is True
    SessionManager.list(None, collection)
    assert state() == before


def test_read_history_publishes_a_better_index(stored: SessionManager, say: Any) -> None:
    stored.commit([say.user("one"), say.agent(), say.user("two")])
    assert stored.session_file is not None
    index = stored.session_file.parent / "index.json"
    right = index.read_bytes()
    page = stored.read_history(rounds=1)
    for wrong in (None, b"", b"{}", right.replace(b'"byteOffset":', b'"byteOffset":1')):
        index.unlink()
        if wrong is not None:
            index.write_bytes(wrong)
        assert stored.read_history(rounds=1) == page
        assert index.read_bytes() == right
    index.unlink()
    index.mkdir()
    assert stored.read_history(rounds=1) == page
    stored.commit([say.user("one")])
    assert reopened(stored).messages == [say.user("one")]


def test_a_session_that_is_gone(stored: SessionManager, say: Any) -> None:
    """failures row 52: a writer does not recreate a deleted session without its metadata"""
    import shutil

    stored.commit([say.user("one")])
    assert stored.session_file is not None
    shutil.rmtree(stored.session_file.parent)
    attempts: list[Callable[[], object]] = [
        lambda: stored.set_pinned(True),
        lambda: stored.commit([say.user("one"), say.user("two")]),
        stored.flush,
    ]
    for attempt in attempts:
        with pytest.raises(SessionNotFound):
            attempt()
    assert not stored.session_file.parent.exists()


def test_metadata_changes_touch_one_value(stored: SessionManager, say: Any) -> None:
    """Unknown keys, odd numbers, escapes, white space and key order survive."""
    stored.commit([say.user("one"), say.agent()])
    assert stored.session_file is not None
    raw = stored.session_file.read_bytes()
    odd = rb'"odd" : [1e21, -0, 1.0, "\u00e9\/\ud83d"], "x":{"unread":null} ,'
    raw = raw.replace(b'"header":{', b'"future": {"b":1,  "a":2},\n "header":{' + odd)
    stored.session_file.write_bytes(raw)
    manager = reopened(stored)
    messages = log(manager)
    manager.set_pinned(True)
    stamp = json.dumps(manager.get_header()["pinnedAt"]).encode()
    pinned = raw.replace(b',"unread":true', b',"unread":true,"pinnedAt":' + stamp)
    assert stored.session_file.read_bytes() == pinned
    manager.mark_read(2)
    read = pinned.replace(b',"unread":true', b',"unread":false')
    assert stored.session_file.read_bytes() == read
    manager.set_pinned(False)
    assert stored.session_file.read_bytes() == raw.replace(b',"unread":true', b',"unread":false')
    assert log(manager) == messages
    manager.mark_unread()
    before = stored.session_file.read_bytes()
    updated = json.dumps(manager.get_header()["updatedAt"]).encode()
    manager.commit([say.user("one"), say.agent()])
    after = json.dumps(manager.get_header()["updatedAt"]).encode()
    old, new = b'"updatedAt":' + updated, b'"updatedAt":' + after
    assert stored.session_file.read_bytes() == before.replace(old, new)


def test_linked_metadata(stored: SessionManager, say: Any, tmp_path: Path) -> None:
    """failures row 56"""
    assert stored.session_file is not None
    target = tmp_path / "elsewhere.json"
    stored.session_file.rename(target)
    stored.session_file.symlink_to(target)
    manager = reopened(stored)
    manager.set_pinned(True)
    manager.commit([say.user("one")])
    assert stored.session_file.is_symlink()
    assert "pinnedAt" in json.loads(target.read_bytes())["header"]
    same_after_reopening(manager)


def test_a_range_without_its_last_line_feed(stored: SessionManager, say: Any) -> None:
    """Readable; never appended to: a new generation follows instead."""
    import hashlib

    stored.commit([say.user("one")])
    assert stored.session_file is not None
    value = meta(stored)
    content = log(stored).rstrip(b"\n")
    (stored.session_file.parent / "messages.jsonl").write_bytes(content)
    value |= {"bytes": len(content), "generation": hashlib.sha256(content).hexdigest()}
    stored.session_file.write_text(json.dumps(value))
    manager = reopened(stored)
    assert manager.messages == [say.user("one")]
    manager.commit([say.user("one"), say.user("two")])
    assert meta(manager)["start"] == len(content)
    same_after_reopening(manager)


def test_an_empty_range_lies_inside_the_file(stored: SessionManager) -> None:
    """As for any range; only a file that is missing is as good as an empty one."""
    assert stored.session_file is not None
    messages = stored.session_file.parent / "messages.jsonl"
    stored.session_file.write_text(json.dumps(meta(stored) | {"start": 5}))
    assert not check(stored.session_file).ok
    with pytest.raises(InvalidSession):
        reopened(stored)
    messages.unlink()
    assert check(stored.session_file).ok
    assert reopened(stored).messages == []


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"version": 4}, UnsupportedSession),
        ({"format": "other"}, UnsupportedSession),
        ({"generation": "0" * 64}, InvalidSession),
        ({"messageCount": 2}, InvalidSession),
        ({"bytes": 10**6}, InvalidSession),
        ({"bytes": 1.5}, InvalidSession),
        ({"start": -1}, InvalidSession),
        ({"header": {}}, UnsupportedSession),
    ],
)
def test_an_invalid_directory_is_an_error_and_stays(
    collection: Path, say: Any, change: dict[str, Any], kind: type[Exception]
) -> None:
    """failures row 49: also when a version-2 backup is beside it"""
    path = legacy_file(collection, say.user("one"))
    manager = SessionManager.open(path)
    file = manager.session_file
    assert file is not None
    file.write_text(json.dumps(meta(manager) | change))
    before = file.read_bytes()
    for place in (file, file.parent, path):
        with pytest.raises(kind):
            SessionManager.open(place)
    if change.keys() & {"version", "format", "start", "header"}:
        with pytest.raises(kind):
            manager.set_pinned(True)
    if kind is InvalidSession:
        with pytest.raises(InvalidSession):
            SessionManager.list(None, collection)
    else:
        assert SessionManager.list(None, collection) == []
    assert file.read_bytes() == before


def test_places_that_are_no_session(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("x")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("none", "none.jsonl", "folder", "folder/meta.json", "text.txt"):
        with pytest.raises(SessionNotFound):
            SessionManager.open(tmp_path / name)
    with pytest.raises(StorageFailed):
        SessionManager.open(tmp_path / "pipe.jsonl")


def test_lists(collection: Path, say: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        SessionManager.list()
    assert SessionManager.list(None, collection) == []
    elsewhere = tmp_path / "project"
    elsewhere.mkdir()
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    first = SessionManager.create("/tmp", collection)
    second = SessionManager.create(link, collection)
    legacy = legacy_file(collection, say.user("old"))
    (collection / "unpublished").mkdir()
    (collection / ".delete-x").mkdir()
    (collection / "x.tmp").write_text("x")
    found = SessionManager.list(None, collection)
    assert [info.id for info in found[:2]] in (
        [first.session_id, second.session_id],
        [second.session_id, first.session_id],
    )
    assert found[2].path == legacy
    assert found[2].header["title"]["text"] == "old"
    assert (found[2].message_count, found[2].user_message_count) == (1, 1)
    assert [info.id for info in SessionManager.list(link, collection)] == [second.session_id]
    assert legacy.exists()
    assert not (collection / LEGACY_ID).exists()  # listing migrates nothing
    elsewhere.rmdir()
    with pytest.raises(InvalidSession):
        SessionManager.list("/tmp", collection)


def test_a_save_reads_no_history_again(
    stored: SessionManager, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loop_core.fsio_calls import calls

    history = [say.user("x" * 100_000) for _ in range(10)]
    stored.commit(history)
    manager = reopened(stored)
    count = 0

    def counted(call: Callable[..., bytes]) -> Callable[..., bytes]:
        def wrapper(*arguments: Any) -> bytes:
            nonlocal count
            data = call(*arguments)
            count += len(data)
            return data

        return wrapper

    monkeypatch.setattr(calls, "read", counted(calls.read))
    monkeypatch.setattr(calls, "pread", counted(calls.pread))
    manager.commit([*history, say.agent()])
    manager.set_pinned(True)
    assert 0 < count < 20_000
    same_after_reopening(manager)


def test_two_sessions_never_touch_each_other(collection: Path, say: Any) -> None:
    """failures row 46"""
    first, second = (make("disk", collection) for _ in range(2))
    first.commit([say.user("first")])
    assert second.session_file is not None
    before = second.session_file.read_bytes()
    first.set_pinned(True)
    first.set_title(TITLE)
    first.mark_unread()
    assert second.session_file.read_bytes() == before
    second.commit([say.user("second")])
    assert reopened(first).messages == [say.user("first")]
    assert reopened(second).messages == [say.user("second")]


def test_first_come_first_served() -> None:
    from loop_core.loop.turns import Turns

    turns = Turns()
    order: list[int] = []
    waiting: list[threading.Thread] = []

    def work(number: int) -> None:
        with turns:
            order.append(number)

    with turns:
        for number in range(20):
            waiting.append(threading.Thread(target=work, args=(number,)))
            waiting[-1].start()
            while len(turns._waiting) <= number:
                time.sleep(0.0005)
        with pytest.raises(InvalidArgument):
            turns.__enter__()
    work(20)  # comes after all that wait, however quick it is
    for thread in waiting:
        thread.join()
    assert order == list(range(21))


def test_a_title_check_that_writes_itself_is_refused(stored: SessionManager) -> None:
    def accept() -> bool:
        stored.set_pinned(True)
        return True

    with pytest.raises(InvalidArgument):
        stored.set_title(TITLE, accept)
    assert stored.set_title(TITLE)
