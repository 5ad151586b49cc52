"""What is wanted of a session, what a store can do, and what it plans to: frozen values.

Plans are made by a store, journalled by the actions, and carried out by the store again.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from loop_core.model import Form, SessionKey, Source, Stamp


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a store can do with one session now; a reason (one line) where it cannot."""

    pin: str | None = None  # None: can; text: why not
    archive: str | None = None
    read: str | None = None
    rename: str | None = None
    status: str | None = None
    trash: str | None = None
    resume: str | None = None
    forced: frozenset[str] = frozenset()  # of the above: possible after "do it anyway"


class Intent(Struct, frozen=True, kw_only=True):
    """What the user wants of one session.

    `do` with `value`: pin/unpin, archive/restore, read/unread take none; rename takes the
    text, status the id, labels a tuple of entries.
    """

    do: Literal[
        "pin", "unpin", "archive", "restore", "read", "unread", "rename", "status", "labels"
    ]
    value: str | tuple[str, ...] | None = None
    force: bool = False  # "do it anyway" while the owner runs


class Edit(Struct, frozen=True, gc=False):
    """One value of a session's metadata, before and after, as raw JSON text.

    None stands for absence. `field` is the header key (``pinnedAt``, ``unread``, ``title``,
    ``isFlagged``, …) or ``archive.json`` for Loop's membership (``true``/None).
    """

    field: str
    before: str | None
    after: str | None


class Change(Struct, frozen=True, kw_only=True):
    """A planned change of one session: journalled before it is performed.

    The inverse swaps `before` and `after` of every edit. An empty `edits` is a change that
    is already true, a `lasting` one has no inverse.
    """

    key: SessionKey
    id: str
    path: str
    title: str | None = None
    edits: tuple[Edit, ...] = ()
    lasting: bool = False

    def inverse(self) -> Change:
        swapped = tuple(Edit(e.field, e.after, e.before) for e in reversed(self.edits))
        return Change(key=self.key, id=self.id, path=self.path, title=self.title, edits=swapped)


class TrashMove(Struct, frozen=True, gc=False):
    """One path that moves to the trash with a session. Both raw, absolute."""

    source: str
    kind: Literal["session", "backup", "traces", "file"]


class TrashPlan(Struct, frozen=True, kw_only=True):
    """What has to move for a session to be in the trash; made by the store, done by `trash`."""

    key: SessionKey
    id: str
    source: Source
    form: Form
    title: str | None
    cwd: str | None
    trash_dir: str  # raw: DESIGN "Words", *Trash*
    moves: tuple[TrashMove, ...]
    archived: bool = False  # membership to take away, and to give back on restore
    collection: str = ""  # raw: folder whose archive.json holds the membership (Loop)
    stamp: Stamp | None = None  # of the metadata file when planned; a change is a Conflict
    row: dict[str, Any] = {}  # what the trash view shows: title, project, counts, times
