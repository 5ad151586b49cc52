"""The palette: every command with its key, every view, project and session by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import ClassVar, Literal, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from loop_core.model import SessionKey
from loop_tui.screens.dialogs import Modal
from loop_tui.state.views import fold, terms_of
from loop_tui.widgets.line_list import LineList
from loop_tui.widgets.text_list import TextLine, TextList

CAP = 60  # lines; nobody reads further, and a keystroke stays cheap


class Entry(NamedTuple):
    """Something the palette can do. `hay` is folded text to look in; `off` says why not now."""

    kind: Literal["command", "view", "project", "session"]
    target: str | SessionKey
    text: str
    note: str
    hay: str
    off: str = ""


def matching(entries: Iterable[Entry], typed: str, cap: int = CAP) -> list[Entry]:
    """Entries that hold every word typed, those beginning with it first; at most `cap`."""
    terms = terms_of(typed)
    if not terms:
        return list(islice((e for e in entries if e.kind != "session"), cap))
    found = list(islice((e for e in entries if all(t in e.hay for t in terms)), 4 * cap))
    start = fold(typed.strip())
    found.sort(key=lambda e: not fold(e.text).startswith(start))
    return found[:cap]


class PaletteScreen(Modal["Entry | None"]):
    """A field and what matches it. Typing filters, arrows move, Enter does it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", show=False),
        Binding("ctrl+p", "leave", "Close", show=False),
        Binding("down,ctrl+n", "move(1)", "Down", show=False),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("pagedown", "move(10)", "Page down", show=False),
        Binding("pageup", "move(-10)", "Page up", show=False),
    ]

    def __init__(self, entries: Sequence[Entry], *, ascii_only: bool = False) -> None:
        super().__init__()
        self.entries = entries
        self.field = Input(
            placeholder="a command, a project, a session", id="palette-field", compact=True
        )
        self.listing = TextList(id="palette-list", ascii_only=ascii_only)
        self.listing.can_focus = False
        self.shown: list[Entry] = []

    def compose(self) -> ComposeResult:
        box = Vertical(id="palette")
        box.border_title = Content("Palette")
        box.border_subtitle = Content("Enter does it, Esc closes")
        with box:
            yield self.field
            yield self.listing

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.field)
        self._filter("")

    def _filter(self, typed: str) -> None:
        self.shown = matching(self.entries, typed)
        self.listing.set_lines(list(self._lines()))

    def _lines(self) -> Iterator[TextLine]:
        for number, entry in enumerate(self.shown):
            role = "faint" if entry.off else "text"
            note = entry.off or entry.note
            tone = "key" if entry.kind == "command" and not entry.off else "muted"
            yield TextLine(((f" {entry.text}", role),), (note, tone), number + 1)

    @on(Input.Changed, "#palette-field")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._filter(event.value)

    @on(Input.Submitted, "#palette-field")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose()

    @on(LineList.Highlighted)
    def _moved(self, event: LineList.Highlighted) -> None:
        event.stop()

    @on(LineList.Chosen)
    def _clicked(self, event: LineList.Chosen) -> None:
        event.stop()
        self._choose()

    def _choose(self) -> None:
        value = self.listing.value
        self.dismiss(self.shown[value - 1] if isinstance(value, int) else None)

    def action_move(self, rows: int) -> None:
        self.listing.move_by(rows)

    def action_leave(self) -> None:
        self.dismiss(None)
