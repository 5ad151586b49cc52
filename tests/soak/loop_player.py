"""Plays Loop over a whole agent directory: knows nothing of us, and never reads again.

``loop_player.py SESSIONS_DIR LOG RATE SEED COUNT``: about RATE saves a second over random
sessions, until its standard input closes. Sessions are held in memory while they are open,
appended to, and published by temporary file and rename; some are replaced, made or deleted, so
that there stay about COUNT of them. Version-2 files are rewritten whole.

Every message has a word of its own. LOG gets a line for what it did: ``+ id word`` after a
save, ``- id word`` before a save that leaves a message out, ``x id`` before a deletion and
``t name`` for a temporary file that went away with its directory before it was renamed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import select
import shutil
import sys
import time
import uuid
from typing import Any, TextIO

OPEN = 12  # sessions held in memory
MOST = 120  # messages of a session that is still opened


def now() -> str:
    seconds = time.time()
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        + f".{int(seconds * 1000 % 1000):03d}Z"
    )


def line_of(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def exchange(word: str) -> list[bytes]:
    """A question and its answer; the question holds the word."""
    stamp = int(time.time() * 1000)
    answer = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Looking at the lock."},
            {
                "type": "text",
                "text": f"## Answer\n\nIt is *{word}*, see `fsio.py`.\n\n- one\n- two",
            },
        ],
        "api": "a",
        "provider": "p",
        "model": "m",
        "usage": {},
        "stopReason": "stop",
        "timestamp": stamp,
    }
    question = {"role": "user", "content": f"What about {word} now?", "timestamp": stamp}
    return [line_of(question), line_of(answer)]


class Gone(Exception):
    """The session is not where it was; what was not renamed is not saved."""


class Player:
    def __init__(self, root: str, log: TextIO, dice: random.Random, count: int) -> None:
        self.root, self.log, self.dice, self.count = root, log, dice, count
        self.collections = [os.path.join(root, name) for name in sorted(os.listdir(root))]
        self.open: dict[str, Session] = {}
        self.number = 0

    def say(self, *words: str) -> None:
        self.log.write(" ".join(words) + "\n")
        self.log.flush()

    def word(self) -> str:
        self.number += 1
        return f"loopword{self.number}q"

    def replace(self, path: str, data: bytes) -> None:
        temporary = f"{path}.{uuid.uuid4()}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(data)
            os.rename(temporary, path)
        except FileNotFoundError as error:
            self.say("t", os.path.basename(temporary))
            raise Gone(path) from error

    def entries(self) -> list[str]:
        return [
            os.path.join(folder, name)
            for folder in self.collections
            for name in os.listdir(folder)
            if not name.startswith(".") and name != "archive.json"
        ]

    def turn(self) -> None:
        entries = self.entries()
        if len(entries) < self.count and self.dice.random() < 0.1:
            self.create()
            return
        if len(entries) > self.count and self.dice.random() < 0.05:
            self.delete()
            return
        if len(self.open) < OPEN:
            path = self.dice.choice(entries)
            if path not in self.open and (session := load(self, path)) is not None:
                self.open[path] = session
        if not self.open:
            return
        path = self.dice.choice(list(self.open))
        session = self.open[path]
        try:
            session.save(leave_out=self.dice.random() < 0.05)
        except Gone:
            del self.open[path]
            return
        if session.messages > MOST or self.dice.random() < 0.05:
            del self.open[path]

    def create(self) -> None:
        name = str(uuid.uuid4())
        path = os.path.join(self.dice.choice(self.collections), name)
        os.mkdir(path, 0o700)
        header = {
            "format": "loop-session",
            "version": 2,
            "permissionPreset": "read-only",
            "id": name,
            "cwd": self.root,
            "createdAt": now(),
            "updatedAt": now(),
            "unread": False,
        }
        with open(os.path.join(path, "messages.jsonl"), "wb"):
            pass
        envelope = {
            "format": "loop-session",
            "version": 3,
            "header": header,
            "generation": hashlib.sha256(b"").hexdigest(),
            "start": 0,
            "bytes": 0,
            "messageCount": 0,
        }
        self.replace(os.path.join(path, "meta.json"), line_of(envelope))
        self.open[path] = Published(self, path, envelope, [])

    def delete(self) -> None:
        """Delete an archived session for good, through a private staging directory."""
        folder = self.dice.choice(self.collections)
        index = os.path.join(folder, "archive.json")
        try:
            with open(index, "rb") as file:
                ids = json.load(file)
        except FileNotFoundError:
            return
        there = [one for one in ids if os.path.isdir(os.path.join(folder, one))]
        if not there:
            return
        chosen = self.dice.choice(there)
        path, staging = (
            os.path.join(folder, chosen),
            os.path.join(folder, f".delete-{uuid.uuid4()}"),
        )
        self.open.pop(path, None)
        self.say("x", chosen)
        os.mkdir(staging, 0o700)
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, os.path.join(staging, chosen))
            self.replace(index, line_of([one for one in ids if one != chosen]))
        shutil.rmtree(staging)


class Session:
    """A session as Loop's memory has it; `save` adds an exchange."""

    def __init__(self, player: Player, path: str, lines: list[bytes]) -> None:
        self.player, self.path, self.lines = player, path, lines
        self.id = ""

    @property
    def messages(self) -> int:
        return len(self.lines)

    def save(self, *, leave_out: bool) -> None:
        word = self.player.word()
        if leave_out and len(self.lines) >= 2:
            for one in word_in(self.lines[-2]):
                self.player.say("-", self.id, one)
            del self.lines[-2:]
        added = exchange(word)
        self.lines += added
        self.write(added, whole=leave_out)
        self.player.say("+", self.id, word)

    def write(self, added: list[bytes], *, whole: bool) -> None:
        raise NotImplementedError


