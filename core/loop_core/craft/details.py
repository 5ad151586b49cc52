"""What a session's header tells beyond its row: one line each, for the details view."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from loop_core import jsonvalue
from loop_core.craft.header import HEADER_LIMIT, parse_header, permission_mode, truthy
from loop_core.craft.opening import open_session
from loop_core.craft.rounds import header_span
from loop_core.craft.rows import milliseconds
from loop_core.craft.running import Owner
from loop_core.craft.sessions import plan_count
from loop_core.craft.statuses import load_labels, load_statuses, split_label
from loop_core.craft.tokens import expand_home
from loop_core.craft.workspaces import Workspace
from loop_core.model import Detail, Page
from loop_core.sanitize import safe_line

__all__ = ["details_of", "header_of"]

_USAGE = (
    ("inputTokens", "in"),
    ("outputTokens", "out"),
    ("contextTokens", "context"),
    ("cacheReadTokens", "cache read"),
    ("cacheCreationTokens", "cache written"),
)

_DAMAGE_SHOWN = 5


def header_of(folder: str) -> Any:
    """The header as stored; None when it is not JSON. Raises SessionNotFound, StorageFailed."""
    fd, _ = open_session(folder)
    try:
        line = header_span(fd, os.fstat(fd).st_size)[0]
    finally:
        os.close(fd)
    try:
        return jsonvalue.loads(line.removeprefix(jsonvalue.BOM))
    except jsonvalue.JsonSyntaxError:
        return None


def details_of(
    folder: str, workspace: Workspace, owner: Owner | None, queued: bool, page: Page | str
) -> tuple[Detail, ...]:
    """The details of the session in `folder`; `page` is one of its history, or why
    there is none.

    Raises SessionNotFound, StorageFailed.
    """
    fd, path = open_session(folder)
    try:
        status = os.fstat(fd)
        line = header_span(fd, status.st_size)[0]
    finally:
        os.close(fd)
    try:
        value = parse_header(line, folder)
    except jsonvalue.JsonSyntaxError as error:
        value = None
        lines = [("header", f"cannot be read: {error}")]
    else:
        lines = [("header", f"{len(line)} of {HEADER_LIMIT} bytes")]
    header = value if isinstance(value, dict) else {}
    known = _about(header, folder, workspace)
    known += _history(page) + _origin(header) + _paths(header, path) + lines
    known.append(("file", f"{status.st_size} bytes"))
    if queued:
        known.append(("queued", "a message waits to be sent"))
    known.append(("application", owner.reason if owner is not None else "not running"))
    return tuple(Detail(label, safe_line(text, 2000)) for label, text in known if text)


def _history(page: Page | str) -> list[tuple[str, str]]:
    """What is really in the file, whatever the header counts."""
    if isinstance(page, str):
        return [("history", f"cannot be read: {page}")]
    damage = [
        one.reason if one.line is None else f"line {one.line}: {one.reason}"
        for one in page.damage[:_DAMAGE_SHOWN]
    ]
    if more := len(page.damage) - len(damage):
        damage.append(f"and {more:,} more")
    return [("rounds", f"{page.total_rounds:,}"), ("damage", "; ".join(damage))]


def _about(header: dict[str, Any], folder: str, workspace: Workspace) -> list[tuple[str, str]]:
    stored = header.get("id")
    name = os.path.basename(folder)
    plans = plan_count(folder)
    return [
        ("id", name),
        ("id in the header", _text(stored) if stored != name else ""),
        ("workspace", workspace.name),
        ("status", _status(header, workspace.root)),
        ("labels", _labels(header, workspace.root)),
        ("created", _when(header.get("createdAt"))),
        ("last message", _when(header.get("lastMessageAt"))),
        ("last saved", _when(header.get("lastUsedAt"))),
        ("archived", _when(header.get("archivedAt")) if header.get("isArchived") is True else ""),
        ("model", _text(header.get("model"))),
        ("connection", _text(header.get("llmConnection"))),
        ("thinking", _text(header.get("thinkingLevel"))),
        ("permission", permission_mode(header.get("permissionMode")) or ""),
        ("sources", _joined(header.get("enabledSourceSlugs"))),
        ("tokens", _usage(header.get("tokenUsage"))),
        ("messages", _text(header.get("messageCount"))),
        ("plans", str(plans) if plans else ""),
        ("plan waiting", _plan(header.get("pendingPlanExecution"))),
        ("hidden", "a helper session" if truthy(header.get("hidden")) else ""),
    ]


def _status(header: dict[str, Any], root: str) -> str:
    value = header.get("sessionStatus")
    if value is None:
        value = header.get("todoState")
    if value is None:
        return "todo (none stored)"
    label = next((s.label for s in load_statuses(root) if s.id == value), None)
    text = _text(value)
    if label is None:
        return f"{text} (not in this workspace; shown as todo)"
    return text if label == text else f"{label} ({text})"


def _labels(header: dict[str, Any], root: str) -> str:
    stored = header.get("labels")
    entries = [e for e in stored if isinstance(e, str)] if isinstance(stored, list) else []
    if not entries:
        return ""
    names = load_labels(root)
    shown: list[str] = []
    for entry in entries:
        label = split_label(entry)
        name = names.get(label.id, f"{label.id} (unknown)")
        shown.append(name if label.value is None else f"{name}: {label.value}")
    return ", ".join(shown)


def _origin(header: dict[str, Any]) -> list[tuple[str, str]]:
    """Branch, transfer, automation, sharing."""
    branch = _text(header.get("branchFromMessageId"))
    parent = os.path.basename(_text(header.get("branchFromSessionPath")).rstrip("/"))
    by = header.get("triggeredBy")
    automation = ""
    if isinstance(by, dict):
        parts = (
            _text(by.get("automationName")),
            _text(by.get("event")),
            _when(by.get("timestamp")),
        )
        automation = ", ".join(part for part in parts if part)
    shared = _text(header.get("sharedUrl")) or _text(header.get("sharedId"))
    return [
        ("branch of", f"{parent or 'another session'}, at {branch}" if branch or parent else ""),
        ("automation", automation),
        ("shared", f"{shared} (a public copy)" if shared else ""),
        ("transferred", _text(header.get("transferredSessionSummary"))[:300]),
    ]


def _paths(header: dict[str, Any], path: str) -> list[tuple[str, str]]:
    found = [("path", path)]
    for key, label in (("workingDirectory", "working directory"), ("sdkCwd", "engine directory")):
        value = header.get(key)
        if isinstance(value, str) and value:
            found.append((label, expand_home(value)))
    return found


def _usage(usage: Any) -> str:
    if not isinstance(usage, dict):
        return ""
    parts = [
        f"{int(usage[key]):,} {name}"
        for key, name in _USAGE
        if jsonvalue.is_finite(usage.get(key)) and usage[key]
    ]
    cost = usage.get("costUsd")
    if jsonvalue.is_finite(cost) and cost:
        parts.append(f"${cost:.4f}")
    return ", ".join(parts)


def _plan(plan: Any) -> str:
    path = plan.get("planPath") if isinstance(plan, dict) else None
    return os.path.basename(path) if isinstance(path, str) else ""


def _joined(value: Any) -> str:
    return ", ".join(v for v in value if isinstance(v, str)) if isinstance(value, list) else ""


def _text(value: Any) -> str:
    if value is None or isinstance(value, (dict, list)):
        return ""
    return value if isinstance(value, str) else jsonvalue.dumps(value).decode("utf-8", "replace")


def _when(value: Any) -> str:
    stamp = milliseconds(value)
    if not stamp:
        return ""
    try:
        moment = datetime.fromtimestamp(stamp / 1000, UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.strftime("%Y-%m-%d %H:%M")
