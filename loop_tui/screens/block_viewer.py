"""One block of a conversation, whole: any size, searched, copied, an image saved."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import threading
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from loop_core.errors import LoopError, StorageFailed, reason_of
from loop_core.model import AttachmentBlock, Block, ImageBlock, ToolBlock
from loop_core.sanitize import safe_line
from loop_tui.layout.bulk import Bulk, matches
from loop_tui.text import glyphs, human_count, human_size
from loop_tui.widgets.find_input import FindInput
from loop_tui.widgets.history_text import block_text
from loop_tui.widgets.text_view import TextView

__all__ = ["BlockViewer", "decoded"]

_ENDING = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}


ImageData = Callable[[ImageBlock], tuple[str, str] | None]


class BlockViewer(ModalScreen[None]):
    """Shows a block.

    `image_data` reads media type and base64 text of an image;
    `copy` takes a text for the clipboard and what it is.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "leave", "Close"),
        Binding("j,down", "scroll_by(1)", "Down", show=False),
        Binding("k,up", "scroll_by(-1)", "Up", show=False),
        Binding("pagedown,space", "page_by(1)", "Page down", show=False),
        Binding("pageup", "page_by(-1)", "Page up", show=False),
        Binding("ctrl+d", "page_by(0.5)", "Half a page down", show=False),
        Binding("ctrl+u", "page_by(-0.5)", "Half a page up", show=False),
        Binding("g,home", "to_start", "Start", show=False),
        Binding("G,end", "to_end", "End", show=False),
        Binding("slash", "search", "Find"),
        Binding("n", "step(1)", "Next", show=False),
        Binding("N", "step(-1)", "Previous", show=False),
        Binding("y", "copy", "Copy"),
        Binding("s", "save", "Save"),
    ]

    def __init__(
        self,
        block: Block,
        image_data: ImageData,
        copy: Callable[[str, str], None],
        *,
        title: str = "",
        ascii: bool = False,  # noqa: A002 - the option is called so everywhere
    ) -> None:
        super().__init__()
        self.block = block
        self.image_data = image_data
        self.copy = copy
        self.title_text = title
        self.glyphs = glyphs(ascii)
        self.set_class(ascii, "-ascii")
        self._text: str | None = None
        self._found: list[int] = []
        self._at = -1
        self._needle = ""
        self._stop = threading.Event()
        self._saving = False

    @property
    def image(self) -> ImageBlock | None:
        """The image that can be saved from here: the block, or the first of a result."""
        if isinstance(self.block, ImageBlock):
            return self.block
        if isinstance(self.block, ToolBlock) and self.block.result_images:
            return self.block.result_images[0]
        return None

    def compose(self) -> ComposeResult:
        with Vertical(id="viewer-frame") as frame:
            frame.border_title = Content(safe_line(self.title_text) or "Block")
            frame.border_subtitle = Content(f"Reading{self.glyphs.ellipsis}")
            yield FindInput(id="viewer-entry")
            yield TextView(id="viewer-text")
        keys = f"Esc close {self.glyphs.separator} / find {self.glyphs.separator} y copy"
        keys += f" {self.glyphs.separator} s save" if self._savable else ""
        yield Static(Content(keys), id="viewer-keys")

    @property
    def _savable(self) -> bool:
        return self.image is not None or isinstance(self.block, AttachmentBlock | ToolBlock)

    def on_mount(self) -> None:
        self.view = self.query_one(TextView)
        self.entry = self.query_one(FindInput)
        self.frame = self.query_one("#viewer-frame")
        self.view.focus()

    def on_unmount(self) -> None:
        self._stop.set()

    # --- the text

    def on_text_view_resized(self, event: TextView.Resized) -> None:
        event.stop()
        self.run_worker(self._index(event.width), group="index", exclusive=True)

    async def _index(self, width: int) -> None:
        old = self.view.bulk

        def make() -> Bulk:
            return Bulk(block_text(self.block), width) if old is None else Bulk.resized(old, width)

        bulk = await asyncio.to_thread(make)
        self.view.show(bulk)
        self._say()

    def _say(self, extra: str = "") -> None:
        bulk = self.view.bulk
        if bulk is None:
            return
        row = self.view.scroll_offset.y
        line = bulk.line_of(min(row, max(bulk.height - 1, 0)))[0] + 1
        parts = [f"line {human_count(line)} of {human_count(bulk.line_count)}"]
        parts.append(human_size(len(bulk.text)))
        if self._needle:
            at = f"{human_count(self._at + 1)} of " if self._found else ""
            count = human_count(len(self._found)) if self._found else "not found"
            parts.insert(0, f'"{self._needle}" {at}{count}')
        if extra:
            parts.insert(0, extra)
        self.frame.border_subtitle = Content(safe_line(f" {self.glyphs.separator} ".join(parts)))

    # --- moving

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_scroll_by(self, rows: int) -> None:
        self._go(self.view.scroll_offset.y + rows)

    def action_page_by(self, screens: float) -> None:
        self._go(self.view.scroll_offset.y + int(self.view.size.height * screens))

    def action_to_start(self) -> None:
        self._go(0)

    def action_to_end(self) -> None:
        self._go(self.view.max_scroll_y)

    def _go(self, row: int) -> None:
        self.view.go(row)
        self._say()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.call_after_refresh(self._say)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.call_after_refresh(self._say)

    # --- finding

    def action_search(self) -> None:
        self._saving = False
        self.entry.placeholder = "find in this block"
        self.entry.open(self._needle)

    def on_find_input_left(self, event: FindInput.Left) -> None:
        event.stop()
        self.view.focus()

    def on_input_submitted(self, event: FindInput.Submitted) -> None:
        event.stop()
        self.entry.close()
        self.view.focus()
        if self._saving:
            self.run_worker(self._save(event.value), group="save", exclusive=True)
            return
        self._needle = event.value
        self._found, self._at = [], -1
        self.view.mark(self._needle)
        self.run_worker(self._find(), group="find", exclusive=True)

    async def _find(self) -> None:
        bulk = self.view.bulk
        if bulk is None or not self._needle:
            self._say()
            return
        source = matches(bulk.text, self._needle, self._stop.is_set)
        start, _ = bulk.span(min(self.view.scroll_offset.y, max(bulk.height - 1, 0)))
        while (found := await asyncio.to_thread(next, source, None)) is not None:
            self._found.extend(found)
            if self._at < 0:
                self._at = next((i for i, at in enumerate(self._found) if at >= start), -1)
                if self._at >= 0:
                    self.view.mark(self._needle, self._found[self._at])
        if self._at < 0 and self._found:
            self._at = 0
            self.view.mark(self._needle, self._found[0])
        self._say()

    def action_step(self, by: int) -> None:
        if self._found:
            self._at = (self._at + by) % len(self._found)
            self.view.mark(self._needle, self._found[self._at])
        self._say()

    # --- copying and saving

    def action_copy(self) -> None:
        """Copy all of the block."""
        text = self.view.bulk.text if self.view.bulk is not None else ""
        self.copy(text, "block")
        self._say("copied")

    def action_save(self) -> None:
        """Ask for a file name; nothing that exists is overwritten."""
        if not self._savable:
            self._say("nothing to save here")
            return
        self._saving = True
        self.entry.placeholder = "save to a new file"
        self.entry.open(os.path.join("~", self._file_name()))

    def _file_name(self) -> str:
        image = self.image
        if image is not None:
            name = os.path.basename(image.name)
            return name or f"image.{_ENDING.get(image.mime, 'bin')}"
        return os.path.basename(getattr(self.block, "name", "")) or "block.txt"

    async def _save(self, name: str) -> None:
        path = os.path.abspath(os.path.expanduser(name.strip()))
        try:
            size = await asyncio.to_thread(self._write, path)
        except LoopError as error:
            self._say(f"not saved: {reason_of(error)}")
        else:
            self._say(f"saved {human_size(size)} to {path}")

    def _write(self, path: str) -> int:
        from loop_core import fsio

        image = self.image
        if image is not None:
            data = decoded(self.image_data(image))
        else:
            data = block_text(self.block).encode("utf-8", "replace")
        try:
            fsio.write_new(path, data)
        except FileExistsError as error:
            raise StorageFailed(error, path) from error
        return len(data)


def decoded(data: tuple[str, str] | None) -> bytes:
    """The bytes of an image from its base64 text. Raises LoopError."""
    if data is None:
        raise LoopError("the image's data is not to be had")
    try:
        return base64.b64decode(data[1], validate=False)
    except (binascii.Error, ValueError) as error:
        raise LoopError("the image's data is not base64") from error
