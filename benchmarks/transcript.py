"""What the history costs: laying out pages, hostile text, prepending, a 50 MB block.

Run it alone (``python benchmarks/transcript.py``) or through `run`. Each number of
milliseconds stands beside one of the same run to compare it with, because machines differ.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import time
from collections.abc import Callable, Iterator

from textual.app import App, ComposeResult

from loop_core.model import (
    Block,
    Detail,
    Hit,
    Page,
    Round,
    SessionKey,
    SessionRow,
    TextBlock,
    ToolBlock,
)
from loop_tui.layout import Options, layout, layout_round
from loop_tui.layout.bulk import Bulk, matches
from loop_tui.layout.markdown import markdown_lines

TEXT = """The writer takes `flock(LOCK_EX)` on **index.json**, but `os.replace` swaps the inode
*under* the second writer, so both believe they own it:

1. A opens the file and locks inode 11
2. B opens the same path and waits

```python
with lock(path.parent):
    return atomic_write(path, data)
```
"""


def _round(number: int, calls: int = 6) -> Round:
    at = number * 20
    tools: tuple[Block, ...] = tuple(
        ToolBlock(
            name="bash",
            verb="Ran",
            target=f"pytest -q tests/core -k case_{number}_{n}",
            status="ok",
            call_id=f"{number}.{n}",
            message=at + 1 + n,
            result="\n".join(f"{line} passed" for line in range(40)),
            duration_ms=1_900,
        )
        for n in range(calls)
    )
    blocks: tuple[Block, ...] = (
        TextBlock(f"Question {number}: why does the list jump?", at, role="user"),
        *tools,
        TextBlock(TEXT + f"\nCase {number}.", at + 8),
        TextBlock(f"And that is all there is to say about case {number}.", at + 9),
    )
    return Round(index=number, start=at, end=at + 10, time_ms=0, blocks=blocks, size=2_000)


class _Reader:
    def __init__(self, count: int) -> None:
        self.rounds = [_round(number) for number in range(count)]

    def page(
        self,
        key: SessionKey,
        *,
        before_round: int | None = None,
        rounds: int = 3,
        **_: object,
    ) -> Page:
        end = len(self.rounds) if before_round is None else min(before_round, len(self.rounds))
        first = max(end - rounds, 0)
        shown = tuple(self.rounds[first:end])
        return Page(
            key=key,
            revision="r",
            start=shown[0].start,
            end=shown[-1].end,
            total=self.rounds[-1].end,
            first_round=first,
            total_rounds=len(self.rounds),
            rounds=shown,
            at_end=end == len(self.rounds),
        )

    def image_data(self, *_: object) -> None:
        return None

    def find(self, *_: object, **__: object) -> Iterator[Hit]:
        return iter(())

    def details(self, _: SessionKey) -> tuple[Detail, ...]:
        return ()


def _ms(work: Callable[[], object], times: int = 5) -> float:
    spent = []
    for _ in range(times):
        markdown_lines.cache_clear()
        begin = time.perf_counter()
        work()
        spent.append((time.perf_counter() - begin) * 1000)
    return round(statistics.median(spent), 2)


def _layouts() -> dict[str, float]:
    from markdown_it import MarkdownIt

    page = [_round(number) for number in range(3)]
    many = [_round(number) for number in range(60)]
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    texts = [b.text for one in many for b in one.blocks if isinstance(b, TextBlock)]
    parser.parse(TEXT)
    return {
        "page of 30 messages, ms": _ms(lambda: layout(page, 100, Options())),
        "600 messages, ms": _ms(lambda: layout(many, 100, Options())),
        "600 messages again (after a fold), ms": _again(many),
        "parsing the same Markdown alone, ms": _ms(lambda: [parser.parse(t) for t in texts]),
    }


def _again(rounds: list[Round]) -> float:
    layout(rounds, 100, Options())
    begin = time.perf_counter()
    layout(rounds, 100, Options(tools="off"))
    return round((time.perf_counter() - begin) * 1000, 2)


def _hostile() -> dict[str, float]:
    texts = {
        "50,000 brackets": "[" * 50_000,
        "10,000 quotes": ">" * 10_000,
        "line of 1 MB": "x" * 1_000_000,
        "20,000 emphases": "*a " * 20_000,
        "40,000 table cells": "|a" * 20_000 + "\n" + "|-" * 20_000,
        "20,000 wide": "日" * 20_000,
    }
    return {
        f"{name}, ms": _ms(
            lambda text=text: layout_round(  # type: ignore[misc]
                Round(index=0, start=0, end=1, time_ms=0, blocks=(TextBlock(text, 0),)),
                100,
                Options(),
            ),
            3,
        )
        for name, text in texts.items()
    }


def _bulk() -> dict[str, float]:
    text = "\n".join(f"{n:08} a line of output as programs write them" for n in range(1_000_000))
    bulk = Bulk(text, 100)
    return {
        "size, MB": round(len(text) / 1e6, 1),
        "open, ms": _ms(lambda: Bulk(text, 100), 1),
        "another width, ms": _ms(lambda: Bulk.resized(bulk, 60), 1),
        "500 rows anywhere, ms": _ms(
            lambda: [bulk.row_text(row) for row in range(0, bulk.height, bulk.height // 500)]
        ),
        "search it all, ms": _ms(lambda: list(matches(text, "999999 a LINE")), 1),
        "str.count of a word, ms": _ms(lambda: text.count("999999 a line"), 1),
    }


async def _gaps() -> dict[str, float]:
    """Longest event-loop gaps while earlier rounds join and a session grows."""
    from loop_tui.widgets.history import HistoryPane

    reader = _Reader(300)
    key = SessionKey("bench", "one")
    row = SessionRow(
        key=key, source="loop", form="loop3", id="one", path="", project="p", title="Session"
    )

    class Bench(App[None]):
        def compose(self) -> ComposeResult:
            yield HistoryPane(reader, id="history")

    gaps: list[float] = []
    running = True

    async def watch() -> None:
        before = time.perf_counter()
        while running:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gaps.append((now - before) * 1000)
            before = now

    found: dict[str, float] = {}
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)  # as the browser sets it after its first paint
    app = Bench(css_path=None)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = app.query_one(HistoryPane)
        pane.show(row)
        await pilot.pause(0.5)
        pane.focus()
        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0.3)
        found["idle gap, ms"] = round(max(gaps), 1)
        gaps.clear()
        moved = 0
        slowest: list[float] = []
        for _ in range(20):
            lines = pane.transcript
            here = lines.lines.place_of(lines.cursor), lines.cursor - lines.scroll_offset.y
            pane.load_edge(top=True)
            await pilot.pause(0.05)
            after = lines.lines.place_of(lines.cursor), lines.cursor - lines.scroll_offset.y
            moved += here != after
            slowest.append(max(gaps))
            gaps.clear()
        found["prepend gap, ms"] = round(max(slowest), 1)
        found["prepend gap, median, ms"] = round(statistics.median(slowest), 1)
        found["views moved in 20 prepends"] = moved
        pane.action_latest()
        await pilot.pause(0.5)
        gaps.clear()
        for number in range(300, 340):
            reader.rounds.append(_round(number))
            pane.refresh_row(row)
            await asyncio.sleep(0.05)
        found["growth at 20 Hz gap, ms"] = round(max(gaps), 1)
        running = False
        await watcher
    return found


def run() -> dict[str, dict[str, float]]:
    """All measurements, by subject."""
    return {
        "layout": _layouts(),
        "hostile": _hostile(),
        "viewer": _bulk(),
        "event loop": asyncio.run(_gaps()),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
