"""The recorded verdicts of the real application, and copies of the tree they are about."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loop_core.craft.store import CraftStore
from loop_core.model import SessionRow

FIXED_ROOT = "/tmp/craft-golden"


class Tree(NamedTuple):
    """A private copy of the fixture tree, and its verdicts with `<ROOT>` filled in."""

    root: Path
    home: Path
    config: Path
    verdicts: dict[str, Any]

    def workspace(self, name: str) -> Path:
        path = self.home / ".craft-agent" / "workspaces" / name
        return path if path.exists() else self.root / "elsewhere" / name


def normal(value: Any, root: str) -> Any:
    """`value` as the verdicts hold it: the root's name, long texts by hash, deep values cut."""
    out: list[Any] = [None]
    todo: list[tuple[Any, Any, Any, int]] = [(value, out, 0, 0)]
    while todo:
        node, into, place, depth = todo.pop()
        made: Any = node
        if isinstance(node, str):
            made = _text(node.replace(root, "<ROOT>"))
        elif isinstance(node, list):
            made = [None] * len(node)
            todo += [(item, made, index, depth + 1) for index, item in enumerate(node)]
        elif isinstance(node, dict):
            made = {}
            for key, item in node.items():
                name = key.replace(root, "<ROOT>")
                made[name] = None
                todo.append((item, made, name, depth + 1))
        into[place] = made
    return out[0]


def _text(text: str) -> Any:
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    if units <= 400:
        return text
    data = text.encode("utf-8", "surrogatepass")
    return {
        "$string": {
            "utf16Length": units,
            "head": text[:60],
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    }


def make_tree(base: Path, data: Path) -> Tree:
    root = base / "golden"
    shutil.copytree(data / "tree", root, symlinks=True)
    link = root / "home/.craft-agent/workspaces/damaged/sessions/linked-session"
    if not link.is_symlink():  # a checkout without links holds the target's name
        target = link.read_text().strip()
        link.unlink()
        link.symlink_to(target)
    home = root / "home"
    os.environ["HOME"] = str(home)
    verdicts = json.loads((data / "verdicts.json").read_text("utf-8"))
    return Tree(root, home, home / ".craft-agent", verdicts)


@pytest.fixture
def tree(tmp_path: Path, craft_data: Path, private_home: Path) -> Tree:
    """The fixture tree, writable, with HOME set to its `home`."""
    return make_tree(tmp_path, craft_data)


@pytest.fixture
def make_session(tmp_path: Path, private_home: Path) -> Callable[..., Path]:
    """Write a session of a workspace under the default configuration; returns its file."""

    def make(
        name: str = "261201-calm-pond",
        /,
        *messages: Any,
        workspace: str = "own",
        raw: bytes | None = None,
        **header: Any,
    ) -> Path:
        root = private_home / ".craft-agent" / "workspaces" / workspace
        folder = root / "sessions" / name
        folder.mkdir(parents=True, exist_ok=True)
        if not (root / "config.json").exists():
            (root / "config.json").write_text(json.dumps({"id": "ws_00000001", "name": workspace}))
        file = folder / "session.jsonl"
        if raw is None:
            head = {"id": name, "workspaceRootPath": str(root), "createdAt": 1, "lastUsedAt": 2}
            lines = [head | header, *messages]
            raw = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        file.write_bytes(raw)
        return file

    return make


class App(NamedTuple):
    """A store on the private home's configuration, with helpers the tests share."""

    config: Path

    def store(self, **options: Any) -> CraftStore:
        return CraftStore(self.config, **options)

    def rows(self, store: CraftStore | None = None) -> dict[str, SessionRow]:
        found = deque((store or self.store()).scan(), maxlen=1).pop()
        return {row.id: row for row in found.rows}

    def run(self, pid: int | None = None, started: float | None = None) -> None:
        """Put a lock there as the application does."""
        value = {"pid": pid or os.getpid(), "startedAt": started or time.time() * 1000}
        (self.config / ".server.lock").write_text(json.dumps(value))

    def quit(self) -> None:
        (self.config / ".server.lock").unlink(missing_ok=True)


@pytest.fixture
def app(private_home: Path) -> App:
    """The configuration directory of the private home."""
    config = private_home / ".craft-agent"
    config.mkdir(parents=True, exist_ok=True)
    return App(config)


@pytest.fixture
def as_verdict() -> Callable[[Any, str], Any]:
    """A value as the verdicts hold it; see `normal`."""
    return normal
