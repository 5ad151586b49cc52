"""Full verification of one Loop session: every rule and the checksum, nothing written.

`check` is the verdict as a value; `verify` is the same work with typed errors, in Loop's
order: format, header, working directory, syntax of all lines, message rules, the header's
arrays (loop-format A.2), and for version 3 the committed range and its checksum.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import Any

from msgspec import Struct

from loop_core import fsio
from loop_core.errors import (
    InvalidSession,
    LoopError,
    SessionNotFound,
    StorageFailed,
    UnsupportedSession,
)
from loop_core.loop.annotations import annotations_problem
from loop_core.loop.envelope import read_envelope
from loop_core.loop.header import check_cwd
from loop_core.loop.legacy import read_legacy
from loop_core.loop.messages import MessageChecker
from loop_core.loop.paths import MESSAGES_FILE, META_FILE
from loop_core.loop.stream import BLOCK, ReadAt, check_lines, reader

__all__ = ["CheckResult", "Verified", "check", "verify"]

_PathLike = str | os.PathLike[str]


class CheckResult(Struct, frozen=True, kw_only=True):
    """The verdict on one session. Without `ok`, `error` says why and counts are unknown.

    `unsupported` is a file of another format or version, which lists skip. `line` is the
    1-based physical line of the file the error is about (messages.jsonl when the error says
    so). Texts are raw.
    """

    path: str
    ok: bool
    unsupported: bool = False
    error: str | None = None
    line: int | None = None
    title: str | None = None
    title_source: str | None = None
    title_indices: tuple[int, ...] | None = None
    message_count: int | None = None
    user_message_count: int | None = None
    unread: bool | None = None
    pinned_at: str | None = None


class Verified(Struct, frozen=True, kw_only=True):
    """A session that passed every check. `header` has the fallback title derived."""

    header: dict[str, Any]
    message_count: int
    user_message_count: int


def check(path: _PathLike) -> CheckResult:
    """Verify the session at `path`: a session directory, its meta.json, or a version-2 file.

    Never raises for what is on disk: a missing or unreadable file is an error in the result.
    """
    name = os.fspath(path)
    try:
        found = verify(name)
    except UnsupportedSession as error:
        return CheckResult(path=name, ok=False, unsupported=True, error=error.reason)
    except InvalidSession as error:
        return CheckResult(path=name, ok=False, error=_worded(error), line=error.line)
    except LoopError as error:
        return CheckResult(path=name, ok=False, error=error.reason)
    except ValueError as error:  # a path with a NUL
        return CheckResult(path=name, ok=False, error=str(error))
    title = found.header.get("title")
    return CheckResult(
        path=name,
        ok=True,
        title=title and title["text"],
        title_source=title and title["source"],
        title_indices=title and tuple(int(index) for index in title["messageIndices"]),
        message_count=found.message_count,
        user_message_count=found.user_message_count,
        unread=found.header.get("unread", False),
        pinned_at=found.header.get("pinnedAt"),
    )


def _worded(error: InvalidSession) -> str:
    about = os.path.basename(error.path or "")
    return f"{about}: {error.reason}" if about == MESSAGES_FILE else error.reason


def verify(path: _PathLike) -> Verified:
    """As `check`, raising `UnsupportedSession`, `InvalidSession`, `SessionNotFound` or
    `StorageFailed`."""
    name = os.fspath(path)
    with fsio.guarded(name):
        try:
            is_directory = stat.S_ISDIR(os.stat(name).st_mode)
        except FileNotFoundError:
            raise SessionNotFound("there is nothing at this path", name) from None
    if is_directory:
        name = os.path.join(name, META_FILE)
        if not os.path.lexists(name):
            raise SessionNotFound("the directory holds no meta.json", path)
    if name.endswith(".jsonl"):
        return _verify_legacy(name)
    return _verify_published(name)


def _finished(header: dict[str, Any], checker: MessageChecker, path: str, line: int) -> Verified:
    """The checks that need the whole history, and the title a reader sees."""
    problem = annotations_problem(
        header,
        message_count=checker.messages,
        user_count=checker.users,
        is_user=checker.is_user,
    )
    if problem is not None:
        raise InvalidSession(path, problem, line)
    if "title" not in header and checker.title is not None:
        header = {**header, "title": checker.title}
    return Verified(header=header, message_count=checker.messages, user_message_count=checker.users)


def _verify_legacy(path: str) -> Verified:
    fd = fsio.open_regular(path)
    try:
        with fsio.guarded(path):
            read = reader(fd)
            legacy = read_legacy(read, os.fstat(fd).st_size, path)
            check_cwd(legacy.header, path, legacy.line)
            checker = MessageChecker(path)
            check_lines(read, legacy.start, legacy.end, checker, line=legacy.line + 1)
    finally:
        os.close(fd)
    return _finished(legacy.header, checker, path, legacy.line)


def _verify_published(path: str) -> Verified:
    envelope = read_envelope(path)
    check_cwd(envelope.header, path, 1)
    messages = os.path.join(os.path.dirname(path), MESSAGES_FILE)
    checker = MessageChecker(messages)
    digest = hashlib.sha256()
    try:
        fd = fsio.open_regular(messages)
    except StorageFailed as error:
        if not isinstance(error.error, FileNotFoundError):
            raise
        if envelope.bytes:
            raise InvalidSession(path, "messages.jsonl is missing", None) from error
    else:
        try:
            with fsio.guarded(messages):
                read = reader(fd)
                if os.fstat(fd).st_size < envelope.end:
                    raise InvalidSession(
                        path, "messages.jsonl is shorter than the metadata says", None
                    )
                _check_range(read, envelope.start, envelope.end, checker, digest)
        finally:
            os.close(fd)
    if checker.messages != envelope.message_count:
        reason = f"messageCount is {envelope.message_count}, but {checker.messages} are committed"
        raise InvalidSession(path, reason, 1)
    if digest.hexdigest() != envelope.generation:
        raise InvalidSession(path, "the checksum of the messages is not the generation", None)
    return _finished(envelope.header, checker, path, 1)


def _check_range(
    read: ReadAt, start: int, end: int, checker: MessageChecker, digest: hashlib._Hash
) -> None:
    try:
        seen = check_lines(read, start, end, checker, digest=digest)
    except InvalidSession as error:
        if error.line is None or not start:
            raise
        line = error.line + _line_feeds(read, start)
        raise InvalidSession(error.path, error.reason, line) from error
    if seen < end - start:
        raise InvalidSession(checker.path, "the file ends inside the committed range", None)


def _line_feeds(read: ReadAt, end: int) -> int:
    """How many lines end before byte `end`: older generations in front of the range."""
    return sum(read(at, min(BLOCK, end - at)).count(b"\n") for at in range(0, end, BLOCK))
