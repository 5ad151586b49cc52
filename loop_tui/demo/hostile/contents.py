"""Hostile conversations: what a message or a header can hold that a reader did not expect.

Each flavour is written three times: as a Loop session of version 3 (with a generation that
fits, so that the content itself is met), as a version-2 file, and as a Craft-Agents session.
Bytes are made by hand: no JSON writer would write most of this.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Content:
    """What differs from a healthy session. `raw_header` replaces the header's line whole."""

    texts: tuple[str, ...] = ()  # user texts, escaped as JSON wants it
    raw_lines: tuple[bytes, ...] = ()  # lines as they are, after the texts
    header: dict[str, Any] = field(default_factory=dict)
    craft_header: dict[str, Any] = field(default_factory=dict)
    raw_header: bytes | None = None
    tail: bytes = b""  # after the last line feed


class Flavour(NamedTuple):
    name: str
    about: str
    make: Callable[[], Content]


def user(text: str) -> bytes:
    """A user message that both sources read (Loop: role, Craft-Agents: type)."""
    return _line({"role": "user", "content": text, "timestamp": 1_700_000_000_000, "type": "user"})


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


ESCAPES = (
    "\x1b[2J\x1b[H",  # clear
    "\x1b]0;owned\x07",  # title
    "\x1b]52;c;b3duZWQ=\x07",  # clipboard
    "\x1bP+q544e\x1b\\",  # a question the terminal would answer
    "\x1b]8;;file:///etc/passwd\x07click\x1b]8;;\x07",  # link
    "\x9b31m\x9d0;owned\x9c",  # C1
    "a\b\b\bb\rc\x7f",
    "\x1b]0;never ended",
)

MARKUP = (
    "[/]",
    "[foo",
    "[/nope]",
    "[@click=app.quit]x[/]",
    "[link=file:///etc/passwd]here[/link]",
    "[bold]" * 40,
    "[x](javascript:alert(1)) <script>alert(1)</script> <img src=x onerror=alert(1)>",
    "$(touch owned) `touch owned` ; touch owned",
    "&#27;[2J &lt;b&gt;",
)

BIDI = "abc\u202etxt.exe\u202c \u2066isolated\u2069 \u200f\u061c"


def _tool_output(text: str) -> bytes:
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": text[:60]}}
    assistant = {
        "role": "assistant",
        "content": [call],
        "api": "x",
        "provider": "x",
        "model": "x",
        "usage": {},
        "stopReason": "toolUse",
        "timestamp": 1,
    }
    result = {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "bash",
        "content": [{"type": "text", "text": text}],
        "isError": False,
        "timestamp": 2,
    }
    record = {
        "type": "tool",
        "content": "Running Bash...",
        "toolName": "Bash",
        "toolUseId": "c1",
        "toolInput": {"command": text[:60]},
        "toolResult": text,
        "toolStatus": "completed",
    }
    # Each source sees a record of its own kind in these lines and a damaged one in the others.
    return b"\n".join((_line(assistant), _line({**record, **result, "type": "tool"})))


def _images() -> bytes:
    data = base64.b64encode(bytes(4 << 20)).decode()
    image = {"type": "image", "data": data, "mimeType": "image/png"}
    return _line({"role": "user", "content": [image, image], "timestamp": 3, "type": "user"})


def _nested(depth: int) -> bytes:
    return b'{"role":"user","content":"deep","timestamp":1,"type":"user","x":' + b"[" * depth


