"""Session ids: what may become a path, and how a new one is drawn.

craft-format section 2 "Session id". The folder name is the identity of a session; the `id`
inside a header is never used to build a path.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Container

from loop_core.errors import InvalidArgument

__all__ = ["ADJECTIVES", "NOUNS", "check_id", "generate_id", "is_readable_id", "is_valid_id"]

_VALID = re.compile(r"[A-Za-z0-9_-]+")
_READABLE = re.compile(r"[0-9]{6}-[a-z]+-[a-z]+(?:-[0-9]+)?")

# fmt: off
ADJECTIVES = (
    "agile", "airy", "bold", "brave", "brisk", "broad", "calm", "civil", "clean", "cosy",
    "deft", "eager", "early", "exact", "fair", "fleet", "fresh", "gentle", "glad", "grand",
    "hardy", "honest", "humble", "keen", "kind", "lively", "lofty", "loyal", "lucid",
    "mellow", "merry", "mild", "modest", "neat", "nimble", "noble", "patient", "plain",
    "polite", "proud", "quick", "quiet", "ready", "robust", "serene", "sharp", "silent",
    "simple", "sleek", "smooth", "snug", "sober", "solid", "spry", "stable", "steady",
    "stout", "subtle", "sunny", "sure", "swift", "tender", "tidy", "tranquil", "trusty",
    "upbeat", "usual", "vast", "vital", "vivid", "warm", "wise", "witty",
)
NOUNS = (
    "alder", "anchor", "apple", "arbor", "basin", "beacon", "birch", "bluff", "branch",
    "bridge", "brook", "canyon", "cedar", "cliff", "clover", "coast", "comet", "copper",
    "coral", "cove", "crane", "creek", "delta", "dune", "eagle", "ember", "falcon", "fern",
    "field", "finch", "fjord", "forest", "fountain", "garden", "glacier", "glade", "grove",
    "harbor", "hazel", "heron", "hill", "island", "ivy", "jasmine", "juniper", "lagoon",
    "lantern", "larch", "lily", "linden", "maple", "marsh", "meadow", "mesa", "mill",
    "moss", "oak", "olive", "orchard", "osprey", "otter", "peak", "pebble", "pine", "plain",
    "pond", "poplar", "prairie", "quarry", "raven", "reef", "ridge", "river", "robin",
    "rowan", "sage", "shore", "spring", "spruce", "stone", "stream", "summit", "tern",
    "thicket", "thistle", "trail", "tulip", "valley", "violet", "walnut", "willow", "wren",
)
# fmt: on


def is_valid_id(text: object) -> bool:
    """Whether `text` may name a session folder: ``[A-Za-z0-9_-]+`` and nothing else."""
    return isinstance(text, str) and _VALID.fullmatch(text) is not None


def check_id(text: object) -> str:
    """`text` as an id. Raises InvalidArgument for anything that must not become a path.

    The application takes the basename of any text, and an empty one, ``.`` or ``..`` then
    deletes the whole `sessions` folder or the workspace (craft-format rule 9).
    """
    if isinstance(text, str) and is_valid_id(text):
        return text
    raise InvalidArgument(f"not a session id: {text!r}")


def is_readable_id(text: str) -> bool:
    """Whether `text` has the form ``YYMMDD-adjective-noun`` with an optional number."""
    return _READABLE.fullmatch(text) is not None


def generate_id(taken: Container[str], *, now: float | None = None) -> str:
    """A new id ``YYMMDD-adjective-noun`` (local date) that is not in `taken`.

    A draw that meets a taken name tries ``-2`` to ``-99``; after 100 failed draws four hex
    characters make it unique.
    """
    date = time.strftime("%y%m%d", time.localtime(now))
    base = ""
    for _ in range(100):
        base = f"{date}-{secrets.choice(ADJECTIVES)}-{secrets.choice(NOUNS)}"
        if base not in taken:
            return base
        for number in range(2, 100):
            if f"{base}-{number}" not in taken:
                return f"{base}-{number}"
    while True:
        drawn = f"{base}-{secrets.token_hex(2)}"
        if drawn not in taken:
            return drawn


def folder_of(path: str | os.PathLike[str]) -> str:
    """The session folder's name of a `session.jsonl` path."""
    return os.path.basename(os.path.dirname(os.path.abspath(os.fspath(path))))
