"""Starts one program in a pseudo-terminal and says when its rows are on the screen.

A script for the environment that has `pyte`, which keeps the screen: it reads one JSON object
from stdin (arguments, env, cwd, first, last, once, keys, limit) and prints one (first, last,
cpu). `first` is the time until any text that matches shows, `last` until that of the last row
does, after the program was sent `once` and then, again and again, the `keys` that go to its
end; both in seconds after its start. `cpu` is what all its processes had used by then.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pyte

_COLUMNS, _LINES = 140, 40
_AGAIN_S = 0.1
#: What a terminal answers when it is asked who it is, where its cursor is, what its colours are.
_ANSWERS = (
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\]10;\?"), b"\x1b]10;rgb:dddd/dddd/dddd\x1b\\"),
    (re.compile(rb"\x1b\]11;\?"), b"\x1b]11;rgb:1111/1111/1111\x1b\\"),
)
#: Sequences with private prefixes that pyte would show as text.
_PRIVATE = re.compile(
    rb"\x1b\[[<=>][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b[P_^].*?\x1b\\", re.DOTALL
)


def start(given: dict[str, Any]) -> tuple[int, int]:
    """The process and the terminal's side of its pseudo-terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(given["cwd"])
        os.execvpe(given["arguments"][0], given["arguments"], given["env"])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
    os.set_blocking(terminal, False)
    return child, terminal


def send(terminal: int, keys: bytes) -> None:
    """Type, as far as the program reads; what it has no room for is typed again later."""
    with contextlib.suppress(BlockingIOError):
        os.write(terminal, keys)


def cpu_of(session: int) -> float:
    """Processor seconds of every process in a session, and of those they waited for."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def watch(given: dict[str, Any], child: int, terminal: int, began: float) -> dict[str, float]:
    """Read what it draws until the last row is there; raises TimeoutError."""
    screen = pyte.Screen(_COLUMNS, _LINES)
    stream = pyte.ByteStream(screen)
    first_row, last_row = re.compile(given["first"]), re.compile(given["last"])
    found: dict[str, float] = {}
    asked, keys = 0.0, given["keys"].encode()
    while time.monotonic() - began < given["limit"]:
        ready, _, _ = select.select([terminal], [], [], 0.02)
        now = time.monotonic() - began
        if ready:
            try:
                data = os.read(terminal, 1 << 20)
            except OSError:
                break
            for question, answer in _ANSWERS:
                if question.search(data):
                    send(terminal, answer)
            stream.feed(_PRIVATE.sub(b"", data))
            shown = "\n".join(screen.display)
            if "first" not in found and first_row.search(shown):
                found["first"] = now
                send(terminal, given["once"].encode())
            if "first" in found and last_row.search(shown):
                return found | {"last": now, "cpu": cpu_of(child)}
        if "first" in found and now - asked > _AGAIN_S:
            asked = now
            send(terminal, keys)
    text = "\n".join(line.rstrip() for line in screen.display if line.strip())
    raise TimeoutError(f"{' '.join(given['arguments'])}: {sorted(found)} in time, then\n{text}")


def main() -> int:
    given = json.load(sys.stdin)
    began = time.monotonic()
    child, terminal = start(given)
    try:
        print(json.dumps(watch(given, child, terminal, began)))
    except TimeoutError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
