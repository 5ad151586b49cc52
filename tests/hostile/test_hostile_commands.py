"""Every command over the hostile store: an answer, nothing dangerous printed, nothing touched."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loop_core import jsonvalue
from loop_core.model import SessionRow
from loop_tui.__main__ import main
from loop_tui.cli.registry import commands
from loop_tui.service import Options, Service


class Result(NamedTuple):
    status: int
    out: str
    err: str


pytestmark = pytest.mark.usefixtures("no_waits")
Run = Callable[..., Result]
LOOKING = {"list", "show", "search", "export", "check", "paths", "completion", "resume"}
CHANGING = {
    "pin", "unpin", "archive", "restore", "read", "unread", "trash", "purge", "undo",
    "redo", "reclaim",
}  # fmt: skip
OWN = {"demo"}


def stores(base: Path) -> list[str]:
    return ["--agent-dir", str(base / "loop"), "--craft-dir", str(base / "craft")]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], clean: Callable[[str], None]) -> Run:
    def call(base: Path, *arguments: str) -> Result:
        capsys.readouterr()
        try:
            status = main([*arguments, *stores(base)])
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        captured = capsys.readouterr()
        clean(captured.out)
        clean(captured.err)
        assert "Traceback" not in captured.err
        return Result(status, captured.out, captured.err)

    return call


def contents(tree: dict[str, Any]) -> dict[str, Any]:
    """Mode and content of everything but metadata, which a link may be followed to."""
    return {
        path: (entry[0], entry[-1])
        for path, entry in tree.items()
        if os.path.basename(path) != "meta.json"
    }


def rows_of(base: Path, *, many: bool = False) -> list[SessionRow]:
    options = Options(
        agent_dir=str(base / "loop"), craft_dirs=(str(base / "craft"),), read_only=True
    )
    with Service.open(options) as service:
        rows = service.scan().rows
    return [row for row in rows if many or "/many/" not in row.path]


def test_every_command_is_walked_here() -> None:
    assert {command.name for command in commands()} == LOOKING | CHANGING | OWN


def test_looking_changes_nothing(
    hostile: Path,
    run: Run,
    private_home: Path,
    tmp_path: Path,
    watch_changes: Any,
    tree_of: Any,
) -> None:
    """failures rows 39, 40, 43, 49, 62, 87: the tree is the same afterwards, bytes and times."""
    before = tree_of(hostile)
    with watch_changes() as touched:
        for view in ("unread", "pinned", "archived", "trash", "problems", "all"):
            assert run(hostile, "list", "--view", view).status == 0
            out = run(hostile, "list", "--view", view, "--json").out
            assert all(isinstance(json.loads(line), dict) for line in out.splitlines())
        assert run(hostile, "paths", "--json").status == 0
        assert run(hostile, "reclaim", "--dry-run").status in (0, 1)
        for query in ("conversation", "\x1b]0;", "\ud83d", '"half'):
            assert run(hostile, "search", "--exact", query).status in (0, 1, 2)
        paths = [row.path for row in rows_of(hostile)]
        assert run(hostile, "check", "--json", *stores(hostile), "--", *paths).status == 1
    assert tree_of(hostile) == before
    assert touched.outside(private_home) == []
    assert touched.network == []


def test_every_session_is_shown_exported_and_resumed(
    hostile: Path,
    private_home: Path,
    tmp_path: Path,
    watch_changes: Any,
    tree_of: Any,
    clean: Callable[[str], None],
    inspected: Callable[[str], Any],
    no_sync: None,
) -> None:
    """failures rows 37, 42, 44: whatever the content, a page, a whole export or a reason.

    The page, parsed, holds no script, no handler, nothing remote, no link but to the web.
    """
    from loop_core.errors import LoopError

    before = tree_of(hostile)
    exported = refused = 0
    options = Options(agent_dir=str(hostile / "loop"), craft_dirs=(str(hostile / "craft"),))
    with watch_changes() as touched, Service.open(options) as service:
        for row in service.scan().rows:
            if "/many/" in row.path:
                continue
            for ending in ("md", "html", "json"):
                target = tmp_path / f"out.{ending}"
                try:
                    service.export(row.key, str(target), force=True)
                except LoopError as error:
                    refused += bool(error.reason)
                    continue
                exported += 1
                text = target.read_text(encoding="utf-8")
                if ending == "json":
                    jsonvalue.loads(text)
                    continue
                clean(text)
                if ending == "html":
                    inspected(text)
            with suppress(LoopError):
                arguments, folder = service.resume_command(row.key)
                assert os.path.isdir(folder)
                assert arguments
    assert exported > 3 * refused > 0
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
    assert tree_of(hostile) == before
    assert touched.outside(private_home, tmp_path) == []
    assert touched.programs == touched.network == []


def test_each_damage_is_reported_with_its_place(hostile: Path, run: Run) -> None:
    """failures rows 44, 49, 151: a refused session is named by path, with its line."""
    status, out, _ = run(hostile, "check", "--json")
    assert status == 1
    verdicts = [json.loads(line) for line in out.splitlines()]
    bad = [verdict for verdict in verdicts if not verdict["ok"] and not verdict["unsupported"]]
    assert len(bad) > 60
    for verdict in bad:
        assert verdict["path"]
        assert verdict["error"]
    contents = [v for v in bad if "/contents-2/" in v["path"] or "/contents-3/" in v["path"]]
    with_line = [v for v in contents if v["line"] is not None]
    assert len(with_line) > len(contents) // 2
    problems = run(hostile, "list", "--view", "problems").out
    for place in ("archive-numbers", "loop-tui-trash", "leftovers", "pipes"):
        assert place in problems


def test_changing_commands_touch_only_the_store(
    own_hostile: Path,
    run: Run,
    private_home: Path,
    watch_changes: Any,
    tree_of: Any,
    no_sync: None,
) -> None:
    """Each command on each session: done, or refused with a reason; nothing outside moves.

    A pin goes through a link to a session's metadata (failures row 56), and nothing else does.
    """
    outside, project = own_hostile / "outside", own_hostile / "project"
    linked = outside / "collection"
    before = contents(tree_of(outside)), tree_of(project)
    paths = [row.path for row in rows_of(own_hostile)]
    names = ["--", *paths]
    with watch_changes() as touched:
        for name in ("pin", "archive", "restore", "read"):
            result = run(own_hostile, name, *stores(own_hostile), "--json", *names)
            assert result.status in (0, 1)
            assert all(isinstance(json.loads(line), dict) for line in result.out.splitlines())
        for name in ("undo", "redo", "undo"):
            assert run(own_hostile, name).status in (0, 1)
        assert run(own_hostile, "reclaim", "--in-place", "--yes").status in (0, 1)
        assert all((linked / name / "meta.json").is_file() for name in os.listdir(linked))
        result = run(own_hostile, "trash", *stores(own_hostile), *names)
        assert result.status in (0, 1)
        trashed = [row.path for row in rows_of(own_hostile) if row.trashed_ms is not None]
        assert len(trashed) > 60
        run(own_hostile, "undo")
        run(own_hostile, "redo")
        result = run(own_hostile, "purge", "--yes", "--force", *stores(own_hostile), *names)
        assert result.status in (0, 1)
        run(own_hostile, "undo")
    assert (contents(tree_of(outside)), tree_of(project)) == before
    allowed = (private_home, own_hostile / "loop", own_hostile / "craft", linked)
    assert touched.outside(*allowed) == []
    assert touched.programs == touched.network == []


def test_demo_writes_only_where_told(
    run: Run, tmp_path: Path, private_home: Path, watch_changes: Any
) -> None:
    with watch_changes() as touched:
        assert main(["demo", "--hostile", str(tmp_path / "h")]) == 0
        assert main(["completion", "bash"]) == 0
    from loop_tui.demo.hostile import make_removable

    make_removable(tmp_path / "h")
    assert touched.outside(private_home, tmp_path) == []
