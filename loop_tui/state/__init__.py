"""What the browser shows, as pure values: no screen, no disk, no clock of its own.

`views` says which rows a view holds and in which order, `tally` how many they are, `projects`
how projects are named and listed, `filtering` and `order` which rows a text leaves and where
they stay, `prepared` what a thread can do of that ahead; `browse` keeps all that, the cursor
and the marks while snapshots come and go.
The command line uses `select` as the browser does, so both always agree.
"""

from loop_tui.state.browse import Browse
from loop_tui.state.projects import ProjectLine, display_names, project_lines
from loop_tui.state.tally import Tally
from loop_tui.state.views import (
    SORTS,
    VIEW_LABELS,
    VIEWS,
    Sort,
    View,
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
    "Tally",
    "View",
    "display_names",
    "fold",
    "in_view",
    "problem_rows",
    "project_lines",
    "select",
]
