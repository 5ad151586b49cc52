"""JSON values as JavaScript compares and copies them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["copy_value", "deep_equal"]


def deep_equal(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not; key order is free.

    Works at any depth.
    """
    todo = [(a, b)]
    while todo:
        left, right = todo.pop()
        if left is right:
            continue
        if isinstance(left, dict):
            if not isinstance(right, dict) or left.keys() != right.keys():
                return False
            todo.extend((value, right[key]) for key, value in left.items())
        elif isinstance(left, list):
            if not isinstance(right, list) or len(left) != len(right):
                return False
            todo.extend(zip(left, right, strict=True))
        elif isinstance(left, bool) is not isinstance(right, bool) or left != right:
            return False
    return True


def copy_value(value: Any) -> Any:
    """A copy of a JSON value of any depth that shares nothing mutable with it."""
    root: list[Any] = [value]
    todo: list[Any] = [root]
    while todo:
        holder = todo.pop()
        places: Iterable[tuple[Any, Any]] = (
            holder.items() if isinstance(holder, dict) else enumerate(holder)
        )
        for place, inner in list(places):
            if isinstance(inner, dict | list):
                fresh = inner.copy()
                holder[place] = fresh
                todo.append(fresh)
    return root[0]
