"""Lines that are costly to read are decoded once, when they are shown."""

from __future__ import annotations

from typing import Any

import pytest

from loop_core import jsonvalue
from loop_core.loop import lines
from loop_core.loop.lines import is_user_line


@pytest.mark.parametrize("deep", [b"[" * 20_000 + b"]" * 20_000, b"[" * 40_000])
def test_a_deeply_nested_line_is_decoded_once_for_a_page(
    disk: Any, kit: Any, monkeypatch: pytest.MonkeyPatch, deep: bytes
) -> None:
    disk.v3([kit.user("a"), kit.assistant("b"), deep], index=None)
    store, row = disk.only_row()
    decoded: list[int] = []

    def counting(data: bytes | str) -> Any:
        decoded.append(len(data))
        return jsonvalue.loads(data)

    monkeypatch.setattr(lines, "loads", counting)
    assert store.page(row.key).total == 3
    assert decoded.count(len(deep)) == 1


@pytest.mark.parametrize(
    "role", [b'"user"', b'"\\u0075ser"', b'"us\\u0065r"', b'"\\u0075\\u0073\\u0065\\u0072"']
)
def test_a_user_is_known_however_the_word_is_written(role: bytes) -> None:
    line = b'{"role":' + role + b',"content":' + b"[" * 5000 + b"]" * 5000 + b"}"
    assert is_user_line(line)
    assert is_user_line(b"\x00\x00" + line)
    assert not is_user_line(line.replace(b"role", b"rule"))
