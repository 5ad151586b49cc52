"""Views, order, filter, cursor and marks: pure."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.model import Problem, Project, SessionKey, SessionRow, Snapshot
from loop_tui.state import (
    SORTS,
    VIEWS,
    Browse,
    Tally,
    display_names,
    project_lines,
    select,
)
from loop_tui.state.views import haystack, in_view, ordered

NOW = 1_790_000_000_000


def row(ref: str, **fields: Any) -> SessionRow:
    values: dict[str, Any] = {
        "key": SessionKey("loop", ref),
        "source": "loop",
        "form": "loop3",
        "id": ref,
        "path": f"/{ref}",
        "project": "p0",
        "title": f"title {ref}",
        "updated_ms": 1_000,
    }
    return SessionRow(**(values | fields))


def snap(*rows: SessionRow, generation: int = 1, **fields: Any) -> Snapshot:
    return Snapshot(generation=generation, rows=tuple(ordered(list(rows))), complete=True, **fields)


def opened(*rows: SessionRow) -> Browse:
    browse = Browse()
    browse.apply(snap(*rows), settle=True)
    return browse


rows_strategy = st.lists(
    st.builds(
        row,
        st.integers(0, 40).map(str),
        project=st.sampled_from(["p0", "p1", "p2"]),
        title=st.one_of(st.none(), st.sampled_from(["Älpha", "beta", "GAMMA"])),
        updated_ms=st.integers(0, 5),
        created_ms=st.one_of(st.none(), st.integers(0, 5)),
        unread=st.booleans(),
        pinned_ms=st.one_of(st.none(), st.integers(1, 3)),
        archived=st.booleans(),
        trashed_ms=st.one_of(st.none(), st.integers(1, 3)),
        problem=st.one_of(st.none(), st.just("broken")),
        hidden=st.booleans(),
        size=st.integers(0, 3),
        message_count=st.one_of(st.none(), st.integers(0, 3)),
    ),
    max_size=25,
    unique_by=lambda r: r.key,
)


# --- views


@given(rows_strategy, st.booleans(), st.sampled_from([None, "p0", "p1"]))
def test_counts_agree_with_rows(rows: list[SessionRow], hidden: bool, project: str | None) -> None:
    """The number beside a view is the number of rows it shows (failures rows 122, 125)."""
    problems = (Problem(store="loop", path="/x", reason="no permission"),)
    browse = Browse(show_hidden=hidden)
    browse.apply(snap(*rows, problems=problems), settle=True)
    number = browse.counts(project)
    for view in VIEWS:
        shown = select(rows, view, project=project, show_hidden=hidden, problems=problems)
        assert number[view] == len(shown), view


@given(rows_strategy, rows_strategy, st.data())
def test_a_tally_is_kept_row_by_row(
    rows: list[SessionRow], others: list[SessionRow], data: st.DataObject
) -> None:
    """Whatever came and went, the numbers are those of a fresh count."""
    kept = [row for row in rows if data.draw(st.booleans())]
    tally = Tally([*others, *kept], Tally(rows))
    fresh = Tally([*others, *kept])
    for project in (None, "p0", "p1"):
        for hidden in (False, True):
            counted = fresh.counts(project, show_hidden=hidden)
            assert tally.counts(project, show_hidden=hidden) == counted


@given(rows_strategy, st.sampled_from(SORTS), st.booleans(), st.sampled_from(VIEWS))
def test_pinned_stay_on_top(rows: list[SessionRow], sort: Any, reverse: bool, view: Any) -> None:
    """Whatever the sort and its direction, pinned first (failures row 124)."""
    shown = select(rows, view, sort=sort, reverse=reverse)
    if view == "trash" and sort == "activity":
        return
    pinned = [r.pinned_ms is not None for r in shown]
    assert pinned == sorted(pinned, reverse=True)


def test_the_default_order() -> None:
    """Pinned by pin time, then by activity, then by id (DESIGN "Words", Order)."""
    rows = [
        row("b", updated_ms=5),
        row("a", updated_ms=5),
        row("old", updated_ms=1, pinned_ms=10),
        row("new", updated_ms=9),
        row("top", updated_ms=2, pinned_ms=20),
    ]
    assert [r.id for r in select(rows, "active")] == ["top", "old", "new", "a", "b"]


def test_archiving_an_unread_session_takes_it_from_the_unread_total() -> None:
    """failures row 112: the badge leaves it out, and has it again after the restore."""
    unread = row("a", unread=True)
    archived = msgspec.structs.replace(unread, archived=True)
    assert Tally([unread]).counts()["unread"] == 1
    assert Tally([archived]).counts()["unread"] == 0
    assert archived.unread


def test_a_limit_never_hides_a_project() -> None:
    """failures row 27: the five old sessions of A show although B has fifty newer ones."""
    rows = [row(f"b{n}", project="B", updated_ms=1_000 + n) for n in range(50)]
    rows += [row(f"a{n}", project="A", updated_ms=n) for n in range(5)]
    assert len(select(rows, "active", project="A")) == 5


def test_problems_without_a_session_have_a_row() -> None:
    """Nothing is skipped in silence; a damaged session is not listed twice."""
    damaged = row("a", problem="broken")
    problems = (
        Problem(store="loop", path="/a", reason="broken", key=damaged.key),
        Problem(store="loop", path="/locked", reason="permission denied"),
    )
    shown = select([damaged], "problems", problems=problems)
    assert [(r.id, r.problem) for r in shown] == [("a", "broken"), ("locked", "permission denied")]


def test_empty_sessions_are_active() -> None:
    """failures row 81: listed, and marked by the widget."""
    assert select([row("a", empty=True, message_count=0)], "active")


# --- filter


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cafe", True),
        ("CAFÉ", True),
        ("opus", True),
        ("web cafe", True),
        ("/src/web", True),
        ("id-7", True),
        ("nothing", False),
        ("cafe nothing", False),
        ("  ", True),
    ],
)
def test_filter_looks_at_every_field_without_case_and_accents(text: str, found: bool) -> None:
    """Title, project, folder, model and id; every word has to be there."""
    one = row("id-7", title="Le Café", cwd="/src/web", model="opus-4", project="p")
    assert bool(select([one], "active", text=text, names={"p": "web"})) is found


def test_a_keystroke_of_the_filter_is_cheap_at_ten_thousand_rows() -> None:
    """Only rows whose text changed are folded again; CPU of one keystroke, with slack."""
    browse = opened(*(row(str(n), title=f"Séssion {n}") for n in range(10_000)))
    browse.filter("s")
    began = time.process_time()
    browse.filter("session 77")
    spent = time.process_time() - began
    assert browse.shown
    assert spent < 0.1


def test_the_first_keystroke_finds_everything_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is warmed when the field opens is not done again by the key; a rename undoes it."""
    folded: list[str] = []

    def counting(row: SessionRow, name: str) -> str:
        folded.append(row.id)
        return haystack(row, name)

    monkeypatch.setattr("loop_tui.state.filtering.haystack", counting)
    rows = [row(str(n), title=f"Séssion {n}") for n in range(20)]
    browse = opened(*rows)
    browse.warm()
    folded.clear()
    browse.filter("session 7")
    assert [r.id for r in browse.shown] == ["17", "7"]
    assert folded == []
    project = Project(key="p0", source="loop", store="s", name="kettle")
    browse.apply(snap(*rows, generation=2, projects=(project,)), settle=True)
    browse.filter("kettle")
    assert len(browse.shown) == 20


