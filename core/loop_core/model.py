"""Frozen view values shared by every store.

Text in these values is sanitized when the value is made (see `sanitize`), except where a
field says *raw*: raw fields are for the file system and for actions, never for the screen.
Times are Unix milliseconds, sizes are bytes, message and round numbers are 0-based indexes
unless a name says otherwise.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from msgspec import Struct

Source = Literal["loop", "craft"]
Form = Literal["loop3", "loop2", "craft"]
ToolStatus = Literal["waiting", "running", "ok", "error"]


class SessionKey(NamedTuple):
    """Identity of a session for as long as its store is open.

    `store` is `SessionStore.id`; `ref` is private to the store: it names the place of the
    session (never its row), stays the same when Loop migrates a version-2 file to a
    directory, and starts with ``trash:`` for a session in our trash.
    """

    store: str
    ref: str


class Stamp(NamedTuple):
    """Identity of a file's content as `stat` tells it; equal stamps mean nothing to read."""

    mtime_ns: int
    size: int
    inode: int


class SessionRow(Struct, frozen=True, gc=False):
    """One session as a list shows it, from its metadata alone.

    Made by position only where ten thousand are made at once: names cost six times as much.
    """

    key: SessionKey
    source: Source
    form: Form
    id: str  # as stored (Loop: header id; Craft-Agents: folder name)
    path: str  # raw: meta.json, the version-2 .jsonl, or session.jsonl
    project: str  # key of a `Project`
    cwd: str | None = None  # raw
    title: str | None = None  # None: show "New session"
    title_source: str | None = None  # fallback, model, user, name, preview
    created_ms: int | None = None
    updated_ms: int = 0  # the order's "last activity"; Loop updatedAt, Craft last message
    unread: bool = False
    pinned_ms: int | None = None  # the order among pinned rows
    archived: bool = False
    trashed_ms: int | None = None  # when it went to our trash; None: not in the trash
    message_count: int | None = None  # None: the metadata does not tell
    size: int = 0  # committed bytes of conversation
    model: str | None = None
    permission: str | None = None
    status: str | None = None  # Craft-Agents: status id
    labels: tuple[str, ...] = ()
    hidden: bool = False  # Craft-Agents: helper sessions, shown by a toggle
    empty: bool = False  # no user message
    folder_missing: bool = False  # the working directory is gone
    linked: bool = False  # reached through a symbolic link
    changed_ms: int = 0  # last change of its files on disk; decides "running" for Loop
    owner_live: bool = False  # a live process owns it (trace lock, .server.lock)
    problem: str | None = None  # why it is damaged or unreadable, one line
    problem_line: int | None = None
    stamp: Stamp | None = None  # of the metadata file, as read

    def running(self, now_ms: int) -> bool:
        """DESIGN "Words": changed within ten seconds (Loop), or owned by a live process."""
        return self.owner_live or (self.source == "loop" and now_ms - self.changed_ms < 10_000)


class Project(Struct, frozen=True, gc=False, kw_only=True):
    """A group of sessions: a working directory, a workspace, or a global collection."""

    key: str  # stable: store id and real cwd, collection folder, or workspace root
    source: Source
    store: str
    name: str
    cwd: str | None = None  # raw; None for a global collection
    path: str = ""  # raw: collection or workspace folder
    parent: str = ""  # sanitized: shown where two projects share a name
    kind: Literal["folder", "global", "workspace", "remote"] = "folder"


class Problem(Struct, frozen=True, gc=False, kw_only=True):
    """One thing that could not be read, with the reason and what to do."""

    store: str
    path: str  # raw
    reason: str
    line: int | None = None
    kind: Literal[
        "unreadable", "invalid", "unsupported", "unpublished", "leftover", "orphan", "store"
    ] = "invalid"
    key: SessionKey | None = None  # when a row stands for it as well


class Damage(Struct, frozen=True, gc=False):
    """A place in a history that could not be read as a message. `line` is 1-based."""

    line: int | None
    reason: str


# --- history ---------------------------------------------------------------------------


class TextBlock(Struct, frozen=True, tag_field="block_type", tag="text"):
    """Prose of the user or the assistant; Markdown for the assistant."""

    text: str
    message: int
    role: Literal["user", "assistant"] = "assistant"
    commentary: bool = False  # between tool calls; shown dimmed


class ThinkingBlock(Struct, frozen=True, tag_field="block_type", tag="thinking"):
    text: str
    message: int
    redacted: bool = False


class ImageBlock(Struct, frozen=True, tag_field="block_type", tag="image"):
    """An image by type and decoded size; its data stays on disk until asked for."""

    mime: str
    size: int
    message: int
    name: str = ""
    block: int = 0  # index of the block in the message's content


class AttachmentBlock(Struct, frozen=True, tag_field="block_type", tag="attachment"):
    """A file the user attached; `text` is its content where the store holds it inline."""

    name: str
    size: int
    message: int
    text: str | None = None
    kind: str = "file"
    path: str | None = None  # raw: where the store keeps the file


