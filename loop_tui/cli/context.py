"""What a command works with: its output and, opened when first asked for, the stores."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from loop_core.errors import SessionNotFound

if TYPE_CHECKING:
    from loop_core.model import SessionRow, Snapshot
    from loop_tui.cli.output import Output
    from loop_tui.service import Options, Service


class Usage(Exception):
    """The command line asks for something that cannot be meant; exit status 2."""


class Context:
    """One run of one command. Used as a context manager: leaving it closes the stores."""

    def __init__(self, arguments: Namespace, output: Output) -> None:
        self.arguments = arguments
        self.output = output
        self._closing = ExitStack()
        self._service: Service | None = None
        self._extra_collections: list[str] = []
        self._extra_workspaces: list[str] = []
        self._demo: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.close()

    # --- stores

    def options(self) -> Options:
        """The places to use, from the arguments and the environment."""
        from loop_core.loop.paths import get_agent_dir
        from loop_tui.service import Options

        given = self.arguments
        demo = self.demo_dir()
        agents: tuple[str, ...] = ()
        if not given.no_loop:
            default = demo / "loop" if demo else get_agent_dir()
            agents = (_absolute(given.agent_dir) if given.agent_dir else str(default),)
        crafts = tuple(_absolute(path) for path in given.craft_dir or ())
        if demo and not crafts:
            crafts = (str(demo / "craft"),)
        return Options(
            agent_dirs=agents,
            sessions=tuple(
                _absolute(path) for path in [*(given.sessions or ()), *self._extra_collections]
            ),
            trace_dir=_absolute(given.trace_dir) if given.trace_dir else None,
            craft_dirs=(*crafts, *self._extra_workspaces),
            no_loop=given.no_loop,
            no_craft=given.no_craft,
            read_only=given.read_only,
            poll=given.poll,
            demo=str(demo) if demo else None,
        )

    def demo_dir(self) -> Path | None:
        """The synthetic store of `--demo`, written when first asked for."""
        if self.arguments.demo and self._demo is None:
            from loop_tui.demo.session import temporary_demo

            self._demo = self._closing.enter_context(temporary_demo())
        return self._demo

    @property
    def service(self) -> Service:
        """The stores, scanned once."""
        if self._service is None:
            from loop_tui.service import Service

            service = Service.open(self.options())
            self._closing.callback(service.close)
            service.scan(self._scanning)
            self._service = service
        return self._service

    @property
    def snapshot(self) -> Snapshot:
        return self.service.snapshot

    def _scanning(self, snapshot: Snapshot) -> None:
        self.output.progress(f"{len(snapshot.rows):,} sessions …")
        if snapshot.complete:
            self.output.progress("")

    # --- sessions

    def find(self, text: str, *, trashed: bool = False) -> SessionRow:
        """The one session `text` names; see `loop_tui.cli.find`.

        A path outside the stores opens the collection it lies in. Raises SessionNotFound,
        also when several sessions match.
        """
        from loop_tui.cli.find import find, outside

        row = find(self.snapshot.rows, text, trashed=trashed)
        if row is None:
            place = outside(text)
            if place is None:
                raise SessionNotFound(f"no session {text!r}")
            kind, folder = place
            (self._extra_collections if kind == "loop" else self._extra_workspaces).append(folder)
            self._reopen()
            row = find(self.snapshot.rows, text, trashed=trashed)
        if row is None:
            raise SessionNotFound("no session there", text)
        return row

    def _reopen(self) -> None:
        self._closing.close()
        self._service = None

    # --- asking

    def confirm(self, question: str, ask: Callable[[str], str] = input) -> bool:
        """A yes from a person at a terminal. Raises Usage where there is none to ask."""
        if not (sys.stdin is not None and sys.stdin.isatty() and self.output.stderr.isatty()):
            raise Usage("this removes data for good: confirm with --yes")
        self.output.words(question)
        try:
            return ask("Type yes to go on: ").strip().lower() in ("y", "yes")
        except EOFError:
            return False


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def each(items: Sequence[str]) -> list[str]:
    """`items` without repetitions, in order."""
    return list(dict.fromkeys(items))
