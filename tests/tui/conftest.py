"""A reader of made-up sessions, shared by the tests of panes and of the browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from loop_core.errors import LoopError, StaleRevision
from loop_core.model import (
    Block,
    Damage,
    Detail,
    Hit,
    ImageBlock,
    NoteBlock,
    Page,
    Round,
    SessionKey,
    SessionRow,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
)

NOON = 1_760_000_000_000  # Unix milliseconds, a Thursday in October 2025

MARKDOWN = """## Where the lock goes wrong

The writer takes `flock(LOCK_EX)` on **index.json**, but `os.replace` swaps the inode
*under* the second writer, so both believe they own it:

1. A opens the file and locks inode 11
2. B opens the same path and waits
3. A renames a temporary file over it; B now holds a lock on a **deleted** inode

```python
def guarded_write(path: Path, data: bytes, stamp: Stamp) -> Stamp:
    with lock(path.parent):                  # the directory, never the file
        if Stamp.of(path) != stamp:
            raise Conflict(path)
        return atomic_write(path, data)
```

| writer | before | after |
|:--|--:|--:|
| Loop 0.5 | 0.42 ms | 0.57 ms |
| ours | 0.44 ms | 0.61 ms |

> Nothing on disk changed while reading. See [the format page](docs/FORMAT.md).

- [x] lock the directory
- [ ] tell the watcher about our own writes
"""


def make_round(number: int, *, extra: tuple[Block, ...] = (), text: str | None = None) -> Round:
    """Round `number` with ten message indexes: a question, thinking, two calls, an answer."""
    at = number * 10
    blocks: tuple[Block, ...] = (
        TextBlock(f"Question {number}: why does the list jump?", at, role="user"),
        ThinkingBlock("The rename swaps the inode under the reader.", at + 1),
        ToolBlock(
            name="read",
            verb="Read",
            target="core/loop_core/fsio.py",
            status="ok",
            call_id=f"c{number}",
            message=at + 1,
            result_message=at + 2,
            arguments='{\n  "path": "core/loop_core/fsio.py"\n}',
            result="\n".join(f"line {n} of the file" for n in range(60)),
            duration_ms=7_200,
        ),
        ToolBlock(
            name="bash",
            verb="Ran",
            target="pytest -q tests/core",
            status="error" if number % 2 else "ok",
            call_id=f"d{number}",
            message=at + 3,
            result_message=at + 4,
            arguments='{\n  "command": "pytest -q tests/core"\n}',
            result="3 passed",
            duration_ms=1_900,
        ),
        TextBlock(MARKDOWN if text is None else text, at + 5),
        *extra,
    )
    return Round(
        index=number,
        start=at,
        end=at + 10,
        time_ms=NOON + number * 60_000,
        blocks=blocks,
        durations_ms=(125_000,) if number % 3 == 0 else (),
        size=len(MARKDOWN) + 1_500,
    )


class FakeReader:
    """Follows the reader part of the store protocol over rounds in memory.

    `delay` (seconds) makes every page slow, `gate` (when set) holds pages until released;
    `pages` counts and records the pages asked for.
    """

    def __init__(self, rounds: int = 12) -> None:
        self.rounds: dict[SessionKey, list[Round]] = {}
        self.revision: dict[SessionKey, str] = {}
        self.damage: tuple[Damage, ...] = ()
        self.error: LoopError | None = None
        self.delay = 0.0
        self.gate: threading.Event | None = None
        self.pages: list[tuple[SessionKey, dict[str, Any]]] = []
        self.default = rounds
        self.images: dict[int, tuple[str, str]] = {}

    def of(self, key: SessionKey) -> list[Round]:
        if key not in self.rounds:
            self.rounds[key] = [make_round(number) for number in range(self.default)]
        return self.rounds[key]

    def page(self, key: SessionKey, **wanted: Any) -> Page:
        self.pages.append((key, wanted))
        if self.gate is not None:
            self.gate.wait(5)
        if self.delay:
            time.sleep(self.delay)
        if self.error is not None:
            raise self.error
        revision = self.revision.get(key, "r1")
        if wanted.get("revision") not in (None, revision):
            raise StaleRevision("the history was replaced")
        rounds = list(self.of(key))
        end = len(rounds)
        if wanted.get("before_round") is not None:
            end = min(wanted["before_round"], end)
        elif wanted.get("before") is not None:
            end = sum(1 for one in rounds if one.start < wanted["before"])
        first = max(end - wanted.get("rounds", 3), 0)
        shown = tuple(rounds[first:end])
        return Page(
            key=key,
            revision=revision,
            start=shown[0].start if shown and first else 0,
            end=shown[-1].end if shown else 0,
            total=rounds[-1].end if rounds else 0,
            first_round=first,
            total_rounds=len(rounds),
            rounds=shown,
            damage=self.damage,
            at_end=end == len(rounds),
            read_bytes=sum(one.size for one in shown),
        )

    def image_data(self, key: SessionKey, block: ImageBlock) -> tuple[str, str] | None:
        return self.images.get(block.message)

    def find(
        self, key: SessionKey, text: str, *, cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[Hit]:
        needle = text.casefold()
        for one in self.of(key):
            for block in one.blocks:
                if cancelled():
                    return
                body = getattr(block, "text", None) or getattr(block, "result", None) or ""
                if needle in body.casefold():
                    yield Hit(one.index, block.message, body[:40])

    def details(self, key: SessionKey) -> tuple[Detail, ...]:
        return (Detail("Path", "/somewhere"),)


def make_row(ref: str = "one", **fields: Any) -> SessionRow:
    values: dict[str, Any] = {
        "key": SessionKey("store", ref),
        "source": "loop",
        "form": "loop3",
        "id": ref,
        "path": f"/store/{ref}/meta.json",
        "project": "project",
        "title": f"Session {ref}",
        "message_count": 120,
        "updated_ms": NOON,
        "size": 4_000,
    }
    return SessionRow(**(values | fields))


@pytest.fixture
def reader() -> FakeReader:
    return FakeReader()


@pytest.fixture
def round_of() -> Callable[..., Round]:
    return make_round


@pytest.fixture
def row_of() -> Callable[..., SessionRow]:
    return make_row


@pytest.fixture
def note() -> NoteBlock:
    return NoteBlock("compaction", "Compacted 120 messages", "What happened before.", 3)
