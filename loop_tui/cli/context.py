"""What a command works with: its output and, opened when first asked for, the stores."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from loop_core.errors import LoopError, SessionNotFound, reason_of

if TYPE_CHECKING:
    from loop_core.model import SessionKey, SessionRow, Snapshot
    from loop_tui.cli.output import Output
    from loop_tui.service import Options, Service


class Usage(Exception):
    """The command line asks for something that cannot be meant; exit status 2."""


class Context:
    """One run of one command. Used as a context manager: leaving it closes everything."""

    def __init__(self, arguments: Namespace, output: Output) -> None:
        self.arguments = arguments
        self.output = output
        self._closing = ExitStack()
        self._service: Service | None = None
        self._scanned = False
        #: False, set before the first look: no history is read for the titles of all rows.
        self.titles = True
        self._demo: Path | None = None
        self._collections: list[str] = []
        self._workspaces: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._close_service()
        self._closing.close()

    # --- stores

    def options(self) -> Options:
        """The places to use, from the arguments and the environment."""
        from loop_tui.service import Options

        given = self.arguments
        demo = self.demo()
        agent = given.agent_dir
        crafts = list(given.craft_dir or ())
        if demo is not None:
            agent = agent or str(demo / "loop")
            crafts = crafts or [str(demo / "craft")]
        return Options(
            agent_dir=_absolute(agent) if agent else None,
            sessions=tuple(map(_absolute, [*(given.sessions or ()), *self._collections])),
            trace_dir=_absolute(given.trace_dir) if given.trace_dir else None,
            craft_dirs=tuple(map(_absolute, [*crafts, *self._workspaces])),
            no_loop=given.no_loop,
            no_craft=given.no_craft,
            read_only=given.read_only,
            poll=given.poll,
            base=str(demo / "own") if demo is not None else None,
            titles=self.titles,
        )

    def demo(self) -> Path | None:
        """The synthetic store of `--demo`, written when first asked for, gone at the end."""
        if self.arguments.demo and self._demo is None:
            from loop_tui.demo.session import temporary_demo

            self._demo = self._closing.enter_context(temporary_demo())
        return self._demo

    def open_service(self) -> Service:
        """The stores, not yet scanned."""
        if self._service is None:
            from loop_tui.service import Service

            self._service = Service.open(self.options())
            for text in self._service.recovered:
                self.output.words(text)
        return self._service

    @property
    def service(self) -> Service:
        """The stores, scanned once."""
        service = self.open_service()
        if not self._scanned:
            service.scan(self._scanning)
            self.output.progress("")
            self._scanned = True
        return service

    def _scanning(self, snapshot: Snapshot) -> None:
        self.output.progress(f"{len(snapshot.rows):,} sessions …")

    def _close_service(self) -> None:
        if self._service is not None:
            self._service.close()
            self._service, self._scanned = None, False

    # --- sessions

    def find(self, text: str, *, put_away: bool = False) -> SessionRow:
        """The one session `text` names. Raises a LoopError that says why there is none.

        A path outside the stores opens the collection or workspace it lies in. With
        `put_away` sessions in the archive or the trash are meant before others.
        """
        from loop_tui.cli.places import outside

        try:
            key = self.service.resolve(text, put_away=put_away)
        except SessionNotFound:
            place = outside(text)
            if place is None:
                raise
            source, folder = place
            (self._collections if source == "loop" else self._workspaces).append(folder)
            self._close_service()
            key = self.service.resolve(text, put_away=put_away)
        row = self.service.row(key)
        if row is None:
            raise SessionNotFound(f"no session {text!r}")
        return row

    def find_all(
        self, texts: Sequence[str], *, put_away: bool = False
    ) -> tuple[list[SessionKey], list[tuple[str, str]]]:
        """Keys without repetition, and the words that name nothing with the reason."""
        missed: list[tuple[str, str]] = []
        for text in texts:  # opening a collection on the way must not lose earlier keys
            try:
                self.find(text, put_away=put_away)
            except LoopError as error:
                missed.append((text, reason_of(error)))
        wrong = {text for text, _ in missed}
        found = [self.find(text, put_away=put_away).key for text in texts if text not in wrong]
        return list(dict.fromkeys(found)), missed

    def titled(self, rows: Iterable[SessionRow]) -> tuple[SessionRow, ...]:
        """The rows with the titles that were left out."""
        chosen = tuple(rows)
        if not self.titles:
            self.service.refresh({row.path for row in chosen if _lacks_title(row)})
        return tuple(self.service.row(row.key) or row for row in chosen)

    # --- asking

    def confirm(self, question: str, ask: Callable[[str], str] = input) -> bool:
        """A yes from a person at a terminal. Raises Usage where there is none to ask."""
        if sys.stdin is None or not sys.stdin.isatty() or not self.output.stderr.isatty():
            raise Usage("this removes data for good; confirm with --yes")
        self.output.words(question)
        try:
            return ask("Type yes to go on: ").strip().lower() in ("y", "yes")
        except EOFError:
            return False


def _lacks_title(row: SessionRow) -> bool:
    return row.source == "loop" and (row.title, row.problem, row.trashed_ms) == (None, None, None)


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))
