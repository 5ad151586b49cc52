"""A session as one HTML page: no scripts, nothing fetched, nothing of it can run.

Prose is Markdown rendered with raw HTML off; links are live only for http and https, with no
referrer; images of the conversation are embedded as data, images that Markdown names are
shown as text. A content security policy in the page forbids the rest to the browser as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

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

if TYPE_CHECKING:
    from loop_core.export.common import ExportSource

_MARKDOWN_LIMIT = 64_000  # characters; longer prose is shown as it is (nesting can be costly)
_IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/webp", "image/gif"))
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HTTP = re.compile(r"https?://", re.IGNORECASE)
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
:root{color-scheme:light dark;--bg:#f7f8fa;--fg:#2b303b;--muted:#646b7a;--panel:#eceef3;
--accent:#855300;--link:#1d4fb8;--ok:#2a6a14;--bad:#b3202e;--line:#d5d9e2}
@media(prefers-color-scheme:dark){:root{--bg:#16181f;--fg:#c8d0e4;--muted:#8f97ab;
--panel:#1f222c;--accent:#e0af68;--link:#7aa2f7;--ok:#9ece6a;--bad:#f7768e;--line:#303544}}
body{margin:0 auto;max-width:54rem;padding:2rem 1.25rem 4rem;background:var(--bg);
color:var(--fg);font:16px/1.6 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.3}dl{display:grid;grid-template-columns:max-content 1fr;
gap:.1rem 1rem;color:var(--muted);font-size:.875rem}dt{font-weight:600}dd{margin:0}
section{margin-top:2.5rem;border-top:1px solid var(--line)}
h2.round{font-size:.875rem;font-weight:600;color:var(--muted)}
.user{background:var(--panel);border-left:3px solid var(--accent);padding:.6rem 1rem;
white-space:pre-wrap;border-radius:0 .3rem .3rem 0;margin-bottom:.75rem}
h1,h2,h3,p,li,td,th,dd,pre,summary,.user{unicode-bidi:plaintext}
pre{background:var(--panel);padding:.75rem 1rem;overflow-x:auto;border-radius:.3rem;
font-size:.8125rem;line-height:1.5;white-space:pre-wrap}
code{font-family:ui-monospace,monospace;font-size:.875em;background:var(--panel);
padding:.1em .3em;border-radius:.2rem}pre code{font-size:1em;padding:0}
details{margin:.35rem 0;border:1px solid var(--line);border-radius:.3rem;padding:.25rem .75rem}
summary{cursor:pointer;font-size:.875rem}summary b{font-weight:600}
p.muted{font-size:.875rem}.ok{color:var(--ok)}.error{color:var(--bad)}.muted,.commentary{color:var(--muted)}
.note{color:var(--muted);font-size:.875rem;border-left:3px solid var(--line);padding-left:.75rem}
.note.error{color:var(--bad);border-color:var(--bad)}img{max-width:100%}
table{border-collapse:collapse}td,th{border:1px solid var(--line);padding:.25rem .6rem}
blockquote{margin-left:0;padding-left:1rem;border-left:3px solid var(--line);color:var(--muted)}
a{color:var(--link)}.children{margin-left:1rem}
"""
_STATUS = {
    "ok": '<span class="ok">✓</span>',
    "error": '<span class="error">✗ failed</span>',
    "waiting": '<span class="muted">no result</span>',
    "running": '<span class="muted">running</span>',
}


def as_html(source: ExportSource) -> Iterator[str]:
    """The page in chunks, a round at a time."""
    title = escape(title_of(source))
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
    )
    yield "<dl>"
    for label, value in facts(source):
        yield f"<dt>{escape(label)}</dt><dd>{escape(value)}</dd>"
    yield "</dl>\n"
    writer = _Writer(source)
    end = ""
    for one in source.rounds():
        if not one.continued:
            yield end + _heading(one)
            end = "</section>\n"
        yield from writer.round(one)
    yield end
    yield from _damage(source)
    yield "</body></html>\n"


def _heading(one: Round) -> str:
    time = when(one.time_ms)
    name = f"{round_name(one)} · {time}" if time else round_name(one)
    return f'<section><h2 class="round">{escape(name)}</h2>\n'


def _damage(source: ExportSource) -> Iterator[str]:
    lines = damage_lines(source)
    if lines:
        yield _note(UNREADABLE, "\n".join(lines), bad=True)


