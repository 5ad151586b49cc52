"""The program in a real terminal: stopped and continued, resized in a storm, closed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loop_tui.text import cell_width

PROGRAM = """
import sys
from loop_tui.app import run
from loop_tui.service import Options
sys.exit(run(Options(agent_dir={agent!r}, no_craft=True, base={base!r})))
"""
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """The browser, alone in a process group and a pseudo-terminal it controls."""

    def __init__(self, base: Path) -> None:
        agent = base / "agent"
        agent.mkdir()
        code = PROGRAM.format(agent=str(agent), base=str(base / "own"))
        self.master, slave = pty.openpty()
        self.modes = termios.tcgetattr(slave)
        self.resize(40, 120, signal_it=False)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        self.slave = slave
        self.seen = b""

    def resize(self, rows: int, columns: int, *, signal_it: bool = True) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if signal_it:
            self.process.send_signal(signal.SIGWINCH)

    def until(self, wanted: bytes, seconds: float = 30.0) -> bytes:
        """What was written up to `wanted`, which has to come."""
        seen = b""
        end = time.monotonic() + seconds
        while wanted not in seen:
            assert time.monotonic() < end, seen[-400:]
            seen += self.read(0.2)
        return seen

    def read(self, seconds: float) -> bytes:
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        with contextlib.suppress(OSError):
            return os.read(self.master, 65_536)
        return b""

    def state(self) -> str:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(") ")[2][0]

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for fd in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(fd)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    running = Terminal(tmp_path)
    try:
        running.until(b"--demo")
        yield running
    finally:
        running.close()


def ends(terminal: Terminal, status: int) -> bytes:
    """It ends by itself with `status`; what it wrote last."""
    rest = b""
    end = time.monotonic() + 20
    while terminal.process.poll() is None:
        assert time.monotonic() < end, "it does not end"
        rest += terminal.read(0.1)
    while piece := terminal.read(0.1):
        rest += piece
    assert terminal.process.returncode == status
    return rest


def waits(what: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def reach(drawn: bytes) -> tuple[int, int]:
    """The lowest row written to, and the furthest column, by a terminal's own count."""
    rows = columns = 0
    for part in re.finditer(rb"\x1b\[(\d+);(\d+)H((?:[^\x1b]|\x1b\[[\d;:]*m)*)", drawn):
        text = re.sub(rb"\x1b\[[\d;:]*m", b"", part[3]).decode("utf-8", "replace")
        line = text.rstrip("\r\n").splitlines() or [""]
        rows = max(rows, int(part[1]) + len(line) - 1)
        columns = max(columns, int(part[2]) - 1 + max(map(cell_width, line)))
    return rows, columns


def test_a_size_that_no_signal_told_is_drawn_as_well(terminal: Terminal) -> None:
    """Two signals close together are told the wrong way round by the second's handler."""
    terminal.resize(25, 70, signal_it=False)
    drawn = terminal.until(b"\x1b[25;1H", seconds=10)
    while piece := terminal.read(0.5):
        drawn += piece
    assert reach(drawn[drawn.rindex(b"\x1b[1;1H") :]) == (25, 70)
    quiet = b"".join(iter(lambda: terminal.read(1.5), b""))
    assert len(quiet) < 5_000  # told once, drawn once
    os.write(terminal.master, b"\x11")
    ends(terminal, 0)


def test_a_storm_of_sizes(terminal: Terminal) -> None:
    """200 sizes from 1×1 to 500×200, and the last one is the one that is drawn."""
    dice = random.Random(5)
    for number in range(200):
        rows, columns = dice.choice(
            [(1, 1), (200, 500), (dice.randrange(1, 201), dice.randrange(1, 501))]
        )
        terminal.resize(rows, columns)
        if number % 4 == 0:
            terminal.read(0.02)
    terminal.resize(30, 90)
    end, drawn, last = time.monotonic() + 60, b"", (0, 0)
    while time.monotonic() < end:
        piece = terminal.read(1.0)
        drawn += piece
        if (start := drawn.rfind(b"\x1b[1;1H")) >= 0:
            last = reach(drawn[start:])  # of the last whole picture
        if not piece and last == (30, 90):
            break
    assert terminal.process.poll() is None
    assert last == (30, 90)
    # What a key changes then keeps to the last size as well.
    os.write(terminal.master, b"?")
    drawn = terminal.until(b"Esc")
    while piece := terminal.read(0.5):
        drawn += piece
    rows, columns = reach(drawn)
    assert rows <= 30
    assert columns <= 90
    os.write(terminal.master, b"\x11")
    ends(terminal, 0)


def test_stopped_and_continued(terminal: Terminal) -> None:
    """Ctrl+Z from outside: the terminal is given back while it is stopped, then taken again."""
    terminal.process.send_signal(signal.SIGTSTP)
    waits(lambda: terminal.state() == "T")
    shown = b""
    while piece := terminal.read(0.3):
        shown += piece
    assert LEAVE in shown
    assert termios.tcgetattr(terminal.slave)[3] == terminal.modes[3]
    terminal.process.send_signal(signal.SIGCONT)
    terminal.until(ENTER)
    terminal.until(b"--demo")
    os.write(terminal.master, b"\x11")
    ends(terminal, 0)
    assert termios.tcgetattr(terminal.slave) == terminal.modes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_modes_after_a_signal(terminal: Terminal, number: signal.Signals) -> None:
    """failures row 144: the line discipline is what it was, and no process stays."""
    terminal.process.send_signal(number)
    assert LEAVE in ends(terminal, 128 + number)
    assert termios.tcgetattr(terminal.slave) == terminal.modes
    with pytest.raises(ProcessLookupError):
        os.killpg(terminal.process.pid, 0)


def test_a_closed_terminal_costs_nothing(terminal: Terminal) -> None:
    """Nobody at the other end: it ends by itself and does not spin until then."""
    before = terminal.cpu()
    os.close(terminal.slave)
    os.close(terminal.master)
    spent, end = 0.0, time.monotonic() + 20
    while terminal.process.poll() is None:
        assert time.monotonic() < end
        with contextlib.suppress(OSError, IndexError):
            spent = terminal.cpu() - before
        time.sleep(0.02)
    assert terminal.process.returncode == 128 + signal.SIGHUP
    assert spent < 2.0
