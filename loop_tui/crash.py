"""Where an unexpected error goes: a private file, and a few words for the person.

A traceback with local variables holds pieces of conversations; it must not be printed where
others may see it.
"""

from __future__ import annotations

import io
import os
import sys

from rich.console import Console

from loop_core import fsio
from loop_core.errors import LoopError, reason_of
from loop_core.loop.dates import now_iso

PRIVATE = "It may hold pieces of conversations: read it before you pass it on."


class CrashReport:
    """Collects what `console` prints; `publish` writes it to `directory` and says where."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._text = io.StringIO()
        self.console = Console(
            file=self._text, markup=False, highlight=False, width=120, color_system=None
        )

    def publish(self) -> bool:
        """True when there was something to report. The file is readable by its owner only."""
        text = self._text.getvalue()
        if not text:
            return False
        name = f"crash-{now_iso().replace(':', '').replace('.', '')}.txt"
        path = os.path.join(self._directory, name)
        try:
            fsio.make_private_dir(self._directory)
            fsio.write_new(path, text.encode("utf-8", "replace"))
        except LoopError as error:
            where = f"its report could not be written: {reason_of(error)}"
        else:
            where = f"its report is in\n{path}\n{PRIVATE}"
        sys.stderr.write(f"loop-tui stopped by an error of its own; {where}\n")
        return True