# --- projects


def test_projects_of_one_name_show_their_parents() -> None:
    """failures row 71: both listed, told apart."""
    projects = [
        Project(key="1", source="loop", store="s", name="api", parent="work"),
        Project(key="2", source="loop", store="s", name="api", parent="play"),
        Project(key="3", source="loop", store="s", name="web", parent="work"),
    ]
    names = display_names(projects)
    assert names == {"1": ("api", "work"), "2": ("api", "play"), "3": ("web", "")}
    deep = [
        Project(key=p, source="loop", store="s", name="api", parent=p)
        for p in ("/home/me/one/src", "/home/me/two/src", "/home/me/two/lib")
    ]
    assert [parent for _, parent in display_names(deep).values()] == [
        "one/src",
        "two/src",
        "two/lib",
    ]
    rows = [row(k, project=k) for k in "123"]
    lines = project_lines(projects, Tally(rows))
    assert {line.key: line.sessions for line in lines} == {"1": 1, "2": 1, "3": 1}


def test_each_project_is_listed_once_with_its_count() -> None:
    """failures row 68: a project whose sessions come in several runs is one line."""
    projects = [
        Project(key=k, source="craft" if k == "c" else "loop", store="s", name=k) for k in "cab"
    ]
    rows = [row(f"{k}{n}", project=k, updated_ms=n) for n, k in enumerate("abcabca")]
    lines = project_lines(projects, Tally(rows))
    assert [(line.key, line.sessions) for line in lines] == [("a", 3), ("b", 2), ("c", 2)]
    assert [line.source for line in lines] == ["loop", "loop", "craft"]


