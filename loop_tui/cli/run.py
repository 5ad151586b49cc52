"""From arguments to exit status: the one place that turns failures into words."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from loop_core.errors import LoopError
from loop_tui.cli.context import Context, Usage
from loop_tui.cli.output import Output
from loop_tui.cli.parser import parse


def run(argv: Sequence[str]) -> int:
    """Run a command, or the browser when there is none."""
    try:
        arguments = parse(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    output = Output()
    with _leaving_by_signals(), Context(arguments, output) as context:
        try:
            if arguments.command is None:
                from loop_tui.cli.browse import browse

                return browse(context)
            status: int = arguments.run(context, arguments)
        except Usage as error:
            output.error(str(error))
            return 2
        except LoopError as error:
            output.error(str(error))
            return 1
        except KeyboardInterrupt:
            return 130
        return status


@contextmanager
def _leaving_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind like an exit, so that a demo leaves no directory behind."""
    main = threading.current_thread() is threading.main_thread()
    numbers = [signal.SIGTERM, signal.SIGHUP] if main else []
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
