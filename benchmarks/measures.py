"""What is measured, at which sizes, and what each figure should stay below.

A `Measure` is one call of a module's ``run`` at each size; a `Figure` is one value in what it
returns. The goals are set at the sizes named in `Figure.at`; other sizes show how it grows.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Axis = Literal["sessions", "megabytes", ""]

#: The sizes of a full run: small, middle, large.
SESSIONS = (100, 10_000, 100_000)
MEGABYTES = (1, 100, 1_024)
QUICK_SESSIONS = (100, 2_000)
QUICK_MEGABYTES = (1, 20)
#: The stores that other programs list beside this one.
PEER_SESSIONS = (100, 2_000)

_ALL = (0, 1, 2)
_MIDDLE = (1,)
_LARGE = (1, 2)


class Figure(NamedTuple):
    """One row of the table.

    `key` names the value in the result of ``run``; ``a/b`` is `b` inside `a`. `floor` says what
    a ratio is to (empty: an amount in `unit`). `most` False: a value to stay above. `short` is
    what the remaining cost is, for a row that misses its goal.
    """

    work: str
    key: str
    goal: float
    floor: str = ""
    unit: str = ""
    at: tuple[int, ...] = _ALL
    most: bool = True
    axis: Axis = ""
    short: str = ""


class Measure(NamedTuple):
    """A module of this package, and the arguments of its ``run``.

    `call` may hold ``{sessions}`` and ``{megabytes}``. `cap` limits the sessions; figures along
    that axis are left out where it does. `cap_mb` lowers the size of a session. `times`: runs in
    processes of their own, at each size.
    """

    module: str
    call: str
    figures: tuple[Figure, ...]
    times: tuple[int, ...] = (3, 3, 1)
    cap: int = SESSIONS[-1]
    cap_mb: int = MEGABYTES[-1]

    @property
    def axes(self) -> list[Axis]:
        """What its sizes are of; none where it has but one."""
        axes: tuple[Axis, ...] = ("sessions", "megabytes")
        return [axis for axis in axes if f"{{{axis}}}" in self.call]


def _of(axis: Axis, *figures: Figure) -> tuple[Figure, ...]:
    return tuple(figure._replace(axis=axis) for figure in figures)


_STATS = "stat of every meta.json"
_CODECS = "SHA-256 + typed decode of the lines"

MEASURES = (
    Measure(
        "screen",
        "{sessions}, repeats=3",
        _of(
            "sessions",
            Figure("first rows on screen", "first_rows", 2.5, "an empty Textual app", at=_MIDDLE),
            Figure("first rows, processor time", "first_rows_cpu", 2.5, "the same app", at=_MIDDLE),
            Figure("key held down, a row", "key_ms", 8, unit="ms of CPU"),
            Figure("500 downs settle", "settle_s", 0.5, unit="s"),
            Figure("pages read by 500 downs", "pages_read", 1),
            Figure("filter key, median", "filter_median_ms", 20, unit="ms of CPU", at=_MIDDLE),
            Figure("filter key, worst", "filter_ms", 20, unit="ms of CPU", at=_MIDDLE),
            Figure("event-loop gap while loading", "loading_gap_ms", 50, unit="ms"),
            Figure("event-loop gap while keys are held", "keys_gap_ms", 50, unit="ms"),
            Figure("longest callback while loading", "loading_cpu_ms", 50, unit="ms of CPU"),
            Figure("longest callback while keys are held", "keys_cpu_ms", 50, unit="ms of CPU"),
            Figure("idle with a session open", "idle_percent", 1, unit="% of a processor"),
            Figure("session files opened while idle", "idle_opens", 0),
            Figure("memory of the list, a session", "bytes_a_row", 2_048, unit="bytes", at=(2,)),
        ),
        times=(1, 1, 1),
    ),
    Measure(
        "transcript",
        "",
        (
            Figure("event-loop gap while prepending", "event loop/prepend gap, ms", 50, unit="ms"),
            Figure("prepending gap, median", "event loop/prepend gap, median, ms", 20, unit="ms"),
            Figure(
                "event-loop gap while growing", "event loop/growth at 20 Hz gap, ms", 50, unit="ms"
            ),
        ),
    ),
    Measure(
        "scan",
        "{sessions}",
        _of(
            "sessions",
            Figure(
                "complete scan",
                "scan / (scandir + read + decode)",
                1.5,
                "scandir + read + decode",
                at=_LARGE,
                short="a stat of each messages.jsonl, which the floor has not (0.3: is the "
                "session damaged, does it run), and the row itself (0.4)",
            ),
            Figure(
                "complete scan, beside both files",
                "scan / (the same + stat of messages)",
                1.5,
                "the same + stat of messages.jsonl",
                at=_LARGE,
            ),
            Figure(
                "rescan, one change", "rescan / (stat of every meta.json)", 3, _STATS, at=_LARGE
            ),
            Figure(
                "rescan, told what changed",
                "told rescan / (stat of every meta.json)",
                3,
                _STATS,
                at=_LARGE,
            ),
        ),
    ),
    Measure(
        "page",
        "{megabytes}",
        _of(
            "megabytes",
            Figure(
                "page of three rounds",
                "page with index / (pread + decode)",
                2,
                "pread + decode",
                at=_LARGE,
                short="0.2 ms whatever the size: calls paired, arguments laid out, texts "
                "sanitized; of a large session it is little",
            ),
            Figure(
                "bytes read for a page",
                "bytes read / (metadata + index + page)",
                1,
                "metadata + index + page",
            ),
            Figure(
                "page without an index",
                "page without index / (read + split)",
                3,
                "reading and splitting the file",
                at=_LARGE,
            ),
            Figure("memory added without index", "memory added without index, MB", 64, unit="MB"),
        ),
    ),
    Measure(
        "full_check",
        "{megabytes}",
        _of(
            "megabytes",
            Figure("full check", "ratio", 2, _CODECS, at=_LARGE),
            Figure("full check, short lines", "ratio_small", 2, _CODECS, at=_LARGE),
            Figure("memory added by a full check", "memory_mb", 64, unit="MB"),
        ),
    ),
    Measure(
        "guarded_write",
        "",
        (
            Figure("guarded write", "exchange_ratio", 3, "write + fsync + rename + fsync"),
            Figure("edit of one value", "edit_ratio", 3, "the same"),
        ),
    ),
    Measure(
        "craft",
        "{sessions}, {megabytes}",
        (
            *_of(
                "sessions",
                Figure(
                    "Craft-Agents: complete scan",
                    "list_to_8k_reads",
                    2,
                    "8 KB of each read",
                    at=_LARGE,
                ),
                Figure("Craft-Agents: rescan", "rescan_to_stats", 3, "stat of each", at=_LARGE),
            ),
            *_of(
                "megabytes",
                Figure(
                    "Craft-Agents: page, nothing known",
                    "page_cold_to_split",
                    3,
                    "reading and splitting the file",
                    at=_LARGE,
                ),
                Figure("Craft-Agents: memory of such a page", "page_memory_mb", 64, unit="MB"),
            ),
        ),
        times=(3, 1, 1),
        cap=10_000,
    ),
    Measure(
        "search",
        "{megabytes}",
        _of(
            "megabytes",
            Figure(
                "indexing, speed", "index_speed", 0.4, "the engine alone", most=False, at=_LARGE
            ),
            Figure("size of the index", "index_size", 0.6, "the text", at=_LARGE),
            Figure(
                "indexed search, times faster",
                "query_speed",
                20,
                "searching the files",
                most=False,
                at=(2,),
            ),
        ),
        times=(1, 1, 1),
    ),
    Measure(
        "export",
        "{megabytes}",
        _of(
            "megabytes",
            Figure("memory of an export, worst of six", "memory, MB", 64, unit="MB"),
            Figure(
                "time of an export, worst of six", "ratio", 25, "reading and decoding", at=_LARGE
            ),
        ),
        times=(1, 1, 1),
        cap_mb=256,
    ),
)