# --- cursor and order


def test_the_cursor_is_on_a_session() -> None:
    """Rows inserted above and reordered do not move the cursor (failures rows 55, 63)."""
    browse = opened(row("a", updated_ms=3), row("b", updated_ms=2), row("c", updated_ms=1))
    browse.move_to(1)
    browse.apply(
        snap(
            row("new", updated_ms=9),
            row("a", updated_ms=3),
            row("c", updated_ms=8),
            row("b", updated_ms=2),
            generation=2,
        ),
        settle=True,
    )
    assert browse.cursor == SessionKey("loop", "b")
    assert [r.id for r in browse.shown] == ["new", "c", "a", "b"]


def test_rows_keep_their_places_while_somebody_is_at_the_keys() -> None:
    """failures row 63: updates show at once, the order changes when idle or asked."""
    browse = opened(row("a", updated_ms=3), row("b", updated_ms=2), row("c", updated_ms=1))
    browse.apply(
        snap(
            row("c", updated_ms=9, title="busy"),
            row("n", updated_ms=5),
            row("a", updated_ms=3),
            row("b", updated_ms=2),
            generation=2,
        ),
        settle=False,
    )
    assert [r.id for r in browse.shown] == ["a", "b", "c", "n"]
    assert browse.shown[2].title == "busy"
    assert browse.pending
    browse.settle()
    assert [r.id for r in browse.shown] == ["c", "n", "a", "b"]
    assert not browse.pending


@given(rows_strategy, rows_strategy, st.integers(0, 24))
def test_a_busy_list_never_swaps_rows(
    before: list[SessionRow], after: list[SessionRow], at: int
) -> None:
    """Rows that were shown and stay keep their relative order; the set is the new one."""
    browse = opened(*before)
    browse.move_to(at)
    cursor = browse.cursor
    old = [r.key for r in browse.shown]
    browse.apply(snap(*after, generation=2), settle=False)
    fresh = {r.key for r in select(after, "active")}
    assert {r.key for r in browse.shown} == fresh
    kept = [r.key for r in browse.shown if r.key in old]
    assert kept == [k for k in old if k in fresh]
    if cursor in fresh:
        assert browse.cursor == cursor
    assert (browse.cursor in fresh) if fresh else browse.cursor is None


def test_an_older_snapshot_is_ignored() -> None:
    """failures row 54: a late refresh cannot bring an unread mark back."""
    browse = opened(row("a", unread=True))
    browse.apply(snap(row("a"), generation=5), settle=True)
    browse.apply(snap(row("a", unread=True), generation=4), settle=True)
    assert not browse.shown[0].unread


def test_the_cursor_goes_to_the_next_row_when_its_own_leaves() -> None:
    browse = opened(row("a", updated_ms=3), row("b", updated_ms=2), row("c", updated_ms=1))
    browse.move_to(1)
    browse.apply(
        snap(row("a", updated_ms=3), row("b", archived=True), row("c"), generation=2), settle=False
    )
    assert browse.cursor == SessionKey("loop", "c")
    browse.apply(snap(row("a", updated_ms=3), generation=3), settle=False)
    assert browse.cursor == SessionKey("loop", "a")


def test_marks_go_with_their_sessions_only() -> None:
    """An incomplete scan takes no mark away; a session that is gone does."""
    browse = opened(row("a"), row("b"))
    marks = browse.marks
    assert browse.mark_all() == 2
    browse.apply(Snapshot(generation=2, rows=(row("a"),)), settle=True)
    assert len(marks) == 2
    browse.apply(snap(row("a"), generation=3), settle=True)
    assert marks is browse.marks
    assert marks == {SessionKey("loop", "a")}
    assert browse.mark_all() == 0


