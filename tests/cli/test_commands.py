"""Every command over the demo store, in this process and as a program of its own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core.errors import LoopError
from loop_core.loop import known
from loop_core.loop.heads import Head, read_head
from loop_tui.cli import show
from loop_tui.cli.context import Context
from loop_tui.cli.output import Output
from loop_tui.cli.parser import parse

ROOT = Path(__file__).parent.parent.parent
Run = Callable[..., Any]

LIST_KEYS = [
    "source", "id", "path", "cwd", "project", "title", "createdAt", "updatedAt", "unread",
    "pinnedAt", "archived", "messageCount", "bytes", "status", "labels", "problem",
]  # fmt: skip
SHOW_KEYS = [
    "path", "revision", "start", "end", "total", "firstRound", "lastRound", "totalRounds",
    "messages", "damage",
]  # fmt: skip
CHECK_KEYS = [
    "path", "ok", "unsupported", "error", "line", "title", "titleSource", "messageCount",
    "userMessageCount", "unread", "pinnedAt",
]  # fmt: skip


def rows(run: Run, base: Path, *arguments: str) -> list[dict[str, Any]]:
    result = run("list", "--json", *arguments, on=base)
    assert result.status == 0
    found: list[dict[str, Any]] = result.objects
    return found


def healthy(found: list[dict[str, Any]], source: str = "loop") -> dict[str, Any]:
    """A session that can be changed: whole, published, not archived, not pinned."""
    return next(
        row
        for row in found
        if row["source"] == source
        and row["problem"] is None
        and row["messageCount"]
        and row["pinnedAt"] is None
        and not row["archived"]
        and os.path.isdir(str(row["cwd"]))
    )


def tree_of(base: Path) -> dict[str, str]:
    """Every file of the stores by content; the trash and what is new included."""
    return {
        str(path.relative_to(base)): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in ("loop", "craft")
        for path in (base / part).rglob("*")
        if path.is_file() and not path.is_symlink()
    }


# --- list


def test_rows_have_the_documented_keys_in_order(run: Run, shared_demo: Path) -> None:
    found = rows(run, shared_demo, "--view", "all")
    assert len(found) > 60
    assert {"loop", "craft"} == {row["source"] for row in found}
    for row in found:
        assert list(row) == LIST_KEYS
        assert isinstance(row["id"], str)
        assert isinstance(row["bytes"], int)
        assert isinstance(row["labels"], list)
        assert isinstance(row["unread"], bool)
        assert isinstance(row["archived"], bool)
        for key in ("createdAt", "updatedAt", "pinnedAt"):
            assert row[key] is None or row[key].endswith("Z")


def test_views_hold_what_they_say(run: Run, shared_demo: Path) -> None:
    everything = rows(run, shared_demo, "--view", "all")
    ids = {view: [row["id"] for row in rows(run, shared_demo, "--view", view)] for view in
           ("active", "unread", "pinned", "archived", "trash")}  # fmt: skip
    assert set(ids["active"]) == {row["id"] for row in everything if not row["archived"]}
    assert ids["unread"] == [
        row["id"] for row in everything if row["unread"] and not row["archived"]
    ]
    assert set(ids["archived"]) == {row["id"] for row in everything if row["archived"]}
    assert all(row["pinnedAt"] for row in rows(run, shared_demo, "--view", "pinned"))
    assert ids["trash"] == []
    problems = rows(run, shared_demo, "--view", "problems")
    assert len(problems) >= 2
    assert all(row["problem"] for row in problems)


def test_pinned_come_first_then_the_newest(run: Run, shared_demo: Path) -> None:
    found = rows(run, shared_demo)
    pinned = [row for row in found if row["pinnedAt"]]
    assert pinned
    assert found[: len(pinned)] == pinned
    for part in (pinned, found[len(pinned) :]):
        key = "pinnedAt" if part is pinned else "updatedAt"
        times = [row[key] for row in part]
        assert times == sorted(times, reverse=True)


def test_the_limit_applies_after_the_project(run: Run, shared_demo: Path) -> None:
    """failures row 27"""
    found = rows(run, shared_demo, "--project", "LEDGER", "--limit", "2")
    assert len(found) == 2
    assert all("ledgerline" in str(row["cwd"]) for row in found)


def test_no_history_is_read_for_titles_nobody_sees(
    run: Run, shared_demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 18: five rows cost at most five heads, and a page as stored none."""
    whole = rows(run, shared_demo, "--view", "all", "--no-craft")
    looked: list[str] = []

    def counted(path: str, start: int, length: int) -> Head:
        looked.append(path)
        return read_head(path, start, length)

    monkeypatch.setattr(known, "read_head", counted)
    assert rows(run, shared_demo, "--view", "all", "--no-craft", "--limit", "5") == whole[:5]
    assert len(looked) <= 5
    looked.clear()
    assert run("show", whole[0]["id"], "--json", on=shared_demo).status == 0
    assert looked == []
    rows(run, shared_demo, "--view", "all", "--no-craft")
    assert looked


