"""A session as Markdown that reads well as text and renders safely."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from loop_core.export.common import (
    UNREADABLE,
    damage_lines,
    facts,
    round_name,
    seconds,
    size_of,
    title_of,
    when,
)
from loop_core.model import (
    AttachmentBlock,
    Block,
    ImageBlock,
    NoteBlock,
    Round,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
)
from loop_core.sanitize import safe_line

if TYPE_CHECKING:
    from loop_core.export.common import ExportSource

_PARSED = 64_000  # characters; in longer text code is escaped as well
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?!https?://[^\s<>]+>)(?=[A-Za-z/!?])")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")
_STATUS = {"ok": "", "error": " — failed", "waiting": " — no result", "running": " — running"}


def as_markdown(source: ExportSource) -> Iterator[str]:
    """Title, facts, then every round: the user's text quoted, what the agent did below."""
    yield f"# {escape(title_of(source))}\n\n"
    for label, value in facts(source):
        yield f"- {label}: {escape(value)}\n"
    for one in source.rounds():
        yield from _round(one)
    lines = damage_lines(source)
    if lines:
        yield f"\n**{UNREADABLE}**\n\n"
        yield from (f"- {escape(line)}\n" for line in lines)


def escape(text: str) -> str:
    """One line of plain text in which Markdown finds nothing to do."""
    return _SPECIAL.sub(r"\\\1", safe_line(text))


def _round(one: Round) -> Iterator[str]:
    if not one.continued:
        time = when(one.time_ms)
        yield f"\n## {round_name(one)}{' · ' + time if time else ''}\n"
    for block in one.blocks:
        yield from _block(block)
    for duration in one.durations_ms:
        yield f"\n*Worked for {seconds(duration)}*\n"


def _block(block: Block) -> Iterator[str]:
    yield "\n"
    if isinstance(block, TextBlock):
        text = escape_html(block.text.strip("\n"))
        if block.role == "user":
            text = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
        yield text + "\n"
    elif isinstance(block, ThinkingBlock):
        yield from _folded("Thought", block.text or "(redacted)")
    elif isinstance(block, ToolBlock):
        yield from _tool(block)
    elif isinstance(block, ImageBlock):
        yield f"*Image: {escape(block.name or block.mime)}, {size_of(block.size)}*\n"
    elif isinstance(block, AttachmentBlock):
        label = f"Attached {block.name}, {size_of(block.size)}"
        yield from _folded(label, block.text) if block.text else [f"*{escape(label)}*\n"]
    elif isinstance(block, NoteBlock):
        yield f"**{escape(block.title)}**\n"
        if block.text:
            yield "\n" + escape_html(block.text) + "\n"
    else:
        yield from _folded(f"Unknown record: {block.type}", block.text)


def _tool(block: ToolBlock) -> Iterator[str]:
    label = f"{block.verb} {block.target}".strip() + _STATUS[block.status]
    parts = [fenced(block.arguments, "json")] if block.arguments else []
    if block.result is not None:
        parts.append(fenced(block.result))
    parts += [f"*Image: {escape(i.mime)}, {size_of(i.size)}*\n" for i in block.result_images]
    yield from _details(label, "\n".join(parts))
    for child in block.children:
        yield from _block(child)


def _folded(label: str, text: str) -> Iterator[str]:
    return _details(label, fenced(text))


def _details(label: str, body: str) -> Iterator[str]:
    name = safe_line(label, 400).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield f"<details><summary>{name}</summary>\n\n{body}\n</details>\n"


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}\n"


def escape_html(text: str) -> str:
    """Markdown whose raw HTML outside code is escaped; code stays as it is.

    A fence left open is closed, so that it swallows nothing of what follows. Whether what
    looks like code is code is left to a parser: where it still finds raw HTML, code is
    escaped as well.
    """
    if not _TAG.search(text):
        return _by_lines(text, str)
    if len(text) <= _PARSED:
        for escaped in (_by_lines(text, _outside_code), _by_lines(text, _everywhere)):
            # Only what was kept as code can still be raw HTML to a renderer.
            if not _TAG.search(escaped) or not _raw_html(escaped):
                return escaped
    return _everywhere(_by_lines(text, str))


def _raw_html(text: str) -> bool:
    """Whether a renderer that lets HTML through would find some."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True})
    return any(
        token.type in ("html_block", "html_inline")
        for outer in parser.parse(text)
        for token in (outer, *(outer.children or ()))
    )


def _by_lines(text: str, outside: Callable[[str], str]) -> str:
    """`outside` of each line that is not in a fence; an open fence is closed."""
    lines: list[str] = []
    fence: str | None = None
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence is not None:
            if match and match[1].startswith(fence) and not line[match.end() :].strip():
                fence = None
            lines.append(line)
        elif match:
            fence = match[1]
            lines.append(line)
        else:
            lines.append(outside(line))
    if fence is not None:
        lines.append(fence)
    return "\n".join(lines)


def _everywhere(text: str) -> str:
    return _TAG.sub("&lt;", text)


def _outside_code(line: str) -> str:
    if len(line) > 20_000:
        return _everywhere(line)
    parts: list[str] = []
    at = 0
    for match in _CODE_SPAN.finditer(line):
        parts += [_TAG.sub("&lt;", line[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*parts, _TAG.sub("&lt;", line[at:])])