class _Writer:
    def __init__(self, source: ExportSource) -> None:
        self.source = source

    def round(self, one: Round) -> Iterator[str]:
        for block in one.blocks:
            yield from self.block(block)
        for duration in one.durations_ms:
            yield f'<p class="muted">Worked for {seconds(duration)}</p>\n'

    def block(self, block: Block) -> Iterator[str]:
        if isinstance(block, TextBlock):
            yield _prose(block)
        elif isinstance(block, ThinkingBlock):
            yield _folded("Thought", block.text or "(redacted)")
        elif isinstance(block, ToolBlock):
            yield from self.tool(block)
        elif isinstance(block, ImageBlock):
            yield self.image(block)
        elif isinstance(block, AttachmentBlock):
            label = f"Attached {block.name}, {size_of(block.size)}"
            yield _folded(label, block.text) if block.text else _note(label)
        elif isinstance(block, NoteBlock):
            yield _note(block.title, block.text, bad=block.kind == "error")
        else:
            yield _folded(f"Unknown record: {block.type}", block.text)

    def tool(self, block: ToolBlock) -> Iterator[str]:
        yield (
            f"<details><summary><b>{escape(block.verb)}</b> {escape(block.target[:400])} "
            f"{_STATUS[block.status]}</summary>\n"
        )
        if block.arguments:
            yield f"<pre>{escape(block.arguments)}</pre>\n"
        if block.result is not None:
            yield f"<pre>{escape(block.result)}</pre>\n"
        for image in block.result_images:
            yield self.image(image)
        yield "</details>\n"
        if block.children:
            yield '<div class="children">\n'
            for child in block.children:
                yield from self.block(child)
            yield "</div>\n"

    def image(self, block: ImageBlock) -> str:
        label = f"Image {block.name or block.mime}, {size_of(block.size)}"
        found = self.source.image(block)
        if found is None or found[0] not in _IMAGE_TYPES or not _BASE64.fullmatch(found[1]):
            return _note(label)
        return f'<p><img alt="{escape(label)}" src="data:{found[0]};base64,{found[1]}"></p>\n'


def _prose(block: TextBlock) -> str:
    if block.role == "user":
        return f'<div class="user">{escape(block.text)}</div>\n'
    css = "commentary" if block.commentary else "answer"
    if len(block.text) > _MARKDOWN_LIMIT:
        return f'<pre class="{css}">{escape(block.text)}</pre>\n'
    return f'<div class="{css}">{_markdown().render(block.text)}</div>\n'


def _folded(label: str, text: str) -> str:
    return f"<details><summary>{escape(label[:400])}</summary><pre>{escape(text)}</pre></details>\n"


def _note(title: str, text: str = "", *, bad: bool = False) -> str:
    css = "note error" if bad else "note"
    more = f"<pre>{escape(text)}</pre>" if text else ""
    return f'<div class="{css}">{escape(title)}{more}</div>\n'


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(
        ["table", "strikethrough"]
    )
    # Every target is accepted as a link, so that it can be shown; only http and https live.
    parser.validateLink = _any_link  # type: ignore[method-assign]
    parser.add_render_rule("image", _render_image)
    parser.add_render_rule("link_open", _render_link)
    parser.add_render_rule("link_close", _render_link_close)
    return parser


def _any_link(url: str) -> bool:  # noqa: ARG001 - the parser's own signature
    return True


def _render_image(
    _self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    token = tokens[at]
    return f'<span class="muted">[image {escape(token.content)}: {_target(token, "src")}]</span>'


def _render_link(
    _self: Any, tokens: Sequence[Token], at: int, _options: Any, env: MutableMapping[str, Any]
) -> str:
    target = str(tokens[at].attrGet("href") or "")
    live = bool(_HTTP.match(target))
    env.setdefault("links", []).append(None if live else target)
    if not live:
        return '<span class="link">'
    return f'<a href="{escape(target)}" rel="noopener noreferrer nofollow">'


def _render_link_close(
    _self: Any, _tokens: Sequence[Token], _at: int, _options: Any, env: MutableMapping[str, Any]
) -> str:
    links = env.get("links") or [None]
    inert = links.pop()
    return "</a>" if inert is None else f' <span class="muted">({escape(inert)})</span></span>'


def _target(token: Token, name: str) -> str:
    return escape(str(token.attrGet(name) or ""))
