"""The commands, each a value in the module that implements it.

A module of commands names them in its `COMMANDS`; adding the module's name to `MODULES`
makes them part of the parser, the help, the completion and the documentation tests.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from loop_tui.cli.context import Context

MODULES = (
    "loop_tui.cli.listing",
    "loop_tui.cli.show",
    "loop_tui.cli.search",
    "loop_tui.cli.export",
    "loop_tui.cli.check",
    "loop_tui.cli.change",
    "loop_tui.cli.purge",
    "loop_tui.cli.reclaim",
    "loop_tui.cli.undo",
    "loop_tui.cli.resume",
    "loop_tui.cli.paths",
    "loop_tui.cli.demo",
    "loop_tui.cli.completion",
)


@dataclass(frozen=True)
class Command:
    """One word of the command line.

    `configure` adds the arguments, `run` does the work and returns the exit status.
    Importing the module must be cheap: whatever `run` needs is imported when it runs.
    """

    name: str
    help: str
    example: str
    configure: Callable[[ArgumentParser], object]
    run: Callable[[Context, Namespace], int]


def commands() -> tuple[Command, ...]:
    """Every command, in the order of the help."""
    found: list[Command] = []
    for module in MODULES:
        found.extend(import_module(module).COMMANDS)
    return tuple(found)
