"""Disk space that Loop never frees: unreachable generations, and backups of migration.

S0: replaced generations stay as unreachable bytes, a migrated session keeps its version-2
file, and nothing ever removes either. Two ways to get the bytes back:

* *rewrite*: a new directory with the committed range alone (``start`` becomes 0, every other
  byte of meta.json stays) takes the place of the old one in one exchange. A Loop that has
  the session open knows the old offsets: its next save would write behind the end of the
  shorter file. So the user has to vouch that no Loop has it open; ten minutes of quiet are
  demanded besides.
* *in place*: the unreachable blocks become a hole. No offset moves, so this is safe beside a
  running Loop; it needs a file system that can do it, and the file keeps its size.

A backup goes only after the published session was verified to hold the same conversation.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from msgspec import Struct

from loop_core import fsio, fsio_space
from loop_core.errors import Conflict, InvalidSession, LoopError, Refused, StorageFailed
from loop_core.jsonvalue import edit, loads
from loop_core.loop.check import verify
from loop_core.loop.envelope import Envelope, parse_envelope
from loop_core.loop.history import iter_lines
from loop_core.loop.legacy import iter_messages, parse_legacy
from loop_core.loop.paths import MESSAGES_FILE, META_FILE
from loop_core.loop.publish import is_staging_name, staging_name
from loop_core.loop.stream import reader
from loop_core.loop.traces import check_traces
from loop_core.loop.values import deep_equal

__all__ = [
    "PURPOSE",
    "QUIET_SECONDS",
    "WHY_CLOSED",
    "Reclaimable",
    "plan_reclaim",
    "reclaim",
    "recover_reclaim",
]

PURPOSE = "reclaim"
QUIET_SECONDS = 600
#: What a front end says before a rewrite.
WHY_CLOSED = (
    "A Loop that has one of these sessions open remembers where their messages lie in the old "
    "file and would write its next answer past the end of the shorter one. Close every Loop "
    "(terminal, web) first."
)
_INDEX_FILE = "index.json"
_FILES = frozenset((META_FILE, MESSAGES_FILE, _INDEX_FILE))
_BLOCK = 1 << 20


class Reclaimable(Struct, frozen=True, kw_only=True):
    """What one session would give back. Sizes in bytes; `path` is its meta.json.

    `before` and `after` count its files, the backup among them. `refused` says why nothing
    is done now; `backup_refused` why only the backup stays.
    """

    path: str
    before: int
    after: int
    unreachable: int = 0
    backup: str | None = None
    refused: str | None = None
    backup_refused: str | None = None

    @property
    def freed(self) -> int:
        return self.before - self.after


def plan_reclaim(
    meta_path: str, *, traces: str | None = None, now: float | None = None
) -> Reclaimable:
    """What `reclaim` would do to a published session. Writes nothing.

    Raises SessionNotFound, StorageFailed; an invalid session is a `refused` plan.
    """
    directory = os.path.dirname(os.path.abspath(meta_path))
    path = os.path.join(directory, META_FILE)
    raw = fsio.read_file(path)
    files = {name: fsio.stamp_of(os.path.join(directory, name)) for name in _FILES}
    sizes = sum(stamp.size for stamp in files.values() if stamp is not None)
    backup = directory + ".jsonl"
    backup_stamp = fsio.stamp_of(backup, follow=False)
    before = sizes + (backup_stamp.size if backup_stamp else 0)
    messages = files[MESSAGES_FILE]
    try:
        envelope = parse_envelope(raw, path)
        if backup_stamp is None and messages is not None and messages.size == envelope.bytes:
            return Reclaimable(path=path, before=before, after=before)
        _require_quiet(directory, backup if backup_stamp else None, now)
        _require_plain(directory)
        if traces is not None:
            check_traces(traces)
        verify(path)
    except LoopError as error:
        return Reclaimable(path=path, before=before, after=before, refused=error.reason)
    unreachable = (messages.size if messages else 0) - envelope.bytes
    shorter = len(_moved(envelope)) - len(raw) if unreachable else 0
    refused = _backup_problem(directory, envelope, backup) if backup_stamp else None
    kept = before if backup_stamp is None or refused else sizes
    return Reclaimable(
        path=path,
        before=before,
        after=kept - unreachable + shorter,
        unreachable=unreachable,
        backup=backup if backup_stamp and not refused else None,
        backup_refused=refused,
    )


def reclaim(
    plan: Reclaimable, *, in_place: bool = False, traces: str | None = None
) -> tuple[int, int]:
    """Carry out a plan after looking again; bytes before and after.

    Raises Refused with the reason, Conflict when another program wrote meanwhile (then the
    session is as that program left it), StorageFailed. Killed at any moment, the session is
    whole: the old one or the new one; `recover_reclaim` removes what is left beside it.
    """
    again = plan_reclaim(plan.path, traces=traces)
    if again.refused is not None:
        raise Refused(again.refused, plan.path)
    directory = os.path.dirname(plan.path)
    freed = 0
    with fsio.lock_dir(os.path.dirname(directory)), fsio.lock_dir(directory):
        if again.backup is not None and plan.backup is not None:
            size = os.lstat(again.backup).st_size
            fsio.remove_file(again.backup)
            freed += size
        if again.unreachable and in_place:
            freed += _punch(directory, plan.path)
        elif again.unreachable:
            freed += _rewrite(directory, plan.path)
    return again.before, again.before - freed


# --- conditions


def _require_quiet(directory: str, backup: str | None, now: float | None) -> None:
    moment = time.time() if now is None else now
    paths = [os.path.join(directory, name) for name in _FILES - {_INDEX_FILE}]
    for path in [*paths, *([backup] if backup else [])]:
        stamp = fsio.stamp_of(path)
        if stamp is not None and moment - stamp.mtime_ns / 1e9 < QUIET_SECONDS:
            raise Refused("it changed within the last ten minutes; try again later", path)


def _require_plain(directory: str) -> None:
    """Only Loop's three files, each its own: a rewrite would lose or unlink anything else."""
    if os.path.islink(directory):
        raise Refused("the session is reached through a link", directory)
    with fsio.guarded(directory, "listing"), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name not in _FILES:
                raise Refused(
                    f"the directory holds more than Loop's files: {entry.name}", directory
                )
            if not entry.is_file(follow_symlinks=False) or entry.stat().st_nlink > 1:
                raise Refused(f"{entry.name} is a link", directory)


