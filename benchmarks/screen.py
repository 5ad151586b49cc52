"""The browser on a large store: first rows, keys, filter, gaps, memory, idling.

Each figure comes from a fresh process, so that nothing is warm: ``python benchmarks/screen.py
[sessions]``. The floor of the first rows is an empty Textual app painting once, measured the
same way and interleaved. Costs are counted in processor time, because machines have other
work to do; what a person waits for is counted on the wall.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

_SIZE = (120, 40)
_KEYS = 500


def _empty(_: Path) -> dict[str, float]:
    """An app without a widget: started, painted, closed."""
    from textual.app import App

    async def paint() -> dict[str, float]:
        app = App[None]()
        async with app.run_test(size=_SIZE):
            return await _next_paint(app)

    return asyncio.run(paint())


def _options(base: Path) -> Any:
    from loop_tui.service import Options

    return Options(agent_dir=str(base / "agent"), no_craft=True, base=str(base / "own"))


def _app(base: Path) -> Any:
    from loop_tui.app import LoopTui
    from loop_tui.settings import SettingsFile

    def opener() -> Any:
        from loop_tui.service import Service

        return Service.open(_options(base), recover=False)

    settings = SettingsFile(str(base / "own" / "settings"))
    settings.change(hint_seen=True, auto_read=False)
    return LoopTui(opener, settings)


@asynccontextmanager
async def _browser(base: Path, *, complete: bool = True) -> AsyncIterator[tuple[Any, Any]]:
    """The browser once rows are on the screen, or all of them."""
    gc.disable()  # as the program does until its first paint
    app = _app(base)
    async with app.run_test(size=_SIZE) as pilot:
        while not app.browser.browse.shown:
            await asyncio.sleep(0.002)
        while complete and not _settled(app):
            await pilot.pause(0.05)
        yield app, pilot
    app.service.close()


async def _next_paint(app: Any) -> dict[str, float]:
    """When the next frame is on the screen, and the processor time up to there."""
    painted = asyncio.Event()
    app.call_after_refresh(painted.set)
    await painted.wait()
    return {"painted": time.time(), "cpu": time.process_time()}


def _settled(app: Any) -> bool:
    return app.service is not None and not [w for w in app.workers if w.group in ("open", "scan")]


def _first(base: Path) -> dict[str, float]:
    async def paint() -> dict[str, float]:
        async with _browser(base, complete=False) as (app, _):
            return await _next_paint(app)

    return asyncio.run(paint())


def _keys(base: Path) -> dict[str, float]:
    """Keys held down, a filter typed, and the loop's gaps meanwhile and while loading."""
    from textual import events

    from benchmarks.gaps import Gaps

    async def run() -> dict[str, float]:
        gaps = Gaps()
        watcher = asyncio.create_task(gaps.watch())
        async with _browser(base, complete=False) as (app, pilot):
            gaps.clear()  # the first frames belong to starting, not to loading
            while not _settled(app):
                await asyncio.sleep(0.01)
            await pilot.pause(1.0)
            loading = max(gaps.wall)
            loading_cpu = gaps.longest_cpu
            pages = 0
            real = app.service.page

            def counted(*given: Any, **named: Any) -> Any:
                nonlocal pages
                pages += 1
                return real(*given, **named)

            app.service.page = counted
            gaps.clear()
            cpu, wall = time.process_time(), time.perf_counter()
            for number in range(_KEYS):
                app.post_message(events.Key("down", None))
                if number % 25 == 0:  # as a terminal's reader hands them over: piece by piece
                    await asyncio.sleep(0)
            target = min(_KEYS, len(app.browser.browse.shown) - 1)
            wanted = app.browser.browse.shown[target].key
            while app.browser.browse.cursor != wanted:
                await asyncio.sleep(0.002)
            settled = time.perf_counter() - wall
            spent = (time.process_time() - cpu) * 1000 / _KEYS
            await pilot.pause(0.5)
            held, held_cpu, read = max(gaps.wall), gaps.longest_cpu, pages
            watcher.cancel()
            typed = await _filter(app, pilot)
        return {
            "key_ms": spent,
            "settle_s": settled,
            "pages_read": read,
            "filter_ms": max(typed),
            "filter_first_ms": typed[0],
            "filter_median_ms": statistics.median(typed),
            "loading_gap_ms": loading,
            "keys_gap_ms": held,
            "loading_cpu_ms": loading_cpu,
            "keys_cpu_ms": held_cpu,
        }

    return asyncio.run(run())


