"""Paths that travel: the session token in JSON text, and ``~`` in headers.

craft-format section 6 and "rootPath" in section 1. Writing replaces the session folder's
absolute path in the finished JSON text, header included; reading puts it back. The
application replaces in the text before it parses, which breaks on a folder name with a quote
or a control character. `expand_line` puts the path in as JSON string content, which is equal
for every other folder and sound for those.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import Any, overload

from loop_core import jsonvalue

__all__ = [
    "TOKEN",
    "collapse_line",
    "expand_home",
    "expand_line",
    "expand_session_path",
    "make_session_path_portable",
    "portable_home",
]

TOKEN = "{{SESSION_PATH}}"  # noqa: S105 - no secret, a place holder
_TOKEN_BYTES = TOKEN.encode()

_PathLike = str | os.PathLike[str]


def _forward(folder: _PathLike) -> str:
    return os.fspath(folder).replace("\\", "/") if os.sep == "\\" else os.fspath(folder)


def make_session_path_portable(text: str, folder: _PathLike) -> str:
    """`text` (one JSON line) with the session folder's absolute path replaced by the token.

    Plain text replacement, as in the application: a sibling folder that begins with the same
    name is matched too, and so are object keys.
    """
    path = _forward(folder)
    return text.replace(path, TOKEN) if path else text


@overload
def expand_session_path(value: str, folder: _PathLike) -> str: ...
@overload
def expand_session_path(value: Any, folder: _PathLike) -> Any: ...
def expand_session_path(value: Any, folder: _PathLike) -> Any:
    """`value` with every token replaced by the session folder (forward slashes).

    Works on a text, and on any JSON value: in all strings and all keys, at any depth.
    """
    path = _forward(folder)
    if isinstance(value, str):
        return value.replace(TOKEN, path)
    if not isinstance(value, (dict, list)):
        return value
    out: list[Any] = [None]
    todo: list[tuple[Any, Any, Any]] = [(value, out, 0)]
    while todo:
        node, into, place = todo.pop()
        made: Any = node
        if isinstance(node, str):
            made = node.replace(TOKEN, path)
        elif isinstance(node, list):
            made = [None] * len(node)
            todo.extend((item, made, index) for index, item in enumerate(node))
        elif isinstance(node, dict):
            keys = [key.replace(TOKEN, path) for key in node]
            made = dict.fromkeys(keys)
            # Of keys that become equal the last one wins, so it has to be handled last.
            pairs = list(zip(keys, node.values(), strict=True))
            todo.extend((item, made, key) for key, item in reversed(pairs))
        into[place] = made
    return out[0]


def _inside_string(folder: _PathLike) -> bytes:
    """The folder as it stands inside a JSON string."""
    text = _forward(folder)
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text.encode()
    return jsonvalue.dumps(_forward(folder))[1:-1]


def expand_line(line: bytes, folder: _PathLike) -> bytes:
    """One line of JSON with the token replaced, ready to parse."""
    return line.replace(_TOKEN_BYTES, _inside_string(folder)) if _TOKEN_BYTES in line else line


def collapse_line(line: bytes, folder: _PathLike) -> bytes:
    """One finished line of JSON with the folder replaced by the token, ready to write."""
    path = _inside_string(folder)
    return line.replace(path, _TOKEN_BYTES) if path else line


def expand_home(path: str) -> str:
    """An absolute, normalized path from what a header or the configuration holds.

    ``~``, ``~/x``, ``${HOME}`` and ``$HOME/`` are the home directory; a relative path starts at
    the process's directory; a trailing slash stays, as in the application.
    """
    home = os.path.expanduser("~")
    if path == "~":
        path = home
    elif path.startswith("~/"):
        path = posixpath.join(home, path[2:])
    path = path.replace("${HOME}", home)
    path = re.sub(r"\$HOME(?=/|$)", lambda _: home, path)
    if not path.startswith("/"):
        path = posixpath.join(os.getcwd(), path)
    normal = re.sub(r"^//+", "/", posixpath.normpath(path))
    return normal + "/" if path.endswith("/") and not normal.endswith("/") else normal


def portable_home(path: str) -> str:
    """`path` as ``~/…`` when it lies inside the home directory, else absolute."""
    full = expand_home(path)
    home = os.path.expanduser("~").rstrip("/")
    if not home:
        return full
    if full.rstrip("/") == home:
        return "~"
    return "~" + full[len(home) :] if full.startswith(home + "/") else full
