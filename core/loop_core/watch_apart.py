"""Native watching in a process of its own, for stores so large that placing the watches is felt.

The library that watches holds the interpreter until every directory has its watch: 13 ms for a
thousand of them, during which no other thread runs and no frame is drawn. Apart, it holds only
itself. ``python -m loop_core.watch_apart`` reads what to watch from its standard input, writes
what changed to its standard output, and ends when its input does, so it outlives nobody.

Both sides speak in frames: a length of four bytes, then that many bytes. A frame begins with
its kind; paths are as the file system has them, with a zero byte between two.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import IO

from loop_core.watch import watch_natively

__all__ = ["watch_apart"]

_CHANGED, _FAILED, _TREE, _FLAT = b"C", b"F", b"T", b"D"
_LOOK_S = 0.5  # the longest that `stop` goes unnoticed
_END_S = 2.0


def watch_apart(paths: Sequence[str], recursive: bool, stop: threading.Event) -> Iterator[set[str]]:
    """Yield the paths of each batch of changes until `stop` is set; an empty one first.

    Raises OSError or RuntimeError where the process cannot watch, or ended by itself.
    """
    process = subprocess.Popen(
        # -P: whatever lies in the directory we were started in is no module of ours.
        [sys.executable, "-P", "-m", "loop_core.watch_apart"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        bufsize=0,  # `select` has to see whatever is there
    )
    try:
        if process.stdin is not None and process.stdout is not None:
            _send(process.stdin, _TREE if recursive else _FLAT, map(os.fsencode, paths))
            yield from _batches(process.stdout, stop)
    finally:
        _end(process)


def _batches(source: IO[bytes], stop: threading.Event) -> Iterator[set[str]]:
    while not stop.is_set():
        if not select.select([source], [], [], _LOOK_S)[0]:
            continue
        kind, parts = _receive(source)
        if kind == _FAILED:
            raise RuntimeError(os.fsdecode(b"".join(parts)))
        if kind != _CHANGED:
            raise RuntimeError("the watching process ended")
        yield set(map(os.fsdecode, parts))


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _send(stream: IO[bytes], kind: bytes, parts: Iterator[bytes]) -> None:
    data = kind + b"\0".join(parts)
    data = len(data).to_bytes(4, "big") + data
    while data:  # a pipe may take less at a time
        data = data[stream.write(data) :]
    stream.flush()


def _receive(stream: IO[bytes]) -> tuple[bytes, list[bytes]]:
    """Kind and parts of the next frame; an empty kind when there is no other."""
    data = _read(stream, int.from_bytes(_read(stream, 4), "big"))
    return data[:1], data[1:].split(b"\0") if len(data) > 1 else []


def _read(stream: IO[bytes], size: int) -> bytes:
    """`size` bytes, or what there was before the end."""
    data = b""
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def main() -> None:
    """Watch what the first frame names until standard input ends."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    kind, paths = _receive(source)

    def end_with_input() -> None:
        source.read()
        os._exit(0)

    threading.Thread(target=end_with_input, daemon=True).start()
    try:
        for batch in watch_natively(
            [os.fsdecode(path) for path in paths], kind == _TREE, threading.Event()
        ):
            _send(target, _CHANGED, map(os.fsencode, batch))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other side has to know
        reason = error.strerror if isinstance(error, OSError) else None
        _send(target, _FAILED, iter([os.fsencode(reason or str(error))]))


if __name__ == "__main__":
    main()
    os._exit(0)  # the thread that reads would hold the end
