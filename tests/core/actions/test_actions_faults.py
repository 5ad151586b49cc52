"""A fault at every system call of a bulk action with its journal, and a death at each."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from loop_core import fsio
from loop_core.errors import LoopError
from loop_core.fsio_calls import calls
from loop_core.plans import Intent

Open = Callable[..., Any]
# The moves alone meet every call in test_trash_faults.
STRIDES = [pytest.param(1, marks=pytest.mark.soak), 4]
_NAMES = [n for n in vars(calls) if n not in ("close", "sleep", "read", "pread", "stat", "lstat")]


def at_call(
    patch: pytest.MonkeyPatch, number: int, what: Callable[[], None], count: list[int]
) -> None:
    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kw: Any) -> Any:
            count[0] += 1
            if count[0] == number:
                what()
            return real(*args, **kw)

        return call

    for name in _NAMES:
        patch.setattr(calls, name, wrap(getattr(calls, name)))


def fault() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(actions: Any, box: Any, ids: list[str], act: str) -> Any:
    keys = [box.key(i) for i in ids]
    return actions.trash(keys) if act == "trash" else actions.perform(keys, Intent(do="archive"))


def effect(box: Any, ids: list[str], act: str) -> set[str]:
    found: set[str] = set(ids) - box.ids() if act == "trash" else box.archived()
    return found


def total(make_box: Any, open_actions: Open, act: str) -> int:
    box, count = make_box("count"), [0]
    ids = [box.add(), box.add()]
    with pytest.MonkeyPatch.context() as patch:
        at_call(patch, -1, fault, count)
        run(open_actions(box), box, ids, act)
    return count[0]


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("act", ["trash", "archive"])
def test_faults(make_box: Any, open_actions: Open, act: str, stride: int) -> None:
    """failures rows 99, 103: the outcome is what is on disk, and undo takes it back."""
    for number in range(1, total(make_box, open_actions, act) + 1, stride):
        box = make_box(f"{act}{number}")
        ids = [box.add(), box.add()]
        actions = open_actions(box)
        with pytest.MonkeyPatch.context() as patch:
            at_call(patch, number, fault, [0])
            outcome = run(actions, box, ids, act)
        assert {d.id for d in outcome.done} == effect(box, ids, act), number
        assert {d.id for d in outcome.done} | {f.id for f in outcome.failed} == set(ids)
        assert outcome.undoable == bool(outcome.done)
        if outcome.undoable:
            assert actions.undo().ok, number
        assert effect(box, ids, act) == set(), number
        actions.recover()
        assert box.trashed() == []
        assert box.ids() == set(ids)


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("act", ["trash", "archive"])
def test_deaths(make_box: Any, open_actions: Open, act: str, stride: int) -> None:
    """The next start finds an honest state, and one undo makes it as it was."""
    for number in range(1, total(make_box, open_actions, act) + 1, stride):
        box = make_box(f"{act}{number}")
        ids = [box.add(), box.add()]
        child = os.fork()
        if child == 0:
            with suppress(BaseException), pytest.MonkeyPatch.context() as patch:
                at_call(patch, number, die, [0])
                run(open_actions(box), box, ids, act)
            os._exit(0)
        assert os.waitpid(child, 0)[1] in (0, signal.SIGKILL)
        actions = open_actions(box)
        fsio.recover_temporaries(box.collection)
        with suppress(LoopError):
            actions.recover()
        done = effect(box, ids, act)
        assert len(box.trashed()) == (len(done) if act == "trash" else 0)
        if done:
            assert actions.peek_undo() is not None, number
            assert {d.id for d in actions.undo().done} >= done
        assert effect(box, ids, act) == set()
        assert box.ids() == set(ids)
