"""The browser: the only place of the command line that loads Textual."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from loop_core.errors import LoopError
from loop_tui.cli.context import Context, Usage


def browse(context: Context) -> int:
    """Open the browser on the stores of the context; returns its exit status."""
    # The screen is drawn on stderr.
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise Usage("the browser needs a terminal; commands work without one (--help)")
    try:
        from loop_tui.app import run
    except ImportError as error:
        raise LoopError(f"the browser cannot start: {error}") from error

    options = context.options()
    with ExitStack() as closing:
        demo = context.demo()
        if demo is not None:
            from loop_tui.demo.session import growing

            closing.enter_context(growing(demo))
        status: int = run(
            options, ascii_only=context.arguments.ascii, theme=context.arguments.theme
        )
        return status
