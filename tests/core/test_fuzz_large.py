"""Much of the worst in each file: an answer, with processor time and memory in proportion.

Ten megabytes in the long form (marker `soak`), a fraction of it in every run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_MB = 1 << 20
#: Cut of each input, processor seconds for all readers of it together, megabytes above idle.
_FORMS = {"short": (200_000, 15, 150), "long": (10 * _MB, 300, 1500)}

#: What a file may hold; {N} bytes each.
INPUTS = {
    "brackets": b"[" * (10 * _MB),
    "braces": b'{"a":' * (2 * _MB),
    "closed": b"[" * (5 * _MB) + b"]" * (5 * _MB),
    "digits": b"9" * (10 * _MB),
    "quotes": b'"' * (10 * _MB),
    "backslashes": b'"' + b"\\" * (10 * _MB),
    "surrogates": b'"' + b"\\ud83d" * (10 * _MB // 6) + b'"',
    "zeros": bytes(10 * _MB),
    "line feeds": b"\n" * (10 * _MB),
    "spaces": b" " * (10 * _MB),
    "keys": b"{" + b'"k":1,' * (10 * _MB // 6) + b'"k":2}',
    "many keys": b"{" + b",".join(b'"%d":0' % n for n in range(900_000)) + b"}",
    "nulls": b"[" + b"null," * (2 * _MB) + b"null]",
    "glued": b'{"a":1}' * (10 * _MB // 7),
    "noise": bytes(range(256)) * (10 * _MB // 256),
}

_CHILD = """
import json, os, resource, sys, time
from pathlib import Path
from loop_core import jsonvalue
from loop_core.check import check
from loop_core.craft import read_session_header, read_session_jsonl
from loop_core.craft.store import CraftStore
from loop_core.errors import LoopError
from loop_core.journal import Journal
from loop_core.loop.store import LoopStore
from loop_core.search.catalog import Catalog
from loop_core.trash import read_entries
from loop_tui.settings import SettingsFile

base = Path(sys.argv[1])

def peak():
    # The high-water mark of a child starts with its parent's; the kernel's own does not.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

def typed(work):
    try:
        work()
    except (LoopError, jsonvalue.JsonSyntaxError):
        pass

def look(store):
    *_, found = store.scan()
    for row in found.rows:
        store.capabilities(row)
        typed(lambda: store.page(row.key))
        typed(lambda: store.details(row.key))
        typed(lambda: sum(1 for _ in store.find(row.key, "zz")))
    assert found.rows or found.unsupported, store.id

idle, began = peak(), time.process_time()
times = {}
def timed(name, work):
    start = time.process_time()
    typed(work)
    times[name] = round(time.process_time() - start, 2)

loop, craft, own = base / "loop", base / "craft", base / "own"
timed("loop store", lambda: look(LoopStore(loop, cache_dir=base / "cache")))
for number, path in enumerate(sorted(p for p in loop.rglob("*.json*") if "trash" not in str(p))):
    timed(f"check {number} {path.name}", lambda: check(path))
timed("craft store", lambda: look(CraftStore(craft)))
for path in craft.rglob("session.jsonl"):
    timed("check craft", lambda: check(path))
    timed("craft header", lambda: read_session_header(path))
    timed("craft session", lambda: read_session_jsonl(path))
timed("settings", lambda: SettingsFile(str(own)))
timed("journal", lambda: Journal(own / "journal.jsonl", writable=False).entries())
timed("catalog", lambda: Catalog(str(own)).load())
timed("trash", lambda: read_entries(loop / "loop-tui-trash"))
print(json.dumps([time.process_time() - began, (peak() - idle) / 1024, times]))
"""


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize(
    "form",
    ["short", pytest.param("long", marks=[pytest.mark.soak, pytest.mark.timeout(900)])],
)
def test_much_of(name: str, form: str, tmp_path: Path) -> None:
    """failures rows 6, 8, 29, 39: nothing hangs, nothing needs many times the file."""
    cut, most_seconds, most_megabytes = _FORMS[form]
    data = INPUTS[name][:cut]
    collection = tmp_path / "loop" / "sessions" / "c"
    sessions = tmp_path / "craft" / "workspaces" / "w" / "sessions"
    trash = tmp_path / "loop" / "loop-tui-trash"
    own = tmp_path / "own"
    ids = [f"{n}1234567-1001-4101-8201-abc000001eef" for n in (1, 2, 3)]
    files = {
        collection / ids[0][:36] / "meta.json": data,
        collection / ids[0][:36] / "messages.jsonl": data,
        collection / f"{ids[1][:36]}.jsonl": data,
        collection / "archive.json": data,
        sessions / "260102-a" / "session.jsonl": data,
        sessions / "260102-b" / "session.jsonl": b'{"id":"260102-b","createdAt":1}\n' + data,
        trash / f"20260102T030405000Z-{ids[2][:36]}" / "manifest.json": data,
        own / "settings.json": data,
        own / "journal.jsonl": data,
        own / "catalog.json": data,
        tmp_path / "craft" / "config.json": data,
        sessions.parent / "config.json": b'{"id":"w","name":"W","slug":"w"}',
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=800 if form == "long" else 100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seconds, megabytes, times = json.loads(done.stdout)
    assert seconds < most_seconds, times
    assert megabytes < most_megabytes, (megabytes, times)
