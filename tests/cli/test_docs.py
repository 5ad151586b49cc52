"""Documents that cannot rot: commands, keys, schema, packaging."""

from __future__ import annotations

import importlib.util
import os
import re
import stat
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import loop_tui
from loop_tui.cli.parser import SHARED
from loop_tui.cli.registry import commands
from loop_tui.commands import COMMANDS
from loop_tui.demo.hostile import FLAVOURS, TRAPS

ROOT = Path(__file__).parent.parent.parent
RUN = "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/loop-tui --demo"
TEST = "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("readme_script", ROOT / "scripts" / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["README.md", "docs/HOSTILE.md"])
def test_generated_tables_are_up_to_date(tables: ModuleType, name: str) -> None:
    """When this fails: python scripts/readme.py"""
    text = read(name)
    assert tables.filled(text) == text


def test_the_readme_has_the_two_commands_each_alone() -> None:
    lines = read("README.md").splitlines()
    assert RUN in lines
    assert TEST in lines
    assert lines.index(RUN) < 20


def test_every_command_option_and_key_is_in_the_readme() -> None:
    text = read("README.md")
    for command in commands():
        assert f"`{command.name}" in text, command.name
    for flag, _ in SHARED:
        if flag not in ("--poll", "--ascii", "--theme"):
            assert flag in text, flag
    for each in COMMANDS:
        assert each.help in text, each.id


def test_every_command_with_json_is_in_the_schema() -> None:
    text = read("docs/SCHEMA.md")
    for command in commands():
        from loop_tui.cli.parser import Parser

        parser = Parser()
        command.configure(parser)
        if "--json" in parser.format_help():
            assert f"`{command.name}`" in text, command.name


def test_every_flavour_is_documented() -> None:
    text = read("docs/HOSTILE.md")
    for name in [*(each.name for each in FLAVOURS), *(each.name for each in TRAPS)]:
        assert f"`{name}`" in text


def test_links_in_the_documents_lead_somewhere() -> None:
    for name in ("README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\(([^)#]+)\)", read(name)):
            if not target.startswith("http"):
                assert ((ROOT / name).parent / target).exists(), (name, target)


def test_modules_named_in_the_architecture_exist() -> None:
    text = read("docs/ARCHITECTURE.md")
    named = set(re.findall(r"`((?:core/)?loop_(?:core|tui)/[\w/]+\.py)`", text))
    assert len(named) >= 10
    for name in named:
        path = name if name.startswith(("core/", "loop_tui/")) else f"core/{name}"
        assert (ROOT / path).is_file(), name


def test_the_version_is_told_in_one_way() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert project["version"] == loop_tui.__version__
    assert f"## [{loop_tui.__version__}]" in read("CHANGELOG.md")


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    text = read("docs/ARCHITECTURE.md")
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=!~ ]", requirement)[0]
        assert f"`{name}`" in text, name


def test_the_check_script_is_executable() -> None:
    mode = os.stat(ROOT / ".ci" / "run").st_mode
    assert mode & stat.S_IXUSR
