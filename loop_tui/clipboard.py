"""Copying text out of a terminal.

Inside tmux its own buffer is loaded (`tmux load-buffer -w -` passes the text on to the
terminal): its defaults drop OSC 52 from programs. Elsewhere the terminal is asked by OSC 52.
Terminals drop long sequences, so above `LIMIT` bytes the caller offers a file.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

from loop_core.sanitize import safe

if TYPE_CHECKING:
    from textual.app import App

LIMIT = 70_000  # bytes of UTF-8


def too_long(text: str) -> bool:
    """Whether a terminal would probably drop `text`."""
    return len(text.encode("utf-8", "replace")) > LIMIT


def in_tmux() -> bool:
    return bool(os.environ.get("TMUX"))


def to_tmux(text: str) -> str | None:
    """Load tmux's buffer; blocks. The reason when that failed."""
    try:
        done = subprocess.run(
            ["tmux", "load-buffer", "-w", "-"],
            input=safe(text).encode(),
            capture_output=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"tmux: {error}"
    if done.returncode:
        return f"tmux: {done.stderr.decode('utf-8', 'replace').strip()}"
    return None


async def copy(app: App[Any], text: str) -> str | None:
    """Copy sanitized `text`; None when it was handed over, else the reason."""
    if in_tmux():
        import asyncio

        return await asyncio.to_thread(to_tmux, text)
    app.copy_to_clipboard(safe(text))
    return None
