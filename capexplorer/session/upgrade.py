"""Logs of older schemas, made into today's as they are read: one converter a schema, each to the next.

Converters work on plain fields, so that they never depend on what today's events look like.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .codec import Line

Converter = Callable[[Line], Line | None]
"""A line of schema n to one of schema n + 1; None drops it."""

SAME_SINCE = 1
"""From this schema on events are as they are today: schema 2 added the seal of each line, and changed no event."""
SEALED_SINCE = 2
CONVERTERS: Mapping[int, Converter] = {}
"""By the schema that they read. Schema 1 is the first, so there are none yet."""


def can_upgrade(schema: int, converters: Mapping[int, Converter], to: int = SAME_SINCE) -> bool:
    """Whether there is a way from `schema` to `to`."""
    return all(step in converters for step in range(schema, to))


def upgraded(line: Line, schema: int, converters: Mapping[int, Converter], to: int = SAME_SINCE) -> Line | None:
    """`line` of `schema` as one of schema `to`; None when a converter drops it."""
    for step in range(schema, to):
        converted = converters[step](line)
        if converted is None:
            return None
        line = {**converted, "schema": step + 1} if converted.get("type") == "header" else converted
    return line
