"""A hostile store: everything that can lie in one, to see what a browser makes of it.

docs/HOSTILE.md lists the flavours. `write_hostile` writes them all; tests of other programs
may use `loop-tui demo --hostile DIR`.
"""

from __future__ import annotations

import os
from collections.abc import Container

from loop_core import fsio
from loop_tui.demo.build import claim
from loop_tui.demo.hostile.contents import FLAVOURS
from loop_tui.demo.hostile.places import TRAPS, Ground, many
from loop_tui.demo.hostile.stores import text_of, write_craft, write_v2, write_v3

__all__ = ["FLAVOURS", "TRAPS", "make_removable", "write_hostile"]


def write_hostile(
    directory: str | os.PathLike[str],
    *,
    only: Container[str] | None = None,
    count: int = 300,
) -> None:
    """Write `DIR/loop`, `DIR/craft` and `DIR/outside`, which no reader may touch.

    `only` names the flavours wanted (default: all), `count` is the size of the collection
    of many tiny sessions. Raises InvalidArgument when the directory is not empty.
    """
    base = os.path.realpath(directory)
    claim(base)
    workspace = os.path.join(base, "craft", "workspaces", "hostile")
    ground = Ground(
        os.path.join(base, "loop", "sessions"),
        workspace,
        os.path.join(base, "outside"),
        os.path.join(base, "project"),
    )
    for path in (ground.sessions, ground.craft, ground.outside, ground.cwd):
        fsio.make_private_dir(path)
    _configure(os.path.join(base, "craft"), workspace)
    for flavour in FLAVOURS:
        if only is None or flavour.name in only:
            content = flavour.make()
            write_v3(ground.collection("contents-3"), flavour.name, content, ground.cwd)
            write_v2(ground.collection("contents-2"), flavour.name, content, ground.cwd)
            write_craft(workspace, flavour.name, content)
    for trap in TRAPS:
        if only is None or trap.name in only:
            trap.set(ground)
    if only is None or "many" in only:
        many(ground, count)


def _configure(config_dir: str, workspace: str) -> None:
    entry = {
        "id": "hostile",
        "name": "fix [/] \u202ename",
        "slug": "hostile",
        "rootPath": workspace,
    }
    odd = [None, 17, {"rootPath": 3}, {"name": "gone", "rootPath": "/nowhere/at/all"}]
    config = {"workspaces": [entry, *odd], "activeWorkspaceId": [], "serverToken": "a secret"}
    fsio.write_new(os.path.join(config_dir, "config.json"), text_of(config))
    fsio.write_new(os.path.join(workspace, "config.json"), text_of({"name": 17, "defaults": []}))


def make_removable(directory: str | os.PathLike[str]) -> None:
    """Give the locked directories their modes back, so that the store can be removed."""
    for name in ("locked_dir", "ro_store"):
        path = os.path.join(directory, "loop", "sessions", name)
        if os.path.isdir(path):
            os.chmod(path, 0o700)
            for entry in os.scandir(path):
                os.chmod(entry.path, 0o700)
