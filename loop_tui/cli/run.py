"""From arguments to exit status: the one place that turns failures into words."""

from __future__ import annotations

from collections.abc import Sequence

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
    with Context(arguments, output) as context:
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
