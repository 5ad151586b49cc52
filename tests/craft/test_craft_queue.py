"""The persistence queue against the scenarios recorded with the real one.

Each test names the scenario of `scenarios.json` it plays. Where ours keeps what the real
application loses, the test says so under "differs".
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core import craft, fsio
from loop_core.craft import SessionPersistenceQueue, StoredSession
from loop_core.errors import Conflict, InvalidArgument, StorageFailed
from loop_core.jsonvalue import dumps, loads

DATA = Path(__file__).parents[1] / "data" / "craft"
SCENARIOS: dict[str, Any] = {
    one["id"]: one["got"] for one in json.loads((DATA / "scenarios.json").read_text())["results"]
}
SHOWN = ("name", "isFlagged", "labels", "sessionStatus", "hasUnread", "lastReadMessageId")
USER = {"id": "u1", "timestamp": 1, "content": "Question", "type": "user"}
ANSWER = {"id": "m1", "timestamp": 2, "content": "Answer", "type": "assistant"}


class Desk:
    """A session of the application, its queue, and an outside editor."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.queue = SessionPersistenceQueue(debounce=30)
        self.session = craft.create_session(root, name=name)
        self.session.messages += [dict(USER), dict(ANSWER)]
        self.id = str(self.session.id)
        self.file = craft.get_session_file_path(root, self.id)

    def save(self) -> None:
        self.queue.enqueue(self.session)
        self.queue.flush(self.id)

    def outside(self, **changes: Any) -> None:
        head, _, rest = self.file.read_bytes().partition(b"\n")
        header = loads(head) | changes
        fsio.atomic_write(self.file, dumps(header) + b"\n" + rest)

    @property
    def header(self) -> dict[str, Any]:
        value = loads(self.file.read_bytes().partition(b"\n")[0])
        assert isinstance(value, dict)
        return value

    def got(self) -> dict[str, Any]:
        header = self.header
        found = {key: header[key] for key in SHOWN if key in header}
        for key in ("isArchived", "archivedAt"):
            assert key not in header
        return found | {"messageCount": header["messageCount"]}


@pytest.fixture
def desk(tmp_path: Path) -> Callable[[str], Desk]:
    return lambda name: Desk(tmp_path / "ws", name)


def test_archive_while_app_open(desk: Any) -> None:
    """archive-while-app-open: not one of the seven fields, so memory wins."""
    one = desk("S1")
    one.save()
    one.outside(isArchived=True, archivedAt=9)
    one.save()
    assert one.got() == SCENARIOS["archive-while-app-open"]


def test_archive_and_flag_while_app_open(desk: Any) -> None:
    """archive-and-flag-while-app-open"""
    one = desk("S1b")
    one.save()
    one.outside(isArchived=True, archivedAt=9, isFlagged=True)
    one.save()
    assert one.got() == SCENARIOS["archive-and-flag-while-app-open"]


def test_seven_fields_while_app_open(desk: Any) -> None:
    """seven-fields-while-app-open"""
    one = desk("S2")
    one.save()
    outside = {k: v for k, v in SCENARIOS["seven-fields-while-app-open"].items() if k in SHOWN}
    one.outside(permissionMode="safe", **outside)
    one.save()
    assert one.got() == SCENARIOS["seven-fields-while-app-open"]
    assert one.header["permissionMode"] == "safe"
    # Absence counts as well: what somebody took out stays out.
    header = one.header
    del header["labels"]
    rest = one.file.read_bytes().partition(b"\n")[2]
    fsio.atomic_write(one.file, dumps(header) + b"\n" + rest)
    one.save()
    assert "labels" not in one.header


def test_first_write_after_app_start(desk: Any) -> None:
    """first-write-after-app-start: nothing was written yet by this queue, memory wins."""
    one = desk("S3")
    one.save()
    one.outside(isFlagged=True, labels=["x"])
    one.queue = SessionPersistenceQueue(debounce=30)
    one.save()
    assert one.got() == SCENARIOS["first-write-after-app-start"]


def test_watcher_applies_flag(desk: Any) -> None:
    """watcher-applies-flag: cancel forgets the signature, so only what memory took stays."""
    one = desk("S4")
    one.save()
    one.outside(isFlagged=True, hasUnread=True, lastReadMessageId="m1", permissionMode="safe")
    one.session.header["isFlagged"] = True
    one.queue.cancel(one.id)
    one.save()
    assert one.got() == SCENARIOS["watcher-applies-flag"]