FLAVOURS: tuple[Flavour, ...] = (
    Flavour("header_only", "no message at all", Content),
    Flavour("empty", "a file of no bytes", lambda: Content(raw_header=b"")),
    Flavour(
        "no_header",
        "a message stands where the header should",
        lambda: Content(("one",), raw_header=user("not a header")),
    ),
    Flavour(
        "glued",
        "two records on one line",
        lambda: Content(("one",), (user("left") + user("right"), user("after"))),
    ),
    Flavour(
        "truncated_dup",
        "a line cut short, then whole",
        lambda: Content(("one",), (user("again and again")[:30], user("again and again"))),
    ),
    Flavour(
        "nul_hole",
        "4 KB of NUL, as a crashed file system leaves them",
        lambda: Content(("before",), (bytes(4096), user("after"))),
    ),
    Flavour(
        "u2028",
        "line separators that are none here: U+2028, U+2029, U+0085, VT, FS",
        lambda: Content(("a\u2028b\u2029c\u0085d\x0be\x1cf",)),
    ),
    Flavour(
        "surrogate",
        "half a surrogate pair, and bytes that are no UTF-8",
        lambda: Content(
            (),
            (
                b'{"role":"user","content":"half \\ud83d","timestamp":1,"type":"user"}',
                b'{"role":"user","content":"bad \xff\xfe\xc3","timestamp":2,"type":"user"}',
            ),
        ),
    ),
    Flavour(
        "ctrl",
        "a raw control character inside a string",
        lambda: Content(("fine",), (b'{"role":"user","content":"a\x01b","timestamp":1}',)),
    ),
    Flavour(
        "ansi",
        "escape sequences in every kind of text",
        lambda: Content(
            ESCAPES, (_tool_output("".join(ESCAPES)),), craft_header={"name": "".join(ESCAPES)}
        ),
    ),
    Flavour(
        "bidi",
        "text that shows in another order than it is",
        lambda: Content((BIDI,), craft_header={"name": BIDI}),
    ),
    Flavour(
        "markup",
        "markup of terminals, Markdown, HTML and shells",
        lambda: Content(
            MARKUP,
            (_tool_output("\n".join(MARKUP)),),
            header={
                "title": {
                    "text": "fix [/] [@click=app.quit]x[/]",
                    "source": "user",
                    "messageIndices": [],
                }
            },
            craft_header={"name": "fix [/] [@click=app.quit]x[/]", "labels": ["[/]", "a::[b"]},
        ),
    ),
    Flavour(
        "bigint",
        "an integer of 5,000 digits, and one that overflows",
        lambda: Content(
            (),
            (
                b'{"role":"user","content":"big","timestamp":1,"type":"user","n":'
                + b"9" * 5000
                + b',"f":1e999}',
            ),
        ),
    ),
    Flavour(
        "deep",
        "200,000 opening brackets, and 2,000 that are closed",
        lambda: Content(
            ("fine",), (_nested(2000) + b"]" * 2000 + b"}", _nested(200_000), user("after"))
        ),
    ),
    Flavour(
        "nan",
        "NaN and Infinity as literals",
        lambda: Content(
            ("fine",),
            (
                b'{"role":"user","content":"nan","timestamp":NaN,"type":"user"}',
                b'{"role":"user","content":"inf","timestamp":-Infinity,"type":"user"}',
            ),
        ),
    ),
    Flavour(
        "wrong_types",
        "values of other types than meant, and things that are no object",
        lambda: Content(
            ("fine",),
            (
                b"null",
                b"17",
                b'"text"',
                b"[]",
                b"{}",
                b'{"role":"assistant","content":null,"usage":"n/a","timestamp":1,"type":7}',
                b'{"role":["user"],"content":{"a":1},"timestamp":"now","type":{}}',
            ),
            header={"unread": "yes", "title": [], "promptTimings": {}},
            craft_header={"labels": "none", "tokenUsage": 3, "name": {"a": 1}, "hasUnread": "y"},
        ),
    ),
    Flavour(
        "wrong_header",
        "a header that is a list",
        lambda: Content(("one",), raw_header=b'[{"id":17,"messages":null}]'),
    ),
    Flavour(
        "big_line",
        "a tool result of 12 MB on one line, and two images of 4 MB",
        lambda: Content(
            ("look",), (_tool_output("0123456789abcde\n" * (6 << 16)), _images(), user("after"))
        ),
    ),
    Flavour(
        "big_header",
        "a header far above what Craft-Agents' list reads (8 KB)",
        lambda: Content(
            ("one",), header={"pad": "x" * 300_000}, craft_header={"pad": "x" * 300_000}
        ),
    ),
    Flavour(
        "future_ts",
        "times after the end of the calendar",
        lambda: Content(
            (),
            (
                b'{"role":"user","content":"later","timestamp":9e15,"type":"user"}',
                b'{"role":"user","content":"never","timestamp":1e308,"type":"user"}',
            ),
            header={
                "createdAt": "+275760-09-13T00:00:00.000Z",
                "updatedAt": "+275760-09-13T00:00:00.000Z",
            },
            craft_header={"createdAt": 9e15, "lastMessageAt": 9e15, "lastUsedAt": 1e300},
        ),
    ),
    Flavour(
        "mixed_ts",
        "seconds, milliseconds, fractions, negative and unordered times",
        lambda: Content(
            (),
            tuple(
                b'{"role":"user","content":"t","timestamp":' + time + b',"type":"user"}'
                for time in (b"1700000000", b"1700000000000", b"1.5", b"-1", b"0", b"-9e15")
            ),
            header={"createdAt": "2 Jan 2024", "updatedAt": "2024-02-31T24:00:00Z"},
            craft_header={"createdAt": "yesterday", "lastMessageAt": -1},
        ),
    ),
    Flavour(
        "growing",
        "the writer is in the middle of a line",
        lambda: Content(("one", "two"), tail=user("three and more")[:40]),
    ),
    Flavour(
        "titles",
        "a title of 5,000 characters with line feeds and joined emoji",
        lambda: Content(
            ("\n\t\r" + "👩‍👩‍👧‍👦🇳🇴é한字 " * 500,), craft_header={"name": "\n\r\t👩‍👩‍👧‍👦" * 300}
        ),
    ),
)