class ToolBlock(Struct, frozen=True, tag_field="block_type", tag="tool", kw_only=True):
    """A tool call with its result, paired by position."""

    name: str  # as stored
    verb: str  # "Read", "Ran", "Used", … (loop-format section 11)
    target: str  # path, command, display name: what the verb acts on
    status: ToolStatus
    call_id: str
    message: int  # index of the message that calls
    result_message: int | None = None
    arguments: str = ""  # JSON, indent 2
    result: str | None = None
    result_images: tuple[ImageBlock, ...] = ()
    duration_ms: int | None = None
    display: str = ""  # display name where the store has one
    children: tuple[Block, ...] = ()  # Craft-Agents: records inside this call


class NoteBlock(Struct, frozen=True, tag_field="block_type", tag="note"):
    """Something that happened: a compaction, a stop reason, an error, a plan, a sign-in."""

    kind: Literal[
        "compaction", "stop", "error", "info", "warning", "plan", "auth", "queued", "skill"
    ]
    title: str
    text: str = ""
    message: int = 0


class UnknownBlock(Struct, frozen=True, tag_field="block_type", tag="unknown"):
    """A record of a type this version does not know, as JSON."""

    type: str
    text: str
    message: int


Block = (
    TextBlock | ThinkingBlock | ImageBlock | AttachmentBlock | ToolBlock | NoteBlock | UnknownBlock
)


class Round(Struct, frozen=True, kw_only=True):
    """A user message and everything up to the next one.

    `index` is -1 for messages before the first user message (shown with the first page).
    `continued`: not its beginning; `SessionStore.rounds` gives a huge round in parts.
    """

    index: int
    start: int  # first message index
    end: int  # one past the last
    time_ms: int | None
    blocks: tuple[Block, ...]
    durations_ms: tuple[int, ...] = ()  # prompt timings of this round, in order
    size: int = 0  # bytes on disk
    continued: bool = False


class Page(Struct, frozen=True, kw_only=True):
    """Consecutive rounds of one session. `start == 0` means there is no earlier page."""

    key: SessionKey
    revision: str  # changes when earlier history was replaced, not when it grew
    start: int  # message indexes
    end: int
    total: int
    first_round: int  # index of the first round here
    total_rounds: int
    rounds: tuple[Round, ...]
    damage: tuple[Damage, ...] = ()  # of the whole session as far as it is known
    at_end: bool = True  # the last round of the session is here
    read_bytes: int = 0
    running: bool = False


class RawPage(Struct, frozen=True, kw_only=True):
    """A page as the command line prints it: messages exactly as stored (JSON values)."""

    path: str
    revision: str
    start: int
    end: int
    total: int
    first_round: int  # 0-based
    last_round: int
    total_rounds: int
    messages: tuple[Any, ...]
    damage: tuple[Damage, ...] = ()


class Detail(Struct, frozen=True, gc=False):
    """One line of a session's details, in display order."""

    label: str
    value: str


class Hit(Struct, frozen=True, gc=False):
    """A match of a find in one session."""

    round: int
    message: int
    snippet: str


# --- scans -----------------------------------------------------------------------------


class WatchRoot(Struct, frozen=True, gc=False):
    """A directory to watch for a store; `exists` may be False for one that can appear."""

    path: str
    recursive: bool = True
    exists: bool = True


class StoreScan(Struct, frozen=True, kw_only=True):
    """What one scan of one store found. `complete` False: rows may be missing, keep old ones.

    `unsettled`: raw paths to look at again soon; a file is missing there that may come back.
    """

    store: str
    rows: tuple[SessionRow, ...] = ()
    projects: tuple[Project, ...] = ()
    problems: tuple[Problem, ...] = ()
    unsupported: int = 0
    unsettled: tuple[str, ...] = ()
    complete: bool = True


class Snapshot(Struct, frozen=True, kw_only=True):
    """All stores as one. A higher `generation` replaces a lower one."""

    generation: int = 0
    rows: tuple[SessionRow, ...] = ()  # in the browser's default order, trash included
    projects: tuple[Project, ...] = ()
    problems: tuple[Problem, ...] = ()
    unsupported: int = 0
    complete: bool = False


# --- full text -------------------------------------------------------------------------


class Piece(Struct, frozen=True, gc=False):
    """A stretch of raw text of one message, for search: never for the screen."""

    round: int  # -1: before the first user message
    message: int
    role: Literal["user", "assistant", "thinking", "tool"]
    text: str
    tool: str = ""  # the tool's name, for role "tool"


class TextMark(Struct, frozen=True, gc=False):
    """How far a session's text was read, and of what content.

    `content` names the content: equal marks mean nothing new. `resume` is private to the
    store: where the last round begins, so that a grown session is read on from there.
    """

    content: str
    rounds: int = 0  # rounds read
    damaged: int = 0  # lines that held no message
    resume: tuple[int | str, ...] = ()