def test_long_header(desk: Any) -> None:
    """long-header. differs: the outside flag is kept, the application cannot see it."""
    one = desk("S5")
    one.session.header["transferredSessionSummary"] = "x" * 9000
    one.save()
    one.outside(isFlagged=True)
    one.save()
    expected = {k: v for k, v in SCENARIOS["long-header"].items() if k != "headerBytes"}
    assert one.got() == expected | {"isFlagged": True}
    assert len(one.file.read_bytes().split(b"\n")[0]) > 8192


def test_appended_message(desk: Any) -> None:
    """appended-message. differs: the application cuts the line off; ours takes it over."""
    one = desk("S6")
    one.save()
    extra = {"id": "out", "content": "from outside", "type": "user"}
    with one.file.open("ab") as out:
        out.write(dumps(extra) + b"\n{cut\n")
    one.session.header["name"] = "S6 again"
    one.save()
    lines = one.file.read_bytes().splitlines()
    assert SCENARIOS["appended-message"] == {"lines": 3, "messageCount": 2}
    assert (len(lines), one.header["messageCount"]) == (5, 3)
    assert loads(lines[3]) == extra
    assert one.session.messages[-1] == extra
    assert lines[4] == b"{cut"
    one.save()
    one.save()
    assert [loads(line)["id"] for line in one.file.read_bytes().splitlines()[1:4]] == [
        "u1",
        "m1",
        "out",
    ]


def test_metadata_update_during_debounce(desk: Any) -> None:
    """metadata-update-during-debounce. differs: the waiting message is saved as well."""
    one = desk("S7")
    one.save()
    one.session.messages.append({"id": "m2", "content": "new", "type": "user"})
    one.queue.enqueue(one.session)
    assert craft.update_session_metadata(one.root, one.id, {"isFlagged": True}, queue=one.queue)
    assert SCENARIOS["metadata-update-during-debounce"]["messagesOnDisk"] == 2
    assert one.header["messageCount"] == 3
    assert one.header["isFlagged"] is True
    assert one.queue.has_pending(one.id) is False
    assert not craft.update_session_metadata(one.root, "261201-no-such", {"name": "x"})


def test_unknown_fields(desk: Any) -> None:
    """unknown-fields. differs: unknown header keys are kept, as unknown message keys are."""
    one = desk("S8")
    one.session.messages[0]["zz"] = 1
    one.save()
    one.outside(xOwn=1, projectId="p")
    listed = craft.list_sessions(one.root)[0]
    got = SCENARIOS["unknown-fields"]
    assert {key: listed[key] for key in got["listedWith"]} == got["listedWith"]
    craft.update_session_metadata(one.root, one.id, {"isFlagged": True})
    assert one.got() == got["headerAfter"]
    assert one.header["xOwn"] == 1
    assert one.header["projectId"] == "p"
    loaded = craft.load_session(one.root, one.id)
    assert loaded is not None
    assert loaded.messages[0]["zz"] == 1


def test_todo_state(desk: Any) -> None:
    """todoState-lost. differs: it survives an update, so the status stays."""
    one = desk("S9")
    one.save()
    one.outside(todoState="done")
    got = SCENARIOS["todoState-lost"]
    assert craft.list_sessions(one.root)[0]["sessionStatus"] == got["listedBefore"]
    craft.update_session_metadata(one.root, one.id, {"hasUnread": False})
    assert one.got() == got["header"]
    assert craft.list_sessions(one.root)[0]["sessionStatus"] == "done"


def test_damaged_line(desk: Any) -> None:
    """damaged-line-dropped-for-good. differs: its bytes stay where they were."""
    one = desk("S10")
    one.save()
    head, first, second = one.file.read_bytes().splitlines()
    one.file.write_bytes(b"\n".join([head, first, b'{"cut', second]) + b"\n")
    craft.update_session_metadata(one.root, one.id, {"isFlagged": True})
    lines = one.file.read_bytes().splitlines()
    assert SCENARIOS["damaged-line-dropped-for-good"] == {"lines": 2, "messageCount": 1}
    assert lines[1:] == [first, b'{"cut', second]
    assert one.header["messageCount"] == 2


def test_null_line(desk: Any) -> None:
    """null-line-blocks-saving"""
    one = desk("S11")
    one.save()
    one.file.write_bytes(one.file.read_bytes() + b"null\n")
    craft.update_session_metadata(one.root, one.id, {"isFlagged": True})
    assert one.header["isFlagged"] is SCENARIOS["null-line-blocks-saving"]["flaggedOnDisk"]
    loaded = craft.load_session(one.root, one.id)
    assert loaded is not None
    assert len(loaded.messages) == SCENARIOS["null-line-blocks-saving"]["loadSession"]


