"""Orders of rows: what stays where when rows come and go, and the next landmark. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from loop_core.model import SessionKey, SessionRow

__all__ = ["around", "heir", "merged"]


def merged(fresh: Sequence[SessionRow], shown: Sequence[SessionRow]) -> tuple[SessionRow, ...]:
    """`fresh` with the rows that were shown already in their former order.

    A new row goes behind the row it follows in `fresh`, the top of the list otherwise.
    """
    by_key = {row.key: row for row in fresh}
    kept = [by_key.pop(row.key) for row in shown if row.key in by_key]
    if not by_key:
        return tuple(kept)
    followers: dict[SessionKey | None, list[SessionRow]] = {}
    anchor: SessionKey | None = None
    for row in fresh:
        if row.key in by_key:
            followers.setdefault(anchor, []).append(row)
        else:
            anchor = row.key
    rows = list(followers.get(None, ()))
    for row in kept:
        rows.append(row)
        rows.extend(followers.get(row.key, ()))
    return tuple(rows)


def heir(shown: Sequence[SessionRow], at: int, left: Container[SessionKey]) -> SessionKey | None:
    """Who has the cursor after row `at` of `shown` went: the next row of those `left`, else
    the one before; None when all are gone."""
    if at < 0:
        return None
    for row in shown[at + 1 :]:
        if row.key in left:
            return row.key
    for row in reversed(shown[:at]):
        if row.key in left:
            return row.key
    return None


def around(
    shown: Sequence[SessionRow],
    at: int,
    others: Iterable[SessionRow],
    wanted: Callable[[SessionRow], bool],
    *,
    backwards: bool = False,
) -> SessionKey | None:
    """The next row that is `wanted`: from row `at` of `shown` on, then among `others`, then
    from the other end of `shown`. The row at the start itself is none; `at` -1: no start."""
    rest = list(others)
    if backwards:
        after = shown[:at][::-1] if at >= 0 else shown[::-1]
        before = shown[at:][::-1]
        rest.reverse()
    else:
        after, before = shown[at + 1 :], shown[: at + 1]
    here = shown[at].key if at >= 0 else None

    def candidates() -> Iterator[SessionRow]:
        yield from after
        yield from rest
        yield from before

    return next((row.key for row in candidates() if row.key != here and wanted(row)), None)
