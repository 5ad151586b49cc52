"""A history that is read further up while another process writes it twenty times a second."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.segment import Segment
from textual.strip import Strip

from loop_core.loop.manager import SessionManager
from loop_tui.app import LoopTui
from loop_tui.service import Options, Service
from loop_tui.settings import SettingsFile
from loop_tui.widgets.transcript import Transcript
from loop_tui.widgets.window import LIMIT

WRITES = 60  # one message each; every tenth begins a round
WRITER = """
import sys, time
from loop_core.loop.manager import SessionManager

path, writes = sys.argv[1], int(sys.argv[2])
manager = SessionManager.open(path)
reply = {"api": "a", "provider": "p", "model": "m", "usage": {}, "stopReason": "stop"}
due = time.monotonic()
for number in range(writes):
    if number % 10 == 0:
        one = {"role": "user", "content": f"Later question {number}", "timestamp": 1}
    else:
        text = [{"type": "text", "text": f"Later answer {number}"}]
        one = {"role": "assistant", "content": text, "timestamp": 2, **reply}
    manager.commit([*manager.messages, one])
    due += 0.05
    time.sleep(max(due - time.monotonic(), 0))
"""


def messages(number: int) -> list[dict[str, Any]]:
    answer = {
        "role": "assistant",
        "content": [{"type": "text", "text": f"**Answer {number}**\n\n- one\n- two\n- three"}],
        "api": "a",
        "provider": "p",
        "model": "m",
        "usage": {},
        "stopReason": "stop",
        "timestamp": 2,
    }
    return [{"role": "user", "content": f"Question {number}", "timestamp": 1}, answer]


def strips(lines: Transcript) -> list[Strip]:
    """What the pane draws: text and style, line by line, without the numbers of the lines."""
    drawn = (lines.render_line(y) for y in range(lines.size.height))
    return [
        Strip([Segment(one.text, one.style and one.style.clear_meta_and_links()) for one in strip])
        for strip in drawn
    ]


@pytest.mark.timeout(60)
async def test_a_view_further_up_stands_still(tmp_path: Path) -> None:
    """failures rows 134, 138: 60 commits at 20 Hz from a real process; no line changes."""
    manager = SessionManager.create(str(tmp_path), tmp_path / "agent" / "sessions" / "work")
    manager.commit([one for number in range(70) for one in messages(number)])
    settings = SettingsFile(str(tmp_path / "settings"))
    settings.change(hint_seen=True, auto_read=False)
    options = Options(agent_dir=str(tmp_path / "agent"), no_craft=True)
    app = LoopTui(
        lambda: Service.open(options, recover=False), settings, clock=lambda: 1_800_000_000.0
    )
    async with app.run_test(size=(120, 40)) as pilot:
        pane, lines = app.browser.history, app.browser.history.transcript
        for _ in range(400):
            await pilot.pause(0.02)
            if pane.window is not None and app.live is not None:
                break
        await pilot.press("3", "pageup")
        assert pane.window is not None
        while len(pane.window.rounds) < LIMIT - 2:
            pane.action_load_earlier()
            await pilot.pause(0.02)
        assert not pane.following
        before, frames, first = strips(lines), 0, lines.rounds[0].number
        written = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(manager.session_file), str(WRITES)
        )
        seen = set()
        while written.returncode is None or pane.new_below < WRITES:
            await pilot.pause(0.01)
            assert strips(lines) == before
            seen.add(pane.new_below)
            frames += 1
            assert frames < 3000
        assert written.returncode == 0
        if pane.window.at_end:  # no gap: rounds joined below, others left above
            assert lines.rounds[0].number > first
        assert len(seen) > 4  # it was counted while it grew
        assert pane.new_below == WRITES
        for _ in range(100):  # the border follows with the next message
            if f"{WRITES} new below" in str(pane.border_subtitle):
                break
            await pilot.pause(0.02)
        assert f"{WRITES} new below" in str(pane.border_subtitle)
        await pilot.press("G")
        await pilot.pause(0.3)
        assert pane.new_below == 0
        text = "\n".join(strip.text for strip in strips(lines))
        assert f"Later answer {WRITES - 1}" in text
    app.service.close()