def test_crash_between_unlink_and_rename(desk: Any) -> None:
    """crash-between-unlink-and-rename. differs: listing leaves the only copy alone."""
    one = desk("S12")
    one.save()
    lone = one.file.with_name("session.jsonl.tmp")
    one.file.rename(lone)
    assert craft.list_sessions(one.root) == []
    assert lone.exists()
    assert SCENARIOS["crash-between-unlink-and-rename"]["tmpLeft"] is False


def test_deleted_outside_then_saved(desk: Any) -> None:
    """deleted-outside-then-saved"""
    one = desk("S13")
    one.save()
    assert craft.delete_session(one.root, one.id)
    one.save()
    got = SCENARIOS["deleted-outside-then-saved"]
    assert one.file.parent.is_dir() is got["folderIsBack"]
    assert one.header["messageCount"] == got["messages"]


def test_header_key_order(desk: Any) -> None:
    """header-key-order"""
    one = desk("S14")
    one.save()
    assert list(one.header) == SCENARIOS["header-key-order"]


@pytest.mark.parametrize("ident", ["", None, ".", "..", "../x", "a/b", "a\0b", "ä", "a\n", 7])
def test_delete_with_a_bad_id(desk: Any, ident: Any) -> None:
    """delete-id:*. differs: refused, where the application deletes sessions or the workspace."""
    one = desk("S15")
    one.save()
    (one.root / "sessions" / "x").mkdir()
    with pytest.raises(InvalidArgument):
        craft.delete_session(one.root, ident)
    with pytest.raises(InvalidArgument):
        craft.get_session_path(one.root, ident)
    assert craft.load_session(one.root, ident) is None
    assert one.file.exists()
    assert (one.root / "sessions" / "x").is_dir()


def test_delete_missing(desk: Any) -> None:
    """delete-missing"""
    one = desk("S16")
    got = SCENARIOS["delete-missing"]["returned"]
    assert craft.delete_session(one.root, "261201-no-such") is got
    link = one.root / "sessions" / "linked"
    link.symlink_to(one.file.parent)
    assert craft.delete_session(one.root, "linked")
    assert one.file.exists()


def test_timer_write_and_flush_overlap(desk: Any) -> None:
    """timer-write-and-flush-overlap. differs: never a wrong result, never an ENOENT."""
    one = desk("S17")
    one.session.messages[1]["content"] = "x" * 2_000_000
    queue = SessionPersistenceQueue(debounce=0.001)
    for number in range(15):
        one.session.header["name"] = f"N{number}"
        queue.enqueue(one.session)
        time.sleep(0.0012)
        queue.flush(one.id)
        assert one.header["name"] == f"N{number}"
        assert queue.last_error(one.id) is None
    assert [p.name for p in one.file.parent.iterdir() if p.is_file()] == ["session.jsonl"]


def test_a_newer_save_replaces_the_waiting_one(desk: Any) -> None:
    one = desk("Q1")
    written = one.file.stat().st_ino
    queue = SessionPersistenceQueue(debounce=0.1)
    for number in range(5):
        one.session.header["name"] = f"N{number}"
        queue.enqueue(one.session)
        time.sleep(0.03)
    assert one.file.stat().st_ino == written
    for _ in range(100):
        if not queue.has_pending(one.id) and one.header["name"] == "N4":
            break
        time.sleep(0.02)
    assert one.header["name"] == "N4"


def test_flush_with_nothing_waiting_returns_and_cancel_drops(desk: Any) -> None:
    one = desk("Q2")
    before = one.file.read_bytes()
    one.queue.flush(one.id)
    one.queue.flush("no-such")
    one.session.header["name"] = "dropped"
    one.queue.enqueue(one.session)
    one.queue.cancel(one.id)
    one.queue.flush_all()
    assert one.file.read_bytes() == before


