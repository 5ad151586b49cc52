"""Manager and archive driven at random against a model, with reopenings, faults and kills."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from loop_core.errors import InvalidArgument, SessionNotFound, StorageFailed
from loop_core.loop import publish
from loop_core.loop.archive import SessionArchive
from loop_core.loop.manager import SessionManager
from loop_core.loop.recovery import purge_leftover, recover_collection

KINDS = st.sampled_from(["ENOSPC", "EIO", "EACCES", "short", "kill", "kill after"])
TEXTS = st.text(max_size=6)


class Machine(RuleBasedStateMachine):
    """One session in one collection. `model` is what it must be; all values are simple."""

    def __init__(self, faults: Any, killed: type[BaseException], say: Any) -> None:
        super().__init__()
        self.faults, self.killed, self.say = faults, killed, say
        self.folder = Path(tempfile.mkdtemp())
        self.archive = SessionArchive(self.folder)
        self.archived: set[str] = set()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(draft=st.booleans())
    def start(self, draft: bool) -> None:
        make = SessionManager.draft if draft else SessionManager.create
        self.manager = make("/tmp", self.folder)
        self.published = not draft
        self.messages: list[Any] = []
        self.unread = False
        self.pinned = False
        self.title: str | None = None
        self.preset = "read-only"

    # --- the model

    def expect(self, messages: list[Any]) -> None:
        old = len(self.messages)
        if any(message["role"] != "user" for message in messages[old:]):
            self.unread = True
        self.messages = messages
        if any(message["role"] == "user" for message in messages):
            self.published = True

    def next_messages(self, keep: int, texts: list[str], output: bool) -> list[Any]:
        kept = self.messages[: keep % (len(self.messages) + 1)]
        if kept and kept[-1].get("stopReason") == "toolUse":
            kept.pop()  # a call has to keep its result
        added = [self.say.user(text) for text in texts]
        if output:
            added += [self.say.call(), self.say.result(), self.say.agent("é\u2028")]
        return [*kept, *added]

    # --- what a user of the manager does

    @rule(keep=st.integers(0, 9), texts=st.lists(TEXTS, max_size=3), output=st.booleans())
    def commit(self, keep: int, texts: list[str], output: bool) -> None:
        messages = self.next_messages(keep, texts, output)
        self.manager.commit(messages)
        self.expect(messages)

    @rule(texts=st.lists(TEXTS, max_size=2), output=st.booleans())
    def append(self, texts: list[str], output: bool) -> None:
        self.commit(len(self.messages), texts, output)

    @rule(flag=st.booleans())
    def pin(self, flag: bool) -> None:
        assert (self.manager.set_pinned(flag) is not None) == flag
        self.pinned = flag

    @rule(off=st.integers(0, 1))
    def read(self, off: int) -> None:
        fits = off == 0 and bool(self.messages)
        assert self.manager.mark_read(len(self.messages) + off) is fits
        self.unread = self.unread and not fits

    @rule()
    def mark_unread(self) -> None:
        if self.messages:
            assert self.manager.mark_unread()
            self.unread = True
        else:
            with pytest.raises(InvalidArgument):
                self.manager.mark_unread()

    @rule(text=st.sampled_from(["One", "Two"]), late=st.booleans())
    def name(self, text: str, late: bool) -> None:
        answers = [True, not late]
        title = {"text": text, "source": "user", "messageIndices": []}
        assert self.manager.set_title(title, lambda: answers.pop(0)) is not late
        self.title = self.title if late else text

    @rule(preset=st.sampled_from(["read-only", "workspace-write", "danger-full-access"]))
    def permit(self, preset: str) -> None:
        self.manager.set_permission_preset(preset)
        self.preset = preset

    @precondition(lambda self: self.published)
    @rule()
    def reopen(self) -> None:
        file = self.manager.session_file
        assert file is not None
        self.manager = SessionManager.open(file)

    @precondition(lambda self: self.published)
    @rule()
    def page_back(self) -> None:
        page = self.manager.read_history(rounds=1)
        seen = page.messages
        while page.start:
            page = self.manager.read_history(page.start, page.revision, rounds=1)
            seen = page.messages + seen
        assert seen == self.messages

    # --- with something going wrong

    def attempt(self, at: int, kind: str, act: Callable[[], object]) -> BaseException | None:
        with self.faults.at(at, kind):
            try:
                act()
            except (StorageFailed, self.killed) as error:
                return error
        return None

    @precondition(lambda self: self.published)
    @rule(
        at=st.integers(0, 45),
        kind=KINDS,
        keep=st.integers(0, 9),
        texts=st.lists(TEXTS, max_size=2),
        output=st.booleans(),
    )
    def commit_with_fault(
        self, at: int, kind: str, keep: int, texts: list[str], output: bool
    ) -> None:
        messages = self.next_messages(keep, texts, output)
        error = self.attempt(at, kind, lambda: self.manager.commit(messages))
        if isinstance(error, self.killed):
            assert recover_collection(self.folder) is not None
            before = self.messages
            self.reopen()
            assert self.manager.messages in (before, messages)
            if self.manager.messages == messages and self.manager.unread != self.unread:
                self.expect(messages)
            self.messages = self.manager.messages
            return
        if error is not None:
            assert self.manager.has_pending_save
            assert self.manager.messages == messages
            self.manager.flush()
        self.expect(messages)

    @precondition(lambda self: self.published)
    @rule(at=st.integers(0, 35), kind=KINDS, flag=st.booleans())
    def pin_with_fault(self, at: int, kind: str, flag: bool) -> None:
        error = self.attempt(at, kind, lambda: self.manager.set_pinned(flag))
        if isinstance(error, self.killed):
            recover_collection(self.folder)
            self.reopen()
            after = "pinnedAt" in self.manager.get_header()
            assert after in (self.pinned, flag)
            self.pinned = after
        elif error is None:
            self.pinned = flag

    @rule(on=st.booleans(), number=st.integers(0, 3), at=st.integers(0, 40), kind=KINDS)
    def archive_with_fault(self, on: bool, number: int, at: int, kind: str) -> None:
        one = f"0a1b2c3d-0000-4000-8000-00000000000{number}"
        after = self.archived | {one} if on else self.archived - {one}
        error = self.attempt(at, kind, lambda: self.archive.set([one], on))
        if error is not None:
            recover_collection(self.folder)
            self.archive = SessionArchive(self.folder)
        members = self.archive.list()
        assert members == after or (error is not None and members == self.archived)
        self.archived = members

    @precondition(lambda self: self.published)
    @rule(at=st.integers(0, 120), kind=KINDS, archived_only=st.booleans())
    def delete_with_fault(self, at: int, kind: str, archived_only: bool) -> None:
        one = self.manager.session_id
        if archived_only:
            self.archive.set([one], True)
        error = self.attempt(
            at,
            kind,
            lambda: self.archive.delete(None, [one], archived_only=archived_only),
        )
        for left in recover_collection(self.folder):
            assert left.state != "stuck"
            if left.state == "purge":
                purge_leftover(left.path)
        self.archive = SessionArchive(self.folder)
        found = {info.id for info in SessionManager.list(None, self.folder)}
        if error is not None and one in found:
            self.archive.delete(None, [one], archived_only=False)
        assert one not in self.archive.list()
        with pytest.raises(SessionNotFound):
            self.manager.set_pinned(True)
        self.start(draft=False)

    # --- what always holds

    @invariant()
    def the_manager_says_what_the_model_says(self) -> None:
        if not hasattr(self, "manager"):
            return
        header = self.manager.get_header()
        title = header.get("title", {})
        assert not self.manager.has_pending_save
        assert self.manager.messages == self.messages
        assert self.manager.unread == self.unread == header["unread"]
        assert ("pinnedAt" in header) == self.pinned
        assert (title.get("text") if title.get("source") == "user" else None) == self.title
        assert header["permissionPreset"] == self.preset

    @invariant()
    def nothing_is_left_lying_about(self) -> None:
        names = {path.name for path in self.folder.iterdir()}
        assert not [name for name in names if name.startswith(".")]
        if hasattr(self, "manager"):
            assert (self.manager.session_id in names) == self.published


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, no_sync: None) -> None:
    monkeypatch.setattr(publish, "TAIL_AGE_NS", 0)


def drive(faults: Any, killed: type[BaseException], say: Any, runs: int, steps: int) -> None:
    def machine() -> Machine:
        return Machine(faults, killed, say)

    run_state_machine_as_test(
        machine,  # type: ignore[arg-type]
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_some_steps(faults: Any, killed: type[BaseException], say: Any) -> None:
    drive(faults, killed, say, 40, 40)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_thousands_of_steps(faults: Any, killed: type[BaseException], say: Any) -> None:
    drive(faults, killed, say, 150, 50)