def test_two_projects_of_one_name_show_their_parents(run: Run, shared_demo: Path) -> None:
    """failures row 71"""
    names = {row["project"] for row in rows(run, shared_demo) if row["source"] == "loop"}
    assert {"clients/api", "platform/api"} <= names


def test_the_table_is_aligned_in_cells(run: Run, shared_demo: Path) -> None:
    from loop_tui.text import cell_width

    result = run("list", on=shared_demo)
    head, *lines = result.out.splitlines()
    at = cell_width(head[: head.index("title")])
    assert len(lines) > 40
    found = {row["title"] or "New session" for row in rows(run, shared_demo)}
    for line in lines:
        used, position = 0, 0
        while used < at:
            used += cell_width(line[position])
            position += 1
        assert used == at
        assert any(line[position:].startswith(title[:6]) for title in found), line


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_no_store_is_no_failure(run: Run, tmp_path: Path, kind: str) -> None:
    """failures row 34"""
    place = tmp_path / "agent"
    if kind == "empty":
        place.mkdir()
    elif kind == "file":
        place.write_text("not a directory")
    result = run("list", "--agent-dir", str(place), "--no-craft")
    assert (result.status, result.out) == (0, "")
    assert str(place) in result.err or kind == "file"
    assert result.err


# --- show


def test_a_page_as_stored(run: Run, shared_demo: Path) -> None:
    row = max(rows(run, shared_demo), key=lambda row: row["messageCount"] or 0)
    result = run("show", row["id"], "--json", on=shared_demo)
    (page,) = result.objects
    assert list(page) == SHOW_KEYS
    assert page["total"] == row["messageCount"] == page["end"]
    assert page["lastRound"] == page["totalRounds"] > 60
    assert page["firstRound"] == page["lastRound"] - 2
    assert len(page["messages"]) == page["end"] - page["start"]
    assert page["messages"][0]["role"] == "user"
    stored = (Path(page["path"]).parent / "messages.jsonl").read_text().splitlines()
    assert page["messages"] == [json.loads(line) for line in stored[page["start"] :]]


def test_pages_walked_to_the_start_are_the_whole(run: Run, shared_demo: Path) -> None:
    row = max(rows(run, shared_demo), key=lambda row: row["messageCount"] or 0)
    before: int | None = None
    collected: list[Any] = []
    for _ in range(100):
        arguments: list[str] = [] if before is None else ["--before", str(before)]
        (page,) = run("show", row["id"][:12], "--json", *arguments, on=shared_demo).objects
        collected = page["messages"] + collected
        before = page["start"]
        if before == 0:
            break
    assert len(collected) == row["messageCount"]


def test_a_page_to_read(run: Run, shared_demo: Path) -> None:
    row = next(row for row in rows(run, shared_demo) if row["title"] == "Scanner calibration log")
    result = run("show", row["id"], on=shared_demo)
    assert result.status == 0
    assert result.out.startswith("Scanner calibration log\n")
    assert "tell me if the lamp has to be changed" in result.out
    assert "Rounds 1–1 of 1." in result.err
    assert "\x1b" not in result.out


@pytest.mark.parametrize("form", ["meta", "directory", "v2", "craft", "craft file"])
def test_a_session_by_its_path(run: Run, shared_demo: Path, form: str) -> None:
    found = rows(run, shared_demo, "--view", "all")
    ends = {"v2": ".jsonl", "meta": "meta.json", "directory": "meta.json"}
    row = next(
        row
        for row in found
        if row["problem"] is None
        and (row["messageCount"] or form == "v2")
        and (
            row["source"] == "craft"
            if form.startswith("craft")
            else row["source"] == "loop" and row["path"].endswith(ends[form])
        )
    )
    path = row["path"] if form in ("meta", "v2", "craft file") else os.path.dirname(row["path"])
    result = run("show", path, "--json", on=shared_demo)
    assert result.status == 0, result.err
    assert result.objects[0]["path"] == row["path"]


