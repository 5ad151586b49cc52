"""Makes the pictures of this folder from the demo store: python screenshots/make.py [NAME …]

Each picture is the browser itself, driven by keys, at a fixed time, so that two runs give
nearly the same file.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textual.pilot import Pilot

HERE = Path(__file__).parent
NOW_MS = 1_795_002_000_000  # a Wednesday in November 2026, in the morning


class Picture(NamedTuple):
    """`keys` are pressed one by one; a key of the form ``wait`` only waits."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...]
    theme: str = "night"


_FONT = "font-family: 'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace;"
_TO_UNREAD = ("]", "]")

PICTURES = (
    Picture("browse", (150, 42), ("]", "wait", "enter", "wait")),
    Picture("delete", (120, 36), (*_TO_UNREAD, "d", "wait")),
    Picture("archive", (120, 36), ("]", *["space"] * 5, "a", "wait")),
    Picture("unread", (120, 36), ("f", "wait", "j", "j", "wait")),
    Picture("narrow", (64, 36), (*_TO_UNREAD, "wait")),
    Picture("small", (46, 24), (*_TO_UNREAD, "enter", "wait")),
    Picture("light", (120, 36), (*_TO_UNREAD, "enter", "wait", "t", "wait"), theme="day"),
    Picture("sources", (150, 42), ("wait",)),
    Picture("help", (120, 36), ("?", "wait")),
)


@contextmanager
def demo_home() -> Iterator[Path]:
    """A home with the demo in it, so that paths are short and nobody's."""
    from loop_tui.demo import write_demo

    with tempfile.TemporaryDirectory() as name:
        base = Path(os.path.realpath(name)) / "home"
        write_demo(base, NOW_MS)
        os.environ["HOME"] = str(base)
        os.environ["TZ"] = "UTC"
        os.environ["XDG_CACHE_HOME"] = str(base / ".cache")
        os.environ["COLORTERM"] = "truecolor"
        os.environ.pop("NO_COLOR", None)
        yield base


async def take(picture: Picture, base: Path) -> str:
    """Run the browser, press the keys, and return the screen as SVG."""
    from loop_tui.app import LoopTui
    from loop_tui.service import Options, Service
    from loop_tui.settings import SettingsFile

    own = str(base / "own" / picture.name)
    options = Options(agent_dir=str(base / "loop"), craft_dirs=(str(base / "craft"),), base=own)
    app = LoopTui(
        lambda: Service.open(options),
        SettingsFile(os.path.join(own, "settings")),
        theme=picture.theme,
        clock=lambda: NOW_MS / 1000,
    )
    async with app.run_test(size=picture.size, notifications=True) as pilot:
        await settle(pilot)
        for key in picture.keys:
            if key == "wait":
                await settle(pilot)
            else:
                await pilot.press(key)
        await settle(pilot)
        return portable(app.export_screenshot(title="loop-tui"))


async def settle(pilot: Pilot[None]) -> None:
    """Until background reading is done and drawn."""
    for _ in range(3):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause(0.25)


def portable(svg: str) -> str:
    """Without fonts from the network: the reader's own monospace font."""
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: ?(?:Fira Code|[^;]*monospace)[^;]*;", "", svg)
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)
    return svg.replace("<style>", f"<style>\n    text {{ {_FONT} white-space: pre; }}", 1)


def main(names: list[str]) -> int:
    chosen = [picture for picture in PICTURES if not names or picture.name in names]
    for picture in chosen:
        with demo_home() as base:
            svg = asyncio.run(take(picture, base))
        (HERE / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
        sys.stderr.write(f"{picture.name}.svg  {len(svg) // 1024} KB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
