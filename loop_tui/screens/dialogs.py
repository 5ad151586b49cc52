"""Questions: pin, archive, delete, delete for good, a line of text, a choice.

A dialog is bound to what it was opened for and answers with a value; it never looks at the
list again (keys.md sections 2 and 3). All text is shown as `Content`, never as markup.
"""

from __future__ import annotations

import time
from typing import ClassVar, Generic, NamedTuple, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

Result = TypeVar("Result")
SHORT = 16  # under so many lines a dialog leaves out what is blank
GUARD_S = 0.2  # keys typed before the dialog could be read do not answer it


class Question(NamedTuple):
    """What a confirm dialog says. Text is sanitized by whoever makes it."""

    heading: str
    subject: tuple[str, ...]  # titles, or one line that sums up
    facts: str  # project · rounds · size · age
    consequence: str  # what changes on disk and what takes it back
    confirm: str  # the button's word
    letter: str = ""  # the key that opened it: pressed again, it confirms
    warning: str = ""
    danger: bool = False  # focus on Cancel, only `y` confirms, early keys are dropped
    ask_again: bool = False  # offers "don't ask again"
    typed: str = ""  # a word that has to be typed
    does: str = ""  # what the key does, in the hint: "deletes"
    separator: str = "·"


class Answer(NamedTuple):
    confirmed: bool
    never_ask: bool = False


class Modal(ModalScreen[Result], Generic[Result]):
    """A screen above the browser, drawn in ASCII where the browser is."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (SHORT, "-tall")]  # noqa: RUF012 - Textual's form
    AUTO_FOCUS = ""  # else the first button, Cancel, would take keys typed ahead

    def __init__(self) -> None:
        super().__init__(classes="dialog-screen")

    def on_mount(self) -> None:
        self.set_class(bool(getattr(self.app, "ascii_only", False)), "-ascii")


class ConfirmDialog(Modal[Answer]):
    """Yes or no, by the keys of keys.md section 2."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes", show=False),
        Binding("n,escape,q", "no", "No", show=False),
        Binding("space", "never_ask", "Don't ask again", show=False),
        Binding("left,right,h,l", "app.focus_next", "Other button", show=False),
    ]

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question
        self._painted: float | None = None
        self._never_ask = False

    def compose(self) -> ComposeResult:
        q = self.question
        box = Vertical(id="dialog", classes="danger" if q.danger else "")
        box.border_title = Content(q.heading)
        with box:
            for line in q.subject:
                yield Static(Content(line), classes="dialog-subject")
            yield Static(Content(q.facts), classes="dialog-facts")
            if q.warning:
                yield Static(Content(f"! {q.warning}"), classes="dialog-warning")
            yield Static(Content(q.consequence), classes="dialog-text")
            if q.typed:
                yield Input(placeholder=f"type {q.typed}", id="typed", compact=True)
            if q.ask_again:
                yield Static(Content(self._never_text()), id="never-ask")
            with Horizontal(id="dialog-buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                confirm = Button(Content(q.confirm), id="confirm", compact=True)
                confirm.can_focus = not q.danger
                yield confirm
            yield Static(Content(self._hint()), id="dialog-hint")

    def _never_text(self) -> str:
        return f"[{'x' if self._never_ask else ' '}] don't ask again (Space)"

    def _hint(self) -> str:
        q = self.question
        does = q.does or f"{q.confirm.lower()}s"
        gap = f"  {q.separator}  "
        if q.typed:
            return f"type {q.typed}, then Enter{gap}Esc cancels"
        if q.danger:
            return f"y {does}{gap}n or Esc cancels"
        again = f" or {q.letter}" if q.letter else ""
        return f"Enter, y{again} {does}{gap}n or Esc cancels"

    def on_resize(self) -> None:
        """Where there may be no room for the hint, the border has its keys."""
        short = self.app.size.height < SHORT
        self.query_one("#dialog").border_subtitle = Content(self._keys()) if short else None

    def _keys(self) -> str:
        q = self.question
        first = f"type {q.typed}" if q.typed else f"y {q.does or f'{q.confirm.lower()}s'}"
        return f"{first} {q.separator} Esc cancels"

    def on_mount(self) -> None:
        super().on_mount()
        self.add_class("-asks")
        q = self.question
        wanted = "#typed" if q.typed else "#cancel" if q.danger else "#confirm"
        self.set_focus(self.query_one(wanted), scroll_visible=False)
        self.call_after_refresh(self._paint_done)

    def _paint_done(self) -> None:
        self._painted = time.monotonic()

    def _too_early(self, when: float) -> bool:
        """Whether a key or click at `when` (monotonic) came before the dialog could be read."""
        if not self.question.danger:
            return False
        return self._painted is None or when < self._painted + GUARD_S

    def on_key(self, event: events.Key) -> None:
        """Drop what was typed before a dangerous dialog was there to be read.

        A key that only cancels does no harm and is let through.
        """
        if event.key not in ("n", "escape") and self._too_early(event.time):
            event.stop()
            event.prevent_default()

    def action_yes(self) -> None:
        q = self.question
        if self._too_early(time.monotonic()):
            return
        if q.typed and self.query_one("#typed", Input).value.strip() != q.typed:
            self.query_one("#dialog-hint", Static).update(
                Content(f"not yet: type the word {q.typed}")
            )
            return
        self.dismiss(Answer(confirmed=True, never_ask=self._never_ask))

    def show_facts(self, facts: str) -> None:
        """Replace the line of facts, when more is known than at first."""
        if self.is_attached and (lines := self.query(".dialog-facts")):
            lines.first(Static).update(Content(facts))

    def action_no(self) -> None:
        self.dismiss(Answer(confirmed=False))

    def action_never_ask(self) -> None:
        if self.question.ask_again:
            self._never_ask = not self._never_ask
            self.query_one("#never-ask", Static).update(Content(self._never_text()))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if self._too_early(time.monotonic()):
            return  # an Enter typed ahead reaches the focused button by the app's bindings
        if event.button.id == "cancel":
            self.action_no()
        else:
            self.action_yes()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_yes()


# For an Enter typed before the dialog had a focus; a focused button takes its own Enter.
_ENTER = Binding("enter", "yes", "Yes", show=False)


class PinDialog(ConfirmDialog):
    """``p p`` pins: the key that opened it confirms, also when it was queued already."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "yes", "Yes", show=False, id="pin"),
        _ENTER,
    ]


class ArchiveDialog(ConfirmDialog):
    """``a a`` archives."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "yes", "Yes", show=False, id="archive"),
        _ENTER,
    ]


class PromptDialog(Modal["str | None"]):
    """One line of text: Enter saves, Esc leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False)]

    def __init__(self, heading: str, value: str, *, hint: str = "Enter saves, Esc leaves") -> None:
        super().__init__()
        self.heading = heading
        self.value = value
        self.hint = hint

    def compose(self) -> ComposeResult:
        box = Vertical(id="dialog")
        box.border_title = Content(self.heading)
        with box:
            yield Input(self.value, id="prompt", compact=True, select_on_focus=False)
            yield Static(Content(self.hint), id="dialog-hint")

    def on_mount(self) -> None:
        super().on_mount()
        field = self.query_one("#prompt", Input)
        self.set_focus(field)
        # The end of a long text shows once the field knows its width.
        field.cursor_position = 0
        self.call_after_refresh(field.action_end)

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)
