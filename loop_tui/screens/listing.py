"""Modal lists: help, details, and choosing one or several of a few things."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from textwrap import wrap
from typing import ClassVar, Final, Generic

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from loop_core.model import Detail
from loop_tui.commands import (
    COMMANDS,
    GROUPS,
    Command,
    Context,
    Keymap,
    commands_in,
    keys_label,
    keys_of,
)
from loop_tui.screens.dialogs import Modal, Result
from loop_tui.text import cell_width, pad, take
from loop_tui.widgets.line_list import LineList
from loop_tui.widgets.text_list import TextLine, TextList

MOVES: tuple[BindingType, ...] = (
    Binding("j,down", "lines(1)", "Down", show=False),
    Binding("k,up", "lines(-1)", "Up", show=False),
    Binding("ctrl+d", "pages(0.5)", "Half a page down", show=False),
    Binding("ctrl+u", "pages(-0.5)", "Half a page up", show=False),
    Binding("pagedown", "pages(1)", "Page down", show=False),
    Binding("pageup", "pages(-1)", "Page up", show=False),
    Binding("g,home", "ends(-1)", "First", show=False),
    Binding("G,end", "ends(1)", "Last", show=False),
)


HELP_WIDTH: Final = 72
DETAILS_WIDTH: Final = 100
"""Cells of the boxes of help and details, as dialogs.tcss has them."""


class ListScreen(Modal[Result], Generic[Result]):
    """A box with a title and a list that moves like every other list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("escape,q", "leave", "Close", show=False),
    ]

    def __init__(self, heading: str, *, ascii_only: bool = False, reading: bool = False) -> None:
        super().__init__()
        self.heading = heading
        self.listing = TextList(id="modal-list", ascii_only=ascii_only, reading=reading)
        self.hint = "Esc closes"

    def compose(self) -> ComposeResult:
        box = Vertical(id="listing")
        box.border_title = Content(self.heading)
        box.border_subtitle = Content(self.hint)
        with box:
            yield self.listing

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.listing)
        self.fill()

    @abstractmethod
    def fill(self) -> None:
        """Put the lines into `listing`."""

    def action_lines(self, lines: int) -> None:
        self.listing.scroll_lines(lines)

    def action_pages(self, pages: float) -> None:
        self.listing.scroll_lines(
            max(1, int(self.listing.page_rows * abs(pages))) * (1 if pages > 0 else -1)
        )

    def action_ends(self, end: int) -> None:
        self.listing.scroll_lines(end * len(self.listing.items))

    def action_leave(self) -> None:
        self.dismiss(None)


