"""One session through the service: its history, its metadata, what can be done with it.

Every method routes by `SessionKey` to the store that has the session; see `SessionStore`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loop_core.errors import SessionNotFound
from loop_core.library import Library
from loop_core.model import Detail, Hit, ImageBlock, Page, RawPage, Round, SessionKey, SessionRow
from loop_core.plans import Capabilities
from loop_core.store import Cancelled, Choices, SessionStore, never_cancelled

__all__ = ["SessionReading"]


class SessionReading:
    """The reading half of `Service`; every call may block and raise LoopError."""

    library: Library

    def page(
        self,
        key: SessionKey,
        *,
        before: int | None = None,
        before_round: int | None = None,
        rounds: int = 3,
        revision: str | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> Page:
        """See `SessionStore.page`."""
        return self._store(key).page(
            key,
            before=before,
            before_round=before_round,
            rounds=rounds,
            revision=revision,
            cancelled=cancelled,
        )

    def raw_page(self, key: SessionKey, *, before: int | None = None, rounds: int = 3) -> RawPage:
        return self._store(key).raw_page(key, before=before, rounds=rounds)

    def messages(
        self, key: SessionKey, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[tuple[int, Any]]:
        return self._store(key).messages(key, cancelled=cancelled)

    def message(self, key: SessionKey, index: int, revision: str | None = None) -> Any:
        return self._store(key).message(key, index, revision)

    def find(
        self, key: SessionKey, text: str, *, cancelled: Cancelled = never_cancelled
    ) -> Iterator[Hit]:
        return self._store(key).find(key, text, cancelled=cancelled)

    def header(self, key: SessionKey) -> Any:
        """The session's header as stored (a JSON value)."""
        return self._store(key).header(key)

    def rounds(self, key: SessionKey, *, cancelled: Cancelled = never_cancelled) -> Iterator[Round]:
        """Every round whole, in order, one at a time."""
        return self._store(key).rounds(key, cancelled=cancelled)

    def image_data(self, key: SessionKey, block: ImageBlock) -> tuple[str, str] | None:
        """Media type and base64 text of an image, or None when it is not to be had."""
        return self._store(key).image_data(key, block)

    def details(self, key: SessionKey) -> tuple[Detail, ...]:
        return self._store(key).details(key)

    def capabilities(self, key: SessionKey) -> Capabilities:
        """What can be done with the session now. Raises SessionNotFound."""
        return self._store(key).capabilities(self._row(key))

    def choices(self, key: SessionKey) -> Choices:
        """Statuses and labels to choose from; none where sessions have neither."""
        choices = getattr(self._store(key), "choices", None)
        return Choices() if choices is None else choices(key)

    def resume_command(self, key: SessionKey) -> tuple[list[str], str]:
        """Arguments and working directory (raw). Raises Refused with the reason."""
        return self._store(key).resume_command(self._row(key))

    def _store(self, key: SessionKey) -> SessionStore:
        return self.library.store_of(key)

    def _row(self, key: SessionKey) -> SessionRow:
        row = self.library.row(key) or self._store(key).look(key)
        if row is None:
            raise SessionNotFound("the session is not there any more")
        return row
