"""The places the demo conversations play in: invented projects and their vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Place:
    """A project: its folder below `projects/` and the words that fill the bank's «slots»."""

    folder: str
    words: dict[str, str] = field(default_factory=dict)
    exists: bool = True


def _words(*words: str) -> dict[str, str]:
    return dict(zip(("service", "noun", "table", "fn", "file", "test"), words, strict=True))


_PYTEST = "python -m pytest -q"

PLACES: tuple[Place, ...] = (
    Place(
        "tidewater",
        _words("tide-api", "harbour", "harbours", "next_tide", "app/tides.py", _PYTEST),
    ),
    Place(
        "parcel-router",
        _words("router", "parcel", "parcels", "plan_route", "app/backoff.py", _PYTEST),
    ),
    Place(
        "kestrel-ui",
        _words("kestrel", "sighting", "sightings", "groupByDay", "src/lib/days.ts", "npm test"),
    ),
    Place(
        "ledgerline",
        _words("ledger", "entry", "entries", "balance_of", "src/balance.rs", "cargo test -q"),
    ),
    Place(
        "orchard-infra",
        _words("gateway", "cluster", "clusters", "drain_node", "tools/drain.py", _PYTEST),
    ),
    Place(
        "pixel-loom",
        _words("scanner", "scan", "scans", "read_level", "loom/pyramid.py", _PYTEST),
    ),
    Place(
        "clients/api",
        _words("client-api", "customer", "customers", "merge_accounts", "app/merge.py", _PYTEST),
    ),
    Place(
        "platform/api",
        _words("platform-api", "tenant", "tenants", "issue_token", "app/tokens.py", _PYTEST),
    ),
    Place(
        "日報アプリ",
        _words("nippo", "日報", "reports", "find_reports", "src/search.py", _PYTEST),
    ),
    Place(
        "old-prototype",
        _words("prototype", "draft", "drafts", "save_draft", "proto/save.py", _PYTEST),
        exists=False,
    ),
)

#: Which topics are at home where; a topic may be played in several projects.
PROGRAMME: dict[str, tuple[str, ...]] = {
    "tidewater": ("date-bug", "slow-query", "memory-leak", "cli-design", "release-notes"),
    "parcel-router": ("retry-storm", "flaky-test", "parser-bug", "dependency", "rename-module"),
    "kestrel-ui": ("ui-state", "date-bug", "release-notes", "config-review"),
    "ledgerline": ("rust-lifetimes", "parser-bug", "cli-design", "flaky-test"),
    "orchard-infra": ("terraform", "auth-401", "retry-storm", "config-review"),
    "pixel-loom": ("perf-image", "memory-leak", "dependency", "flaky-test"),
    "clients/api": ("slow-query", "auth-401", "parser-bug"),
    "platform/api": ("auth-401", "config-review", "memory-leak"),
    "old-prototype": ("rename-module", "ui-state"),
}
