"""Tool calls: one line each, a batch as a sentence, and their output clipped at both ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from loop_core.model import ToolBlock
from loop_tui.layout.code import code_lines
from loop_tui.layout.lines import Line, Segment, clean, line_width, one_line
from loop_tui.text import Glyphs, cell_width, clip, duration, human_count, human_size, pad

__all__ = [
    "Columns",
    "byte_size",
    "clip_middle",
    "columns_for",
    "summary",
    "tool_body",
    "tool_line",
]

CLIPPED_LINES, CLIPPED_TAIL = 20, 6
FULL_LINES, FULL_TAIL = 400, 100
_LINE_CHARS = 2_000  # of one line of output, shown; the viewer has the rest
_MAX_VERB = 8
_MAX_OBJECT = 256 * 1024  # characters of arguments that are taken apart
_EDIT = {"old": "-", "new": "+"}  # by the start of an argument's name
_PAST = {"Read": "Read", "Write": "Wrote", "Wrote": "Wrote", "Edit": "Edited", "Edited": "Edited"}
_NOUN = {"Read": "file", "Wrote": "file", "Edited": "file", "Ran": "command"}


class Columns(NamedTuple):
    """Widths shared by the tool lines of a round, so that they stand in columns."""

    verb: int
    time: int
    size: int


def byte_size(text: str) -> int:
    """UTF-8 bytes of `text`; free for ASCII, in steps that let other threads run."""
    if text.isascii():
        return len(text)
    steps = range(0, len(text), 1 << 20)
    return sum(len(text[at : at + (1 << 20)].encode("utf-8", "replace")) for at in steps)


def tool_size(tool: ToolBlock) -> int:
    """Bytes of a result, images included."""
    return byte_size(tool.result or "") + sum(image.size for image in tool.result_images)


def columns_for(tools: Sequence[ToolBlock], width: int) -> Columns:
    """Size is dropped under 56 columns, time under 40 (look.md), both where nobody has any."""
    timed = width >= 40 and any(tool.duration_ms is not None for tool in tools)
    sized = width >= 56 and any(tool.result or tool.result_images for tool in tools)
    verb = max((cell_width(tool.verb) for tool in tools), default=4)
    return Columns(min(verb, _MAX_VERB), 8 if timed else 0, 8 if sized else 0)


def _status(tool: ToolBlock, glyphs: Glyphs) -> Segment:
    if tool.status == "ok":
        return glyphs.ok, "tool.ok"
    if tool.status == "error":
        return glyphs.failed, "tool.failed"
    if tool.status == "running":
        return glyphs.running, "running"
    return glyphs.waiting, "tool.waiting"


def tool_line(
    tool: ToolBlock, width: int, columns: Columns, glyphs: Glyphs, *, unfolded: bool
) -> Line:
    """``▸ Bash  pytest -q        ✓  1.9 s  30 KB`` in exactly `width` cells."""
    end: list[Segment] = [("  ", "text"), _status(tool, glyphs)]
    if columns.time:
        spent = "" if tool.duration_ms is None else duration(tool.duration_ms, precise=True)
        end.append((pad(spent, columns.time, "right", glyphs.ellipsis), "muted"))
    if columns.size:
        size = tool_size(tool)
        text = human_size(size) if tool.result is not None or size else ""
        end.append((pad(text, columns.size, "right", glyphs.ellipsis), "muted"))
    verb = pad(one_line(tool.verb), min(columns.verb, max(width - 8, 1)), "left", glyphs.ellipsis)
    start: list[Segment] = [
        (f"{glyphs.open if unfolded else glyphs.folded} ", "tool.fold"),
        (verb, "tool.failed" if tool.status == "error" else "tool"),
        ("  ", "text"),
    ]
    room = width - line_width(tuple(start)) - line_width(tuple(end))
    if room < 6:
        end, room = end[:2], width - line_width(tuple(start)) - 3
    extra = _extra(tool, glyphs)
    target = one_line(tool.target)
    if extra and cell_width(extra) + 12 <= room:
        shown = clip(target, room - cell_width(extra), glyphs.ellipsis)
        middle: list[Segment] = [(shown, _target_role(tool)), (extra, "faint")]
    else:
        middle = [(clip(target, max(room, 0), glyphs.ellipsis), _target_role(tool))]
    fill = max(width - line_width((*start, *middle, *end)), 0)
    return (*start, *middle, (" " * fill, "text"), *end)


def _target_role(tool: ToolBlock) -> str:
    return "tool.failed" if tool.status == "error" else "tool.target"


def _extra(tool: ToolBlock, glyphs: Glyphs) -> str:
    """What a folded line hides: steps inside, images."""
    found = []
    if steps := len(tool.children):
        found.append(f"{human_count(steps)} step{'s' if steps > 1 else ''}")
    if images := len(tool.result_images):
        found.append(f"{images} image{'s' if images > 1 else ''}")
    return f" {glyphs.separator} " + ", ".join(found) if found else ""


def summary(tools: Sequence[ToolBlock]) -> str:
    """A batch in words, as Loop words it (loop-format section 11).

    One kind is counted, several are named in order of appearance; failed calls are counted
    as failed and never as work.
    """
    kinds: dict[str, int] = {}
    failed = 0
    for tool in tools:
        if tool.status == "error":
            failed += 1
            continue
        verb = {"Run": "Ran"}.get(tool.verb, _PAST.get(tool.verb, tool.verb))
        kind = verb if verb in _NOUN else f"Used {one_line(tool.target or tool.name)}"
        kinds[kind] = kinds.get(kind, 0) + 1
    parts: list[str] = []
    for kind, count in kinds.items():
        noun = _NOUN.get(kind)
        if noun is None:
            parts.append(kind)
        elif len(kinds) == 1:
            parts.append(f"{kind} {human_count(count)} {noun}{'s' if count > 1 else ''}")
        else:
            parts.append(f"{kind} {noun}s")
    text = " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
    if failed:
        note = f"{human_count(failed)} tool{'s' if failed > 1 else ''} failed"
        text = f"{text}, {note}" if text else note
    return text


def clip_middle(text: str, lines: int, tail: int) -> tuple[str, int, str]:
    """(head, lines left out, tail) of a text: at most `lines` lines, `tail` of them its end.

    Touches only the ends of a long text, whatever its size; the count is one pass.
    """
    text = text.rstrip("\n")
    total = text.count("\n") + 1
    if total <= lines:
        return _clip_lines(text), 0, ""
    at = -1
    for _ in range(lines - tail):
        at = text.find("\n", at + 1)
    end = len(text)
    for _ in range(tail):
        end = text.rfind("\n", 0, end)
    return _clip_lines(text[:at]), total - lines, _clip_lines(text[end + 1 :])


def _clip_lines(text: str) -> str:
    if len(text) <= _LINE_CHARS:
        return text
    return "\n".join(
        line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…" for line in text.split("\n")
    )


def output_lines(
    text: str, width: int, glyphs: Glyphs, *, full: bool, language: str = ""
) -> tuple[list[Line], bool]:
    """Verbatim output, clipped in its middle; the flag tells whether anything is hidden.

    A hostile single line counts as the many screen lines it wraps to.
    """
    most, end = (FULL_LINES, FULL_TAIL) if full else (CLIPPED_LINES, CLIPPED_TAIL)
    head, hidden, tail = clip_middle(text, most, end)
    role = "" if language else "tool.text"
    lines = code_lines(clean(head), width, glyphs, language, role)
    after = code_lines(clean(tail), width, glyphs, language, role) if hidden else []
    cut = any(len(line) > _LINE_CHARS for line in head.split("\n"))
    over = len(lines) + len(after) - 2 * most
    if over > 0:
        lines = lines[: max(2 * most - len(after), 1)]
        cut = True
    if hidden or cut:
        what = f"{human_count(hidden)} more lines {glyphs.separator} " if hidden else ""
        note = f"{glyphs.ellipsis} {what}{human_size(byte_size(text))} in all"
        note += f" {glyphs.separator} Enter opens it whole"
        bar = ((f"{glyphs.bar} ", "code.gutter@code"),)
        shown = clip(note, max(width - 2, 1), glyphs.ellipsis)
        room = width - 2 - cell_width(shown)
        lines.append((*bar, (shown, "more@code"), (" " * max(room, 0), "text@code")))
    return [*lines, *after], bool(hidden or cut)


def tool_body(
    tool: ToolBlock, width: int, glyphs: Glyphs, *, full: bool
) -> tuple[list[Line], bool]:
    """Parameters and result of an unfolded call, without its children; flag: clipped."""
    lines: list[Line] = []
    clipped = False
    parameters, language = _parameters(tool) or (None, "")
    for label, text, raw, kind in (
        ("Parameters", parameters, tool.arguments, language),
        ("Result", tool.result, tool.result, ""),
    ):
        if text is None or raw is None:
            continue
        size = human_size(byte_size(raw))
        lines.append(_label(f"{label} {glyphs.separator} {size}", width, glyphs))
        if text:
            part, cut = output_lines(text, width, glyphs, full=full, language=kind)
            lines.extend(part)
            clipped = clipped or cut
    for image in tool.result_images:
        kind = image.mime.removeprefix("image/")
        text = f"image {glyphs.separator} {kind} {glyphs.separator} {human_size(image.size)}"
        lines.append(_label(one_line(text), width, glyphs))
    if tool.result is None:
        words = "running" if tool.status == "running" else "no result recorded"
        lines.append(_label(words, width, glyphs))
    return lines, clipped


def _label(text: str, width: int, glyphs: Glyphs) -> Line:
    shown = clip(text, max(width - 2, 1), glyphs.ellipsis)
    room = max(width - 2 - cell_width(shown), 0)
    return (
        (f"{glyphs.bar} ", "code.gutter@code"),
        (shown, "tool.label@code"),
        (" " * room, "text@code"),
    )


def _parameters(tool: ToolBlock) -> tuple[str, str] | None:
    """The arguments and their language, unless the line above has told them all.

    An object reads better as one name a line, its long texts as they are; what an edit
    takes out and puts in reads as a diff. Anything else stays the JSON it is.
    """
    text = tool.arguments.strip()
    if text in ("", "{}", "null"):
        return None
    only = text.count("\n") == 2 and tool.target and "\n" not in tool.target
    if only and tool.target in text and len(tool.target) < 60:
        return None
    values = _object(text)
    if values is None:
        return text, "json"
    lines: list[str] = []
    edits = False
    for name, value in values.items():
        sign = _EDIT.get(name.lower().replace("_", "")[:3], "")
        if not isinstance(value, str):
            lines.append(f"{name}: {json.dumps(value, ensure_ascii=False)}")
        elif sign:
            edits = True
            lines += [f"{sign} {line}" for line in value.split("\n")]
        elif "\n" in value:
            lines += [f"{name}:", *(f"  {line}" for line in value.split("\n"))]
        else:
            lines.append(f"{name}: {value}" if len(values) > 1 else value)
    shell = len(values) == 1 and tool.verb in ("Ran", "Run")
    return "\n".join(lines), "diff" if edits else "shell" if shell else "yaml"


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object `text` is, with texts in it; None for anything else, or too long."""
    if len(text) > _MAX_OBJECT or not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and any(map(_is_text, value.values())) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str)
