"""The persistence queue: debounced saves that notice what others changed meanwhile.

craft-format section 7. A save replaces the waiting one of the same session and restarts the
clock. At write time the header on disk is compared with the one this queue wrote last: where
name, labels, flag, status, permission mode or read state differ, the disk wins for these seven
fields; everything else comes from memory.

Where the application loses data, this queue does not:

* one writer per session at a time, so that a timer and a `flush` cannot meet (there, a failed
  rename and a stale file);
* replacement in one step, fsynced, under a name the application does not delete;
* a failed save stays waiting and is tried again by the next flush, whose caller sees the error;
* unknown header keys and damaged lines survive;
* messages another program appended to the file we wrote last are taken over, not cut off;
* a header longer than 8 KiB is reconciled like any other;
* sessions of two workspaces with one id do not share a slot.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

from loop_core import fsio, jsonvalue
from loop_core.craft.header import parse_header
from loop_core.craft.ids import check_id
from loop_core.craft.messages import (
    Base,
    StoredSession,
    lines_of,
    parse_session,
    read_session_jsonl,
    serialize_session,
)
from loop_core.craft.sessions import get_session_file_path, make_folders
from loop_core.errors import InvalidArgument, LoopError, reason_of

__all__ = [
    "SIGNATURE_FIELDS",
    "SessionPersistenceQueue",
    "header_signature",
    "save_session",
    "session_file_of",
    "update_session_metadata",
]

#: What another program may change under us, in the order of the signature.
SIGNATURE_FIELDS = (
    "name",
    "labels",
    "isFlagged",
    "sessionStatus",
    "permissionMode",
    "hasUnread",
    "lastReadMessageId",
)
_PORTABLE = ("workspaceRootPath", "sdkCwd", "workingDirectory")
_ATTEMPTS = 20
_GAP_SECONDS = 0.02


def header_signature(header: dict[str, Any]) -> bytes:
    """The JSON text of the seven fields, absent ones left out."""
    return jsonvalue.dumps({key: header[key] for key in SIGNATURE_FIELDS if key in header})


def session_file_of(session: StoredSession) -> str:
    """Where a session is saved: where it was read, else by its workspace and id.

    Raises InvalidArgument when neither tells.
    """
    if session.path is not None:
        check_id(os.path.basename(os.path.dirname(session.path)))
        return session.path
    root = session.header.get("workspaceRootPath")
    if not isinstance(root, str) or not root:
        raise InvalidArgument("the session names no workspace")
    return os.fspath(get_session_file_path(root, check_id(session.header.get("id"))))


@dataclass
class _Slot:
    """One session's place in the queue. `lock` is held while its file is written."""

    path: str
    ids: set[str]
    lock: threading.Lock = field(default_factory=threading.Lock)
    pending: StoredSession | None = None
    timer: threading.Timer | None = None
    signature: bytes | None = None
    error: LoopError | None = None


class SessionPersistenceQueue:
    """Saves sessions `debounce` seconds after the last change; call from any thread.

    What is still waiting when the interpreter exits is written then.
    """

    def __init__(self, debounce: float = 0.5) -> None:
        self._debounce = debounce
        self._slots: dict[str, _Slot] = {}
        self._lock = threading.Lock()
        _open_queues.add(self)

    def enqueue(self, session: StoredSession) -> None:
        """Save `session` soon; replaces a waiting save of it and restarts the clock.

        The session is read when it is written, so later changes to the object are saved too.
        Raises InvalidArgument when it has no place.
        """
        slot = self._slot_for(session)
        with self._lock:
            slot.pending = session
            if slot.timer is not None:
                slot.timer.cancel()
            slot.timer = threading.Timer(self._debounce, self._on_timer, (slot,))
            slot.timer.daemon = True
            slot.timer.start()

    def flush(self, session_id: str) -> None:
        """Write what is waiting under this id now; returns when it, or a save under way, is
        on disk. Raises what the save raised; the session then stays waiting."""
        for slot in self._slots_of(session_id):
            self._write(slot)

    def flush_all(self) -> None:
        """`flush` for every session; raises the first error after trying them all."""
        first: LoopError | None = None
        with self._lock:
            slots = list(self._slots.values())
        for slot in slots:
            try:
                self._write(slot)
            except LoopError as error:
                first = first or error
        if first is not None:
            raise first

    def cancel(self, session_id: str) -> None:
        """Drop what is waiting under this id and forget what was written last."""
        for slot in self._slots_of(session_id):
            with slot.lock, self._lock:
                _stop(slot)
                slot.pending = None
                slot.signature = slot.error = None

    def has_pending(self, session_id: str) -> bool:
        """Whether a save under this id waits."""
        return any(slot.pending is not None for slot in self._slots_of(session_id))

    def pending(self, path: str) -> StoredSession | None:
        """The session waiting to be written to `path`, or None."""
        with self._lock:
            slot = self._slots.get(path)
            return None if slot is None else slot.pending

    def last_error(self, session_id: str) -> LoopError | None:
        """Why the last timed save under this id failed, or None."""
        return next((s.error for s in self._slots_of(session_id) if s.error), None)

    # --- inside

    def _slot_for(self, session: StoredSession) -> _Slot:
        path = session_file_of(session)
        ids = {os.path.basename(os.path.dirname(path))}
        if isinstance(session.id, str):
            ids.add(session.id)
        with self._lock:
            slot = self._slots.setdefault(path, _Slot(path, set()))
            slot.ids |= ids
            return slot

    def _slots_of(self, session_id: str) -> list[_Slot]:
        with self._lock:
            return [slot for slot in self._slots.values() if session_id in slot.ids]

    def _on_timer(self, slot: _Slot) -> None:
        try:
            self._write(slot)
        except LoopError as error:
            slot.error = error  # kept for `last_error`; the save itself still waits

    def _write(self, slot: _Slot) -> None:
        with slot.lock:
            with self._lock:
                _stop(slot)
                session, slot.pending = slot.pending, None
            if session is None:
                return
            try:
                _save(slot, session)
                slot.error = None
            except BaseException:
                with self._lock:
                    if slot.pending is None:
                        slot.pending = session
                raise


