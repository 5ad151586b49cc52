"""The Craft-Agents side of the demo: a configuration directory with one workspace."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from time import localtime, strftime
from typing import Any

from loop_core import fsio
from loop_core.jsonvalue import dumps
from loop_tui.demo.craft_talk import CraftTalk
from loop_tui.demo.projects import PLACES
from loop_tui.demo.script import Part, fill_title, read_bank

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_SEED = "atelier"
_ADJECTIVES = ("calm", "bright", "mossy", "swift", "amber", "quiet", "lunar", "brisk")
_NOUNS = ("harbor", "meadow", "cedar", "comet", "quarry", "heron", "delta", "lantern")


@dataclass
class CraftPlan:
    """One session before it is played; `more` adds what the bank has no mark for."""

    topic: str
    place: str
    age_ms: int
    header: dict[str, Any] = field(default_factory=dict)
    more: Callable[[CraftTalk], None] | None = None
    name: str | None = None  # None: one of the topic's titles; "": no name, the preview counts
    damage: bool = False


def _plan_step(talk: CraftTalk) -> None:
    talk.add("user", "Before you start: show me a plan.")
    talk.add(
        "plan",
        "# Split the importer\n\n1. Move parsing, keep the old name as an alias\n"
        "2. Replay the archive, compare\n3. Remove the alias\n\nStops after each step.",
        planPath="{{SESSION_PATH}}/plans/split-the-importer.md",
    )


def _helpers(talk: CraftTalk) -> None:
    talk.add("user", "Look at all three services at once.")
    for service in ("router", "gateway", "scanner"):
        task = talk.call(
            Part("tool", f"Task description=Survey {service}", "Nothing unusual; 2 notes."),
        )
        for tool in (f"read path={service}/main.py", "bash command=git log -3 --oneline"):
            talk.call(Part("tool", tool, "(as expected)"), parentToolUseId=task)
    talk.add("assistant", "All three look fine. Two notes on naming, none urgent.")


def _sign_in(talk: CraftTalk) -> None:
    talk.add("user", "Connect the tracker, please.")
    talk.add(
        "auth-request",
        "The tracker needs a sign-in.",
        authRequestId=f"auth-{talk.rng.getrandbits(32):08x}",
        authRequestType="oauth",
        authSourceSlug="tracker",
        authSourceName="Tracker",
        authStatus="completed",
    )
    talk.add("assistant", "Connected. I can see 412 open issues.")


def _overloaded(talk: CraftTalk) -> None:
    talk.add("user", "And the last quarter?")
    talk.add(
        "error",
        "The model service is overloaded.",
        errorCode="overloaded",
        errorTitle="Service overloaded",
        errorDetails=["The request was tried three times."],
        errorCanRetry=True,
    )


def _compacted(talk: CraftTalk) -> None:
    talk.add("info", "Compacted the conversation", statusType="compaction_complete")
    talk.add("user", "Where were we?")
    talk.add("assistant", "At step 2: replaying the archive. 1,187 of 1,204 files agree.")


def _interrupted(talk: CraftTalk) -> None:
    talk.add("user", "List every caller.")
    talk.add("assistant", "There are", isIntermediate=True)
    talk.add("info", "Response interrupted")


PLANS: tuple[CraftPlan, ...] = (
    CraftPlan(
        "parser-bug",
        "tidewater",
        12 * _MINUTE,
        {"hasUnread": True, "sessionStatus": "needs-review"},
    ),
    CraftPlan(
        "config-review",
        "orchard-infra",
        3 * _HOUR,
        {"isFlagged": True, "sessionStatus": "in-progress", "labels": ["review", "priority::2"]},
        _plan_step,
    ),
    CraftPlan("memory-leak", "pixel-loom", 7 * _HOUR, {"hasUnread": True}, _helpers),
    CraftPlan("cli-design", "ledgerline", 20 * _HOUR, {"labels": ["design"]}, _sign_in),
    CraftPlan("slow-query", "clients/api", 26 * _HOUR, {"hasUnread": True}, _overloaded),
    CraftPlan("rename-module", "parcel-router", 2 * _DAY, {"sessionStatus": "done"}, _compacted),
    CraftPlan("perf-image", "pixel-loom", 3 * _DAY, {"permissionMode": "ask"}, name=""),
    CraftPlan("auth-401", "platform/api", 5 * _DAY, {"sessionStatus": "done"}, _interrupted),
    CraftPlan(
        "release-notes",
        "kestrel-ui",
        9 * _DAY,
        {"sharedUrl": "https://viewer.invalid/s/4c1e9ab", "sharedId": "4c1e9ab"},
    ),
    CraftPlan("dependency", "parcel-router", 12 * _DAY, {"isArchived": True}),
    CraftPlan("ui-state", "kestrel-ui", 16 * _DAY, {"isArchived": True, "sessionStatus": "done"}),
    CraftPlan("flaky-test", "ledgerline", 2 * _DAY, {"hidden": True}, name="Title helper"),
    CraftPlan("date-bug", "tidewater", 6 * _DAY, damage=True),
    CraftPlan(
        "terraform",
        "orchard-infra",
        11 * _DAY,
        {"transferredSessionSummary": "Carried over from an earlier conversation. " * 220},
    ),
)


def write_craft(config_dir: str, projects: str, now_ms: int) -> None:
    """Write the configuration directory, its workspace and fourteen sessions."""
    workspace = os.path.join(config_dir, "workspaces", "atelier")
    entry = {"id": "7b0c2f4e-demo", "name": "Atelier", "slug": "atelier", "rootPath": workspace}
    _write(
        os.path.join(config_dir, "config.json"),
        {
            "workspaces": [{**entry, "createdAt": now_ms - 90 * _DAY}],
            "activeWorkspaceId": entry["id"],
        },
    )
    _write(
        os.path.join(workspace, "config.json"),
        {"id": "ws_0a17e1e4", "name": "Atelier", "slug": "atelier", "defaults": {}},
    )
    _write(os.path.join(workspace, "statuses", "config.json"), _STATUSES)
    _write(os.path.join(workspace, "labels", "config.json"), _LABELS)
    for number, plan in enumerate(PLANS):
        _write_session(workspace, plan, projects, now_ms, number)


def _write_session(
    workspace: str, plan: CraftPlan, projects: str, now_ms: int, number: int
) -> None:
    rng = Random(f"{_SEED}-{number}")  # noqa: S311 - a repeatable play, nothing secret
    words = next(place.words for place in PLACES if place.folder == plan.place)
    topic = read_bank("topics")[plan.topic]
    talk = CraftTalk(rng)
    for each in topic.rounds():
        talk.play([part.fill(words) for part in each])
    if plan.more is not None:
        plan.more(talk)
    talk.shift(now_ms - plan.age_ms - talk.clock)
    created = talk.records[0]["timestamp"]
    day = strftime("%y%m%d", localtime(created / 1000))
    session_id = f"{day}-{_ADJECTIVES[number % 8]}-{_NOUNS[(number * 5 + number // 8) % 8]}"
    name = plan.name if plan.name is not None else fill_title(rng.choice(topic.titles), words)
    header = _header(plan, talk, session_id, name, os.path.join(projects, plan.place))
    header["workspaceRootPath"] = workspace
    lines = [dumps(value) for value in (header, *talk.records)]
    if plan.damage:
        lines[4] = lines[4][: len(lines[4]) // 2]
    folder = os.path.join(workspace, "sessions", session_id)
    for sub in ("attachments", "plans", "data", "long_responses", "downloads"):
        fsio.make_private_dir(os.path.join(folder, sub))
    file = os.path.join(folder, "session.jsonl")
    fsio.write_new(file, b"\n".join(lines) + b"\n")
    os.utime(file, ns=(talk.clock * 1_000_000, talk.clock * 1_000_000))


def _header(
    plan: CraftPlan, talk: CraftTalk, session_id: str, name: str, folder: str
) -> dict[str, Any]:
    """The persistent fields in the application's order, then the computed ones."""
    records = talk.records
    users = [record for record in records if record["type"] == "user"]
    finals = [
        record["id"]
        for record in records
        if record["type"] == "assistant" and not record.get("isIntermediate")
    ]
    header: dict[str, Any] = {
        "id": session_id,
        "sdkCwd": folder,
        "createdAt": records[0]["timestamp"],
        "lastUsedAt": talk.clock,
        "lastMessageAt": users[-1]["timestamp"],
        "workingDirectory": folder,
        "model": "lumen-large",
        "permissionMode": "allow-all",
        **({"name": name} if name else {}),
        **plan.header,
    }
    if plan.header.get("isArchived"):
        header["archivedAt"] = talk.clock
    if records[-1]["type"] in ("user", "assistant", "plan", "tool", "error"):
        header["lastMessageRole"] = records[-1]["type"]
    return {
        **header,
        "messageCount": len(records),
        "preview": " ".join(users[0]["content"].split())[:150],
        "tokenUsage": {
            "inputTokens": 41_200,
            "outputTokens": 3_180,
            "totalTokens": 44_380,
            "contextTokens": 38_000,
            "costUsd": 0.21,
        },
        "lastFinalMessageId": finals[-1],
    }


def _write(path: str, value: Any) -> None:
    fsio.make_private_dir(os.path.dirname(path))
    fsio.write_new(path, dumps(value) + b"\n")


def _status(order: int, name: str, label: str, category: str) -> dict[str, Any]:
    return {
        "id": name,
        "label": label,
        "category": category,
        "isFixed": name in ("todo", "done", "cancelled"),
        "isDefault": name == "todo",
        "order": order,
    }


_STATUSES = {
    "version": 1,
    "statuses": [
        _status(0, "todo", "To do", "open"),
        _status(1, "in-progress", "In progress", "open"),
        _status(2, "needs-review", "Needs review", "open"),
        _status(3, "done", "Done", "closed"),
        _status(4, "cancelled", "Cancelled", "closed"),
    ],
    "defaultStatusId": "todo",
}

_LABELS = {
    "version": 1,
    "labels": [
        {"id": "review", "name": "Review"},
        {"id": "design", "name": "Design"},
        {"id": "priority", "name": "Priority", "valueType": "number"},
    ],
}