def _backup_problem(directory: str, envelope: Envelope, backup: str) -> str | None:
    """Why the version-2 file is not just an older copy of the session, or None."""
    try:
        verify(backup)
        legacy = parse_legacy(backup)
        if legacy.header.get("id") != envelope.header.get("id"):
            return "the backup is of another session"
        same = _begins_with(directory, envelope, backup)
    except LoopError as error:
        return f"the backup is not a valid session: {error.reason}"
    return None if same else "the published session does not hold all the backup's messages"


def _begins_with(directory: str, envelope: Envelope, backup: str) -> bool:
    """Whether the published messages begin with the backup's, as JSON values."""
    legacy = parse_legacy(backup)
    new = fsio.open_regular(os.path.join(directory, MESSAGES_FILE))
    try:
        old = fsio.open_regular(backup)
        try:
            lines = iter_lines(new, envelope.start, envelope.bytes)
            return all(
                _same(next(lines, None), old_line)
                for old_line in iter_messages(reader(old), legacy)
            )
        except OSError as error:
            raise StorageFailed(error, backup) from error
        finally:
            os.close(old)
    finally:
        os.close(new)


def _same(ours: bytes | None, theirs: bytes) -> bool:
    return ours is not None and (
        ours.strip() == theirs.strip() or deep_equal(loads(ours), loads(theirs))
    )


# --- doing it


def _moved(envelope: Envelope) -> bytes:
    """meta.json with the range at the file's start."""
    return edit(envelope.raw, ("start",), b"0")


def _punch(directory: str, meta_path: str) -> int:
    envelope = parse_envelope(fsio.read_file(meta_path), meta_path)
    return fsio_space.punch_hole(os.path.join(directory, MESSAGES_FILE), envelope.start)


