"""Plays the application: saves sessions from memory, whole, in its unsafe way.

``craft_player.py FILE SECONDS PAUSE``: appends a message to one session and saves (temporary
file, unlink, rename; the seven fields from disk when they are not what it wrote last) until
the time is over, then prints how many messages its last save held and how many outside edits
it took.

``craft_player.py many CONFIG SESSIONS LOG RATE SEED``: the same over the sessions of a
workspace, RATE saves a second, until its standard input closes. It starts and quits from time
to time: while it runs its lock file is there and its memory wins, while it does not it writes
nothing. LOG gets ``+ id word`` after a save; the new message holds the word.
"""

from __future__ import annotations

import json
import os
import random
import select
import sys
import time
from typing import Any, TextIO

FIELDS = (
    "name",
    "labels",
    "isFlagged",
    "sessionStatus",
    "permissionMode",
    "hasUnread",
    "lastReadMessageId",
)
MOST = 120  # messages of a session that is still played on


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


class Session:
    """A session in the application's memory."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            lines = file.read().splitlines()
        self.header: dict[str, Any] = json.loads(lines[0])
        self.messages = lines[1:]
        self.last: str | None = None
        self.taken = 0  # outside edits taken over

    def save(self, content: str) -> None:
        """Append a message and write everything."""
        path, number = self.path, len(self.messages)
        value = {"id": f"m{number}", "content": content, "type": "user"}
        self.messages.append(json.dumps(value).encode())
        disk = disk_header(path)
        merged = dict(self.header)
        if self.last is not None and disk is not None and signature(disk) != self.last:
            self.taken += 1
            for key in FIELDS:
                merged.pop(key, None)
                if key in disk:
                    merged[key] = disk[key]
        self.header = merged
        merged["messageCount"] = len(self.messages)
        merged["lastUsedAt"] = int(time.time() * 1000)
        self.last = signature(merged)
        with open(path + ".tmp", "wb") as out:
            out.write(b"\n".join([json.dumps(merged).encode(), *self.messages]) + b"\n")
        try:
            os.unlink(path)
        except OSError:
            self.taken += 0
        os.rename(path + ".tmp", path)


def play(path: str, seconds: float, pause: float) -> tuple[int, int]:
    session = Session(path)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        session.save("x" * 200)
        if pause:
            time.sleep(pause)
    return len(session.messages), session.taken


class Application:
    """Many sessions, and a lock file while it runs."""

    def __init__(self, config: str, sessions: str, log: TextIO, dice: random.Random) -> None:
        self.lock = os.path.join(config, ".server.lock")
        self.sessions, self.log, self.dice = sessions, log, dice
        self.open: dict[str, Session] = {}
        self.number = 0
        self.running = False

    def start(self) -> None:
        with open(self.lock, "w", encoding="utf-8") as file:
            json.dump({"pid": os.getpid(), "startedAt": int(time.time() * 1000)}, file)
        self.running = True

    def quit(self) -> None:
        self.open.clear()
        self.running = False
        if os.path.exists(self.lock):
            os.unlink(self.lock)

    def turn(self) -> None:
        name = self.dice.choice(os.listdir(self.sessions))
        path = os.path.join(self.sessions, name, "session.jsonl")
        if name not in self.open:
            try:
                self.open[name] = Session(path)
            except (FileNotFoundError, NotADirectoryError):
                return
        session = self.open[name]
        if len(session.messages) > MOST:
            return
        self.number += 1
        word = f"craftword{self.number}q"
        session.save(f"Message {word} of the play")
        self.log.write(f"+ {name} {word}\n")
        self.log.flush()


def play_many(config: str, sessions: str, log: str, rate: float, seed: str) -> None:
    dice = random.Random(seed)
    with open(log, "w", encoding="utf-8") as out:
        application = Application(config, sessions, out, dice)
        application.start()
        turns = 0
        while not select.select([sys.stdin], [], [], 1 / rate)[0]:
            turns += 1
            if turns % 80 == 0:
                application.quit()
            elif turns % 80 == 40:
                # What was begun before it started is over, as in the seconds a start takes.
                application.start()
                time.sleep(0.5)
            elif application.running:
                application.turn()
        application.quit()


if __name__ == "__main__":
    if sys.argv[1] == "many":
        config, sessions, log, rate, seed = sys.argv[2:]
        play_many(config, sessions, log, float(rate), seed)
    else:
        count, edits = play(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
        sys.stdout.write(f"{count} {edits}\n")
