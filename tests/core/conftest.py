"""Faults for the file layer: an error, a short write or a kill at the n-th system call."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from loop_core.fsio_calls import calls

_NOT_IO = {"sleep", "time_ns"}
_WRITES = {"write", "pwrite"}


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


class Killed(BaseException):
    """The process is dead: from here on no call of it reaches the system."""


class Faults:
    """Counts the system calls of the file layer and lets the n-th one fail."""

    kinds = ("ENOSPC", "EIO", "EACCES", "short", "kill", "kill after")

    def __init__(self) -> None:
        self.count = 0
        self.trace: list[str] = []
        self._at: int | None = None
        self._kind = ""
        self._dead = False
        self._open: dict[int, tuple[int, int]] = {}

    @contextmanager
    def at(self, number: int | None, kind: str = "EIO") -> Iterator[None]:
        """Fail call `number` (0-based) inside; None only counts."""
        self.count, self.trace, self._dead = 0, [], False
        self._at, self._kind = number, kind
        real = dict(vars(calls))
        for name, call in real.items():
            if name not in _NOT_IO:
                setattr(calls, name, self._wrapped(name, call))
        try:
            yield
        finally:
            vars(calls).update(real)
            self._close_all()

    def sweep(
        self,
        make: Callable[[], Callable[[], object]],
        *,
        kinds: tuple[str, ...] = kinds,
        every: int = 1,
    ) -> Iterator[tuple[str, BaseException | None]]:
        """Run `make()()` with a fault at every call in turn; yields after each run.

        With `every` above 1, at every such call only: for short forms of long sweeps.
        """
        run = make()
        with self.at(None):
            run()
        total, names = self.count, list(self.trace)
        for kind in kinds:
            for number in range(kinds.index(kind) % every, total, every):
                if kind == "short" and names[number] not in _WRITES:
                    continue
                run = make()
                caught: BaseException | None = None
                with self.at(number, kind):
                    try:
                        run()
                    except (Exception, Killed) as error:  # noqa: BLE001 - reported to the test
                        caught = error
                yield f"{kind} at call {number} ({names[number]})", caught

    def _close_all(self) -> None:
        """What the system does when a process dies; locks go too."""
        for fd, identity in self._open.items():
            # Some descriptors are closed past the table; their numbers may be in use again.
            with suppress(OSError):
                if _identity(fd) == identity:
                    os.close(fd)
        self._open.clear()

    def _wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self._dead:
                raise Killed
            number, self.count = self.count, self.count + 1
            self.trace.append(name)
            if number == self._at:
                return self._fail(name, call, args, kwargs)
            return self._note(name, args, call(*args, **kwargs))

        return wrapper

    def _note(self, name: str, args: tuple[Any, ...], result: Any) -> Any:
        if name == "open":
            self._open[result] = _identity(result)
        elif name == "close":
            self._open.pop(args[0], None)
        return result

    def _fail(
        self, name: str, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self._kind.startswith("kill"):
            if self._kind == "kill after":
                self._note(name, args, call(*args, **kwargs))
            elif name in _WRITES:
                call(args[0], bytes(args[1])[: len(args[1]) // 2], *args[2:])
            self._dead = True
            raise Killed
        if self._kind == "short" and name in _WRITES:
            call(args[0], bytes(args[1])[: len(args[1]) // 2], *args[2:])
        if name == "close":
            self._note(name, args, call(*args, **kwargs))
        number = getattr(errno, self._kind if self._kind != "short" else "ENOSPC")
        raise OSError(number, os.strerror(number))


class Say:
    """Messages as Loop stores them."""

    def user(self, text: str = "hello", **more: Any) -> dict[str, Any]:
        return {"role": "user", "content": text, "timestamp": 1, **more}

    def agent(self, text: str = "done", **more: Any) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "api": "a",
            "provider": "p",
            "model": "m",
            "usage": {},
            "stopReason": "stop",
            "timestamp": 2,
            **more,
        }

    def call(self, call_id: str = "c1") -> dict[str, Any]:
        block = {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {}}
        return self.agent(content=[block], stopReason="toolUse")

    def result(self, call_id: str = "c1") -> dict[str, Any]:
        return {
            "role": "toolResult",
            "toolCallId": call_id,
            "toolName": "bash",
            "content": [],
            "isError": False,
            "timestamp": 3,
        }


@pytest.fixture
def say() -> Say:
    return Say()


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """fsync stays a call that can fail, but waits for no disk: for tests of thousands of writes."""
    monkeypatch.setattr(calls, "fsync", lambda fd: None)


@pytest.fixture
def killed() -> type[Killed]:
    return Killed
