"""Every command from a shell script, and what they print against the documented schema."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from loop_tui.cli.registry import commands

ROOT = Path(__file__).parent.parent.parent
SCRIPT = Path(__file__).with_name("every_command.sh")
_KINDS: dict[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "array": lambda value: isinstance(value, list),
    "array of strings": lambda value: (
        isinstance(value, list) and all(isinstance(each, str) for each in value)
    ),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
}
Schema = dict[str, dict[str, str]]


def documented() -> Schema:
    """Per command its keys in order, each with its type, from the tables of docs/SCHEMA.md."""
    schema: Schema = {}
    keys: dict[str, str] = {}
    for line in (ROOT / "docs" / "SCHEMA.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            keys = {}
            schema |= dict.fromkeys(re.findall(r"`(\w+)`", line), keys)
        elif line.startswith("| `"):
            _, names, kind, *_ = (cell.strip() for cell in line.split("|"))
            for name in re.findall(r"`(\w+)`", names):
                keys[name] = kind or schema["list"][name]
    return schema


def objects(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    if path.name == "export":
        yield json.loads(text)
    else:
        yield from map(json.loads, text.splitlines())


def ran(base: Path) -> Path:
    """Run the script; the directory of what `--json` printed, a file a command."""
    program = [sys.executable, "-m", "loop_tui"]
    done = subprocess.run(
        [SCRIPT, base, *program],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    words = (base / "words").read_text(encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + words
    # Progress is for terminals, and a closed pipe is nobody's fault.
    for unwanted in ("Traceback", "Broken pipe", "\r", "\x1b"):
        assert unwanted not in words
    return base / "json"


def test_every_command_does_and_prints_what_is_documented(tmp_path: Path) -> None:
    schema = documented()
    files = list(ran(tmp_path).iterdir())
    assert {path.name for path in files} == set(schema)
    for path in files:
        keys = schema[path.name]
        found = list(objects(path))
        assert found
        for one in found:
            assert list(one) == list(keys), path.name
            for key, kinds in keys.items():
                assert any(_KINDS[kind](one[key]) for kind in kinds.split(" or ")), (key, one[key])
            for each in one.get("damage", ()):
                assert list(each) == ["line", "reason"]


def test_the_script_uses_every_command() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    for command in commands():
        assert re.search(rf"\b(tui|on|json|status|for command in)\b.*\b{command.name}\b", text)