class Published(Session):
    """Version 3: appends, or puts a new generation behind the old one."""

    def __init__(
        self, player: Player, path: str, envelope: dict[str, Any], lines: list[bytes]
    ) -> None:
        super().__init__(player, path, lines)
        self.envelope = envelope
        self.id = envelope["header"]["id"]

    def write(self, added: list[bytes], *, whole: bool) -> None:
        envelope = self.envelope
        end = envelope["start"] + envelope["bytes"]
        data = b"".join(self.lines if whole else added)
        try:
            with open(os.path.join(self.path, "messages.jsonl"), "r+b") as file:
                file.truncate(end)
                file.seek(end)
                file.write(data)
        except FileNotFoundError as error:
            raise Gone(self.path) from error
        if whole:
            envelope.update(start=end, bytes=0)
        envelope["bytes"] += len(data)
        envelope["messageCount"] = len(self.lines)
        envelope["generation"] = hashlib.sha256(b"".join(self.lines)).hexdigest()
        envelope["header"].update(updatedAt=now(), unread=True)
        self.player.replace(os.path.join(self.path, "meta.json"), line_of(envelope))


class Legacy(Session):
    """Version 2: the header and every message, written anew each time."""

    def __init__(self, player: Player, path: str, header: dict[str, Any], lines: list[bytes]):
        super().__init__(player, path, lines)
        self.header = header
        self.id = header["id"]

    def write(self, added: list[bytes], *, whole: bool) -> None:
        self.header.update(updatedAt=now(), unread=True)
        self.player.replace(self.path, b"".join([line_of(self.header), *self.lines]))


def word_in(line: bytes) -> list[str]:
    content = json.loads(line)["content"]
    words = content.split() if isinstance(content, str) else []
    return [word for word in words if word.startswith("loopword")]


def load(player: Player, path: str) -> Session | None:
    """Open a session; None when it is gone, too long, or not whole."""
    try:
        if path.endswith(".jsonl"):
            with open(path, "rb") as file:
                head, *lines = file.read().splitlines(keepends=True)
            return Legacy(player, path, json.loads(head), lines) if len(lines) < MOST else None
        with open(os.path.join(path, "meta.json"), "rb") as file:
            envelope = json.load(file)
        with open(os.path.join(path, "messages.jsonl"), "rb") as file:
            file.seek(envelope["start"])
            body = file.read(envelope["bytes"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    if hashlib.sha256(body).hexdigest() != envelope["generation"]:
        return None
    lines = body.splitlines(keepends=True)
    return Published(player, path, envelope, lines) if len(lines) < MOST else None


def main() -> None:
    root, log, rate, seed, count = sys.argv[1:]
    with open(log, "w", encoding="utf-8") as out:
        player = Player(root, out, random.Random(seed), int(count))
        pause = 1 / float(rate)
        while not select.select([sys.stdin], [], [], pause)[0]:
            player.turn()


if __name__ == "__main__":
    main()
