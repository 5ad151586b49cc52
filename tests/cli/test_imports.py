"""Layers, seen at run time and in the source: who may load and open what."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import loop_core

ROOT = Path(__file__).parent.parent.parent
CORE = ROOT / "core" / "loop_core"


def core_modules() -> list[str]:
    return sorted(
        info.name for info in pkgutil.walk_packages(loop_core.__path__, prefix="loop_core.")
    )


def loaded_after(code: str) -> set[str]:
    """The modules a fresh interpreter has after running `code`."""
    script = f"{code}\nimport sys\nsys.stderr.write('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stderr.splitlines())


def test_the_storage_package_loads_no_screen_and_no_event_loop() -> None:
    code = "import importlib\n" + "\n".join(
        f"importlib.import_module({name!r})" for name in core_modules()
    )
    loaded = loaded_after(code)
    assert {"loop_core.model", "loop_core.fsio"} <= loaded
    forbidden = {"textual", "rich", "asyncio", "loop_tui", "watchfiles", "tantivy"}
    assert not forbidden & loaded


@pytest.mark.parametrize(
    "name", ["loop_tui.state", "loop_tui.layout", "loop_tui.text", "loop_tui.service"]
)
def test_pure_view_code_loads_no_textual(name: str) -> None:
    loaded = loaded_after(f"import {name}")
    assert name in loaded
    assert not {"textual", "asyncio"} & loaded


def test_version_loads_nothing_of_the_program() -> None:
    loaded = loaded_after("from loop_tui.__main__ import main\nmain(['--version'])")
    assert not {"argparse", "msgspec", "textual", "loop_core", "loop_tui.cli"} & loaded


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--json"],
        ["list"],
        ["paths"],
        ["check"],
        ["undo"],
        ["--help"],
        ["completion", "bash"],
    ],
)
def test_commands_load_no_textual(arguments: list[str], tmp_path: Path) -> None:
    argv = [*arguments, "--agent-dir", str(tmp_path / "none"), "--no-craft"]
    loaded = loaded_after(f"from loop_tui.__main__ import main\nmain({argv!r})")
    assert not {"textual", "asyncio", "watchfiles"} & loaded


def sources() -> Iterator[Path]:
    yield from sorted(CORE.rglob("*.py"))
    yield from sorted((ROOT / "loop_tui").rglob("*.py"))


# Modules that may write by other means than fsio, and why.
WRITERS = {
    # Standard output is pointed at /dev/null after a closed pipe.
    "loop_tui/__main__.py",
    # Makes what fsio refuses to make: links, pipes, locked directories.
    "loop_tui/demo/hostile/__init__.py",
    "loop_tui/demo/hostile/places.py",
}


def test_only_fsio_opens_files_for_writing() -> None:
    """The search engine's own files are written by the engine, not by a call seen here."""
    found = []
    for path in sources():
        name = str(path.relative_to(ROOT))
        if path.name.startswith("fsio") or name in WRITERS:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [f"{name}:{line}" for line in _writes(tree)]
    assert not found, found


_METHODS = {"write_text", "write_bytes", "symlink_to", "hardlink_to"}
_OS_CALLS = {
    "rename",
    "replace",
    "remove",
    "unlink",
    "rmdir",
    "link",
    "symlink",
    "truncate",
    "ftruncate",
    "write",
    "pwrite",
    "chmod",
    "fchmod",
    "mkfifo",
}
_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}


def _writes(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _FLAGS:
            yield node.lineno
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open":
            mode = _argument(node, 1, "mode")
            if mode is not None and set(mode) & set("wax+"):
                yield node.lineno
        elif isinstance(function, ast.Attribute):
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            if _call_writes(owner, function.attr):
                yield node.lineno


def _call_writes(owner: str, name: str) -> bool:
    if owner == "shutil":
        return name not in ("which", "get_terminal_size")
    return name in (_OS_CALLS if owner == "os" else _METHODS)


def _argument(call: ast.Call, position: int, name: str) -> str | None:
    values = [*call.args[position : position + 1]]
    values += [keyword.value for keyword in call.keywords if keyword.arg == name]
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    return None


def test_the_scan_sees_a_write() -> None:
    assert list(_writes(ast.parse("open('x', 'w')"))) == [1]
    assert list(_writes(ast.parse("import os\nos.unlink('x')"))) == [2]
    assert list(_writes(ast.parse("import os\nos.open('x', os.O_CREAT)"))) == [2]
    assert list(_writes(ast.parse("open('x')"))) == []


def imported(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_only_watch_imports_watchfiles_and_nobody_private_textual() -> None:
    seen = False
    for path in sources():
        names = imported(ast.parse(path.read_text(encoding="utf-8")))
        private = {name for name in names if name.startswith("textual._")}
        assert not private, path
        if any(name.split(".")[0] == "watchfiles" for name in names):
            assert path == CORE / "watch.py"
            seen = True
    assert seen


def test_the_two_sources_do_not_know_each_other() -> None:
    for package, other in (("loop", "craft"), ("craft", "loop")):
        for path in (CORE / package).rglob("*.py"):
            names = imported(ast.parse(path.read_text(encoding="utf-8")))
            assert not {name for name in names if name.startswith(f"loop_core.{other}")}, path
