"""The one-line bars: header and views strip above, status line and keys below.

Each draws spans of (text, role) on one line and never wraps; what does not fit is left out
whole where it can be (a key with its label), else clipped.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from loop_core.sanitize import safe_line
from loop_tui import text
from loop_tui.roles import roles_of
from loop_tui.state.views import VIEW_LABELS, VIEWS, View
from loop_tui.text import Glyphs, cell_width, clip, clip_start, human_count
from loop_tui.widgets.projects import view_glyph

Span = tuple[str, str]


class Bar(Widget, inherit_bindings=False):
    """One line of spans. `set_spans` draws again only when something changed."""

    ground = ""

    def __init__(self, *, id: str, ascii_only: bool = False) -> None:  # noqa: A002
        super().__init__(id=id, classes="bar")
        self.glyphs: Glyphs = text.glyphs(ascii_only)
        self.ascii_only = ascii_only

    @abstractmethod
    def spans(self, width: int) -> list[Span]:
        """The line as (text, role), at most `width` cells."""

    def render_line(self, y: int) -> Strip:
        rich = roles_of(self.app).rich
        width = self.size.width
        spans = self.spans(width) if y == 0 else []
        segments = [Segment(t, rich(role, self.ground)) for t, role in spans if t]
        return Strip(segments).adjust_cell_length(width, rich("text", self.ground))


def spread(left: Sequence[Span], right: Sequence[Span], width: int, ellipsis: str) -> list[Span]:
    """`left` clipped so that `right` fits at the right edge, one blank between them.

    `right` gives way when the bar is too narrow for half of it.
    """
    right = list(right)
    room = width - sum(cell_width(t) for t, _ in right) - 1
    if right and room < width // 3:
        right, room = [], width
    spans: list[Span] = []
    used = 0
    for piece, role in left:
        shown = clip(piece, room - used, ellipsis)
        spans.append((shown, role))
        used += cell_width(shown)
        if shown != piece:
            break
    if right:
        spans.append((" " * (room + 1 - used), "text"))
    return spans + right


class HeaderBar(Bar):
    """``◉ loop-tui  paths`` and, on the right, how much there is."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(id="header", ascii_only=ascii_only)
        self.places: tuple[str, ...] = ()
        self.sessions = self.unread = self.running = 0
        self.scanning = False

    def update(
        self, *, places: Sequence[str], sessions: int, unread: int, running: int, scanning: bool
    ) -> None:
        fresh = (tuple(places), sessions, unread, running, scanning)
        if fresh != (self.places, self.sessions, self.unread, self.running, self.scanning):
            self.places, self.sessions, self.unread, self.running, self.scanning = fresh
            self.refresh()

    def spans(self, width: int) -> list[Span]:
        g = self.glyphs
        dot = (f"  {g.separator}  ", "faint")
        noun = "session" if self.sessions == 1 else "sessions"
        right: list[Span] = [(f"{human_count(self.sessions)} {noun}", "muted")]
        if self.scanning:
            right.insert(0, (f"reading {g.ellipsis}  ", "accent"))
        if self.unread:
            right += [dot, (f"{g.unread} {human_count(self.unread)} unread", "unread")]
        if self.running:
            right += [dot, (f"{g.running} {human_count(self.running)} running", "running")]
        right.append((" ", "text"))
        left: list[Span] = [(f" {g.watching} ", "primary"), ("loop-tui", "bold"), ("  ", "text")]
        for number, place in enumerate(self.places):
            left += [dot] if number else []
            left.append((place, "muted"))
        return spread(left, right, width, g.ellipsis)


class ViewStrip(Bar):
    """The views in one line, where there is no room for the left pane."""

    class Picked(Message):
        def __init__(self, view: View) -> None:
            self.view = view
            super().__init__()

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(id="strip", ascii_only=ascii_only)
        self.counts: Mapping[View, int] = {}
        self.view: View = "active"

    def update(self, counts: Mapping[View, int], view: View) -> None:
        if (counts, view) != (self.counts, self.view):
            self.counts, self.view = dict(counts), view
            self.refresh()

    def _cells(self, view: View) -> list[Span]:
        sign = view_glyph(view, self.glyphs)
        number = human_count(self.counts.get(view, 0))
        chosen = view == self.view
        head: list[Span] = [] if view == "active" else [(f"{sign[0]} ", sign[1])]
        return [*head, (f"{VIEW_LABELS[view]} {number}", "bold" if chosen else "muted")]

    def _layout(self, width: int) -> tuple[list[View], int]:
        """The views shown, from the first that keeps the current one in sight; room for them."""
        problems = self.counts.get("problems", 0)
        room = width - (3 + len(human_count(problems)) if problems else 0)
        views = [view for view in VIEWS if view != "problems" or self.view == "problems"]
        while len(views) > 1 and self._end_of(views) > room:
            views.pop(0)
        return views, room

    def _end_of(self, views: Sequence[View]) -> int:
        """Cells up to the end of the current view."""
        used = 1
        for view in views:
            used += sum(cell_width(t) for t, _ in self._cells(view))
            if view == self.view:
                return used
            used += 3
        return 0

    def spans(self, width: int) -> list[Span]:
        views, room = self._layout(width)
        left: list[Span] = [(" ", "text")]
        for number, view in enumerate(views):
            left += [("   ", "text")] if number else []
            left += self._cells(view)
        used, shown = 0, []
        for piece, role in left:
            cut = clip(piece, room - used, "")
            shown.append((cut, role))
            used += cell_width(cut)
            if cut != piece:
                break
        problems = self.counts.get("problems", 0)
        if problems and self.view != "problems":
            shown.append((" " * (width - used - len(human_count(problems)) - 2), "text"))
            shown.append((f"{self.glyphs.damaged}{human_count(problems)} ", "damaged"))
        return shown

    def on_click(self, event: events.Click) -> None:
        """A click picks the view under the mouse."""
        views, _ = self._layout(self.size.width)
        used = 1
        for view in views:
            used += sum(cell_width(t) for t, _ in self._cells(view)) + 3
            if event.x < used:
                self.post_message(self.Picked(view))
                return
        self.post_message(self.Picked("problems"))


