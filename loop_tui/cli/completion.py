"""`loop-tui completion`: a completion script, made from the same tree that parses."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Literal

from loop_tui.cli.context import Context
from loop_tui.cli.registry import Command

Kind = Literal["flag", "dir", "file", "session", "choice", "text"]

_KINDS: dict[str, Kind] = {"DIR": "dir", "FILE": "file", "PATH": "file", "SESSION": "session"}


@dataclass(frozen=True)
class Word:
    """An option (with `names`) or a positional argument (without)."""

    names: tuple[str, ...]
    help: str
    kind: Kind
    choices: tuple[str, ...] = ()
    metavar: str = ""


@dataclass(frozen=True)
class Node:
    """A command, or with an empty name the program itself."""

    name: str
    help: str
    words: tuple[Word, ...]

    @property
    def options(self) -> tuple[Word, ...]:
        return tuple(word for word in self.words if word.names)

    @property
    def operands(self) -> tuple[Word, ...]:
        return tuple(word for word in self.words if not word.names)


def tree(parser: ArgumentParser) -> tuple[Node, tuple[Node, ...]]:
    """The program and its commands as the parser knows them."""
    root = Node("", "", _words(parser))
    nodes: list[Node] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, sub in action.choices.items():
                nodes.append(Node(name, helps.get(name, ""), _words(sub)))
    return root, tuple(nodes)


def _words(parser: ArgumentParser) -> tuple[Word, ...]:
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        if action.choices:
            kind: Kind = "choice"
        elif action.nargs == 0:
            kind = "flag"
        else:
            kind = _KINDS.get(str(action.metavar or ""), "text")
        choices = tuple(map(str, action.choices or ()))
        shown = str(action.metavar or "/".join(choices)) + (" …" if action.nargs == "+" else "")
        shown = f"[{shown} …]" if action.nargs == "*" else shown
        found.append(Word(tuple(action.option_strings), action.help or "", kind, choices, shown))
    return tuple(found)


def configure(parser: ArgumentParser) -> None:
    shells = ("bash", "zsh", "fish")
    parser.add_argument("shell", metavar="SHELL", choices=shells, help="bash, zsh or fish")


def run(context: Context, arguments: Namespace) -> int:
    from loop_tui.cli.parser import build_parser
    from loop_tui.cli.shells import WRITERS

    root, nodes = tree(build_parser())
    context.output.text(WRITERS[arguments.shell](root, nodes))
    return 0


COMMANDS = (
    Command(
        name="completion",
        help="print a completion script for a shell",
        example='eval "$(loop-tui completion bash)"',
        configure=configure,
        run=run,
    ),
)