def _rewrite(directory: str, meta_path: str) -> int:
    raw = fsio.read_file(meta_path)
    envelope = parse_envelope(raw, meta_path)
    source = os.path.join(directory, MESSAGES_FILE)
    stamp = fsio.stamp_of(source)
    staging = os.path.join(os.path.dirname(directory), staging_name(PURPOSE))
    fsio.make_private_dir(staging)
    try:
        _fill(staging, directory, envelope)
        verify(os.path.join(staging, META_FILE))
        fsio_space.swap_directories(directory, staging)
    except BaseException:
        fsio.remove_tree(staging)
        raise
    # From here `staging` is the old directory. Did anybody write to it since we read?
    old_meta = os.path.join(staging, META_FILE)
    old_messages = os.path.join(staging, MESSAGES_FILE)
    if fsio.read_file(old_meta) != raw or fsio.stamp_of(old_messages) != stamp:
        _back(directory, staging, _moved(envelope))
        raise Conflict("another program wrote to the session", meta_path)
    fsio.sync_dir(os.path.dirname(directory))
    freed = fsio.tree_size(staging) - fsio.tree_size(directory)
    fsio.remove_tree(staging)
    return freed


def _back(directory: str, staging: str, ours: bytes) -> None:
    """Put the old directory back, with a meta.json another program wrote into the new one."""
    fsio_space.swap_directories(directory, staging)
    published = os.path.join(staging, META_FILE)
    if fsio.read_file(published) != ours:
        fsio.rename(published, os.path.join(directory, META_FILE), replace=True)
    fsio.remove_tree(staging)


def _fill(staging: str, directory: str, envelope: Envelope) -> None:
    """The files of the rewritten session, with the modes and times of the old ones."""
    files: dict[str, bytes | Iterator[bytes]] = {
        MESSAGES_FILE: _committed(os.path.join(directory, MESSAGES_FILE), envelope),
        META_FILE: _moved(envelope),
    }
    if os.path.lexists(os.path.join(directory, _INDEX_FILE)):
        # Its offsets count from the range's start, so they stay true.
        files[_INDEX_FILE] = fsio.read_file(os.path.join(directory, _INDEX_FILE))
    for name, data in files.items():
        fsio.write_new(os.path.join(staging, name), data)
        fsio_space.copy_look(os.path.join(directory, name), os.path.join(staging, name))
    fsio_space.copy_look(directory, staging)


def _committed(path: str, envelope: Envelope) -> Iterator[bytes]:
    fd = fsio.open_regular(path)
    try:
        at = envelope.start
        while at < envelope.end:
            block = os.pread(fd, min(_BLOCK, envelope.end - at), at)
            if not block:
                raise InvalidSession(path, "shorter than its metadata says")
            yield block
            at += len(block)
    finally:
        os.close(fd)


def recover_reclaim(collection: str) -> tuple[str, ...]:
    """Remove what a killed rewrite left beside its session, once the session is verified.

    A directory that holds metadata is removed only when a published session of the same id
    and generation passes the full check; otherwise it stays, and is reported by the scan.
    """
    done: list[str] = []
    with fsio.guarded(collection, "looking for leftovers"):
        names = [name for name in os.listdir(collection) if is_staging_name(name, PURPOSE)]
    for name in names:
        path = os.path.join(collection, name)
        try:
            with fsio.lock_dir(collection, timeout=0):
                if _is_spare(collection, path):
                    fsio.remove_tree(path)
                    done.append(f"removed what an unfinished reclaim left: {name}")
        except LoopError:
            continue
    return tuple(done)


def _is_spare(collection: str, path: str) -> bool:
    meta = os.path.join(path, META_FILE)
    if not os.path.lexists(meta):
        return True
    left = parse_envelope(fsio.read_file(meta), meta)
    published = os.path.join(collection, str(left.header.get("id")), META_FILE)
    kept = parse_envelope(fsio.read_file(published), published)
    if kept.generation != left.generation:
        return False
    verify(published)
    return True