Tone = Literal["info", "good", "warning", "error"]
_TONES: Mapping[Tone, str] = {
    "info": "text",
    "good": "success",
    "warning": "warning",
    "error": "error",
}
TOAST_S: Mapping[Tone, float] = {"info": 6.0, "good": 6.0, "warning": 10.0, "error": 12.0}


class Toast(NamedTuple):
    """A sentence for the status line, sanitized."""

    text: str
    tone: Tone = "info"


class StatusBar(Bar):
    """Left: what is under the cursor, or a toast. Right: how we watch, read-only, problems."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(id="status", ascii_only=ascii_only)
        self.title_text = ""
        self.folder = ""
        self.toast: Toast | None = None
        self.notes: tuple[tuple[Span, ...], ...] = ()
        self._fading: Timer | None = None

    def say(self, words: str, tone: Tone = "info", *, seconds: float | None = None) -> None:
        """Show a sentence for a while; `seconds` where its tone's time is not the right one."""
        self.hush()
        self.update(toast=Toast(safe_line(words), tone))
        self._fading = self.set_timer(TOAST_S[tone] if seconds is None else seconds, self.hush)

    def hush(self) -> None:
        """Show what is under the cursor again."""
        if self._fading is not None:
            self._fading.stop()
            self._fading = None
        self.update(toast=None)

    def update(self, **values: Any) -> None:
        """Set any of `title_text`, `folder`, `toast`, `notes`."""
        changed = False
        for name, value in values.items():
            changed |= getattr(self, name) != value
            setattr(self, name, value)
        if changed:
            self.refresh()

    def spans(self, width: int) -> list[Span]:
        g = self.glyphs
        right: list[Span] = []
        for number, note in enumerate(self.notes):
            right += [(f" {g.separator} ", "faint")] if number else []
            right += note
        right.append((" ", "text"))
        if self.toast is not None:
            role = _TONES[self.toast.tone]
            if cell_width(self.toast.text) + 2 > width - sum(cell_width(t) for t, _ in right):
                right = []
            return spread([(" ", "text"), (self.toast.text, role)], right, width, g.ellipsis)
        left: list[Span] = [(" ", "text"), (self.title_text, "muted")]
        if self.folder:
            gap = f"  {g.separator}  "
            used = sum(cell_width(t) for t, _ in (*left, *right)) + cell_width(gap) + 1
            folder = clip_start(self.folder, max(width - used, 12), g.ellipsis)
            left += [(gap, "faint"), (folder, "faint")]
        return spread(left, right, width, g.ellipsis)


class FooterBar(Bar):
    """About ten keys of the pane that has the focus; as many as fit, each whole.

    The key of the help is always among them: it shows the others.
    """

    ground = "surface"

    class Pressed(Message):
        """A key of the bar was clicked."""

        def __init__(self, command: str) -> None:
            self.command = command
            super().__init__()

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(id="footer", ascii_only=ascii_only)
        self.entries: tuple[tuple[str, str, str], ...] = ()  # command id, key, label

    def update(self, entries: Sequence[tuple[str, str, str]]) -> None:
        fresh = tuple(entries)
        if fresh != self.entries:
            self.entries = fresh
            self.refresh()

    def _fitting(self, width: int) -> list[tuple[str, str, str]]:
        shown = list(self.entries)
        while len(shown) > 1 and self._cells(shown) > width:
            del shown[-2 if shown[-1][0] == "help" else -1]
        return shown if self._cells(shown) <= width else []

    @staticmethod
    def _cells(entries: Sequence[tuple[str, str, str]]) -> int:
        return 1 + sum(cell_width(key) + cell_width(label) + 4 for _, key, label in entries) - 3

    def spans(self, width: int) -> list[Span]:
        spans: list[Span] = [(" ", "text")]
        for number, (_, key, label) in enumerate(self._fitting(width)):
            spans += [("   ", "text")] if number else []
            spans += [(key, "key"), (f" {label}", "muted")]
        return spans

    def on_click(self, event: events.Click) -> None:
        used = 1
        for command, key, label in self._fitting(self.size.width):
            used += cell_width(key) + 1 + cell_width(label) + 3
            if event.x < used:
                self.post_message(self.Pressed(command))
                return
