"""The protocol every store of sessions follows.

A store is synchronous and may be called from several threads. Scanning never raises for a
bad session: it yields a row with `problem` set, or a `Problem`. Everything else raises a
`LoopError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from loop_core.model import (
    Detail,
    Hit,
    ImageBlock,
    Page,
    Piece,
    RawPage,
    Round,
    SessionKey,
    SessionRow,
    Source,
    StoreScan,
    TextMark,
    WatchRoot,
)
from loop_core.plans import Capabilities, Change, Intent, TrashPlan

Cancelled = Callable[[], bool]


def never_cancelled() -> bool:
    """The default for long reads that nobody will cancel."""
    return False


class Choices(NamedTuple):
    """What a session's status and labels may be, as (value, shown name), in the owner's order."""

    statuses: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


class Texts(Protocol):
    """One pass over a session's text: iterate it, then ask where it ended."""

    first_round: int
    """The first round this pass gives whole; above -1 only when it went on from `since`."""

    def __iter__(self) -> Iterator[Piece]: ...

    def mark(self) -> TextMark:
        """The mark for the next pass; only after the last piece."""


class SessionStore(Protocol):
    """One place of sessions on disk (an agent directory, a workspace collection)."""

    @property
    def id(self) -> str:
        """Stable while the place is the same: kind and absolute path."""

    @property
    def source(self) -> Source: ...

    @property
    def label(self) -> str:
        """Sanitized, short: the place as the status line names it."""

    @property
    def root(self) -> Path: ...

    def scan(self, *, cancelled: Cancelled = never_cancelled) -> Iterator[StoreScan]:
        """Scan the whole store, in steps of growing scans so that first rows show at once.

        Decodes only what changed since the last scan (identity: `Stamp`). The last value has
        `complete` True unless something failed or the scan was cancelled.
        """

    def rescan(self, paths: set[str]) -> StoreScan:
        """The whole store again after changes at `paths` (raw, absolute), reading only those."""

    def watch_roots(self) -> tuple[WatchRoot, ...]: ...

    # --- reading

    def page(
        self,
        key: SessionKey,
        *,
        before: int | None = None,
        before_round: int | None = None,
        rounds: int = 3,
        revision: str | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> Page:
        """The `rounds` rounds before message index `before` or round `before_round`.

        Neither: the latest. `before` inside a round is rounded up to that round's end.
        Raises StaleRevision when `revision` is given and no longer the committed one.
        """

    def raw_page(
        self, key: SessionKey, *, before: int | None = None, rounds: int = 3
    ) -> RawPage: ...

    def messages(
        self, key: SessionKey, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[tuple[int, Any]]:
        """Every message as stored with its index, streamed with bounded memory."""

    def message(self, key: SessionKey, index: int, revision: str | None = None) -> Any:
        """One message as stored, to show a block whole."""

    def find(
        self, key: SessionKey, text: str, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[Hit]:
        """Case-insensitive matches in the whole session, in order, streamed."""

    def text_mark(self, key: SessionKey) -> TextMark:
        """What content the session has now, from its metadata; no message is read."""

    def texts(
        self,
        key: SessionKey,
        *,
        since: TextMark | None = None,
        wanted: Callable[[bytes], bool] | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> Texts:
        """The text of the session's messages, streamed in order.

        `since` reads on where an earlier pass ended, from the start of its last round, when
        the content only grew. `wanted` looks at a message's raw bytes; where it says no, the
        message is passed over undecoded. Images and encoded data are left out.
        """

    def header(self, key: SessionKey) -> Any:
        """The session's header as stored (a JSON value)."""

    def rounds(self, key: SessionKey, *, cancelled: Cancelled = never_cancelled) -> Iterator[Round]:
        """Every round whole, in order, one at a time; a huge one in parts (`continued`)."""

    def image_data(self, key: SessionKey, block: ImageBlock) -> tuple[str, str] | None:
        """Media type and base64 text of an image, or None when it is not to be had."""

    def details(self, key: SessionKey) -> tuple[Detail, ...]: ...

    def capabilities(self, row: SessionRow) -> Capabilities: ...

    def resume_command(self, row: SessionRow) -> tuple[list[str], str]:
        """Argument list and working directory (raw). Raises Refused with the reason."""

    # --- changing

    def plan(self, key: SessionKey, intent: Intent) -> Change:
        """What `intent` would change, from what is on disk now. Writes nothing."""

    def perform(self, change: Change) -> SessionRow:
        """Do exactly `change` as one guarded write; other values written meanwhile stay.

        Raises Conflict when a value to change is no longer `before` (and not already
        `after`), Refused when the owner forbids it.
        """

    def plan_trash(self, key: SessionKey, *, force: bool = False) -> TrashPlan:
        """What moves. Raises TraceLocked or Refused when the session is owned."""

    def trash_dirs(self) -> tuple[str, ...]:
        """Every trash directory of this store (raw, absolute; each may be missing)."""

    def set_membership(self, collection: str, ids: list[str], *, archived: bool) -> None:
        """Archive membership after a move (Loop); nothing for stores without one."""

    def look(self, key: SessionKey) -> SessionRow | None:
        """The row as the disk has it now, or None when the session is gone."""

    def recover(self) -> tuple[str, ...]:
        """Finish or undo what a killed process of ours left; says what was done."""
