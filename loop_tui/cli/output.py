"""What a command prints: data to stdout, words to stderr, nothing a terminal acts on.

Human output goes through `sanitize`; JSON keeps every character, the dangerous ones as
escapes, so that a program reads exactly what is stored and a terminal shows it harmlessly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from loop_core.sanitize import safe, safe_json, safe_line

STYLES = {
    "strong": "1",
    "muted": "2",
    "good": "32",
    "bad": "31",
    "warn": "33",
    "accent": "34",
}


def json_text(value: Any) -> str:
    """`value` as one line of JSON without a raw control character.

    Infinity becomes null and lone surrogates stay escapes, as Loop itself writes them.
    """
    from loop_core.jsonvalue import dumps

    text = dumps(value).decode("utf-8", "surrogatepass")
    return safe_json(text)


class Output:
    """The two streams of one command."""

    def __init__(self, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.stdout = sys.stdout if stdout is None else stdout
        self.stderr = sys.stderr if stderr is None else stderr
        for stream in (self.stdout, self.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")
        self.terminal = self.stdout.isatty()
        self.colour = (
            self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )

    @property
    def width(self) -> int | None:
        """Columns to fit into on a terminal; None when the output goes elsewhere."""
        if not self.terminal:
            return None
        import shutil

        return max(20, shutil.get_terminal_size().columns)

    def json(self, value: Any) -> None:
        """One object on one line."""
        self.stdout.write(json_text(value) + "\n")

    def line(self, text: str = "", style: str = "") -> None:
        """One line of data."""
        self.stdout.write(self.styled(safe_line(text), style) + "\n")

    def ready(self, text: str) -> None:
        """One line that is sanitized and styled already."""
        self.stdout.write(text + "\n")

    def text(self, text: str) -> None:
        """Several lines of data, ending in a line feed."""
        text = safe(text)
        self.stdout.write(text if text.endswith("\n") else text + "\n")

    def words(self, text: str) -> None:
        """One line for a person, on stderr."""
        self.stderr.write(safe_line(text) + "\n")

    def error(self, text: str) -> None:
        """What went wrong, on stderr."""
        self.words(f"loop-tui: {text}")

    def styled(self, safe_text: str, style: str) -> str:
        """`safe_text` with the colour of `style` where colours are wanted."""
        if not self.colour or style not in STYLES or not safe_text:
            return safe_text
        return f"\x1b[{STYLES[style]}m{safe_text}\x1b[0m"

    def progress(self, text: str) -> None:
        """A passing line on stderr, only where it is a terminal; empty text removes it."""
        if self.stderr.isatty():
            self.stderr.write("\r\x1b[K" + safe_line(text, 78))
            self.stderr.flush()

    def table(
        self,
        heads: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        flexible: int = -1,
        right: Iterable[int] = (),
        styles: Sequence[str] = (),
    ) -> None:
        """Aligned columns, widths counted in terminal cells.

        On a terminal, column `flexible` gives up cells until a row fits; elsewhere nothing
        is cut. `styles` holds one style a row, `right` the columns aligned to the right.
        """
        from loop_tui.text import cell_width, clip, pad

        cells = [[safe_line(cell) for cell in row] for row in rows]
        widths = [
            max((cell_width(row[column]) for row in [list(heads), *cells]), default=0)
            for column in range(len(heads))
        ]
        if self.width is not None and flexible >= 0:
            excess = sum(widths) + 2 * (len(widths) - 1) - self.width
            widths[flexible] = max(8, widths[flexible] - max(0, excess))
        rightward = set(right)
        for number, row in enumerate([list(heads), *cells]):
            parts = []
            for column, cell in enumerate(row):
                shown = clip(cell, widths[column])
                space = " " * (widths[column] - cell_width(shown))
                parts.append(space + shown if column in rightward else pad(shown, widths[column]))
            style = "muted" if number == 0 else (styles[number - 1] if styles else "")
            self.stdout.write(self.styled("  ".join(parts).rstrip(), style) + "\n")
