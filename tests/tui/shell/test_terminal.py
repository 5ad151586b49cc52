"""How the program leaves: signals, crashes, read-only places. In a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from loop_tui.crash import CrashReport

PROGRAM = """
import sys
import termios
from loop_tui.app import run
from loop_tui.service import Options
from loop_tui import app as module
{patch}
sys.exit(run(Options(agent_dir={agent!r}, no_craft=True, base={base!r})))
"""


def start(
    tmp_path: Path, patch: str = "", size: tuple[int, int] = (40, 120)
) -> tuple[subprocess.Popen[bytes], int]:
    """The browser in a terminal of its own, on an empty agent directory."""
    agent = tmp_path / "agent"
    agent.mkdir(exist_ok=True)
    code = PROGRAM.format(patch=patch, agent=str(agent), base=str(tmp_path / "own"))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(slave)
    return process, master


def read_until(master: int, wanted: bytes, seconds: float = 30.0) -> bytes:
    """Everything the program wrote, up to `wanted` or its end."""
    seen = b""
    end = time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < end:
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(master, 65_536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    return seen


def finish(process: subprocess.Popen[bytes], master: int) -> bytes:
    """What is written up to the end of the program, which comes soon."""
    try:
        rest = read_until(master, b"\0never", 15.0)
        process.wait(10)
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return rest


CLEAN = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?25h")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_the_terminal_clean(tmp_path: Path, number: signal.Signals) -> None:
    """failures row 144: modes reset, status 128 + n."""
    process, master = start(tmp_path)
    assert b"--demo" in read_until(master, b"--demo")
    process.send_signal(number)
    rest = finish(process, master)
    assert process.returncode == 128 + number
    for mode in CLEAN:
        assert mode in rest


def test_a_closed_terminal_ends_the_program(tmp_path: Path) -> None:
    """Nobody sends a signal when the other end of a pseudo-terminal just goes away."""
    process, master = start(tmp_path)
    assert b"--demo" in read_until(master, b"--demo")
    os.close(master)
    try:
        assert process.wait(20) == 128 + signal.SIGHUP
    finally:
        process.kill()
        process.wait()


def test_a_terminal_of_unknown_size_is_not_painted_for_ever(tmp_path: Path) -> None:
    """A pseudo-terminal without a size reports a resize at every layout (failures row 133)."""
    process, master = start(tmp_path, size=(0, 0))
    read_until(master, b"Reading", 20.0)
    seen = read_until(master, b"\0never", 2.0)
    again = read_until(master, b"\0never", 1.0)
    os.write(master, b"\x11")
    finish(process, master)
    assert process.returncode == 0
    assert len(seen) < 400_000
    assert len(again) < 5_000


def test_ctrl_q_leaves_cleanly(tmp_path: Path) -> None:
    process, master = start(tmp_path)
    read_until(master, b"--demo")
    os.write(master, b"\x11")
    rest = finish(process, master)
    assert process.returncode == 0
    for mode in CLEAN:
        assert mode in rest


def test_a_crash_prints_one_line_and_keeps_the_report_private(tmp_path: Path) -> None:
    """No conversation text on the terminal; the line says where the report is."""
    patch = (
        "def boom(self, *_):\n"
        "    secret = 'private conversation'\n"
        "    raise RuntimeError('boom')\n"
        "from loop_tui.screens.news import News\n"
        "News.finish_scan = boom\n"
    )
    process, master = start(tmp_path, patch)
    seen = finish(process, master)
    assert process.returncode == 1
    for mode in CLEAN:
        assert mode in seen
    assert b"private conversation" not in seen
    assert b"Traceback" not in seen
    assert b"its report is in" in seen
    (report,) = (tmp_path / "own" / "state").glob("crash-*.txt")
    assert report.stat().st_mode & 0o777 == 0o600
    assert "boom" in report.read_text()


def test_a_report_that_cannot_be_written(tmp_path: Path, capsys: Any) -> None:
    """failures row 154."""
    (tmp_path / "file").write_text("")
    crash = CrashReport(str(tmp_path / "file" / "state"))
    assert not crash.publish()
    crash.console.print("something")
    assert crash.publish()
    assert "could not be written" in capsys.readouterr().err
