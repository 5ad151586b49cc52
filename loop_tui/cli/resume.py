"""`loop-tui resume`: the agent's own resume command, in the session's directory."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from argparse import ArgumentParser, Namespace

from loop_core.errors import Refused
from loop_core.wording import MIGRATES
from loop_tui.cli.context import Context
from loop_tui.cli.parts import session_argument
from loop_tui.cli.registry import Command


def configure(parser: ArgumentParser) -> None:
    session_argument(parser)


def run(context: Context, arguments: Namespace) -> int:
    row = context.find(arguments.session)
    command, folder = context.service.resume_command(row.key)
    if row.form == "loop2":
        context.output.words(MIGRATES)
    if shutil.which(command[0]) is None:
        line = f"cd {shlex.quote(folder)} && {shlex.join(command)}"
        raise Refused(f"{command[0]} is not installed; the command would be: {line}")
    if not os.path.isdir(folder):
        raise Refused("the session's folder is gone", folder)
    context.output.stdout.flush()
    return subprocess.run(command, cwd=folder, check=False).returncode


COMMANDS = (
    Command(
        name="resume",
        help="continue a session with its own agent",
        example="loop-tui resume 3f9c21d8",
        configure=configure,
        run=run,
    ),
)
