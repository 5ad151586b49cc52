"""First come, first served: the queue of one manager or archive.

Loop chains its writes on a promise, so they happen in the order they were asked for. A bare
`threading.Lock` would let a late thread overtake one that waits.
"""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType

from loop_core.errors import InvalidArgument

__all__ = ["Turns"]


class Turns:
    """A fair lock, used as a context manager. Asking again inside one's own turn raises."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._owner: int | None = None

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._guard:
            if self._owner is None:
                self._owner = me
                return
            if self._owner == me:
                raise InvalidArgument("a write cannot start another one of the same manager")
            ticket = threading.Lock()
            ticket.acquire()
            self._waiting.append(ticket)
        try:
            ticket.acquire()
        except BaseException:
            self._leave(ticket)
            raise
        self._owner = me

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._guard:
            self._hand_over()

    def _hand_over(self) -> None:
        if self._waiting:
            # Nobody can slip in: the turn goes to the first in line, not to whoever is quick.
            self._owner = -1
            self._waiting.popleft().release()
        else:
            self._owner = None

    def _leave(self, ticket: threading.Lock) -> None:
        """An interrupted wait gives its place up, or passes on the turn it was just given."""
        with self._guard:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            else:
                self._hand_over()
