"""Arguments and words that several commands share."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loop_core.model import Damage
    from loop_tui.cli.context import Context

_NAMED = 20
SESSION = (
    "a full id, the beginning of one, or a path: meta.json, the session directory, "
    "a version-2 .jsonl, a Craft-Agents session folder or its session.jsonl"
)


def session_argument(parser: ArgumentParser) -> None:
    """Exactly one SESSION."""
    parser.add_argument("session", metavar="SESSION", help=SESSION)


def sessions_argument(parser: ArgumentParser) -> None:
    """One or more SESSIONs, and --json."""
    parser.add_argument("sessions_named", metavar="SESSION", nargs="+", help=SESSION)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def tell_damage(context: Context, path: str, damage: Sequence[Damage]) -> None:
    """Say on stderr which places of a history could not be read; `path` is the row's."""
    if os.path.basename(path) == "meta.json":
        path = os.path.join(os.path.dirname(path), "messages.jsonl")
    for each in damage[:_NAMED]:
        place = path if each.line is None else f"{path}:{each.line}"
        context.output.words(f"{place}: {each.reason}")
    if len(damage) > _NAMED:
        context.output.words(f"and {len(damage) - _NAMED:,} more damaged places")
