"""Whether the terminal is still there, and as large as we think. Asked once a second.

A terminal that closes sends SIGHUP only to the programs it controls. Any other program reads
an end of file for ever.

Of two signals for new sizes the later may be handled inside the handler of the earlier, whose
older size is then told last: the screen would keep a size the terminal no longer has.
"""

from __future__ import annotations

import select
import shutil
import sys

__all__ = ["SizeWatch", "terminal_gone"]

_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


def terminal_gone(fd: int | None = None) -> bool:
    """Whether nobody is at the other end of `fd` (default: the program's standard input)."""
    if fd is None:
        if sys.__stdin__ is None:
            return True
        fd = sys.__stdin__.fileno()
    poller = select.poll()
    poller.register(fd, 0)
    return any(events & _GONE for _, events in poller.poll(0))


class SizeWatch:
    """Notices a terminal that rests at another size than the one drawn."""

    def __init__(self) -> None:
        self._last = self._told = (0, 0)

    def missed(self, drawn: tuple[int, int]) -> tuple[int, int] | None:
        """The terminal's columns and rows, if it had them at the last look as well and `drawn`
        are others. Each size is told once: some terminals report another than they have."""
        columns, rows = shutil.get_terminal_size((0, 0))
        now = (columns, rows)
        rests, self._last = now == self._last, now
        if now == drawn:
            self._told = (0, 0)
        if not rests or now in ((0, 0), drawn, self._told):
            return None
        self._told = now
        return now
