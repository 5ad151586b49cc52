"""The version-3 envelope: meta.json, which publishes a range of messages.jsonl.

Source: S0 "Commit and index recovery", loop-format B. Two readers with one verdict:
`parse_envelope` gives everything, `peek` only what a row of a list needs and costs little
more than the decoding itself.
"""

from __future__ import annotations

import os
import re
from typing import Any

import msgspec
from msgspec import Struct

from loop_core import fsio
from loop_core.errors import InvalidSession, UnsupportedSession
from loop_core.jsonvalue import BOM, JsonSyntaxError, is_number, is_safe_integer, loads
from loop_core.loop._peek import Peek, peek_header, peek_of, peek_record
from loop_core.loop.header import FORMAT, OBSOLETE, header_problem, is_supported

__all__ = [
    "EMPTY_GENERATION",
    "VERSION",
    "Envelope",
    "Peek",
    "header_of",
    "parse_envelope",
    "parse_header",
    "peek",
    "peek_legacy",
    "read_envelope",
]

VERSION = 3
#: SHA-256 of nothing: the generation of a session without messages.
EMPTY_GENERATION = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

_GENERATION = re.compile(r"[0-9a-f]{64}")
_Bytes = bytes
_PathLike = str | os.PathLike[str]


class Envelope(Struct, frozen=True):
    """A valid meta.json. `raw` is its text as read, `format` the value found there.

    The committed messages are the `bytes` bytes from `start` of messages.jsonl. `header` is a
    version-2 header without what Loop ignores.
    """

    header: dict[str, Any]
    generation: str
    start: int
    bytes: int
    message_count: int
    raw: _Bytes
    format: str = FORMAT

    @property
    def end(self) -> int:
        return self.start + self.bytes


def _parse(raw: bytes, path: _PathLike | None, what: str) -> Any:
    try:
        return loads(raw)
    except JsonSyntaxError as error:
        raise InvalidSession(path, f"{what} is not JSON: {error}", 1) from error


def _range_problem(value: dict[str, Any]) -> str | None:
    generation = value.get("generation")
    if not isinstance(generation, str) or _GENERATION.fullmatch(generation) is None:
        return "generation is not 64 lower-case hex digits"
    for key in ("start", "bytes", "messageCount"):
        if not is_safe_integer(value.get(key)) or value[key] < 0:
            return f"{key} is not a whole number"
    if (value["bytes"] == 0) != (value["messageCount"] == 0):
        return "bytes and messageCount disagree about whether there are messages"
    return None


def _checked_header(value: Any, path: _PathLike | None) -> dict[str, Any]:
    if not is_supported(value):
        raise UnsupportedSession("unsupported session format or version", path)
    header: dict[str, Any] = {key: item for key, item in value.items() if key != OBSOLETE}
    if problem := header_problem(header):
        raise InvalidSession(path, problem, 1)
    return header


def parse_envelope(raw: bytes, path: _PathLike | None = None) -> Envelope:
    """The envelope in the text of a meta.json; unknown keys pass, a BOM is tolerated.

    Raises `UnsupportedSession` for another format or version, outside or inside, and
    `InvalidSession` for what Loop would refuse. The working directory, the messages and the
    arrays about them are not looked at.
    """
    value = _parse(raw.removeprefix(BOM), path, "meta.json")
    if not isinstance(value, dict):
        raise UnsupportedSession("meta.json is not an object", path)
    name, version = value.get("format"), value.get("version")
    ours = isinstance(name, str) and name.startswith(FORMAT)
    if not ours or not is_number(version) or version != VERSION:
        raise UnsupportedSession("unsupported session format or version", path)
    header = _checked_header(value.get("header"), path)
    if problem := _range_problem(value):
        raise InvalidSession(path, problem, 1)
    return Envelope(
        header,
        value["generation"],
        int(value["start"]),
        int(value["bytes"]),
        int(value["messageCount"]),
        raw,
        str(name),
    )


def read_envelope(path: _PathLike) -> Envelope:
    """`parse_envelope` of a file. Raises `StorageFailed` as well."""
    return parse_envelope(fsio.read_file(path), path)


def header_of(raw: bytes, path: _PathLike | None = None) -> dict[str, Any]:
    """The header inside the text of a meta.json; raises as `parse_envelope`."""
    return parse_envelope(raw, path).header


def parse_header(raw: bytes, path: _PathLike | None = None, line: int = 1) -> dict[str, Any]:
    """The header in the first line of a version-2 file; `raw` is trimmed already.

    Raises as `parse_envelope`, with the physical `line` the header is on.
    """
    try:
        return _checked_header(_parse(raw, path, "the header"), path)
    except InvalidSession as error:
        raise InvalidSession(path, error.reason, line) from error


# --- lists -------------------------------------------------------------------------------


def peek(raw: bytes, path: _PathLike | None = None) -> Peek:
    """What a row needs of a meta.json; the verdict and the errors of `parse_envelope`."""
    try:
        return peek_record(raw)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        envelope = parse_envelope(raw, path)
        return peek_of(
            envelope.header,
            generation=envelope.generation,
            start=envelope.start,
            size=envelope.bytes,
            message_count=envelope.message_count,
        )


def peek_legacy(first_line: bytes, path: _PathLike | None = None, line: int = 1) -> Peek:
    """What a row needs of the first line of a version-2 file, trimmed as `legacy` does it."""
    try:
        return peek_header(first_line)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return peek_of(parse_header(first_line, path, line))
