"""Headers as the manager makes and changes them (loop-format A.3 and A.7).

A change is the JSON text of a header value, so that a value which is put back is put back as
it was written.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from loop_core.errors import InvalidArgument
from loop_core.jsonvalue import dumps, loads
from loop_core.loop.annotations import annotations_problem
from loop_core.loop.conversation import Draft, is_user_in
from loop_core.loop.dates import now_iso
from loop_core.loop.edits import raw_value
from loop_core.loop.header import check_cwd
from loop_core.loop.saving import Changes

__all__ = ["KEEP", "Keep", "Seen", "array_changes", "check_arrays", "new_header", "with_changes"]


class Keep:
    """The type of `KEEP`."""

    def __repr__(self) -> str:
        return "KEEP"


#: The default of `SessionManager.commit`: what is stored stays.
KEEP: Final = Keep()


class Seen(NamedTuple):
    """What a change of a header value is decided on: the header as it is at that moment.

    `raw` is the text of meta.json, None for a session without one.
    """

    header: dict[str, Any]
    message_count: int
    raw: bytes | None = None

    def text_of(self, key: str) -> bytes | None:
        """The JSON text of a header value as it is stored; None when absent."""
        if self.raw is not None:
            return raw_value(self.raw, "header", key)
        return dumps(self.header[key]) if key in self.header else None


def new_header(cwd: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a new session, keys in the order Loop writes them.

    Raises InvalidSession when the working directory does not exist.
    """
    now = now_iso()
    header: dict[str, Any] = {
        "format": "loop-session",
        "version": 2,
        "permissionPreset": "read-only",
        "id": str(uuid.uuid4()),
        "cwd": os.path.realpath(cwd),
        "createdAt": now,
        "updatedAt": now,
        "unread": False,
    }
    check_cwd(header)
    return header


def with_changes(header: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """A header with the changes; new keys go to the end."""
    changed = dict(header)
    for key, text in changes.items():
        if text is None:
            changed.pop(key, None)
        else:
            changed[key] = loads(text)
    return changed


def array_changes(arrays: Mapping[str, Any]) -> dict[str, bytes | None]:
    """The arrays of a commit as changes: kept ones are left out, empty ones remove the key."""
    changes: dict[str, bytes | None] = {}
    for key, value in arrays.items():
        if isinstance(value, Keep):
            continue
        if not isinstance(value, list | tuple):
            raise InvalidArgument(f"{key} is not an array")
        try:
            changes[key] = dumps(list(value)) if value else None
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"{key} is no JSON value: {error}") from error
    return changes


def check_arrays(header: dict[str, Any], changes: Changes, draft: Draft) -> None:
    """Raise InvalidArgument unless the arrays, new and kept, fit the history to come."""
    problem = annotations_problem(
        with_changes(header, changes),
        message_count=len(draft.lines),
        user_count=len(draft.users),
        is_user=is_user_in(draft.users),
    )
    if problem is not None:
        raise InvalidArgument(problem)
