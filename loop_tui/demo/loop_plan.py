"""Which sessions the Loop side of the demo holds, and in what state."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from random import Random
from typing import Any

from loop_core.loop.dates import iso_from_ms
from loop_core.loop.titles import normalize_title
from loop_tui.demo import loop_files
from loop_tui.demo.conversation import Conversation, hex_id
from loop_tui.demo.loop_files import Session
from loop_tui.demo.projects import PLACES, PROGRAMME, Place
from loop_tui.demo.script import Part, Topic, fill_title, read_bank

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_MODELS = ("lumen-large", "lumen-large", "lumen-swift", "northlight-3")
_MARGIN_MS = 90_000  # how far before now the newest session ends

#: Collection folder for the chats that belong to no project (loop-format, question 27).
GLOBAL = "desk"


@dataclass
class Plan:
    """One session before it is played. `age_ms` is the time from its last message to now."""

    place: Place
    age_ms: int
    topic: Topic | None = None
    title: str | None = None  # None: the topic's; "": none is stored
    source: str = "model"
    follow_ups: int = 0
    more_topics: tuple[Topic, ...] = ()
    traits: frozenset[str] = frozenset()
    collection: str | None = None  # None: by the hash of the folder
    header: dict[str, Any] = field(default_factory=dict)


def make_plans(rng: Random) -> list[Plan]:
    """About sixty plans, the same for the same dice."""
    places = {place.folder: place for place in PLACES}
    topics, tongues = read_bank("topics"), read_bank("tongues")
    plans = [*_ordinary(rng, places, topics), *_spoken(rng, places, tongues)]
    plans += _special(places, topics)
    return plans


def _ordinary(rng: Random, places: dict[str, Place], topics: dict[str, Topic]) -> list[Plan]:
    plans = []
    for folder, slugs in PROGRAMME.items():
        for slug in slugs:
            age = int(_HOUR * rng.choice((0.4, 3, 9, 20, 30, 55, 120, 300, 700, 1500)))
            traits = {trait for trait, part in _CHANCES.items() if rng.random() < part}
            title = None if rng.random() < 0.85 else ""
            plans.append(
                Plan(
                    places[folder],
                    age + rng.randrange(_HOUR),
                    topics[slug],
                    title=title,
                    source=rng.choice(("model", "model", "user")),
                    follow_ups=rng.choice((0, 0, 1, 2, 3, 5)),
                    traits=frozenset(traits),
                )
            )
    return plans


_CHANCES = {"unread": 0.3, "pinned": 0.1, "archived": 0.16, "timings": 0.8, "no index": 0.15}


def _spoken(rng: Random, places: dict[str, Place], tongues: dict[str, Topic]) -> list[Plan]:
    homes = {"japanese": "日報アプリ", "chinese": "日報アプリ", "korean": "日報アプリ"}
    plans = []
    for slug, topic in tongues.items():
        for title in topic.titles:
            traits = frozenset({"timings"} | ({"unread"} if rng.random() < 0.4 else set()))
            plans.append(
                Plan(
                    places[homes.get(slug, "kestrel-ui")],
                    rng.randrange(2 * _HOUR, 12 * _DAY),
                    topic,
                    title=title,
                    traits=traits,
                )
            )
    return plans


def _special(places: dict[str, Place], topics: dict[str, Topic]) -> list[Plan]:
    """The states and forms that chance should not decide."""
    tide, parcel = places["tidewater"], places["parcel-router"]
    loom, ledger = places["pixel-loom"], places["ledgerline"]
    infra, kestrel = places["orchard-infra"], places["kestrel-ui"]

    def plan(place: Place, age: float, title: str | None, *traits: str, **more: Any) -> Plan:
        topic = topics[more.pop("topic")] if "topic" in more else None
        return Plan(place, int(age), topic, title=title, traits=frozenset(traits), **more)

    everything = tuple(topics.values())
    return [
        plan(
            tide,
            4 * _MINUTE,
            "Rewrite the tide importer, step by step",
            "unread",
            "timings",
            topic="parser-bug",
            follow_ups=66,
            more_topics=everything[:8],
        ),
        plan(
            parcel,
            26 * _HOUR,
            "From one queue to three: the whole migration",
            "pinned",
            "timings",
            "compactions",
            "contexts",
            topic="retry-storm",
            follow_ups=48,
            more_topics=everything[4:10],
        ),
        plan(loom, 11 * _MINUTE, "Scanner calibration log", "unread", "long output"),
        plan(ledger, 40 * _MINUTE, "fix [/] in the template parser", "unread", topic="parser-bug"),
        plan(kestrel, 70 * _MINUTE, None, topic="perf-image", follow_ups=1),
        plan(tide, 2 * _HOUR, "", "empty"),
        plan(infra, 3 * _DAY, "", "empty"),
        plan(infra, 7 * _HOUR, "Nightly report", "no user"),
        plan(parcel, 31 * _HOUR, "Continued from the terminal", "agent first", topic="flaky-test"),
        plan(tide, 90 * _MINUTE, None, "unread", "end error", topic="memory-leak"),
        plan(kestrel, 5 * _HOUR, None, "end aborted", topic="ui-state"),
        plan(ledger, 28 * _HOUR, None, "end length", topic="rename-module"),
        plan(loom, 33 * _HOUR, None, "unread", "end deferred", topic="dependency"),
        plan(parcel, 2 * _DAY, "Second attempt at the planner", "generations", topic="slow-query"),
        plan(infra, 4 * _DAY, None, "tail", "no index", topic="terraform"),
        plan(ledger, 9 * _DAY, "Balances in minor units", "v2", topic="rust-lifetimes"),
        plan(parcel, 40 * _DAY, "The first routing sketch", "v2", "archived", topic="cli-design"),
        plan(tide, 21 * _DAY, "Where the tables come from", "migrated", topic="date-bug"),
        plan(loom, 6 * _DAY, "Colour profiles", "damaged", topic="perf-image"),
        plan(ledger, 8 * _DAY, "Import of the old books", "v2", "damaged", topic="parser-bug"),
        plan(kestrel, 50 * _DAY, "From an earlier version", "unsupported"),
        plan(infra, 13 * _DAY, "Codemode: who uses port 8080?", "codemode"),
        plan(tide, 100 * _MINUTE, "What is a seiche?", "chat", collection=GLOBAL),
        plan(ledger, 3 * _DAY, "Names for a bookkeeping tool", "chat", "pinned", collection=GLOBAL),
    ]


def perform(plan: Plan, projects: str, now_ms: int, seed: str) -> Session:
    """Play one plan; everything about it follows from `seed` and `now_ms`."""
    rng = Random(seed)  # noqa: S311 - a repeatable play, nothing secret
    talk = Conversation(rng, 0, rng.choice(_MODELS))
    _play(plan, talk, rng)
    # The clock ran from zero; shift it so that the last message lies `age_ms` back.
    shift = now_ms - max(plan.age_ms, _MARGIN_MS) - talk.clock
    for message in talk.messages:
        message["timestamp"] += shift
    for timing in talk.timings:
        timing["startedAt"] += shift
        timing["finishedAt"] += shift
    last = talk.clock + shift
    made = loop_files.header(
        hex_id(rng),
        os.path.join(projects, plan.place.folder),
        iso_from_ms(talk.messages[0]["timestamp"] if talk.messages else last),
        iso_from_ms(last),
        preset=rng.choice(("read-only", "workspace-write", "workspace-write")),
        unread="unread" in plan.traits and bool(talk.messages),
        title=_title(plan, rng),
        model={"provider": "lumen", "id": talk.model} if talk.messages else None,
        pinnedAt=iso_from_ms(last + 1000) if "pinned" in plan.traits else None,
    )
    session = Session(made, talk.messages, changed_ms=last)
    _dress(plan, session, talk)
    return session


def _title(plan: Plan, rng: Random) -> dict[str, Any] | None:
    text = plan.title
    if text is None and plan.topic is not None:
        text = rng.choice(plan.topic.titles)
    if not text:
        return None
    text = normalize_title(fill_title(text, plan.place.words))
    return {"text": text, "source": plan.source, "messageIndices": [0]}


def _play(plan: Plan, talk: Conversation, rng: Random) -> None:
    traits, words = plan.traits, plan.place.words

    def rounds(topic: Topic) -> list[list[Part]]:
        return [[part.fill(words) for part in each] for each in topic.rounds()]

    script = read_bank("pieces")
    for trait in ("no user", "agent first", "long output", "codemode", "chat"):
        if trait in traits:
            _play_piece(trait, script, talk, rng, words)
    played = rounds(plan.topic) if plan.topic else []
    pool = rounds(read_bank("followups")["followups"])
    extra = [rng.choice(pool) for _ in range(plan.follow_ups)]
    for topic in plan.more_topics:
        at = rng.randrange(len(extra) + 1)
        extra[at:at] = rounds(topic)
    for part in [*played, *extra]:
        talk.play(part)
    for trait in sorted(traits):
        if trait.startswith("end "):
            talk.end_with(trait.removeprefix("end "))


def _play_piece(
    trait: str, script: dict[str, Topic], talk: Conversation, rng: Random, words: dict[str, str]
) -> None:
    topic = script[trait.replace(" ", "-")]
    if trait in ("no user", "agent first"):
        for part in topic.parts:
            talk.assistant([{"type": "text", "text": part.fill(words).body}], "stop")
        return
    chosen = topic.rounds()
    if trait == "long output":
        log = "\n".join(
            f"{row:05d}  lamp {rng.uniform(0.91, 0.99):.4f}  white {rng.randrange(225, 253)}"
            f"  drift {rng.uniform(-0.4, 0.4):+.3f}"
            for row in range(1400)
        )
        words = {**words, "log": log}
    for each in chosen:
        talk.play([part.fill(words) for part in each])


def _dress(plan: Plan, session: Session, talk: Conversation) -> None:
    """What the header and the files hold besides the conversation."""
    traits, header, messages = plan.traits, session.header, session.messages
    if "timings" in traits:
        legacy = "v2" in traits
        header["promptTimings"] = [
            {key: timing[key] for key in _LEGACY_TIMING} if legacy else timing
            for timing in talk.timings
        ]
    users = [at for at, message in enumerate(messages) if message["role"] == "user"]
    if "compactions" in traits:
        header["compactions"] = [
            _compaction(talk, users, share, len(messages)) for share in (0.4, 0.75)
        ]
    if "contexts" in traits:
        header["runtimeContexts"] = [
            {
                "userTurn": 0,
                "content": f"Today is {header['createdAt'][:10]}.",
                "timestamp": messages[0]["timestamp"],
                "placement": "user",
                "skills": [],
            }
        ]
        header["systemPromptCheckpoints"] = [
            {
                "messageCount": 1,
                "timestamp": messages[0]["timestamp"],
                "sections": {"identity": "You are a careful engineer.", "tools": None},
            }
        ]
    if "generations" in traits:
        cut = users[-1]
        session.replaced = [*messages[:cut], {**messages[cut], "content": "Try it differently."}]
    if "tail" in traits:
        session.tail = loop_files.lines_of(messages[:1])[0][:80]
    session.index = "no index" not in traits
    session.form = "v2" if "v2" in traits else "migrated" if "migrated" in traits else "v3"


_LEGACY_TIMING = ("userMessageIndex", "startedAt", "finishedAt")


def _compaction(talk: Conversation, users: list[int], share: float, total: int) -> dict[str, Any]:
    kept = users[int(len(users) * share)]
    return {
        "id": hex_id(talk.rng),
        "firstKeptMessageIndex": kept,
        "historyMessageCount": min(total, kept + 6),
        "summary": (
            "The queue was split by destination. Retries use full jitter; the planner reads "
            "from the replica. Open: thresholds of the alerts, the Windows lock."
        ),
        "timestamp": talk.messages[kept]["timestamp"],
        "provider": "lumen",
        "model": talk.model,
        "usage": {
            "input": 48_200,
            "output": 611,
            "cacheRead": 40_000,
            "cacheWrite": 0,
            "totalTokens": 48_811,
        },
    }
