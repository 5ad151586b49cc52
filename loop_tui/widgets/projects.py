"""The left pane: the views with their counts, then the projects, grouped by source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical

from loop_core.model import Source
from loop_tui import text
from loop_tui.keys import bindings_of
from loop_tui.state.projects import SOURCE_LABELS, ProjectLine
from loop_tui.state.views import VIEW_LABELS, VIEWS, View
from loop_tui.text import Glyphs, cell_width, clip, human_count
from loop_tui.widgets.line_list import LineList, Span


class PlaceLine(NamedTuple):
    """One line of the pane: a view, a project, a heading, or a blank."""

    view: View | None = None
    project: str | None = None
    name: str = ""
    parent: str = ""
    number: int = 0
    unread: bool = False
    heading: bool = False

    @property
    def selectable(self) -> bool:
        return self.view is not None or self.project is not None


def place_lines(
    counts: Mapping[View, int], projects: Sequence[ProjectLine]
) -> tuple[PlaceLine, ...]:
    """Views, then a heading and the projects of every source."""
    lines = [PlaceLine(view=view, name=VIEW_LABELS[view], number=counts[view]) for view in VIEWS]
    source: Source | None = None
    for line in projects:
        if line.source != source:
            source = line.source
            lines += [PlaceLine(), PlaceLine(name=SOURCE_LABELS[source].upper(), heading=True)]
        lines.append(
            PlaceLine(
                project=line.key,
                name=line.name,
                parent=line.parent,
                number=line.sessions,
                unread=line.unread,
            )
        )
    return tuple(lines)


def view_glyph(view: View, glyphs: Glyphs) -> Span:
    """The sign of a view, that of the rows it holds."""
    found: dict[View, Span] = {
        "active": (glyphs.watching, "text"),
        "unread": (glyphs.unread, "unread"),
        "pinned": (glyphs.pinned, "pinned"),
        "archived": (glyphs.archived, "archived"),
        "trash": (glyphs.trash, "muted"),
        "problems": (glyphs.damaged, "damaged"),
    }
    return found.get(view, (" ", "text"))


class ProjectList(LineList[PlaceLine]):
    """Views and projects, one line each; headings take no cursor."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(id="project-list", ascii_only=ascii_only)
        self.glyphs = text.glyphs(ascii_only)
        self.view: View = "active"
        self.project: str | None = None

    def selectable(self, index: int) -> bool:
        return self.items[index].selectable

    def spans(self, index: int, line: int, width: int) -> list[Span]:  # noqa: ARG002 - one line
        place = self.items[index]
        if not place.selectable:
            shown = clip(f" {place.name}" if place.heading else "", width, self.glyphs.ellipsis)
            return [(shown, "muted bold"), (" " * (width - cell_width(shown)), "text")]
        here = index == self.cursor and self.has_focus
        sign: Span = (" ", "text")
        if place.view is not None:
            sign = view_glyph(place.view, self.glyphs)
            chosen = place.view == self.view
        else:
            chosen = place.project == self.project
            if place.unread:
                sign = (self.glyphs.unread, "unread")
        number = human_count(place.number)
        number_role = "damaged" if place.view == "problems" and place.number else "muted"
        head: list[Span] = [(self.glyphs.cursor if here else " ", "bar"), sign, (" ", "text")]
        room = max(0, width - 5 - cell_width(number))
        name = clip(place.name, room, self.glyphs.ellipsis)
        room -= cell_width(name)
        parent = ""
        if place.parent and room > 3:
            parent = f" {clip(place.parent, room - 1, self.glyphs.ellipsis)}"
        room -= cell_width(parent)
        return [
            *head,
            (name, "title" if chosen else "text"),
            (parent, "faint"),
            (" " * (room + 1), "text"),
            (number, number_role),
            (" ", "text"),
        ]


class ProjectsPane(Vertical):
    """The left pane; the keys of the projects scope are bound here."""

    BINDINGS = bindings_of("projects", "list")

    def __init__(self, listing: ProjectList) -> None:
        super().__init__(id="projects", classes="pane")
        self.listing = listing

    def compose(self) -> ComposeResult:
        yield self.listing
