"""Sessions moved away and back (DESIGN "Words", *Trash*)."""

from __future__ import annotations

from loop_core.trash_manifest import (
    Listing,
    Part,
    TrashEntry,
    entries_in,
    entry_at,
    new_entry_id,
    read_entries,
)

__all__ = [
    "Listing",
    "Part",
    "TrashEntry",
    "entries_in",
    "entry_at",
    "new_entry_id",
    "read_entries",
]
