"""Arguments that several commands share."""

from __future__ import annotations

from argparse import ArgumentParser

SESSION = (
    "a full id, the beginning of one, or a path: meta.json, the session directory, "
    "a version-2 .jsonl, a Craft-Agents session folder or its session.jsonl"
)


def session_argument(parser: ArgumentParser) -> None:
    """Exactly one SESSION."""
    parser.add_argument("session", metavar="SESSION", help=SESSION)


def sessions_argument(parser: ArgumentParser) -> None:
    """One or more SESSIONs, and --json."""
    parser.add_argument("sessions_named", metavar="SESSION", nargs="+", help=SESSION)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