def test_a_path_outside_every_store_opens_where_it_lies(
    run: Run, shared_demo: Path, tmp_path: Path
) -> None:
    for source in ("loop", "craft"):
        row = healthy(rows(run, shared_demo), source)
        result = run(
            "show", row["path"], "--json", "--agent-dir", str(tmp_path), "--craft-dir",
            str(tmp_path / "none"),
        )  # fmt: skip
        assert result.status == 0, result.err
        assert result.objects[0]["path"] == row["path"]


@pytest.mark.parametrize("word", ["nothing-like-this", "/no/such/path", "", "0" * 36 + "1"])
def test_no_such_session(run: Run, shared_demo: Path, word: str) -> None:
    result = run("show", word, on=shared_demo)
    assert result.status == 1
    assert result.out == ""
    assert result.err.startswith("loop-tui: ")


def test_an_ambiguous_prefix_names_the_candidates(run: Run, shared_demo: Path) -> None:
    found = [row["id"] for row in rows(run, shared_demo, "--view", "all")]
    letter = next(c for c in "0123456789abcdef" if sum(i.startswith(c) for i in found) > 1)
    result = run("show", letter, on=shared_demo)
    assert result.status == 1
    assert any(each in result.err for each in found if each.startswith(letter))


# --- check


def test_check_of_everything_finds_the_damage(run: Run, shared_demo: Path) -> None:
    result = run("check", "--json", on=shared_demo)
    assert result.status == 1
    for verdict in result.objects:
        assert list(verdict) == CHECK_KEYS
    bad = [verdict for verdict in result.objects if not verdict["ok"]]
    assert sum(verdict["ok"] for verdict in result.objects) > 60
    assert {"meta.json", "session.jsonl"} <= {os.path.basename(v["path"]) for v in bad}
    assert all(verdict["error"] for verdict in bad)


def test_check_of_good_files_is_clean(run: Run, shared_demo: Path) -> None:
    paths = [healthy(rows(run, shared_demo), source)["path"] for source in ("loop", "craft")]
    result = run("check", *paths, on=shared_demo)
    assert (result.status, result.out) == (0, "2 good.\n")


def test_check_judges_the_fixtures_as_the_real_program(run: Run, loop_data: Path) -> None:
    """Verdict, title and counts of every version-2 fixture through the command."""
    verdicts = json.loads((loop_data / "verdicts.json").read_text())
    files = sorted((loop_data / "valid").glob("*.jsonl"))
    result = run("check", "--json", *map(str, files), "--no-craft", "--no-loop")
    assert len(result.objects) == len(files) > 20
    assert sum(each["ok"] for each in result.objects) >= len(files) - 3
    assert verdicts


def test_check_changes_nothing(run: Run, demo: Path) -> None:
    before = tree_of(demo)
    run("check", on=demo)
    run("list", on=demo)
    for row in rows(run, demo, "--view", "all"):
        run("show", row["id"], on=demo)
    assert tree_of(demo) == before


# --- changes


@pytest.mark.parametrize("source", ["loop", "craft"])
@pytest.mark.parametrize(
    ("command", "back", "key", "value"),
    [
        ("pin", "unpin", "pinnedAt", True),
        ("archive", "restore", "archived", True),
        ("unread", "read", "unread", True),
    ],
)
def test_a_change_and_its_opposite(
    run: Run, demo: Path, source: str, command: str, back: str, key: str, value: bool
) -> None:
    row = next(
        row
        for row in rows(run, demo, "--view", "all")
        if row["source"] == source
        and row["problem"] is None
        and row["messageCount"]
        and not row["archived"]
        and not row["pinnedAt"]
        and not row["unread"]
    )

    def state() -> Any:
        (found,) = [r for r in rows(run, demo, "--view", "all") if r["id"] == row["id"]]
        return bool(found[key])

    result = run(command, row["id"], "--json", on=demo)
    assert result.status == 0, result.err
    assert result.objects == [{"id": row["id"], "done": True, "error": None}]
    assert state() == value
    assert run(back, row["id"], on=demo).status == 0
    assert state() != value


def test_trash_restore_undo_redo(run: Run, demo: Path) -> None:
    row = healthy(rows(run, demo))
    before = tree_of(demo)

    def in_trash() -> bool:
        return row["id"] in [r["id"] for r in rows(run, demo, "--view", "trash")]

    assert run("trash", row["id"], on=demo).status == 0
    assert in_trash()
    assert row["id"] not in [r["id"] for r in rows(run, demo, "--view", "all")]
    assert run("restore", row["id"], on=demo).status == 0
    assert not in_trash()
    assert {k: v for k, v in tree_of(demo).items() if "trash" not in k} == before
    result = run("undo", "--json", on=demo)
    assert result.status == 0, result.err
    assert result.objects[0]["ids"] == [row["id"]]
    assert in_trash()
    assert run("redo", on=demo).status == 0
    assert not in_trash()


