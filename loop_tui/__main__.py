"""The command `loop-tui`. Cheap answers first: `--version` imports nothing of the program."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from loop_tui import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status: 0 done, 1 failed, 2 usage.

    A reader that closed the pipe (`| head`) ends the command quietly.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["--version"]:
            print(f"loop-tui {__version__}")
            status = 0
        else:
            from loop_tui.cli.run import run

            status = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes again at exit; it must not meet the closed pipe then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    return status


if __name__ == "__main__":
    sys.exit(main())
