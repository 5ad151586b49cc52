"""The journal's lines as two stacks: what can be undone, what can be done again. Pure.

A line is one JSON object. `begin` and `claim` are written before anything happens, `end`
after it::

    {"do":"begin","v":1,"id":…,"when":…,"action":"pin","step":true,"open":[…],"items":[…]}
    {"do":"claim","id":…,"way":"undo"}
    {"do":"end","id":…,"way":"do"|"undo"|"redo","states":["done",…]}
    {"do":"stacks","undo":[…],"redo":[…]}

Each item of an action has a state of its own, so that a bulk action that was only partly
done, or partly undone, can still be taken back as far as it was done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from loop_core.model import SessionKey
from loop_core.outcome import Action
from loop_core.plans import Change, Edit

__all__ = ["Entry", "Item", "ItemState", "Stacks", "Way"]

Way = Literal["do", "undo", "redo"]
# done: in effect · undone: taken back · failed: never happened · lost: cannot go back or forth
ItemState = Literal["done", "undone", "failed", "lost"]


class Item(Struct, kw_only=True):
    """What the action does to one session, with all that its inverse needs.

    `edits` are for a change; `entry` is the entry in `trash_dir` for a move: in (`trash`) or
    back (`untrash`).
    """

    kind: Literal["change", "trash", "untrash", "purge"]
    key: SessionKey
    id: str
    path: str = ""
    title: str | None = None
    edits: tuple[Edit, ...] = ()
    trash_dir: str = ""
    entry: str = ""
    force: bool = False  # "do it anyway" was said, and needed
    lasting: bool = False  # has no inverse

    def change(self) -> Change:
        return Change(key=self.key, id=self.id, path=self.path, title=self.title, edits=self.edits)


class Entry(Struct, kw_only=True):
    """One action. `step` False: recorded, but not reached by undo (the automatic read mark)."""

    id: str
    when: int  # Unix milliseconds
    action: Action
    items: list[Item]
    step: bool = True
    open: tuple[str, ...] = ()  # ids of the stores open at the time
    v: int = 1
    tries: int = 0  # undos or redos in a row that reached nothing
    states: list[ItemState] = field(default_factory=list)

    def parts(self) -> Iterator[tuple[Item, ItemState]]:
        """Each session's part and how it fared."""
        return zip(self.items, self.states, strict=True)

    @property
    def stores(self) -> set[str]:
        return {item.key.store for item in self.items}


class Stacks:
    """The actions known and the two stacks of their ids, the top last."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.undo: list[str] = []
        self.redo: list[str] = []

    def feed(self, line: dict[str, Any]) -> None:
        """Apply one line. Raises ValueError (msgspec's included) for one that makes no sense."""
        kind = line.get("do")
        if kind == "begin":
            self._begin(msgspec.convert({k: v for k, v in line.items() if k != "do"}, Entry))
        elif kind == "claim":
            self._entry(line)  # a record only: what came of it is in the end line
        elif kind == "end":
            states = msgspec.convert(line.get("states"), list[ItemState])
            self._end(self._entry(line), line.get("way"), states)
        elif kind == "stacks":
            self.undo = [i for i in line["undo"] if i in self.entries]
            self.redo = [i for i in line["redo"] if i in self.entries]
        else:
            raise ValueError("not a line of this journal")

    def top(self, way: Way, open_stores: set[str]) -> Entry | None:
        """The next entry to undo or redo that lies wholly in the stores now open."""
        for name in reversed(self.undo if way == "undo" else self.redo):
            if self.entries[name].stores <= open_stores:
                return self.entries[name]
        return None

    def lines(self) -> list[dict[str, Any]]:
        """Lines that make these stacks again."""
        out = [{"do": "begin", **msgspec.to_builtins(entry)} for entry in self.entries.values()]
        return [*out, {"do": "stacks", "undo": self.undo, "redo": self.redo}]

    def forget(self, entry_id: str) -> None:
        del self.entries[entry_id]
        self.undo = [name for name in self.undo if name != entry_id]
        self.redo = [name for name in self.redo if name != entry_id]

    def _entry(self, line: dict[str, Any]) -> Entry:
        entry = self.entries.get(line.get("id", ""))
        if entry is None:
            raise ValueError("a line about an action that is not there")
        return entry

    def _begin(self, entry: Entry) -> None:
        if entry.v != 1:
            raise ValueError("a version that is not known")
        # Until its end is known an action counts as done: after a kill, taking back what did
        # not happen is harmless, and what did happen can be taken back.
        if len(entry.states) != len(entry.items):
            entry.states = ["done"] * len(entry.items)
        self.entries[entry.id] = entry
        self._place(entry, "undo")

    def _end(self, entry: Entry, way: Any, states: list[ItemState]) -> None:
        if len(states) != len(entry.items) or way not in ("do", "undo", "redo"):
            raise ValueError("an end that does not fit its action")
        entry.tries = entry.tries + 1 if states == entry.states and way != "do" else 0
        entry.states = states
        if way == "do" and entry.step and "done" in states:
            reach = set(entry.open)
            self.redo = [name for name in self.redo if not self.entries[name].stores <= reach]
        self._place(entry, "redo" if way == "redo" else "undo")

    def _place(self, entry: Entry, first: Literal["undo", "redo"]) -> None:
        """Put an action where its items' states belong.

        `first` wins where some items could not go for now: the action stays on the stack it
        was taken from, to be tried again.
        """
        wanted = {"undo": entry.step and "done" in entry.states, "redo": "undone" in entry.states}
        second: Literal["undo", "redo"] = "redo" if first == "undo" else "undo"
        place = first if wanted[first] else second if wanted[second] else None
        for name, stack in (("undo", self.undo), ("redo", self.redo)):
            if name == place and entry.id not in stack:
                stack.append(entry.id)
            elif name != place and entry.id in stack:
                stack.remove(entry.id)
