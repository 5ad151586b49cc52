"""The browser with nothing to do, and what an agent's new answer does to it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from loop_core.loop.manager import SessionManager
from loop_tui.app import LoopTui
from loop_tui.service import Options, Service
from loop_tui.settings import SettingsFile

_opened: list[str] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open":
        _opened.append(os.fsdecode(arguments[0]) if not isinstance(arguments[0], int) else "")


def answer(text: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "a",
        "provider": "p",
        "model": "m",
        "usage": {},
        "stopReason": "stop",
        "timestamp": 2,
    }


@pytest.mark.timeout(120)
async def test_idle_and_a_new_answer(tmp_path: Path) -> None:
    """failures rows 13, 14, 120: idle opens no session file; new output of an agent is unread."""
    global _opened  # noqa: PLW0603
    sessions = tmp_path / "agent" / "sessions" / "work"
    managers = []
    for number in range(30):
        manager = SessionManager.create(str(tmp_path), sessions)
        manager.commit(
            [{"role": "user", "content": f"Question {number}", "timestamp": 1}, answer("Yes")]
        )
        manager.mark_read(2)
        managers.append(manager)
    for manager in managers:
        assert manager.session_file is not None
        for path in (manager.session_file, manager.session_file.with_name("messages.jsonl")):
            os.utime(path, (1_700_000_000, 1_700_000_000))
    options = Options(agent_dir=str(tmp_path / "agent"), no_craft=True)
    settings = SettingsFile(str(tmp_path / "settings"))
    settings.change(hint_seen=True, auto_read=False)
    app = LoopTui(lambda: Service.open(options, recover=False), settings)
    sys.addaudithook(_hook)
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(400):
            await pilot.pause(0.02)
            if len(app.browser.browse.shown) == 30 and app.live is not None:
                break
        assert len(app.browser.browse.shown) == 30
        await pilot.press("enter")
        await pilot.pause(2.5)
        _opened, cpu = [], time.process_time()
        await asyncio.sleep(2.0)
        spent, seen = time.process_time() - cpu, _opened
        _opened = None
        assert [path for path in seen if path.startswith(str(sessions))] == []
        assert spent < 0.4
        managers[7].commit(
            [
                *managers[7].messages,
                {"role": "user", "content": "Another", "timestamp": 3},
                answer("A new answer"),
            ]
        )
        for _ in range(400):
            await pilot.pause(0.02)
            unread = [row for row in app.browser.browse.shown if row.unread]
            if unread:
                break
        assert [row.id for row in unread] == [managers[7].get_header()["id"]]
    app.service.close()
