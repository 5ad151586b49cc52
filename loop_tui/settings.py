"""The user's settings: one small JSON file, validated, never fatal.

Where: `settings.json` in the settings directory of `places.own_places` (XDG). A file that
cannot be read or understood is reported once and left alone; the program runs on defaults
and does not write over it. A directory that cannot be written is reported once as well.
"""

from __future__ import annotations

import os
from typing import Any, Literal

import msgspec

from loop_core import fsio
from loop_core.errors import LoopError, reason_of
from loop_tui.state.views import Sort

FILE_NAME = "settings.json"


class Settings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept between runs. Unknown fields of the file are kept by `Store`."""

    theme: str = "night"
    sort: Sort = "activity"
    reverse: bool = False
    ask_pin: bool = True
    ask_archive: bool = True
    auto_read: bool = True
    show_hidden: bool = False
    glyphs: Literal["unicode", "ascii"] = "unicode"
    keymap: dict[str, str] = {}  # command id -> keys, separated by commas
    hint_seen: bool = False


class SettingsFile:
    """Reads and saves `Settings` in `directory`; `fault` says why it does not, in one line."""

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, FILE_NAME)
        self.fault: str | None = None
        self._frozen = False
        self._raw: dict[str, Any] = {}
        self.value = self._read()

    def _read(self) -> Settings:
        try:
            data = fsio.read_optional(self.path)
        except LoopError as error:
            self._refuse(reason_of(error))
            return Settings()
        if data is None:
            return Settings()
        try:
            raw = msgspec.json.decode(data)
            value = msgspec.convert(raw, Settings)
        except (msgspec.MsgspecError, RecursionError) as error:
            self._refuse(str(error))
            return Settings()
        self._raw = raw
        return value

    def _refuse(self, why: str) -> None:
        self.fault = f"Settings ignored, {self.path}: {why}"
        self._frozen = True

    def change(self, **values: Any) -> bool:
        """Replace fields for this run; True when there is something to `save`."""
        fresh = msgspec.structs.replace(self.value, **values)
        changed = fresh != self.value
        self.value = fresh
        return changed and not self._frozen

    def save(self) -> str | None:
        """Write the file, privately and whole; the reason when that failed, told only once.

        Fields this version does not know stay as they were.
        """
        if self._frozen:
            return None
        known = set(Settings.__struct_fields__)
        kept = {name: value for name, value in self._raw.items() if name not in known}
        body = msgspec.json.encode({**kept, **msgspec.to_builtins(self.value)})
        try:
            fsio.make_private_dir(os.path.dirname(self.path))
            fsio.atomic_write(self.path, msgspec.json.format(body, indent=2) + b"\n")
        except LoopError as error:
            self._frozen = True
            return f"Settings cannot be saved: {reason_of(error)}"
        return None
