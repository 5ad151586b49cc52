"""Exports: whole, and nothing a conversation holds can run, fetch or break out."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from loop_core.export import ExportSource, Format, export, file_name
from loop_core.export.markdown import escape_html
from loop_core.model import (
    AttachmentBlock,
    Block,
    ImageBlock,
    NoteBlock,
    Round,
    SessionKey,
    SessionRow,
    TextBlock,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
)

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5E"
    "rkJggg=="
)
Inspected = Callable[[str], Any]
HOSTILE = (
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "<img src=https://evil.example/x.png>",
    "![p](https://evil.example/pixel.png)",
    "![p](data:text/html,<script>alert(1)</script>)",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "[x](vbscript:msgbox)",
    "[x](//evil.example/x)",
    "[x](http:evil.example)",
    "[x](\x01javascript:alert(1))",
    '[x](https://ok.example/" onmouseover="alert(1))',
    "[x](https://ok.example 'a\" onclick=alert(1) b')",
    "<https://ok.example/a>",
    "<javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<style>body{background:url(https://evil.example)}</style>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<form action=https://evil.example><button>go</button></form>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#x3c;script&#x3e;",
    "`</code><script>alert(1)</script>`",
    '```"><script>alert(1)</script>\ncode\n```',
    '```x" onload="alert(1)\ncode\n```',
    "</details></section><h1>owned</h1>",
    "--></pre><script>alert(1)</script>",
    "| a |\n|---|\n| <script>alert(1)</script> |",
    "[a]: javascript:alert(1)\n[a]",
    '# <img src=x onerror="alert(1)">',
    "\u2028<script>\u2029",
    "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "<!--<script>-->",
    "<?php echo 1 ?>",
    "<![CDATA[<script>]]>",
    "> <b onmouseover=alert(1)>quoted</b>",
    "    <script>indented</script>",
    "~~~\n<script>left open",
    "[x]( https://ok.example )",
    "\ud800 lone",
    "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07",
)


def blocks_of(text: str) -> tuple[Block, ...]:
    """`text` in every place a conversation can put it."""
    image = ImageBlock("image/png", 70, 0, name=text)
    return (
        TextBlock(text, 0, role="user"),
        AttachmentBlock(text, 3, 0, text=text),
        AttachmentBlock(text, 3, 0),
        image,
        TextBlock(text, 1),
        TextBlock(text, 1, commentary=True),
        ThinkingBlock(text, 1),
        ToolBlock(
            name=text,
            verb=text,
            target=text,
            status="ok",
            call_id=text,
            message=1,
            arguments=text,
            result=text,
            result_images=(image,),
            children=(TextBlock(text, 1), NoteBlock("error", text, text)),
        ),
        NoteBlock("compaction", text, text),
        UnknownBlock(text, text, 1),
    )


def source_of(
    rounds: Iterable[tuple[Block, ...]], *, title: str = "Title", mime: str = "image/png"
) -> ExportSource:
    row = SessionRow(
        key=SessionKey("s", "r"),
        source="loop",
        form="loop3",
        id="0f3c0000-0000-4000-8000-00000000abcd",
        path="/x/meta.json",
        project="p",
        title=title,
        cwd=f"/home/{title}",
        model=title,
        created_ms=1_790_000_000_000,
        updated_ms=1_790_000_000_000,
        problem=title,
        message_count=3,
    )

    def made() -> Iterator[Round]:
        for number, blocks in enumerate(rounds):
            yield Round(
                index=number - 1,
                start=number,
                end=number + 1,
                time_ms=1_790_000_000_000,
                blocks=blocks,
                durations_ms=(61_000,),
            )

    return ExportSource(
        row=row,
        project=title,
        header=lambda: {"id": row.id, "n": 1.5, "odd": title},
        messages=lambda: iter([(0, {"role": "user", "content": title}), (1, {"a": [1, 2.0]})]),
        rounds=made,
        image=lambda block: (mime, PIXEL),
    )


def whole(source: ExportSource, form: Format) -> str:
    return "".join(export(source, form))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text_in_html(text: str, inspected: Inspected) -> None:
    page = whole(source_of([blocks_of(text)], title=text), "html")
    found = inspected(page.encode("utf-8", "replace").decode())
    assert any("default-src 'none'" in (m.get("content") or "") for m in found.metas)
    assert all(re.match(r"https?://(ok|evil)\.example", link) for link in found.links)
    assert len(found.images) == 2


@given(text=st.lists(st.sampled_from(HOSTILE) | st.text(max_size=30), max_size=4).map("\n".join))
def test_any_mixture_stays_text_in_html(text: str, inspected: Inspected) -> None:
    inspected(whole(source_of([blocks_of(text)], title=text), "html"))


def test_what_a_link_names_is_shown_and_inert(inspected: Inspected) -> None:
    block = TextBlock("[go](javascript:alert(1)) and [ok](https://ok.example/a?b=1&c)", 1)
    found = inspected(whole(source_of([(block,)]), "html"))
    assert found.links == ["https://ok.example/a?b=1&c"]
    assert "(javascript:alert(1))" in "".join(found.text)


def test_images_named_in_markdown_are_words(inspected: Inspected) -> None:
    found = inspected(whole(source_of([(TextBlock("![a](https://x.example/p.png)", 1),)]), "html"))
    assert found.images == []
    assert "https://x.example/p.png" in "".join(found.text)


@pytest.mark.parametrize("mime", ["image/svg+xml", "text/html", 'image/png" onerror="x'])
def test_only_plain_images_are_embedded(mime: str, inspected: Inspected) -> None:
    source = source_of([(ImageBlock(mime, 3, 0),)], mime=mime)
    assert inspected(whole(source, "html")).images == []


def test_prose_is_rendered_and_tools_are_folded(inspected: Inspected) -> None:
    text = "## Head\n\n**bold** `code`\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n\n1. one\n2. two"
    page = whole(source_of([blocks_of("x"), (TextBlock(text, 1),)]), "html")
    inspected(page)
    for part in ("<h2>Head</h2>", "<strong>bold</strong>", "<table>", "<ol>", "<details>"):
        assert part in page
    assert "prefers-color-scheme:dark" in page
    assert "Worked for 1m 1s" in page


def html_tokens(markdown: str) -> list[str]:
    """Raw HTML that a renderer would pass through, but for the folds of our own."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    found: list[str] = []

    def visit(tokens: Any) -> None:
        for token in tokens:
            if token.type in ("html_block", "html_inline"):
                found.append(token.content)
            visit(token.children or ())

    visit(parser.parse(markdown))
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_escapes_raw_html_outside_code(text: str) -> None:
    """Nothing of a text is raw HTML to a renderer; in its code it stays as it was."""
    page = whole(source_of([blocks_of(text)], title=text), "md")
    ours = re.compile(r"\s*(</?details>|<details><summary>[^<>]*</summary>|)\s*")
    for raw in html_tokens(page):
        assert all(ours.fullmatch(line) for line in raw.split("\n")), raw