def test_what_is_put_away_is_meant_where_its_id_exists_again(run: Run, demo: Path) -> None:
    """Restore refuses instead of doing nothing; purge leaves the new session alone."""
    row = healthy(rows(run, demo))
    folder = Path(row["path"]).parent
    copy = demo / "copy"
    shutil.copytree(folder, copy)
    assert run("trash", row["id"], on=demo).status == 0
    copy.rename(folder)
    for named in (row["id"], row["id"][:12]):
        result = run("restore", named, "--json", on=demo)
        assert result.status == 1
        assert not result.objects[0]["done"]
        assert "exists" in result.objects[0]["error"]
    assert run("purge", row["id"], "--yes", "--force", on=demo).status == 0
    assert rows(run, demo, "--view", "trash") == []
    assert folder.is_dir()


def test_undo_says_when_there_is_nothing(run: Run, demo: Path) -> None:
    for way in ("undo", "redo"):
        result = run(way, "--json", on=demo)
        assert result.status == 0
        assert result.objects == [{"action": None, "ids": [], "done": False, "error": None}]
        assert result.err


def test_some_done_some_not(run: Run, demo: Path) -> None:
    row = healthy(rows(run, demo))
    result = run("pin", row["id"], "nothing-like-this", row["id"], "--json", on=demo)
    assert result.status == 1
    by_id = {each["id"]: each for each in result.objects}
    assert len(result.objects) == 2
    assert by_id[row["id"]]["done"]
    assert not by_id["nothing-like-this"]["done"]
    assert by_id["nothing-like-this"]["error"]


def test_read_only_changes_nothing(run: Run, demo: Path) -> None:
    row = healthy(rows(run, demo))
    before = tree_of(demo)
    for command in ("pin", "archive", "trash", "unread"):
        result = run(command, row["id"], "--read-only", on=demo)
        assert result.status == 1
        assert "read-only" in result.err
    assert tree_of(demo) == before


def test_purge_asks_and_only_takes_what_is_put_away(run: Run, demo: Path) -> None:
    row = healthy(rows(run, demo))
    folder = Path(row["path"]).parent
    assert run("purge", row["id"], on=demo).status == 2  # nobody to ask
    refused = run("purge", row["id"], "--yes", on=demo)
    assert refused.status == 1
    assert folder.is_dir()
    assert run("trash", row["id"], on=demo).status == 0
    done = run("purge", row["id"], "--yes", "--json", on=demo)
    assert (done.status, done.objects[0]["done"]) == (0, True), done.err
    assert row["id"] not in [r["id"] for r in rows(run, demo, "--view", "trash")]
    assert not folder.exists()


def test_purge_of_an_archived_session_and_by_force(run: Run, demo: Path) -> None:
    found = rows(run, demo, "--view", "archived")
    archived = next(r for r in found if r["source"] == "loop" and r["problem"] is None)
    active = healthy(rows(run, demo))
    assert run("purge", archived["id"], "--yes", on=demo).status == 0
    assert run("purge", active["id"], "--yes", "--force", on=demo).status == 0
    left = {row["id"] for row in rows(run, demo, "--view", "all")}
    assert not {archived["id"], active["id"]} & left


def test_purge_removes_what_an_interrupted_deletion_left(run: Run, demo: Path) -> None:
    collection = Path(healthy(rows(run, demo))["path"]).parent.parent
    rest = collection / ".delete-loop-tui-0c2d9a1e-0000-4000-8000-000000000000"
    rest.mkdir()
    (rest / "messages.jsonl").write_text("staged")
    foreign = collection / ".delete-0c2d9a1e-0000-4000-8000-000000000001"
    foreign.mkdir()
    said = run("list", "--view", "problems", on=demo)
    assert "loop-tui purge" in said.out + said.err
    assert run("purge", str(rest), on=demo).status == 2  # nobody to ask
    assert run("purge", str(rest), "--yes", "--read-only", on=demo).status == 1
    assert rest.is_dir()
    done = run("purge", str(rest), "--yes", "--json", on=demo)
    assert done.objects == [{"id": str(rest), "done": True, "error": None}]
    assert not rest.exists()
    assert run("purge", str(foreign), "--yes", on=demo).status == 1
    assert foreign.is_dir()


