"""Hostile places: links, pipes, names, ids and modes around the sessions."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from loop_core import fsio
from loop_tui.demo.hostile.contents import Content
from loop_tui.demo.hostile.stores import (
    header_of,
    id_of,
    text_of,
    write_craft,
    write_v2,
    write_v3,
)

_FINE = Content(("a healthy conversation",))


class Ground(NamedTuple):
    """Where to write: all absolute, all existing."""

    sessions: str  # <agent dir>/sessions
    workspace: str  # a Craft-Agents workspace
    outside: str  # a folder outside every store: nothing may happen to it
    cwd: str

    def collection(self, name: str) -> str:
        return os.path.join(self.sessions, name)

    @property
    def craft(self) -> str:
        return os.path.join(self.workspace, "sessions")


class Trap(NamedTuple):
    name: str
    about: str
    set: Callable[[Ground], object]


def _links(ground: Ground) -> None:
    here = ground.collection("links")
    real = write_v3(here, "target of links", _FINE, ground.cwd)
    away = write_v3(os.path.join(ground.outside, "collection"), "linked away", _FINE, ground.cwd)
    os.symlink(away, os.path.join(here, id_of("symlink_dir")))
    os.symlink(here, os.path.join(here, id_of("symlink loop")))
    os.symlink("nowhere", os.path.join(here, id_of("dangling")))
    os.symlink(ground.sessions, ground.collection("links-to-sessions"))
    folder = os.path.join(here, id_of("symlink_file"))
    fsio.make_private_dir(folder)
    for name in ("meta.json", "messages.jsonl"):
        os.symlink(os.path.join(away, name), os.path.join(folder, name))
    secret = os.path.join(ground.outside, "secret.txt")
    fsio.write_new(secret, b"not a session; nobody may show, change or move this\n")
    stolen = os.path.join(here, id_of("steals a file"))
    fsio.make_private_dir(stolen)
    os.symlink(secret, os.path.join(stolen, "meta.json"))
    os.symlink(secret, os.path.join(here, f"{id_of('v2 steals')}.jsonl"))
    twin = os.path.join(here, id_of("hard link"))
    fsio.make_private_dir(twin)
    for name in ("meta.json", "messages.jsonl"):
        os.link(os.path.join(real, name), os.path.join(twin, name))
    session = os.path.join(ground.craft, "260102-linked-folder")
    os.symlink(ground.outside, session)
    linked = os.path.join(ground.craft, "260102-linked-file")
    fsio.make_private_dir(linked)
    os.symlink(secret, os.path.join(linked, "session.jsonl"))


def _pipes(ground: Ground) -> None:
    here = ground.collection("pipes")
    for name in ("meta.json", "messages.jsonl", "index.json"):
        folder = write_v3(here, f"fifo {name}", _FINE, ground.cwd)
        path = os.path.join(folder, name)
        fsio.remove_file(path)
        os.mkfifo(path, 0o600)
    os.mkfifo(os.path.join(here, f"{id_of('fifo v2')}.jsonl"), 0o600)
    os.mkfifo(os.path.join(here, "archive.json"), 0o600)
    endless = os.path.join(here, id_of("endless"))
    fsio.make_private_dir(endless)
    os.symlink("/dev/zero", os.path.join(endless, "meta.json"))
    listening = os.path.join(here, id_of("socket"))
    fsio.make_private_dir(listening)
    _socket(listening, "meta.json")
    folder = os.path.join(ground.craft, "260102-pipe")
    fsio.make_private_dir(folder)
    os.mkfifo(os.path.join(folder, "session.jsonl"), 0o600)
    directory = os.path.join(ground.craft, "260102-directory", "session.jsonl")
    fsio.make_private_dir(directory)


def _socket(folder: str, name: str) -> None:
    # A socket's path is short by law; a relative one always is.
    before = os.getcwd()
    os.chdir(folder)
    try:
        with closing(socket.socket(socket.AF_UNIX)) as made:
            made.bind(name)
    finally:
        os.chdir(before)


def _names(ground: Ground) -> None:
    strange = (
        "line\nbreak",
        "\x1b]0;owned\x07\x1b[2J",
        "-rf",
        "$(touch owned)",
        "[bold]x[nope",
        "é\u202etxt",
    )
    for number, name in enumerate(strange):
        write_v3(ground.collection(name), f"in a strange folder {number}", _FINE, ground.cwd)
        folder = os.path.join(ground.craft, name)
        fsio.make_private_dir(folder)
        fsio.write_new(os.path.join(folder, "session.jsonl"), text_of({"id": ".."}) + b"\n")
    here = ground.collection("names")
    raw = os.fsencode(ground.collection("bytes-")) + b"\xff\xfe"
    write_v3(os.fsdecode(raw), "in a folder that is no UTF-8", _FINE, ground.cwd)
    for name in ("UPPER", "upper"):
        write_v2(ground.collection(name), f"twin {name}", _FINE, ground.cwd)
    for session_id in ("..", "../../outside", "/etc", "x" * 36, id_of("a\n")[:35] + "\n"):
        content = Content(("my id is not one",), header={"id": session_id})
        write_v3(here, f"id {session_id}", content, ground.cwd)
        write_v2(here, f"id {session_id}", content, ground.cwd)


def _identity(ground: Ground) -> None:
    for name in ("first", "second"):
        content = Content(("the same id in two places",), header={"id": id_of("shared")})
        write_v3(ground.collection(f"dup-{name}"), f"dup_id {name}", content, ground.cwd)
    here = ground.collection("identity")
    write_v3(
        here, "id_mismatch", Content(("moved",), header={"id": id_of("somebody else")}), ground.cwd
    )
    path = write_v2(here, "conflict_copy", _FINE, ground.cwd)
    data = fsio.read_file(path)
    stem = path.removesuffix(".jsonl")
    for name in (f"{stem} (conflicted copy).jsonl", f"{stem} 2.jsonl"):
        fsio.write_new(name, data)
    folder = write_v3(here, "conflict_copy of meta", _FINE, ground.cwd)
    meta = fsio.read_file(os.path.join(folder, "meta.json"))
    fsio.write_new(os.path.join(folder, "meta (conflicted copy).json"), meta)
    write_craft(ground.workspace, "copy of another", Content(("x",), craft_header={"id": "other"}))


def _envelopes(ground: Ground) -> None:
    here = ground.collection("envelopes")
    lies: dict[str, dict[str, object]] = {
        "negative start": {"start": -1},
        "endless bytes": {"bytes": 1e300},
        "past the end": {"start": 10, "bytes": 10_000_000},
        "fraction": {"bytes": 10.5},
        "true for one": {"messageCount": True},
        "count too high": {"messageCount": 1_000_000},
        "wrong checksum": {"generation": "0" * 64},
        "no checksum": {"generation": None},
        "version 4": {"version": 4},
        "version text": {"version": "3"},
        "other format": {"format": "other"},
        "all null": {"format": None, "version": None, "start": None, "bytes": None},
    }
    for name, envelope in lies.items():
        write_v3(here, f"envelope {name}", _FINE, ground.cwd, **envelope)
    indexes = {
        "lying": [{"messageIndex": 0, "byteOffset": 7}],
        "descending": [{"messageIndex": 5, "byteOffset": 9}, {"messageIndex": 0, "byteOffset": 0}],
        "huge": [{"messageIndex": 2**63, "byteOffset": -(2**70)}],
        "no list": "rounds",
    }
    for name, rounds in indexes.items():
        folder = write_v3(here, f"index {name}", Content(("a", "b", "c")), ground.cwd)
        meta = fsio.read_file(os.path.join(folder, "meta.json"))
        generation = meta.split(b'"generation": "')[1][:64].decode()
        index = text_of({"generation": generation, "rounds": rounds})
        fsio.write_new(os.path.join(folder, "index.json"), index)
    unpublished = os.path.join(here, id_of("unpublished"))
    fsio.make_private_dir(unpublished)
    fsio.write_new(os.path.join(unpublished, "messages.jsonl"), b"{}\n")


def _archives(ground: Ground) -> None:
    archives = {
        "outside ids": b'["../../outside","..","/etc/passwd"]\n',
        "object": b'{"a":1}\n',
        "no JSON": b"[",
        "empty": b"",
        "mark": b"\xef\xbb\xbf[]\n",
        "deep": b"[" * 100_000,
        "numbers": b"[1,null,true]\n",
    }
    for name, data in archives.items():
        here = ground.collection(f"archive-{name.replace(' ', '-')}")
        write_v3(here, f"beside an archive: {name}", _FINE, ground.cwd)
        fsio.write_new(os.path.join(here, "archive.json"), data)


def _leftovers(ground: Ground) -> None:
    here = ground.collection("leftovers")
    write_v3(here, "beside leftovers", _FINE, ground.cwd)
    staging = os.path.join(here, f".delete-{id_of('staging')}")
    write_v2(staging, "in a staging directory", _FINE, ground.cwd)
    fsio.write_new(os.path.join(here, f"{id_of('temporary')}.jsonl.{id_of('t')}.tmp"), b"{}")
    alone = os.path.join(ground.craft, "260102-vanish-gap")
    fsio.make_private_dir(alone)
    header = text_of({"id": "260102-vanish-gap", "createdAt": 1_767_323_045_000})
    fsio.write_new(os.path.join(alone, "session.jsonl.tmp"), header + b"\n")


def _trash(ground: Ground) -> None:
    trash = os.path.join(os.path.dirname(ground.sessions), "loop-tui-trash")
    target = os.path.join(ground.outside, "restored-over-this")
    fsio.write_new(target, b"must stay\n")
    part = {"source": target, "kind": "session", "size": 1, "inode": 1, "place": "../../.."}
    manifest = {
        "version": 1,
        "id": "20260102T030405000Z-" + id_of("entry"),
        "session": "../../outside",
        "source": "loop",
        "form": "loop3",
        "trashed_ms": 1,
        "state": "kept",
        "parts": [part],
    }
    for number, data in enumerate((text_of(manifest), b"{", b"null", text_of([manifest] * 3))):
        entry = os.path.join(trash, f"20260102T03040500{number}Z-{id_of(f'entry {number}')}")
        fsio.make_private_dir(entry)
        fsio.write_new(os.path.join(entry, "manifest.json"), data)
    fsio.make_private_dir(os.path.join(trash, "not an entry"))


def _modes(ground: Ground) -> None:
    locked = ground.collection("locked_dir")
    write_v3(locked, "behind a locked door", _FINE, ground.cwd)
    os.chmod(locked, 0)
    read_only = ground.collection("ro_store")
    folder = write_v3(read_only, "read-only", _FINE, ground.cwd)
    unreadable = write_v3(ground.collection("modes"), "unreadable file", _FINE, ground.cwd)
    os.chmod(os.path.join(unreadable, "meta.json"), 0)
    for path in (folder, read_only):
        os.chmod(path, 0o500)


def _folders(ground: Ground) -> None:
    """Working directories that are gone, relative, a file, or not a path at all."""
    here = ground.collection("folders")
    gone = os.path.join(ground.outside, "gone")
    for number, cwd in enumerate(
        (gone, "relative/path", "/dev/null", "/\u0000x", "", "/" + "x" * 5000)
    ):
        write_v3(here, f"cwd {number}", _FINE, cwd)
        write_v2(here, f"cwd {number}", _FINE, cwd)


TRAPS: tuple[Trap, ...] = (
    Trap("links", "symbolic links to files, directories, itself, nowhere; hard links", _links),
    Trap(
        "pipes", "FIFOs, sockets, directories and an endless device where files are meant", _pipes
    ),
    Trap("names", "folder names with line feeds, escapes, options; ids that are paths", _names),
    Trap("identity", "one id twice, a folder named otherwise, conflict copies", _identity),
    Trap("envelopes", "envelopes and indexes that lie", _envelopes),
    Trap("archives", "archive.json that is none, or names what lies outside", _archives),
    Trap(
        "leftovers",
        "staging directories, temporaries, a file between unlink and rename",
        _leftovers,
    ),
    Trap("trash", "manifests that point outside", _trash),
    Trap("modes", "a locked directory, an unreadable file, a read-only collection", _modes),
    Trap("folders", "working directories that cannot be", _folders),
)


def many(ground: Ground, count: int) -> None:
    """`count` tiny sessions of one project."""
    here = ground.collection("many")
    fsio.make_private_dir(here)
    for number in range(count):
        session_id = id_of(f"many {number}")
        header = text_of(header_of(session_id, ground.cwd))
        data = header + b'\n{"role":"user","content":"ok","timestamp":1}\n'
        fsio.write_new(os.path.join(here, f"{session_id}.jsonl"), data)
