"""Changes from outside: coalesced, in place, nothing moves under the cursor."""

from __future__ import annotations

import time
from typing import Any

import msgspec

NOW = 1_790_000_000_000


def settled_keys(d: Any) -> None:
    d.screen.keyboard.touch()


async def until(d: Any, ready: Any) -> None:
    for _ in range(150):
        if ready():
            return
        await d.pilot.pause(0.02)
    raise AssertionError("nothing came")


async def test_a_change_shows_while_the_order_waits(
    make_app: Any, service: Any, session: Any, drive: Any
) -> None:
    """failures row 63: at the keys rows keep their places; idle or `R` puts them in order."""
    async with drive(make_app(watch=True)) as d:
        await d.press("j", "j")
        before, cursor = d.shown, d.cursor
        service.outside(session(11, updated_ms=NOW + 10, title="busy", changed_ms=NOW))
        await until(d, lambda: any(r.title == "busy" for r in d.screen.browse.shown))
        assert d.shown == before
        assert d.cursor == cursor
        assert d.screen.browse.pending
        await d.press("R")
        await d.settle()
        assert d.shown[1] == "s011"
        assert d.cursor == cursor


async def test_rows_settle_when_nobody_is_at_the_keys(
    make_app: Any, service: Any, session: Any, drive: Any, monkeypatch: Any
) -> None:
    from loop_tui.screens import news

    monkeypatch.setattr(news, "IDLE_S", 0.2)
    async with drive(make_app(watch=True)) as d:
        await d.press("j")
        service.outside(session(11, updated_ms=NOW + 10))
        await until(d, lambda: d.shown[1] == "s011")
        assert not d.screen.browse.pending


async def test_new_rows_show_at_once_and_the_cursor_stays(
    make_app: Any, service: Any, session: Any, drive: Any
) -> None:
    async with drive(make_app(watch=True)) as d:
        await d.press("j", "j", "j")
        cursor = d.cursor
        began = time.monotonic()
        service.outside(session(70, updated_ms=NOW + 10))
        await until(d, lambda: "s070" in d.shown)
        assert time.monotonic() - began < 2
        assert d.cursor == cursor
        listing = d.screen.session_list
        assert listing.items[listing.cursor].key.ref == cursor


async def test_a_row_that_goes_hands_the_cursor_on(make_app: Any, service: Any, drive: Any) -> None:
    """What an incomplete scan lacks is not gone; that is the library's promise (row 55).
    A session that is gone hands the cursor to the next row."""
    async with drive(make_app(watch=True)) as d:
        await d.press("j")
        following = d.shown[2]
        service.outside(gone=[d.screen.browse.cursor])
        await until(d, lambda: len(d.shown) == 9)
        assert d.cursor == following


async def test_an_unread_mark_is_not_brought_back_by_a_late_refresh(
    make_app: Any, service: Any, drive: Any
) -> None:
    """failures row 54."""
    async with drive(make_app(watch=True)) as d:
        old = service.snapshot
        await d.press("j", "j", "u")
        await d.acted()
        d.screen.news.apply(msgspec.structs.replace(old, generation=0))
        assert not d.screen.browse.row.unread


async def test_the_open_history_follows(
    make_app: Any, service: Any, session: Any, reader: Any, round_of: Any, drive: Any
) -> None:
    """A change of the shown session is read; of another it is not (failures rows 16, 138)."""
    async with drive(make_app(watch=True)) as d:
        await d.pilot.pause(0.3)
        reader.pages.clear()
        service.outside(session(8, updated_ms=NOW + 1))
        await until(d, lambda: d.screen.browse.snapshot.generation > 1)
        await d.pilot.pause(0.2)
        assert reader.pages == []
        key = d.screen.browse.cursor
        reader.of(key).append(round_of(12))
        service.outside(session(2, pinned_ms=NOW - 86_400_000, message_count=99))
        await until(d, lambda: reader.pages)
        assert {asked for asked, _ in reader.pages} == {key}


async def test_the_status_says_how_it_is_watched(make_app: Any, service: Any, drive: Any) -> None:
    """failures rows 147, 149: native, polling with the reason, or off."""
    async with drive(make_app(watch=True)) as d:
        await until(d, lambda: "watching · native" in d.text())
        service.changes.put(_changes("polling"))
        await until(d, lambda: "polling" in d.text())
        assert "no inotify here" in d.toast
    async with drive(make_app()) as d:
        assert "not watching" in d.text()


def _changes(mode: str) -> Any:
    from types import SimpleNamespace

    return SimpleNamespace(paths=frozenset(), everything=False, mode=mode, note="no inotify here")


async def test_a_watcher_that_fails_is_said(make_app: Any, service: Any, drive: Any) -> None:
    def broken(stop: Any) -> Any:
        raise OSError(28, "No space left on device")

    service.watch = broken
    async with drive(make_app(watch=True)) as d:
        await until(d, lambda: "not watching" in d.text())
        assert "No space left" in d.toast


async def test_our_own_echo_does_nothing(make_app: Any, service: Any, drive: Any) -> None:
    """An equal generation posts no snapshot."""
    async with drive(make_app(watch=True)) as d:
        await d.press("p", "p")
        await d.acted()
        applied: list[int] = []
        apply = d.screen.news.apply

        def noted(snapshot: Any) -> None:
            applied.append(snapshot.generation)
            apply(snapshot)

        d.screen.news.apply = noted
        service.refresh = lambda paths: service.snapshot
        service.changes.put(_echo())
        await d.pilot.pause(0.3)
        assert applied == []


def _echo() -> Any:
    from types import SimpleNamespace

    return SimpleNamespace(paths=frozenset(("/x",)), everything=False, mode="native", note=None)


async def test_a_stream_of_changes_leaves_the_list_alone(
    make_app: Any, service: Any, session: Any, drive: Any
) -> None:
    """Busy sessions at 20 Hz: the cursor's line of the screen does not move."""
    for n in range(20, 60):
        row = session(n)
        service.rows[row.key] = row
    async with drive(make_app(watch=True), (120, 24)) as d:
        await d.press(*["j"] * 15)
        listing = d.screen.session_list
        line = listing.cursor * 2 - listing.scroll_offset.y
        for n in range(20):
            settled_keys(d)
            service.outside(session(20 + n, updated_ms=NOW + n, changed_ms=NOW))
            await d.pilot.pause(0.02)
        await d.pilot.pause(0.1)
        assert d.cursor == listing.items[listing.cursor].key.ref
        assert listing.cursor * 2 - listing.scroll_offset.y == line