def test_a_failed_save_waits_and_is_tried_again(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = desk("Q3")
    one.session.header["name"] = "after the fault"
    one.queue.enqueue(one.session)

    def full(*_: Any, **__: Any) -> None:
        raise StorageFailed(OSError(28, "No space left on device"), one.file)

    with monkeypatch.context() as patch:
        patch.setattr(fsio, "exchange", full)
        with pytest.raises(StorageFailed, match="No space"):
            one.queue.flush_all()
    assert one.queue.has_pending(one.id)
    one.queue.flush(one.id)
    assert one.header["name"] == "after the fault"


def test_another_writer_without_pause_is_a_conflict(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = desk("Q4")

    def busy(path: Any, *_: Any, **__: Any) -> None:
        raise fsio.Changed("another program changed the file", path)

    monkeypatch.setattr(fsio, "exchange", busy)
    one.queue.enqueue(one.session)
    with pytest.raises(Conflict):
        one.queue.flush(one.id)
    monkeypatch.undo()
    one.queue.flush_all()


def test_one_id_in_two_workspaces_has_two_places(tmp_path: Path) -> None:
    queue = SessionPersistenceQueue(debounce=30)
    for name in ("a", "b"):
        root = tmp_path / name
        folder = craft.ensure_session_dir(root, "same-id")
        assert sorted(os.listdir(folder)) == [
            "attachments",
            "data",
            "downloads",
            "long_responses",
            "plans",
        ]
        header = {"id": "same-id", "workspaceRootPath": str(root), "name": name}
        queue.enqueue(StoredSession(header))
    queue.flush("same-id")
    for name in ("a", "b"):
        session = craft.load_session(tmp_path / name, "same-id")
        assert session is not None
        assert session.name == name


def test_many_threads_save_one_session(desk: Any) -> None:
    one = desk("Q5")
    queue = SessionPersistenceQueue(debounce=0.002)

    def work(number: int) -> None:
        for turn in range(10):
            one.session.messages.append({"id": f"t{number}-{turn}", "type": "user"})
            queue.enqueue(one.session)
            if turn % 3 == 0:
                queue.flush(one.id)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.flush_all()
    assert one.header["messageCount"] == 42


def test_waiting_saves_are_written_at_exit(tmp_path: Path) -> None:
    code = (
        "from loop_core import craft\n"
        f"session = craft.create_session({str(tmp_path)!r}, name='first')\n"
        "session.header['name'] = 'at exit'\n"
        "queue = craft.SessionPersistenceQueue(debounce=60)\n"
        "queue.enqueue(session)\n"
        "print(session.id)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    session = craft.load_session(tmp_path, done.stdout.strip())
    assert session is not None
    assert session.name == "at exit"
    assert done.stderr == ""


def test_write_and_read_back(tmp_path: Path) -> None:
    """S2's example: create, load, append, save; paths travel as tokens and come back."""
    root = tmp_path / "ws"
    made = craft.create_session(root, name="Research", working_directory=str(tmp_path / "code"))
    folder = str(craft.get_session_path(root, made.id))
    loaded = craft.load_session(root, made.id)
    assert loaded is not None
    assert loaded.header["workingDirectory"] == str(tmp_path / "code")
    loaded.messages.append(
        {"id": "m", "content": f"{folder}/x \ud83d", "type": "user", f"{folder}-2": {"k": [folder]}}
    )
    craft.save_session(loaded)
    raw = Path(folder, "session.jsonl").read_bytes()
    assert folder.encode() not in raw.splitlines()[1]
    assert b"{{SESSION_PATH}}-2" in raw
    again = craft.load_session(root, made.id)
    assert again is not None
    assert again.messages == loaded.messages
    assert again.header["preview"].endswith("\ud83d")
    moved = tmp_path / "moved"
    os.rename(folder, moved)
    elsewhere = craft.read_session_jsonl(moved / "session.jsonl")
    assert elsewhere is not None
    assert elsewhere.messages[0]["content"].startswith(f"{moved}/x")


@pytest.mark.parametrize("name", ['a "quoted" one', "a\nb", "back\\slash", "plain"])
def test_odd_folder_names_survive_the_token(tmp_path: Path, name: str) -> None:
    """The application's text replacement would break the JSON of such a line."""
    folder = tmp_path / name
    folder.mkdir()
    file = folder / "session.jsonl"
    message = {"id": "m", "content": f"see {folder}/x", "type": "user"}
    craft.write_session_jsonl(file, StoredSession({"id": "s"}, [message]), now_ms=7)
    assert b"{{SESSION_PATH}}/x" in file.read_bytes()
    back = craft.read_session_jsonl(file)
    assert back is not None
    assert back.messages == [message]
    assert back.header["lastUsedAt"] == 7
    assert craft.expand_session_path({"{{SESSION_PATH}}": ["{{SESSION_PATH}}"]}, folder) == {
        str(folder): [str(folder)]
    }
    assert craft.make_session_path_portable(f"{folder}/y", folder) == "{{SESSION_PATH}}/y"


def test_ids_are_fresh_and_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    from loop_core.craft import ids

    monkeypatch.setattr(ids, "ADJECTIVES", ("calm",))
    monkeypatch.setattr(ids, "NOUNS", ("pond",))
    taken: set[str] = set()
    for _ in range(105):
        ident = craft.generate_id(taken, now=1_796_000_000)
        assert ident not in taken
        assert craft.is_valid_id(ident)
        taken.add(ident)
    assert "261130-calm-pond" in taken
    assert "261130-calm-pond-99" in taken
    assert sum(map(ids.is_readable_id, taken)) >= 99
