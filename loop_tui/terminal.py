"""Whether the terminal is still there.

A terminal that closes sends SIGHUP only to the programs it controls. Any other program reads
an end of file for ever, so the browser asks once a second.
"""

from __future__ import annotations

import select
import sys

__all__ = ["terminal_gone"]

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
