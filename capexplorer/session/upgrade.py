"""Converts lines of older schemas while they are read: each converter leads to the next schema.

Converters work on plain values, so that they do not depend on the present events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .codec import Line
from .upgrade_marks import upgraded_mark

Converter = Callable[[Line], Line | None]
"""A line of schema n -> the line of schema n + 1; None: the line is dropped."""

SAME_SINCE = 2
"""Events have had their current form since this schema."""
SEALED_SINCE = 2

_UNCHANGED = b'{"type":"sample"'
"""How nearly all lines of a log begin; they are equal in all schemas and need no conversion."""


def from_schema_1(line: Line) -> Line:
    """A line of schema 1, whose marks have untyped evidence and sentences of advice, as one of schema 2."""
    match line.get("type"):
        case "mark":
            return upgraded_mark(line)
        case "reanalysed":
            return {**line, "changes": [_change(each) for each in line.get("changes") or ()]}
    return line


def _change(change: Line) -> Line:
    marks = {name: upgraded_mark(change[name]) for name in ("recorded", "found") if isinstance(change.get(name), dict)}
    return {**change, **marks}


CONVERTERS: Mapping[int, Converter] = {1: from_schema_1}
"""Converters by the schema that they read."""


def is_current(line: bytes, schema: int) -> bool:
    """Whether a line of `schema` can be decoded without conversion."""
    return schema >= SAME_SINCE or line.startswith(_UNCHANGED)


def can_upgrade(schema: int, converters: Mapping[int, Converter], to: int = SAME_SINCE) -> bool:
    """Whether there are converters for all steps from `schema` to `to`."""
    return all(step in converters for step in range(schema, to))


def upgraded(line: Line, schema: int, converters: Mapping[int, Converter], to: int = SAME_SINCE) -> Line | None:
    """A line of `schema` as one of schema `to`; None if a converter drops it."""
    for step in range(schema, to):
        converted = converters[step](line)
        if converted is None:
            return None
        line = {**converted, "schema": step + 1} if converted.get("type") == "header" else converted
    return line
