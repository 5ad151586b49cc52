"""docs/TESTED.md is true: made from the tests as they are, and no row is forgotten."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
#: The kinds of failure that concern what this program does.
ROWS = [
    1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24, 25, 27, 28, 29, 30,
    32, 33, 34, 36, 37, 39, 40, 42, 43, 44, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 59, 60, 61,
    62, 63, 64, 65, 68, 69, 70, 71, 72, 73, 74, 76, 81, 83, 84, 87, 88, 89, 90, 91, 92, 93, 94, 95,
    96, 97, 98, 99, 100, 103, 104, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 117, 118, 120,
    121, 122, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 137, 138, 139, 141, 142,
    143, 144, 145, 146, 147, 148, 149, 151, 152, 154,
]  # fmt: skip


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tested_script", ROOT / "scripts" / "tested.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_map_is_up_to_date(script: ModuleType) -> None:
    """When this fails: python scripts/tested.py"""
    assert script.main(["--check"]) == 0


def test_every_row_has_a_test(script: ModuleType) -> None:
    covered = script.covered()
    assert [row for row in ROWS if row not in covered] == []


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("failures row 7", {7}),
        ("failures rows 1, 2 and 9: x", {1, 2, 9}),
        ("failures rows 3–5", {3, 4, 5}),
        ("rows 7", set()),
    ],
)
def test_rows_are_read_from_docstrings(script: ModuleType, text: str, rows: set[int]) -> None:
    assert script.rows_in(text) == rows