async def _filter(app: Any, pilot: Any) -> list[float]:
    """Processor time from each key of a filter to the frame that shows what it left."""
    from textual import events

    await pilot.press("slash")
    await pilot.pause(0.3)
    typed = []
    text = ""
    for key in "chat 12":
        cpu = time.process_time()
        text += key
        app.post_message(events.Key("space" if key == " " else key, key))
        while app.browser.browse.text != text:
            await asyncio.sleep(0.002)
        await _next_paint(app)
        typed.append((time.process_time() - cpu) * 1000)
        await pilot.pause(0.2)
    return typed


def _idle(base: Path, seconds: float = 8.0) -> dict[str, float]:
    """Processor time and files opened with a session on the screen and nothing happening."""

    async def run() -> dict[str, float]:
        opened: list[str] = []
        counting = False

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if counting and event == "open" and str(arguments[0]).startswith(str(base)):
                opened.append(str(arguments[0]))

        sys.addaudithook(hook)
        async with _browser(base) as (_app, pilot):
            await pilot.press("enter")
            await pilot.pause(3.0)
            counting = True
            cpu = time.process_time()
            await asyncio.sleep(seconds)
            spent = time.process_time() - cpu
            counting = False
        return {"idle_percent": 100 * spent / seconds, "idle_opens": len(opened)}

    return asyncio.run(run())


def _memory(base: Path) -> dict[str, float]:
    """Memory the list of all sessions takes, view and filter text included."""
    from loop_tui.service import Service
    from loop_tui.state import select

    def resident() -> int:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    with Service.open(_options(base)) as service:
        before = resident()
        rows = service.scan().rows
        shown = select(rows, "active", text="chat")
        assert len(shown) == len(rows)
        gc.collect()
        return {"bytes_a_row": (resident() - before) / len(rows)}


_PARTS: dict[str, Callable[[Path], dict[str, float]]] = {
    "empty": _empty, "first": _first, "keys": _keys, "idle": _idle, "memory": _memory,
}  # fmt: skip


def _child(part: str, base: Path) -> dict[str, float]:
    """One part in a process of its own; `painted` is seconds after its start.

    Compiled modules are kept beside the store, as an installed program keeps them.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = f"{base}-compiled"
    began = time.time()
    done = subprocess.run(
        [sys.executable, __file__, "--part", part, str(base)],
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if "painted" in found:
        found["painted"] -= began
    return found


def run(
    sessions: int = 10_000, *, repeats: int = 5, rows: int | None = None
) -> dict[str, dict[str, float] | float]:
    """All figures at `sessions`; memory at `rows` (default: as many)."""
    from benchmarks import scan

    root = Path(tempfile.mkdtemp(prefix="loop-tui-screen-"))
    try:
        scan.make(root, sessions)
        _child("first", root), _child("empty", root)  # compiles
        pairs = [(_child("first", root), _child("empty", root)) for _ in range(repeats)]
        ours, floor = (
            {name: statistics.median(one[at][name] for one in pairs) for name in ("painted", "cpu")}
            for at in (0, 1)
        )
        figures: dict[str, Any] = {
            "first_rows": ours["painted"] / floor["painted"],
            "first_rows_s": ours["painted"],
            "empty_app_s": floor["painted"],
            "first_rows_cpu": ours["cpu"] / floor["cpu"],
        }
        figures |= _child("keys", root) | _child("idle", root)
        if rows is not None and rows != sessions:
            shutil.rmtree(root)
            root.mkdir()
            scan.make(root, rows)
        figures |= _child("memory", root)
        return {name: round(value, 3) for name, value in figures.items()}
    finally:
        shutil.rmtree(root)
        shutil.rmtree(f"{root}-compiled", ignore_errors=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    if sys.argv[1:2] == ["--part"]:
        print(json.dumps(_PARTS[sys.argv[2]](Path(sys.argv[3]))))
    else:
        for _name, _value in run(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000).items():
            print(f"{_name:20} {_value}")