@given(st.lists(st.sampled_from(HOSTILE) | st.text("`~<>a&![]() \n-", max_size=12), max_size=5))
def test_no_mixture_leaves_raw_html_in_markdown(parts: list[str]) -> None:
    assert html_tokens(escape_html("\n".join(parts))) == []


def test_code_keeps_its_characters_in_markdown() -> None:
    text = "`a<b>` and\n```html\n<script>\n```\n<b>"
    assert escape_html(text) == "`a<b>` and\n```html\n<script>\n```\n&lt;b>"


def test_json_is_what_is_stored() -> None:
    source = source_of([], title='q"\x1b\ud800é')
    text = whole(source, "json")
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    value = json.loads(text)
    assert value["header"] == source.header()
    assert value["messages"] == [message for _, message in source.messages()]
    assert '"a":[1,2.0]' in text or '"a":[1,2]' in text


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("A title", "A-title-0f3c0000.md"),
        ("../../etc/passwd", "etc-passwd-0f3c0000.md"),
        ("\x1b[31m\u202e", None),
        (".hidden", "hidden-0f3c0000.md"),
        ("日報", "日報-0f3c0000.md"),
        ("", "session-0f3c0000.md"),
        ("x" * 400, None),
    ],
)
def test_file_names_are_plain(title: str, name: str | None) -> None:
    found = file_name(source_of([], title=title).row, "md")
    assert name in (None, found)
    assert "/" not in found
    assert not found.startswith((".", "-"))
    assert len(found.encode()) < 255
    assert found.isprintable()


@pytest.mark.parametrize("form", ["md", "html"])
def test_memory_follows_a_round_not_the_session(form: Format) -> None:
    text = "word " * 40_000

    def rounds() -> Iterator[tuple[Block, ...]]:
        for number in range(150):
            yield (TextBlock(f"{number} {text}", number),)

    tracemalloc.start()
    size = 0
    for chunk in export(source_of(rounds()), form):
        size += len(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 29_000_000
    assert peak < 6_000_000


@pytest.mark.soak
def test_a_browser_runs_and_fetches_nothing(tmp_path: Path) -> None:
    """Every hostile text in one page, opened by a real browser beside a listening server."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        texts = [
            re.sub(r"https://(evil|ok)\.example", place, text).replace(
                "alert(1)", "document.title='owned'"
            )
            for text in HOSTILE
        ]
        page = tmp_path / "page.html"
        made = whole(source_of([blocks_of(text) for text in texts]), "html")
        page.write_bytes(made.encode("utf-8", "replace"))
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=900,1200"]
        done = subprocess.run(
            [chromium, *options, "--dump-dom", page.as_uri()],
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        for number, name in enumerate(("dark", "light")):
            scheme = f"--blink-settings=preferredColorScheme={number}"
            shot = f"--screenshot={tmp_path / name}.png"
            subprocess.run(
                [chromium, *options, scheme, shot, page.as_uri()],
                capture_output=True,
                timeout=100,
                check=True,
            )
        server.shutdown()
    assert "<title>Title</title>" in done.stdout
    assert "<h1>Title</h1>" in done.stdout
    assert asked == []
    dark, light = ((tmp_path / f"{name}.png").read_bytes() for name in ("dark", "light"))
    assert dark.startswith(b"\x89PNG")
    assert dark != light


def test_image_data_is_checked_base64() -> None:
    assert base64.b64decode(PIXEL).startswith(b"\x89PNG")
