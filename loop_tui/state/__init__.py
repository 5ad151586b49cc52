"""What the browser shows, as pure values: no screen, no disk, no clock of its own.

`views` says which rows a view holds and in which order, `projects` how projects are named
and counted, `browse` keeps the cursor, the marks and the order while snapshots come and go.
The command line uses `select` and `counts` as the browser does, so both always agree.
"""

from loop_tui.state.browse import Browse
from loop_tui.state.projects import ProjectLine, display_names, project_lines
from loop_tui.state.views import (
    SORTS,
    VIEW_LABELS,
    VIEWS,
    Sort,
    View,
    counts,
    fold,
    in_view,
    problem_rows,
    select,
)

__all__ = [
    "SORTS",
    "VIEWS",
    "VIEW_LABELS",
    "Browse",
    "ProjectLine",
    "Sort",
    "View",
    "counts",
    "display_names",
    "fold",
    "in_view",
    "problem_rows",
    "project_lines",
    "select",
]