def test_targets_are_the_marks_else_the_cursor() -> None:
    browse = opened(row("a", updated_ms=3), row("b", updated_ms=2), row("c", updated_ms=1))
    assert [r.id for r in browse.targets()] == ["a"]
    a, _, c = (r.key for r in browse.shown)
    browse.range_start, browse.cursor = c, a
    assert browse.span == range(3)
    assert browse.mark_span() == 3
    browse.toggle_mark(c)
    assert [r.id for r in browse.targets()] == ["a", "b"]
    browse.filter("title b")
    assert [r.id for r in browse.targets()] == ["b", "a"]


# --- unread


def test_rows_read_in_the_unread_view_stay_until_it_is_left() -> None:
    """keys.md: dimmed, not gone; archived ones leave at once."""
    browse = opened(row("a", unread=True), row("b", unread=True))
    browse.choose_view("unread")
    browse.apply(snap(row("a"), row("b", unread=True), generation=2), settle=True)
    assert [r.id for r in browse.shown] == ["a", "b"]
    browse.apply(snap(row("a", archived=True), row("b"), generation=3), settle=True)
    assert [r.id for r in browse.shown] == ["b"]
    browse.choose_view("active")
    browse.choose_view("unread")
    assert not browse.shown


def test_next_unread_goes_through_the_list_then_the_other_projects() -> None:
    """In list order from the cursor, running ones skipped, other projects after that."""
    browse = opened(
        row("a", updated_ms=9, unread=True),
        row("b", updated_ms=8),
        row("busy", updated_ms=7, unread=True, changed_ms=NOW - 1_000),
        row("c", updated_ms=6, unread=True),
        row("other", updated_ms=5, unread=True, project="p1"),
    )
    browse.choose_project("p0")
    seen = []
    for _ in range(4):
        key = browse.next_unread(NOW)
        assert key is not None
        seen.append(key.ref)
        assert browse.reveal(key)
    assert seen == ["c", "other", "a", "c"]
    back = browse.next_unread(NOW, backwards=True)
    assert back is not None
    assert back.ref == "a"
    assert opened(row("x")).next_unread(NOW) is None


@given(rows_strategy, st.sampled_from(VIEWS), st.sampled_from(["", "beta", "zzz"]))
def test_reveal_always_finds_a_way(rows: list[SessionRow], view: Any, text: str) -> None:
    """failures row 106: what an undo restored is in the list and under the cursor."""
    browse = opened(*rows)
    for one in rows:
        browse.choose_view(view)
        browse.filter(text)
        browse.choose_project("p1")
        assert browse.reveal(one.key)
        assert browse.row is not None
        assert browse.row.key == one.key


def test_views_and_projects_of_the_left_pane() -> None:
    """Choosing a project shows the view chosen last for good, not one passed on the way."""
    browse = opened(row("a", unread=True), row("b", project="p1"))
    browse.choose_view("trash", keep_project=False)
    browse.choose_project("p1")
    assert (browse.view, [r.id for r in browse.shown]) == ("active", ["b"])
    browse.step_view(1)
    assert (browse.view, browse.shown) == ("unread", ())
    browse.choose_project("p0")
    assert [r.id for r in browse.shown] == ["a"]
    assert in_view(browse.shown[0], "unread")


@given(rows_strategy, rows_strategy, st.sampled_from(VIEWS), st.sampled_from(SORTS), st.booleans())
def test_what_a_thread_prepared_is_what_would_be_done(
    rows: list[SessionRow], later: list[SessionRow], view: Any, sort: Any, moved_on: bool
) -> None:
    """Prepared or not, and whatever is chosen between, the list is the same."""
    ahead, plain = Browse(), Browse()
    for browse in (ahead, plain):
        browse.apply(snap(*rows), settle=True)
        browse.choose_view(view)
        browse.sort_by(sort)
    second = snap(*later, generation=2)
    ahead.prepare(second)
    for browse in (ahead, plain):
        if moved_on:
            browse.step_view(1)
        browse.apply(second, settle=True)
    assert ahead.shown == plain.shown
    assert [ahead.index_of(r.key) for r in ahead.shown] == list(range(len(ahead.shown)))
    assert ahead.counts() == plain.counts()
    assert ahead.running(1) == plain.running(1)
    assert (ahead.cursor, ahead.rows) == (plain.cursor, plain.rows)
