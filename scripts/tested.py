"""Writes docs/TESTED.md: which test covers which reported kind of failure.

Tests name the rows they cover in their docstrings ("failures rows 6, 8"). Run it after
adding such a test:

    python scripts/tested.py          rewrite docs/TESTED.md
    python scripts/tested.py --check  only say whether it is up to date (exit status 1: no)
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "TESTED.md"
_ROWS = re.compile(r"failures,? rows? ((?:\d+(?:,\s+|\s+and\s+|\s*[–-]\s*)?)+)")
_HEAD = """\
# Which test covers which failure

The rows are kinds of faults that people reported of comparable programs, by number; a test
that covers one names it in its docstring. Made by `python scripts/tested.py`.

| row | tests |
|---:|---|
"""


def rows_in(text: str) -> set[int]:
    """The numbers a docstring or comment names, ranges included."""
    found: set[int] = set()
    for match in _ROWS.finditer(text):
        words = match[1]
        for first, last in re.findall(r"(\d+)\s*[–-]\s*(\d+)", words):
            found.update(range(int(first), int(last) + 1))
        found.update(int(number) for number in re.findall(r"\d+", words))
    return found


def tests_in(path: Path) -> Iterator[tuple[str, set[int]]]:
    """Each test function of a file that covers rows: its name below the root, the rows."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    name = path.relative_to(ROOT).as_posix()
    scopes: list[tuple[str, ast.AST]] = [("", tree)]
    while scopes:
        prefix, scope = scopes.pop()
        for node in ast.iter_child_nodes(scope):
            if isinstance(node, ast.ClassDef):
                scopes.append((f"{prefix}{node.name}::", node))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                # Comments count as well: a long test names rows where they are checked.
                text = " ".join(" ".join(lines[node.lineno - 1 : node.end_lineno]).split())
                rows = rows_in(text)
                if rows and node.name.startswith("test_"):
                    yield f"{name}::{prefix}{node.name}", rows


def covered() -> dict[int, list[str]]:
    """Rows with the tests that cover them."""
    found: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test, rows in tests_in(path):
            for row in rows:
                found.setdefault(row, []).append(test)
    return found


def document() -> str:
    """The whole text of docs/TESTED.md."""
    lines = [
        f"| {row} | {'<br>'.join(f'`{test}`' for test in sorted(tests))} |"
        for row, tests in sorted(covered().items())
    ]
    return _HEAD + "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    fresh = document()
    if arguments == ["--check"]:
        known = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
        return int(known != fresh)
    DOCUMENT.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
