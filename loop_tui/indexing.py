"""The search index is kept by a process of its own, so that the browser never waits for it.

``python -m loop_tui.indexing`` reads the options as one JSON line from its standard input,
brings the index up to date and says how far it is, one JSON line at a time. It stops soon
after its standard input closes, so it never outlives whoever started it. `IndexJob` is the
other end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from loop_core.errors import Conflict, LoopError, reason_of
from loop_core.search.indexer import IndexProgress, update

if TYPE_CHECKING:
    from loop_tui.service import Options, Service

__all__ = ["IndexJob", "update_index"]

_NICE = 5
BUSY = 3  # exit status: another process brings the index up to date


class IndexJob:
    """A running index update. Both callbacks are called in a thread of the job's own.

    `on_end` gets why it failed, or None; that another process is at it is no failure.
    """

    def __init__(
        self,
        options: Options,
        on_progress: Callable[[IndexProgress], None] | None = None,
        on_end: Callable[[str | None], None] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            # -P: whatever lies in the directory we were started in is no module of ours.
            [sys.executable, "-P", "-m", "loop_tui.indexing"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._stopped = False
        self._on_progress = on_progress
        self._on_end = on_end
        self._thread = threading.Thread(target=self._follow, args=(options,), daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self, timeout: float = 2.0) -> None:
        """End the process; what it has committed stays. Blocks for `timeout` seconds at most."""
        self._stopped = True
        self._close_input()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):  # the process is gone, with options still to be read
                self._process.stdin.close()

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once it ended."""
        self._thread.join(timeout)
        return self._process.wait(timeout)

    def _follow(self, options: Options) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            return
        fault: str | None = None
        try:
            stdin.write(msgspec.json.encode(options) + b"\n")
            stdin.flush()
            for line in stdout:
                said = msgspec.json.decode(line, type=IndexProgress | _Fault)
                if isinstance(said, _Fault):
                    fault = said.reason
                elif self._on_progress is not None:
                    self._on_progress(said)
        except (OSError, ValueError, msgspec.DecodeError) as error:
            fault = reason_of(error)
        status = self._process.wait()
        stdout.close()
        self._close_input()
        if self._on_end is not None:
            if status and status != BUSY and not self._stopped:
                fault = fault or f"the indexer ended with status {status}"
            self._on_end(fault)


class _Fault(msgspec.Struct, tag=True):
    reason: str


def update_index(
    service: Service,
    on_progress: Callable[[IndexProgress], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> IndexProgress:
    """Bring the index of an opened and scanned service up to date, in this process."""
    snapshot = service.snapshot
    forget = {store.id for store in service.stores} if snapshot.complete else set()
    return update(
        service.own.search,
        snapshot.rows,
        service.library.store_of,
        forget=forget,
        on_progress=on_progress,
        cancelled=cancelled,
    )


def main() -> int:
    """Read options, update, report; 0 done, 1 failed, `BUSY`."""
    from loop_tui.service import Options, Service

    os.nice(_NICE)
    options = msgspec.json.decode(sys.stdin.buffer.readline(), type=Options)
    ended = threading.Event()

    def watch_input() -> None:
        while sys.stdin.buffer.read(4096):
            continue
        ended.set()

    threading.Thread(target=watch_input, daemon=True).start()
    read_only = msgspec.structs.replace(options, read_only=True)
    try:
        with Service.open(read_only, recover=False) as service:
            service.scan()
            update_index(service, _say, ended.is_set)
    except Conflict:
        return BUSY
    except LoopError as error:
        _say(_Fault(reason_of(error)))
        return 1
    return 0


def _say(value: IndexProgress | _Fault) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    # Not sys.exit: the thread that waits for input would hold the end of the interpreter.
    status = main()
    sys.stdout.flush()
    os._exit(status)
