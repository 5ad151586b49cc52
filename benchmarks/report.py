"""The rows as text: lines for a terminal, tables for docs/BENCHMARKS.md."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def amount(value: float | None) -> str:
    """A number of three digits or so."""
    if value is None:
        return "–"
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(row: Row) -> str:
    """A figure with the least and greatest of its repetitions."""
    text = amount(row["value"])
    if row["repetitions"] > 1:
        text += f" ({amount(row['low'])}–{amount(row['high'])})"
    return text


def goal(row: Row) -> str:
    """What a row should stay below, or above."""
    unit = f" {row['unit']}" if row["unit"] else " ×" if row["floor"] else ""
    return f"{'≤' if row['most'] else '≥'} {amount(row['goal'])}{unit}"


def size_of(row: Row) -> str:
    """The size in words: sessions, or MB and GB."""
    number = row["size"]
    if number is None:
        return "–"
    if row["axis"] == "sessions":
        return f"{number:,}"
    return f"{number // 1024} GB" if number >= 1024 else f"{number} MB"


def verdict(row: Row) -> str:
    """Whether the goal is reached; empty where this size has none."""
    return {True: "yes", False: "NO", None: "" if row["value"] is not None else "not measured"}[
        row["reached"]
    ]


def columns(lines: list[list[str]]) -> str:
    """Lines of cells, each column as wide as its widest."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def table(rows: list[Row]) -> str:
    """Every row, for a terminal."""
    lines = [["work", "size", "measured (min–max)", "goal", "reached", "floor"]]
    for row in rows:
        lines.append(
            [row["work"], size_of(row), spread(row), goal(row), verdict(row), row["floor"]]
        )
    return f"{columns(lines)}\n\n{shortfalls(rows)}"


def peers_table(rows: list[Row]) -> str:
    """The programs beside each other, for a terminal."""
    return columns(_peers(rows))


def _peers(rows: list[Row]) -> list[list[str]]:
    lines = [["program", "start", "sessions", "first row, s", "last row, s", "CPU, s"]]
    for row in rows:
        cells = [spread(row[name]) for name in ("first", "last", "cpu")]
        lines.append([row["program"], row["start"], f"{row['sessions']:,}", *cells])
    return lines


def _markdown(lines: list[list[str]], right: int = 1) -> str:
    head, *rest = ["| " + " | ".join(line) + " |" for line in lines]
    rule = "|" + "|".join(["---"] * right + ["---:"] * (len(lines[0]) - right)) + "|"
    return "\n".join([head, rule, *rest])


def growth_tables(rows: list[Row]) -> str:
    """A table a kind of size, one line a work, one column a size."""
    parts = []
    for axis, title in (
        ("sessions", "By sessions in the store"),
        ("megabytes", "By size of one session"),
        ("", "Of one size"),
    ):
        chosen = [row for row in rows if row["axis"] == axis]
        if not chosen:
            continue
        sizes = sorted({row["column"] for row in chosen if row["column"] is not None})
        heads = [size_of({"size": size, "axis": axis}) for size in sizes] or ["measured"]
        lines = [["work", "against", "goal", *heads]]
        for work in dict.fromkeys(row["work"] for row in chosen):
            mine = [row for row in chosen if row["work"] == work]
            cells = []
            for size in sizes or [None]:
                cells.append(" ".join(_cell(row) for row in mine if row["column"] == size) or "–")
            lines.append([work, mine[0]["floor"] or "–", goal(mine[0]), *cells])
        parts.append(f"### {title}\n\n{_markdown(lines, 3)}")
    return "\n\n".join(parts)


def _cell(row: Row) -> str:
    text = spread(row)
    if row["size"] != row["column"]:
        text += f" at {size_of(row)}"
    return {True: f"{text} ✓", False: f"**{text} ✗**", None: text}[row["reached"]]


def shortfalls(rows: list[Row]) -> str:
    """The rows that miss their goal, and what the remaining cost is."""
    missed = [row for row in rows if row["reached"] is False]
    if not missed:
        return "Every row with a goal reaches it."
    lines = []
    for work in dict.fromkeys(row["work"] for row in missed):
        mine = [row for row in missed if row["work"] == work]
        sizes = "; ".join(
            f"{spread(row)} at {size_of(row)}" if row["axis"] else spread(row) for row in mine
        )
        why = mine[0]["short"]
        why = f" {why[:1].upper()}{why[1:].rstrip('.')}." if why else ""
        lines.append(f"- **{work}**: {sizes}; goal {goal(mine[0])}.{why}")
    return "\n".join(lines)


def peers_markdown(rows: list[Row]) -> str:
    """The programs beside each other, as Markdown."""
    return _markdown(_peers(rows), 2)