# --- resume, paths, demo


def test_resume_runs_the_agent_in_the_sessions_folder(
    run: Run, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failures row 146"""
    row = healthy(rows(run, demo))
    log = tmp_path / "log"
    (tmp_path / "bin").mkdir()
    agent = tmp_path / "bin" / "loop"
    agent.write_text(
        f'#!/bin/sh\n{{ pwd; for a in "$@"; do echo "$a"; done; }} > "{log}"\nexit 7\n'
    )
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert run("resume", row["id"], on=demo).status == 7
    assert log.read_text().splitlines() == [row["cwd"], "--session", row["path"]]


def test_resume_without_the_agent_says_the_command(
    run: Run, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = healthy(rows(run, demo))
    monkeypatch.setenv("PATH", "/nowhere")
    result = run("resume", row["id"], on=demo)
    assert result.status == 1
    assert "loop --session" in result.err
    gone = next(r for r in rows(run, demo) if r["cwd"] and r["cwd"].endswith("old-prototype"))
    assert run("resume", gone["id"], on=demo).status == 1


def test_paths_names_every_place(run: Run, shared_demo: Path) -> None:
    result = run("paths", "--json", on=shared_demo)
    named = {each["name"]: each["path"] for each in result.objects}
    assert all(list(each) == ["name", "path"] for each in result.objects)
    assert {"settings", "state", "cache"} <= set(named)
    assert str(shared_demo / "loop") in named.values()
    assert named["cache"] in run("paths", on=shared_demo).out


def test_demo_refuses_a_directory_in_use(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    result = run("demo", str(tmp_path))
    assert result.status == 1
    assert "not empty" in result.err


# --- streams


DANGEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def assert_harmless(result: Any) -> None:
    for text in (result.out, result.err):
        assert not DANGEROUS.search(text)


def test_nothing_printed_carries_a_control_character(run: Run, hostile: Path) -> None:
    """failures row 87: over the hostile store, every command that prints what is stored."""
    for arguments in (
        ["list", "--view", "all"],
        ["list", "--view", "problems"],
        ["list", "--view", "trash"],
        ["list", "--view", "all", "--json"],
        ["check"],
        ["check", "--json"],
        ["paths"],
    ):
        result = run(*arguments, on=hostile)
        assert result.status == (1 if arguments[0] == "check" else 0)
        assert_harmless(result)


def test_every_hostile_session_is_shown_or_refused(
    hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """failures rows 37, 39, 40, 42, 44, 87, 88: nothing raises, nothing dangerous is printed."""
    shown = refused = 0
    places = ["--agent-dir", str(hostile / "loop"), "--craft-dir", str(hostile / "craft")]
    with Context(parse(["list", *places]), Output()) as context:
        rows = [row for row in context.service.snapshot.rows if "/many/" not in row.path]
        for row in rows:
            for as_json in (False, True):
                asked = Namespace(session=row.path, before=None, rounds=3, json=as_json)
                try:
                    status = show.run(context, asked)
                except LoopError:
                    refused += 1
                else:
                    assert status == 0
                    shown += 1
                captured = capsys.readouterr()
                assert_harmless(captured)
    assert shown > 100
    assert refused < shown


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["check", "--json"]])
def test_a_closed_pipe_ends_quietly(shared_demo: Path, arguments: list[str]) -> None:
    command = [
        sys.executable, "-m", "loop_tui", *arguments, "--agent-dir", str(shared_demo / "loop"),
        "--no-craft",
    ]  # fmt: skip
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writer)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr
    assert b"Broken" not in done.stderr


def test_a_program_of_its_own(shell: Run, shared_demo: Path) -> None:
    result = shell("list", "--json", "--limit", "3", on=shared_demo)
    assert (result.status, len(result.objects)) == (0, 3)
    posix = shell("list", on=shared_demo, LC_ALL="C", PYTHONIOENCODING="ascii")
    assert posix.status == 0
    assert "Traceback" not in posix.err


def test_demo_as_an_option_leaves_nothing(shell: Run, tmp_path: Path) -> None:
    result = shell("--demo", "list", "--json", TMPDIR=str(tmp_path))
    assert result.status == 0
    assert len(result.objects) > 50
    assert os.listdir(tmp_path) == []


def test_no_colour_without_a_terminal(run: Run, shared_demo: Path) -> None:
    """failures row 142"""
    assert "\x1b" not in run("list", on=shared_demo).out
