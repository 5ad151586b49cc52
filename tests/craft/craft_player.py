"""Plays the application: saves one session from memory, at full speed, in its unsafe way.

``craft_player.py FILE SECONDS PAUSE``: appends a message and saves (temporary file, unlink,
rename; the seven fields from disk when they are not what it wrote last) until the time is
over, then prints how many messages its last save held and how many outside edits it took.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

FIELDS = (
    "name",
    "labels",
    "isFlagged",
    "sessionStatus",
    "permissionMode",
    "hasUnread",
    "lastReadMessageId",
)


def signature(header: dict[str, Any]) -> str:
    return json.dumps({key: header[key] for key in FIELDS if key in header})


def disk_header(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            line = file.read(8192).split(b"\n", 1)[0]
        value = json.loads(line)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def play(path: str, seconds: float, pause: float) -> tuple[int, int]:
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    header, messages = json.loads(lines[0]), lines[1:]
    last: str | None = None
    taken = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        number = len(messages)
        messages.append(
            json.dumps({"id": f"m{number}", "content": "x" * 200, "type": "user"}).encode()
        )
        disk = disk_header(path)
        merged = dict(header)
        if last is not None and disk is not None and signature(disk) != last:
            taken += 1
            for key in FIELDS:
                merged.pop(key, None)
                if key in disk:
                    merged[key] = disk[key]
        header = merged
        header["messageCount"] = len(messages)
        header["lastUsedAt"] = int(time.time() * 1000)
        last = signature(header)
        with open(path + ".tmp", "wb") as out:
            out.write(b"\n".join([json.dumps(header).encode(), *messages]) + b"\n")
        try:
            os.unlink(path)
        except OSError:
            taken += 0
        os.rename(path + ".tmp", path)
        if pause:
            time.sleep(pause)
    return len(messages), taken


if __name__ == "__main__":
    count, edits = play(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
    sys.stdout.write(f"{count} {edits}\n")
