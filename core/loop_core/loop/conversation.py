"""A validated history in memory: each message as the JSON text it is stored as.

Texts are kept, not values: what is handed out is then a copy by nature, and a message that
is already on disk is never serialised again. Immutable; a save makes a new one.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from loop_core.errors import InvalidArgument
from loop_core.jsonvalue import dumps, loads
from loop_core.loop.messages import MessageChecker
from loop_core.loop.values import deep_equal

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = ["EMPTY", "Conversation", "Draft", "compare", "extended", "hash_of", "is_user_in"]

_encode = msgspec.json.Encoder().encode


class Conversation(NamedTuple):
    """Lines without line feeds, the indexes of user messages, and what else a save needs.

    `offsets` are the byte offsets of the user messages' lines; `digest` is the state of
    SHA-256 over all lines, each with its line feed.
    """

    lines: Sequence[bytes]
    users: Sequence[int]
    offsets: Sequence[int]
    size: int
    digest: _Hash
    title: dict[str, Any] | None  # the fallback title

    @property
    def generation(self) -> str:
        return self.digest.hexdigest()

    def values(self) -> list[Any]:
        return [loads(line) for line in self.lines]


EMPTY = Conversation((), array("Q"), array("Q"), 0, hashlib.sha256(), None)


def hash_of(lines: Iterable[bytes]) -> str:
    """The generation of lines without line feeds."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line + b"\n")
    return digest.hexdigest()


class Draft(NamedTuple):
    """A history about to be saved: its lines, and how many are unchanged from before."""

    lines: list[bytes]
    kept: int
    users: list[int]  # by role alone: the messages are not validated yet

    def has_output(self, since: int) -> bool:
        """Whether a message from index `since` on is not a user's."""
        new_users = len(self.users) - bisect_left(self.users, since)
        return max(0, len(self.lines) - since) > new_users


def compare(old: Conversation, messages: Sequence[Any]) -> Draft:
    """Which of `messages` are the old ones, by value; their stored texts are taken over.

    Raises InvalidArgument for what is no JSON value.
    """
    if not isinstance(messages, list | tuple):
        raise InvalidArgument("messages has to be a list")
    kept = 0
    for line, value in zip(old.lines, messages, strict=False):
        if not _is_same(line, value):
            break
        kept += 1
    try:
        lines = [*old.lines[:kept], *map(dumps, messages[kept:])]
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"messages have to be JSON values: {error}") from error
    users = [
        index
        for index, value in enumerate(messages)
        if isinstance(value, dict) and value.get("role") == "user"
    ]
    return Draft(lines, kept, users)


def _is_same(line: bytes, value: Any) -> bool:
    """Whether `line` is the JSON text of `value`; cheap when we or Loop wrote it."""
    try:
        if _encode(value) == line:
            return True
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        # Text msgspec cannot write (lone surrogates, depth) is compared as values.
        pass
    return deep_equal(loads(line), value)


def is_user_in(users: Sequence[int]) -> Callable[[int], bool]:
    """Whether a message index is among the ascending `users`."""

    def is_user(index: int) -> bool:
        at = bisect_left(users, index)
        return at < len(users) and users[at] == index

    return is_user


def extended(
    old: Conversation, lines: Iterable[bytes], path: str | None, first_line: int = 1
) -> Conversation:
    """`old` with more messages, validated; `lines` may be streamed.

    `old` must be complete (no call without its result), which every valid history is. Raises
    InvalidSession with `path` and the line, counted from `first_line` for message 0.
    """
    count = len(old.lines)
    checker = MessageChecker(path=path, first=count)
    more: list[bytes] = []
    offsets, size, digest = array("Q", old.offsets), old.size, old.digest.copy()
    for line in lines:
        is_user = checker.feed(line, first_line + count + len(more))
        if is_user:
            offsets.append(size)
        digest.update(line + b"\n")
        size += len(line) + 1
        more.append(line)
    checker.finish()
    users = array("Q", [*old.users, *checker.user_indexes])
    return Conversation(
        [*old.lines, *more], users, offsets, size, digest, old.title or checker.title
    )