def _stop(slot: _Slot) -> None:
    if slot.timer is not None:
        slot.timer.cancel()
        slot.timer = None


def _save(slot: _Slot, session: StoredSession) -> None:
    """Write one session, reconciled with the disk, until no other writer comes between."""
    make_folders(os.path.dirname(slot.path))
    for attempt in range(_ATTEMPTS):
        found = fsio.read_optional(slot.path)
        if found is None and attempt < 3 and os.path.lexists(slot.path + ".tmp"):
            threading.Event().wait(_GAP_SECONDS)  # the application between unlink and rename
            continue
        _reconcile(slot, session, found)
        header, data = serialize_session(session, os.path.dirname(slot.path), portable=_PORTABLE)
        try:
            if found is not None:
                fsio.exchange(slot.path, data, expected=found)
            elif not fsio.create_by_link(slot.path, data):
                continue
        except fsio.Changed:
            if attempt + 1 == _ATTEMPTS:
                raise
            continue
        slot.signature = header_signature(header)
        session.base = Base.of(data)
        session.header["lastUsedAt"] = header["lastUsedAt"]
        return
    raise fsio.Changed("another program keeps replacing the file", slot.path)


def _reconcile(slot: _Slot, session: StoredSession, found: bytes | None) -> None:
    """Take over from the disk what section 7 says, and messages appended by others."""
    if found is None:
        return
    _adopt_appended(session, found, slot.path)
    if slot.signature is None:
        return
    try:
        disk = parse_header(next(lines_of(found))[1], os.path.dirname(slot.path))
    except (StopIteration, jsonvalue.JsonSyntaxError):
        return
    if isinstance(disk, dict) and header_signature(disk) != slot.signature:
        for key in SIGNATURE_FIELDS:
            if key in disk:
                session.header[key] = disk[key]
            else:
                session.header.pop(key, None)


def _adopt_appended(session: StoredSession, found: bytes, path: str) -> None:
    """Keep lines that came behind those this session was read from or last written as."""
    extra = b"" if session.base is None else session.base.appended_to(found)
    read = parse_session(b"{}\n" + extra, path) if extra else None
    if read is None:
        return
    known = {_message_id(message) for message in session.messages} - {None}
    before = len(session.messages)
    session.messages += [m for m in read.messages if _message_id(m) not in known]
    session.kept += [kept._replace(before=before + kept.before) for kept in read.kept]
    session.base = Base.of(found)


def _message_id(message: Any) -> str | None:
    ident = message.get("id") if isinstance(message, dict) else None
    return ident if isinstance(ident, str) else None


_open_queues: weakref.WeakSet[SessionPersistenceQueue] = weakref.WeakSet()
_default = SessionPersistenceQueue()


@atexit.register
def _flush_at_exit() -> None:
    for queue in list(_open_queues):
        try:
            queue.flush_all()
        except LoopError as error:
            sys.stderr.write(f"a session could not be saved: {reason_of(error)}\n")


def default_queue() -> SessionPersistenceQueue:
    """The queue `save_session` uses; one for the process, as in the application."""
    return _default


def save_session(session: StoredSession) -> None:
    """Save now: enqueue, then flush. Raises StorageFailed, Conflict, InvalidArgument."""
    _default.enqueue(session)
    _default.flush(os.path.basename(os.path.dirname(session_file_of(session))))


def update_session_metadata(
    workspace_root: str | os.PathLike[str],
    session_id: str,
    changes: dict[str, Any],
    *,
    queue: SessionPersistenceQueue | None = None,
) -> bool:
    """Change header fields (None removes one) and save; False when there is no session.

    The application loads from disk and thereby loses messages of a save still waiting; this
    changes the waiting session itself.
    """
    queue = _default if queue is None else queue
    path = os.fspath(get_session_file_path(workspace_root, session_id))
    session = queue.pending(path) or read_session_jsonl(path)
    if session is None:
        return False
    for key, value in changes.items():
        if value is None:
            session.header.pop(key, None)
        else:
            session.header[key] = value
    queue.enqueue(session)
    queue.flush(session_id)
    return True
