"""Projects as the left pane lists them: named by folder, grouped by source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from loop_core.model import Project, Source
from loop_tui.state.tally import Tally
from loop_tui.state.views import View

SOURCE_LABELS: dict[Source, str] = {"loop": "Loop", "craft": "Craft Agents"}


class ProjectLine(NamedTuple):
    """One project of the left pane. `parent` is empty unless another has the same name."""

    key: str
    source: Source
    name: str
    parent: str
    sessions: int
    unread: bool


def display_names(projects: Iterable[Project]) -> dict[str, tuple[str, str]]:
    """Name and, where two projects of a source share it, the part of the parent that differs."""
    groups: dict[tuple[Source, str], list[Project]] = {}
    for project in projects:
        groups.setdefault((project.source, project.name), []).append(project)
    names: dict[str, tuple[str, str]] = {}
    for group in groups.values():
        parents = [""] if len(group) == 1 else _tails([project.parent for project in group])
        for project, parent in zip(group, parents, strict=True):
            names[project.key] = (project.name, parent)
    return names


def _tails(parents: list[str]) -> list[str]:
    """The shortest ends of the paths that differ; whole paths when none do."""
    split = [parent.strip("/").split("/") for parent in parents]
    for depth in range(1, max(map(len, split)) + 1):
        tails = ["/".join(parts[-depth:]) for parts in split]
        if len(set(tails)) == len(tails):
            return tails
    return parents


def full_names(projects: Iterable[Project]) -> dict[str, str]:
    """One string a project: `parent/name` where the name alone would be ambiguous."""
    return {
        key: f"{parent}/{name}" if parent else name
        for key, (name, parent) in display_names(projects).items()
    }


def project_lines(
    projects: Sequence[Project],
    tally: Tally,
    view: View = "active",
    *,
    show_hidden: bool = False,
) -> tuple[ProjectLine, ...]:
    """Projects with the number of rows `view` shows for each; Loop first, most rows first.

    A project without a single row outside the trash is left out, except the one place a
    person may look for it: when the view shown is the trash, which lists no other project.
    """
    names = display_names(projects)

    def number(view: View, project: Project) -> int:
        return tally.number(view, project.key, show_hidden=show_hidden)

    lines = [
        ProjectLine(
            project.key,
            project.source,
            *names[project.key],
            number(view, project),
            number("unread", project) > 0,
        )
        for project in projects
        if number(view, project) or (view != "trash" and number("all", project))
    ]
    size = {line.key: tally.number("all", line.key, show_hidden=True) for line in lines}
    lines.sort(
        key=lambda line: (line.source != "loop", -size[line.key], line.name.casefold(), line.key)
    )
    return tuple(lines)
