"""One whole session as Markdown, a self-contained HTML page, or JSON; streamed.

A front end asks for text chunks and writes them where the user said. Memory follows the
largest round, never the session. Everything a conversation holds is content: in HTML no part
of it can become a script, a handler, a remote reference or a live link other than http and
https; in Markdown its raw HTML is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator

from loop_core.export.common import FORMATS, ExportSource, Format, file_name

__all__ = ["FORMATS", "ExportSource", "Format", "export", "file_name"]


def export(source: ExportSource, form: Format) -> Iterator[str]:
    """The session as text chunks. Raises LoopError when reading fails."""
    if form == "json":
        from loop_core.export.json import as_json

        return as_json(source)
    if form == "html":
        from loop_core.export.html import as_html

        return as_html(source)
    from loop_core.export.markdown import as_markdown

    return as_markdown(source)
