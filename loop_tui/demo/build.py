"""Writes the demo: `DIR/loop`, `DIR/craft` and the project folders they speak of."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from loop_core import fsio
from loop_core.errors import InvalidArgument
from loop_core.jsonvalue import dumps
from loop_core.loop.dates import now_ms as clock
from loop_core.loop.paths import get_session_dir
from loop_tui.demo import loop_files
from loop_tui.demo.craft_build import write_craft
from loop_tui.demo.loop_plan import GLOBAL, make_plans, perform
from loop_tui.demo.projects import PLACES

_SEED = "tidewater"


def write_demo(directory: str | os.PathLike[str], now_ms: int | None = None) -> None:
    """Write the whole synthetic store; times are relative to `now_ms` (Unix milliseconds).

    The directory may exist but must be empty, or InvalidArgument is raised: nothing is ever
    written over. The same directory and time give the same bytes.
    """
    base = os.path.realpath(directory)
    claim(base)
    now = clock() if now_ms is None else now_ms
    projects = os.path.join(base, "projects")
    for place in PLACES:
        if place.exists:
            fsio.make_private_dir(os.path.join(projects, place.folder))
    write_loop(os.path.join(base, "loop"), projects, now)
    write_craft(os.path.join(base, "craft"), projects, now)


def claim(directory: str) -> None:
    """Make the directory, or make sure that it is empty."""
    if os.path.isdir(directory) and os.listdir(directory):
        raise InvalidArgument("is not empty; the demo writes into a new directory", directory)
    fsio.make_private_dir(directory)


def write_loop(agent_dir: str, projects: str, now_ms: int) -> None:
    """The Loop side: one collection a project, one of chats that belong to none."""
    archived: dict[str, list[str]] = {}
    rng = Random(_SEED)  # noqa: S311 - a repeatable play, nothing secret
    for number, plan in enumerate(make_plans(rng)):
        session = perform(plan, projects, now_ms, f"{_SEED}-{number}")
        if plan.collection is None:
            collection = _collection(agent_dir, session.header["cwd"])
        else:
            collection = os.path.join(agent_dir, "sessions", plan.collection)
        fsio.make_private_dir(collection)
        if "unsupported" in plan.traits:
            session.header["version"], session.form = 1, "v2"
        path = loop_files.write(collection, session)
        if "damaged" in plan.traits:
            _damage(path, session.changed_ms)
        if "archived" in plan.traits:
            archived.setdefault(collection, []).append(session.header["id"])
    for collection, ids in archived.items():
        fsio.write_new(os.path.join(collection, "archive.json"), dumps(ids) + b"\n")
    # A directory that was never published: a problem the browser has to name.
    fsio.make_private_dir(os.path.join(agent_dir, "sessions", GLOBAL, "0" * 36))


def _collection(agent_dir: str, cwd: str) -> str:
    return str(get_session_dir(Path(cwd), Path(agent_dir)))


def _damage(path: str, time_ms: int) -> None:
    """One byte of the fourth line turned around, as a bad disk would."""
    if os.path.basename(path) == "meta.json":
        path = os.path.join(os.path.dirname(path), "messages.jsonl")
    lines = fsio.read_file(path).split(b"\n")
    lines[3] = lines[3].replace(b'"role":', b'"role";', 1)
    data = b"\n".join(lines)
    fsio.remove_file(path)
    fsio.write_new(path, data)
    os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))
