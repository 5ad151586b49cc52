"""`search`, `export` and `reclaim` from the shell, on the demo store."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop_core.search import index as index_module
from loop_core.search.query import parse

Run = Callable[..., Any]
ROOT = Path(__file__).parent.parent.parent
SEARCH = {
    "source": str,
    "id": str,
    "path": str,
    "title": (str, type(None)),
    "round": (int, type(None)),
    "messageIndex": (int, type(None)),
    "snippet": str,
    "score": (int, float),
}


def test_matches_as_the_schema_says(run: Run, shared_demo: Path) -> None:
    done = run("search", "lock", "--json", on=shared_demo)
    assert done.status == 0
    assert done.objects
    for one in done.objects:
        assert list(one) == list(SEARCH)
        assert all(isinstance(one[key], kind) for key, kind in SEARCH.items())  # type: ignore[arg-type]
        assert "lock" in (one["snippet"] or one["title"]).lower()


def test_a_match_is_where_show_has_it(run: Run, shared_demo: Path) -> None:
    found = next(o for o in run("search", "lock", "--json", on=shared_demo).objects if o["round"])
    page = run("show", found["id"], "--json", "--rounds", "200", on=shared_demo).objects[0]
    message = page["messages"][found["messageIndex"] - page["start"]]
    assert "lock" in json.dumps(message).lower()


def test_what_is_left_out_is_said(run: Run, shared_demo: Path) -> None:
    """failures row 113: matches in the archive are counted on stderr."""
    done = run("search", "lock", on=shared_demo)
    assert "more in the archive (is:archived)" in done.err
    archived = run("search", "lock", "is:archived", "--json", on=shared_demo)
    listed = run("list", "--view", "archived", "--json", on=shared_demo)
    assert {o["id"] for o in archived.objects} <= {o["id"] for o in listed.objects}
    assert archived.objects


def test_the_index_and_the_files_find_the_same_sessions(run: Run, shared_demo: Path) -> None:
    """Two hundred queries out of the demo's own words, phrases and identifiers."""
    pytest.importorskip("tantivy")
    from loop_core.search.words import words
    from loop_tui.indexing import update_index
    from loop_tui.service import Options, Service

    options = Options(agent_dir=str(shared_demo / "loop"), craft_dirs=(str(shared_demo / "craft"),))
    with Service.open(options) as service:
        service.scan()
        texts = [
            piece.text
            for row in service.snapshot.rows
            if row.trashed_ms is None and row.problem is None
            for piece in service.library.store_of(row.key).texts(row.key)
        ]
        tokens = list(dict.fromkeys(" ".join(texts).split()))
        queries = tokens[:: max(len(tokens) // 120, 1)][:120]
        lines = [text.split() for text in texts if len(text.split()) > 3]
        queries += [f'"{" ".join(line[1:3])}"' for line in lines[:: max(len(lines) // 60, 1)]][:60]
        queries += ["read_history", "日報", "検索", "hafen", "é", "--exact", "app/tides.py"]
        queries += [word[:3] for word in tokens[5::150]][:20]
        queries = [q for q in queries if words(q).split() and '"' not in q[1:-1]]

        def ask() -> list[Any]:
            return [
                sorted(s.key for s in service.search(q, limit=10_000).sessions) for q in queries
            ]

        scanned = ask()
        update_index(service)
        indexed = ask()
        assert service.search("lock").engine == "index"
        different = [q for q, a, b in zip(queries, scanned, indexed, strict=True) if a != b]
        assert not different
        assert len(queries) > 180
        assert sum(map(bool, indexed)) > 150


def test_index_first(run: Run, shared_demo: Path, private_home: Path) -> None:
    pytest.importorskip("tantivy")
    before = run("search", "lock", "--json", on=shared_demo).objects
    after = run("search", "lock", "--index", "--json", on=shared_demo).objects
    assert {o["id"] for o in before} == {o["id"] for o in after}
    folder = private_home / ".cache" / "loop-tui" / "search"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_trash_and_purge_take_a_session_out_of_the_index(
    run: Run, demo: Path, private_home: Path
) -> None:
    pytest.importorskip("tantivy")

    def found() -> set[str]:
        asked = run("search", "tide", "--index", "--json", on=demo)
        return {one["id"] for one in asked.objects}

    def held() -> int:
        index = index_module.SearchIndex(str(private_home / ".cache" / "loop-tui" / "search"))
        assert index.open()
        return len(index.sessions(parse("tide")))

    all_of_them = found()
    held_first = held()
    one = min(all_of_them)
    assert run("trash", one, on=demo).status == 0
    assert found() == all_of_them - {one}
    assert held() == held_first - 1
    assert run("restore", one, on=demo).status == 0
    assert found() == all_of_them
    assert run("trash", one, on=demo).status == 0
    assert run("purge", one, "--yes", on=demo).status == 0
    assert found() == all_of_them - {one}
    assert held() == held_first - 1


def test_without_the_engine(run: Run, shared_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "find_spec", lambda _: None)
    assert run("search", "lock", on=shared_demo).status == 0
    refused = run("search", "lock", "--index", on=shared_demo)
    assert refused.status != 0
    assert "tantivy is not installed" in refused.err


def test_nothing_found_and_a_wrong_filter(run: Run, shared_demo: Path) -> None:
    nothing = run("search", "zzqqxx", on=shared_demo)
    assert (nothing.status, nothing.out) == (0, "")
    assert "Nothing found" in nothing.err
    wrong = run("search", "role:nobody", on=shared_demo)
    assert wrong.status != 0
    assert "role:nobody is not known" in wrong.err


def test_nothing_loads_the_engine_until_a_search() -> None:
    code = (
        "import sys\n"
        "import loop_tui.app, loop_tui.service, loop_tui.cli.registry as r\n"
        "r.commands()\n"
        "import loop_tui.screens.browser\n"
        "print('tantivy' in sys.modules, 'loop_core.search.index' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def session_of(run: Run, demo: Path) -> str:
    rows = run("list", "--json", on=demo).objects
    return str(next(o["id"] for o in rows if o["source"] == "loop" and o["messageCount"]))


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_every_session_of_both_sources_exports(
    run: Run, shared_demo: Path, form: str, inspected: Callable[[str], Any]
) -> None:
    rows = [o for o in run("list", "--json", on=shared_demo).objects if not o["problem"]]
    picked = [*rows[:3], *[o for o in rows if o["source"] == "craft"][:3]]
    for one in picked:
        done = run("export", one["id"], "--format", form, on=shared_demo)
        assert (done.status, done.err) == (0, "")
        if form == "json":
            value = json.loads(done.out)
            assert value["source"] == one["source"]
            if one["messageCount"] is not None:
                assert len(value["messages"]) == one["messageCount"]
        elif form == "html":
            assert one["title"] in "".join(inspected(done.out).text)
        else:
            assert done.out.startswith("# ")


def test_json_export_is_what_show_prints(run: Run, shared_demo: Path) -> None:
    session = session_of(run, shared_demo)
    value = json.loads(run("export", session, "--format", "json", on=shared_demo).out)
    page = run("show", session, "--json", "--rounds", "1000", on=shared_demo).objects[0]
    assert value["messages"] == page["messages"]
    assert value["header"]["id"] == session


def test_a_file_is_not_overwritten_without_asking(
    run: Run, shared_demo: Path, tmp_path: Path
) -> None:
    session = session_of(run, shared_demo)
    target = tmp_path / "out.html"
    assert run("export", session, "-o", str(target), on=shared_demo).status == 0
    assert target.read_text().startswith("<!doctype html>")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.write_text("mine")
    refused = run("export", session, "-o", str(target), on=shared_demo)
    assert refused.status == 1
    assert "the file exists" in refused.err
    assert target.read_text() == "mine"
    assert run("export", session, "-o", str(target), "--force", on=shared_demo).status == 0
    assert target.read_text() != "mine"
    assert os.listdir(tmp_path) == ["out.html"]
    missing = run("export", session, "-o", str(tmp_path / "no" / "x.md"), on=shared_demo)
    assert missing.status == 1
    assert "no such folder" in missing.err
    assert run("export", session, "-o", str(tmp_path), on=shared_demo).status == 0
    (named,) = tmp_path.glob("*.md")
    assert session[:8] in named.name


def spoiled(demo: Path) -> tuple[Path, int]:
    """A session of the demo with an unreachable generation, quiet for an hour; its bytes."""
    for meta in sorted((demo / "loop" / "sessions").glob("*/*/meta.json")):
        value = json.loads(meta.read_bytes())
        # A gone working directory is a fault of its own; the demo has one.
        if value.get("version") == 3 and os.path.isdir(value["header"]["cwd"]):
            break
    else:
        raise AssertionError("the demo has no sound session")
    messages = meta.parent / "messages.jsonl"
    old = b'{"an":"unreachable generation"}\n' * 500
    messages.write_bytes(old + messages.read_bytes())
    meta.write_text(json.dumps(value | {"start": value["start"] + len(old)}))
    for path in (meta, messages):
        os.utime(path, (time.time() - 3_600,) * 2)
    return meta, len(old)


def test_reclaim_frees_what_the_dry_run_said(run: Run, demo: Path) -> None:
    meta, extra = spoiled(demo)
    dry = run("reclaim", str(meta), "--dry-run", "--json", on=demo)
    assert dry.status == 0
    (told,) = dry.objects
    assert told["path"] == str(meta)
    assert told["before"] - told["after"] >= extra
    assert (meta.parent / "messages.jsonl").stat().st_size > extra
    asked = run("reclaim", str(meta), on=demo)
    assert asked.status == 2
    assert "Close every Loop" in asked.err
    assert (meta.parent / "messages.jsonl").stat().st_size > extra
    done = run("reclaim", str(meta), "--yes", "--json", on=demo)
    assert done.objects == dry.objects
    assert run("check", str(meta), on=demo).status == 0
    again = run("reclaim", str(meta), "--dry-run", "--json", on=demo).objects[0]
    assert again["before"] == again["after"]


def test_reclaim_waits_for_ten_quiet_minutes(run: Run, demo: Path) -> None:
    meta, extra = spoiled(demo)
    os.utime(meta)
    done = run("reclaim", str(meta), "--yes", "--json", on=demo)
    assert done.status == 1
    assert "ten minutes" in done.objects[0]["error"]
    assert (meta.parent / "messages.jsonl").stat().st_size > extra


@pytest.mark.parametrize("command", ["search", "export", "reclaim"])
def test_help_shows_an_example_and_completion_knows_it(
    run: Run, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    from loop_tui.__main__ import main

    try:
        status = main([command, "--help"])
    except SystemExit as error:
        status = int(error.code or 0)
    assert status == 0
    assert f"loop-tui {command} " in capsys.readouterr().out
    for shell in ("bash", "zsh", "fish"):
        assert command in run("completion", shell).out
