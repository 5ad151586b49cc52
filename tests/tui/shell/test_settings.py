"""The settings file: validated, never fatal, saved whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from loop_tui.settings import FILE_NAME, Settings, SettingsFile


def test_values_come_back(tmp_path: Path) -> None:
    file = SettingsFile(str(tmp_path / "new"))
    assert file.value == Settings()
    assert file.change(theme="day", keymap={"pin": "P"}, ask_pin=False)
    assert not file.change(theme="day")
    assert file.save() is None
    again = SettingsFile(str(tmp_path / "new"))
    assert again.value == file.value
    assert again.fault is None
    mode = (tmp_path / "new" / FILE_NAME).stat().st_mode
    assert mode & 0o777 == 0o600


def test_fields_of_other_versions_stay(tmp_path: Path) -> None:
    """Also what an older version kept of a session that is gone (failures row 139)."""
    (tmp_path / FILE_NAME).write_text('{"last_session": "gone", "theme": "day"}')
    file = SettingsFile(str(tmp_path))
    file.change(sort="title")
    assert file.save() is None
    kept = json.loads((tmp_path / FILE_NAME).read_text())
    assert kept == {"last_session": "gone", "theme": "day", "sort": "title"}


@pytest.mark.parametrize(
    "text", ["{", '{"theme": 7}', '{"sort": "colour"}', "[]", "", '{"keymap": {"a": 1}}']
)
def test_a_broken_file_is_reported_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(text)
    file = SettingsFile(str(tmp_path))
    assert file.value == Settings()
    assert file.fault is not None
    assert str(path) in file.fault
    assert not file.change(theme="day")
    assert file.value.theme == "day"
    assert file.save() is None
    assert path.read_text() == text


def test_something_else_in_the_files_place(tmp_path: Path) -> None:
    """A folder or a FIFO does not hang and is reported."""
    (tmp_path / "a" / FILE_NAME).mkdir(parents=True)
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / FILE_NAME)
    for name in ("a", "b"):
        assert SettingsFile(str(tmp_path / name)).fault is not None


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    """failures row 154."""
    place = tmp_path / "file"
    place.write_text("")
    file = SettingsFile(str(place / "loop-tui"))
    assert file.change(theme="day")
    why = file.save()
    assert why is not None
    assert "cannot be saved" in why
    file.change(theme="night")
    assert file.save() is None


async def test_a_broken_file_is_told_at_start(service: Any, drive: Any, tmp_path: Path) -> None:
    from loop_tui.app import LoopTui

    (tmp_path / FILE_NAME).write_text("{")
    app = LoopTui(lambda: service, SettingsFile(str(tmp_path)), watch=False)
    async with drive(app) as d:
        assert "Settings ignored" in d.toast
        await d.press("s")
        assert "Sorted by created" in d.toast
