"""`--demo`: the synthetic store in a temporary directory, with one session that grows."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from loop_core.loop.dates import now_ms
from loop_core.loop.manager import SessionManager
from loop_core.loop.paths import get_session_dir
from loop_tui.demo.build import write_demo
from loop_tui.demo.conversation import Conversation
from loop_tui.demo.projects import PLACES
from loop_tui.demo.script import read_bank

GROWING = "Live: clean up the harbour importer"


@contextmanager
def temporary_demo() -> Iterator[Path]:
    """A demo that is gone when the block ends, whatever was done to it meanwhile."""
    with tempfile.TemporaryDirectory(prefix="loop-tui-demo-", ignore_cleanup_errors=True) as name:
        write_demo(name)
        yield Path(os.path.realpath(name))


@contextmanager
def growing(base: Path) -> Iterator[threading.Thread]:
    """While the block runs, a thread plays an agent at work in the demo at `base`."""
    stop = threading.Event()
    thread = threading.Thread(target=grow, args=(base, stop), name="demo-agent", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(timeout=5)


def grow(base: Path, stop: threading.Event, pause: float = 1.6) -> int:
    """Create a session and commit to it, message by message, until `stop`; returns how many.

    It writes as an agent does, through a `SessionManager`, which respects what the browser
    changes meanwhile.
    """
    place = PLACES[0]
    cwd = base / "projects" / place.folder
    rng = Random(5)  # noqa: S311 - a repeatable play, nothing secret
    talk = Conversation(rng, 0)
    for topic in read_bank("topics").values():
        for part in topic.rounds():
            talk.play([piece.fill(place.words) for piece in part])
    manager = SessionManager.create(cwd, get_session_dir(cwd, base / "loop"))
    manager.set_title({"text": GROWING, "source": "user", "messageIndices": []})
    written, open_calls = 0, 0
    for message in talk.messages:
        message["timestamp"] = now_ms()
        written += 1
        if message["role"] == "assistant":
            open_calls += sum(block["type"] == "toolCall" for block in message["content"])
        elif message["role"] == "toolResult":
            open_calls -= 1
        # A commit with a call that has no result yet would not be a valid history.
        if open_calls == 0:
            manager.commit(talk.messages[:written])
            if stop.wait(pause):
                break
    return written
