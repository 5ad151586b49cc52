"""Lines of `session.jsonl` as messages: the tolerant reader and the writer.

craft-format sections 3 and 5. Lines end at LF only, and empty ones are skipped. A line that
is not one JSON value is dropped with its reason; the application drops it for good at its
next save, ours keeps its bytes in their place.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from loop_core import fsio, jsonvalue
from loop_core.craft.header import PERSISTENT, make_header, parse_header, truthy
from loop_core.craft.tokens import collapse_line, expand_home, expand_line
from loop_core.errors import InvalidArgument, StorageFailed

__all__ = [
    "DroppedLine",
    "StoredSession",
    "parse_session",
    "read_session_jsonl",
    "serialize_session",
    "write_session_jsonl",
]

_PATHS = ("workspaceRootPath", "workingDirectory", "sdkCwd")


class DroppedLine(NamedTuple):
    """A line that is no message: its physical number (from 1) and why."""

    line: int
    reason: str


class KeptLine(NamedTuple):
    """Bytes of a dropped line and how many messages stood before it."""

    before: int
    raw: bytes


class Base(NamedTuple):
    """The message lines a session in memory was read from or written as: length and SHA-256."""

    length: int
    digest: bytes

    @classmethod
    def of(cls, data: bytes) -> Base:
        """The base of a whole file's bytes."""
        body = data.partition(b"\n")[2]
        return cls(len(body), hashlib.sha256(body).digest())

    def appended_to(self, data: bytes) -> bytes:
        """What the file `data` holds behind these lines; b"" when it is no continuation."""
        body = data.partition(b"\n")[2]
        same = hashlib.sha256(body[: self.length]).digest() == self.digest
        return body[self.length :] if same else b""


@dataclass
class StoredSession:
    """One session: header, messages, and the lines that could not be read.

    `header` is the first line as stored, unknown keys included, with the session token and
    ``~`` expanded and permission modes cleaned. `messages` are JSON values as stored (token
    expanded), not only objects. `path` is the file it was read from, `base` what it held.
    """

    header: dict[str, Any]
    messages: list[Any] = field(default_factory=list)
    dropped: list[DroppedLine] = field(default_factory=list)
    path: str | None = None
    kept: list[KeptLine] = field(default_factory=list, repr=False)
    base: Base | None = field(default=None, repr=False, compare=False)

    @property
    def id(self) -> Any:
        """The header's id; the folder's name is what identifies the session on disk."""
        return self.header.get("id")

    @property
    def name(self) -> Any:
        return self.header.get("name")


def lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Every non-empty line with its physical number from 1, without its LF."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line:
            yield number, line


def syntax_reason(error: jsonvalue.JsonSyntaxError, line: bytes) -> str:
    """Why a line is no message, short enough for one line on a screen."""
    if not line.strip(b" \t\r"):
        return "only blanks"
    if not line.strip(b"\0"):
        return "only NUL bytes"
    if b"}{" in line:
        return "two records on one line"
    return f"not JSON: {error}"


def _loaded_header(value: Any) -> dict[str, Any] | None:
    """The header of a full read: paths expanded; None where the application gives up."""
    if isinstance(value, list):
        return {}
    if not isinstance(value, dict):
        return None
    for key in _PATHS:
        path = value.get(key)
        if isinstance(path, str) and path:
            value[key] = expand_home(path)
        elif key in value and truthy(path):
            return None
    if not truthy(value.get("sdkCwd")) and truthy(value.get("workingDirectory")):
        value["sdkCwd"] = value["workingDirectory"]
    return value


def parse_session(data: bytes, path: str) -> StoredSession | None:
    """The session in the bytes of the file at `path`; None without a usable header."""
    folder = os.path.dirname(path)
    lines = lines_of(data)
    try:
        header = _loaded_header(parse_header(next(lines)[1], folder))
    except (StopIteration, jsonvalue.JsonSyntaxError):
        return None
    if header is None:
        return None
    session = StoredSession(header, path=path, base=Base.of(data))
    for number, line in lines:
        try:
            session.messages.append(jsonvalue.loads(expand_line(line, folder)))
        except jsonvalue.JsonSyntaxError as error:
            session.dropped.append(DroppedLine(number, syntax_reason(error, line)))
            session.kept.append(KeptLine(len(session.messages), line))
    return session


def read_session_jsonl(file: str | os.PathLike[str]) -> StoredSession | None:
    """Read a whole session tolerantly; None when the file or its header cannot be read.

    Unlike the application's reader, the result says which lines were dropped and why, and
    keeps computed and unknown header keys.
    """
    path = os.path.abspath(os.fspath(file))
    try:
        data = fsio.read_file(path)
    except StorageFailed:
        return None
    return parse_session(data, path)


def serialize_session(
    session: StoredSession,
    folder: str,
    *,
    now_ms: int | None = None,
    portable: tuple[str, ...] = ("workspaceRootPath",),
) -> tuple[dict[str, Any], bytes]:
    """The header written, and the whole file's bytes.

    Damaged lines keep their place among the messages; the application drops them.
    """
    messages = list(session.messages)  # another thread may be adding to it
    header = make_header(dict(session.header), messages, now_ms=now_ms, portable=portable)
    lines = [collapse_line(jsonvalue.dumps(value), folder) for value in (header, *messages)]
    for kept in reversed(session.kept):
        lines.insert(min(kept.before, len(messages)) + 1, kept.raw)
    return header, b"\n".join(lines) + b"\n"


def write_session_jsonl(
    file: str | os.PathLike[str], session: StoredSession, *, now_ms: int | None = None
) -> None:
    """Write a whole session to `file`, whose folder must exist.

    The application's direct writer uses a fixed ``.tmp`` name, unlinks the target and renames,
    so that a crash leaves nothing under the name; this one replaces in one step, durably. Like
    it, only `workspaceRootPath` is made portable. `now_ms` sets `lastUsedAt`, else the clock.
    Raises StorageFailed, InvalidArgument.
    """
    path = os.path.abspath(os.fspath(file))
    if not isinstance(session.header, dict):
        raise InvalidArgument("the header of a session is an object", path)
    _, data = serialize_session(session, os.path.dirname(path), now_ms=now_ms)
    fsio.atomic_write(path, data, mode=0o600)


def known_fields(header: dict[str, Any]) -> dict[str, Any]:
    """What the application's full reader returns of a header (craft-format section 3)."""
    return {key: header[key] for key in (*PERSISTENT, "tokenUsage") if key in header}
