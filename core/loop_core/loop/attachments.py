"""Text files a user attached, as Loop stores them inside a message (loop-format section 11)."""

from __future__ import annotations

import re
from typing import NamedTuple

from loop_core.jsonvalue import JsonSyntaxError, loads

__all__ = ["Attachment", "parse_attachment"]

_HEAD = "Attached UTF-8 text file (reference content):\n"
_NAME_LIMIT = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BINARY = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LIST = """
    astro bash bat c cc cfg cjs clj cmake cmd conf cpp cs css csv cts cxx dart diff env erl ex
    exs fish go gradle graphql groovy h hpp hs htm html ini ipynb java jl js json json5 jsonc
    jsonl jsx kt kts less lock log lua m markdown md mdx mjs ml mm mts ndjson nix patch php pl
    plist pm properties proto ps1 py pyi r rb rs rst sass scala scss sh sql svelte svg swift tcl
    tex text tf toml ts tsv tsx txt vim vue xml xsl yaml yml zig zsh
"""
_EXTENSIONS = frozenset(_LIST.split())


class Attachment(NamedTuple):
    name: str
    text: str


def parse_attachment(text: str) -> Attachment | None:
    """The attached file a text block holds, or None when the block is ordinary text."""
    if not text.startswith(_HEAD):
        return None
    try:
        value = loads(text[len(_HEAD) :])
    except JsonSyntaxError:
        return None
    if not isinstance(value, dict):
        return None
    name, content = value.get("name"), value.get("text")
    if not isinstance(name, str) or not isinstance(content, str):
        return None
    if not 0 < len(name) <= _NAME_LIMIT or "/" in name or "\\" in name or _CONTROL.search(name):
        return None
    stem, dot, extension = name.rpartition(".")
    if dot and stem and extension.lower() not in _EXTENSIONS:
        return None
    return None if _BINARY.search(content) else Attachment(name, content)