class HelpScreen(ListScreen[None]):
    """Every key by group, made from the table; a key that is off here says why."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("?,f1", "leave", "Close", show=False, id="help")
    ]

    def __init__(
        self, context: Context, keymap: Keymap, commands: Sequence[Command], *, ascii_only: bool
    ) -> None:
        super().__init__("Keys", ascii_only=ascii_only, reading=True)
        self.context = context
        self.keymap = keymap
        self.commands = commands

    def fill(self) -> None:
        room = min(HELP_WIDTH, self.app.size.width) - 5  # two borders, bar, end, scrollbar
        ascii_only = self.listing.ascii_only
        lines = help_lines(
            self.context, self.keymap, self.commands, ascii_only=ascii_only, width=room
        )
        self.listing.set_lines(lines)


def help_lines(
    context: Context,
    keymap: Keymap,
    commands: Sequence[Command] = COMMANDS,
    *,
    ascii_only: bool = False,
    width: int = 200,
) -> list[TextLine]:
    """The lines of the help: keys, what they do, and the reason where they cannot now.

    What does not fit into `width` cells goes on in a line below.
    """
    width = max(width, 8)  # a terminal may be narrower; the lines then end at its edge
    indent = 18 if width >= 40 else 4
    here = {command.id for command in commands_in(context.pane, commands)}
    lines: list[TextLine] = [TextLine(())]
    for group in GROUPS:
        rows = [c for c in commands if c.group == group and keys_of(c, keymap)]
        if not rows:
            continue
        lines.append(TextLine(((f"  {group}", "title"),)))
        for command in rows:
            keys = pad(keys_label(command, keymap, ascii_only=ascii_only), 14, "right")
            reason = command.enabled(context) if command.id in here else None
            on = command.id in here and reason is None
            first, *rest = wrap(command.help, max(8, width - cell_width(keys) - 2)) or [""]
            role = "text" if on else "faint"
            spans = [(f"{keys}  ", "accent bold" if on else "faint"), (first, role)]
            lines.append(TextLine(tuple(spans)))
            below = [(part, role) for part in rest]
            below += [(part, "faint italic") for part in wrap(reason or "", width - indent)]
            lines += [TextLine(((" " * indent, "text"), part)) for part in below]
        lines.append(TextLine(()))
    lines += [
        TextLine(((f"  {part}", "muted"),))
        for text in (
            "Letters are commands; in a text field they are text (Esc leaves it).",
            "Mouse: click, double click, wheel. Hold Shift to select as the terminal does.",
            "In text fields ctrl+w deletes the word to the left.",
            "Keys can be changed by command id: `keymap` in the settings file (loop-tui paths).",
        )
        for part in wrap(text, width - 2)
    ]
    return lines


class DetailsScreen(ListScreen[None]):
    """What is known of one session, label by label."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "leave", "Close", show=False, id="details")
    ]

    def __init__(self, heading: str, details: Sequence[Detail], *, ascii_only: bool) -> None:
        super().__init__(heading, ascii_only=ascii_only, reading=True)
        self.details = tuple(details)

    def fill(self) -> None:
        width = max((cell_width(d.label) for d in self.details), default=0)
        width = min(width, 24)
        # Two borders, bar, end, scrollbar, and the three blanks around the label.
        room = max(8, min(DETAILS_WIDTH, self.app.size.width) - width - 8)
        lines: list[TextLine] = [TextLine(())]
        for detail in self.details:
            label = pad(detail.label, width, "right")
            for number, part in enumerate(_wrapped(detail.value, room)):
                head = label if number == 0 else " " * width
                lines.append(TextLine(((f" {head}  ", "accent"), (part, "text"))))
        self.listing.set_lines([*lines, TextLine(())])


def _wrapped(value: str, width: int) -> list[str]:
    """`value` cut into pieces of at most `width` cells: paths have no blanks to break at."""
    pieces: list[str] = []
    for line in value.split("\n"):
        rest = line
        while cell_width(rest) > width:
            end = take(rest, width)[0] or len(rest)
            pieces.append(rest[:end])
            rest = rest[end:]
        pieces.append(rest)
    return pieces


class Option(tuple[Hashable, str, str]):
    """A choice: value, text, note."""

    __slots__ = ()

    def __new__(cls, value: Hashable, text: str, note: str = "") -> Option:
        return super().__new__(cls, (value, text, note))


class ChoiceScreen(ListScreen["tuple[Hashable, ...] | None"]):
    """Choose one option with Enter, or, with `several`, tick some with Space first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", show=False),
        Binding("space", "tick", "Tick", show=False),
    ]

    def __init__(
        self,
        heading: str,
        options: Sequence[Option],
        *,
        chosen: Sequence[Hashable] = (),
        several: bool = False,
        ascii_only: bool = False,
    ) -> None:
        super().__init__(heading, ascii_only=ascii_only)
        self.options = tuple(options)
        self.several = several
        self.chosen = set(chosen)
        self.hint = (
            "Space ticks, Enter saves, Esc leaves" if several else "Enter chooses, Esc leaves"
        )

    def fill(self) -> None:
        values = [option[0] for option in self.options]
        first = next((i for i, value in enumerate(values) if value in self.chosen), 0)
        self.listing.set_lines(self._lines(), first if values else -1)

    def _lines(self) -> list[TextLine]:
        mark = self.listing.glyphs.mark
        return [
            TextLine(
                (
                    (f" {mark if value in self.chosen else ' '} ", "mark"),
                    (text, "text"),
                ),
                (note, "muted"),
                value,
            )
            for value, text, note in self.options
        ]

    def action_tick(self) -> None:
        value = self.listing.value
        if self.several and value is not None:
            self.chosen.symmetric_difference_update((value,))
            self.listing.set_rows(self._lines(), self.listing.cursor)

    def action_choose(self) -> None:
        if self.several:
            self.dismiss(tuple(o[0] for o in self.options if o[0] in self.chosen))
        elif self.listing.value is not None:
            self.dismiss((self.listing.value,))

    @on(LineList.Chosen)
    def _clicked(self) -> None:
        if self.several:
            self.action_tick()
        else:
            self.action_choose()
