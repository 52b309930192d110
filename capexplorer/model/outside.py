"""The gate that every value from outside passes before it is part of an event: numbers are finite and bounded, texts valid and
bounded.

From outside comes what services, users' code, watched parts, servers, workers and names of processes say. A number that does not
pass is left out, and named to the caller, so that it can be marked; a text is repaired. Without the gate one such value would
end the run that should have recorded it: JSON has no infinity, and UTF-8 no lone surrogate.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import NoneType
from typing import Any, TypeVar, get_args

import msgspec

GREATEST = 2.0**63
"""Numbers are smaller: larger ones are no 64-bit integers, and would become infinite in sums and products."""

TEXT_MOST = 8_192
"""Characters of a text; a longer one is cut."""

NAME_MOST = 2_000
"""Characters of a name, such as that of an endpoint."""

FIGURES_MOST = 500
"""Figures with names of their own that one source may have: each is a figure in every line of the log."""

_STRUCT_TEXT_MOST = 1 << 18
"""Characters of a text in a struct, of which encoded histograms have the longest."""

S = TypeVar("S", bound=msgspec.Struct)


def number(value: object) -> float | None:
    """The value as a number; None if it is none, is not finite, or is too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < GREATEST else None  # False for NaN


def text(value: str, most: int = TEXT_MOST) -> str:
    """The text without lone surrogates, and at most `most` characters of it."""
    return utf8(value[:most])


def utf8(value: str) -> str:
    """The text without lone surrogates, which Python uses for bytes that are not UTF-8, as in names of files."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def figures(found: Mapping[str, object]) -> tuple[dict[str, float], tuple[str, ...]]:
    """(figures that pass, names of those that do not, or are more than FIGURES_MOST)."""
    passed: dict[str, float] = {}
    refused: list[str] = []
    for name, value in found.items():
        kept, usable = text(name, NAME_MOST), number(value)
        if usable is None or len(passed) >= FIGURES_MOST:
            refused.append(kept)
        else:
            passed[kept] = usable
    return passed, tuple(refused)


def struct(value: S) -> tuple[S, tuple[str, ...]]:
    """(the struct with texts that pass, and with None in place of each number that does not; names of the fields of those).

    Raises ValueError if a number that does not pass cannot be None.
    """
    changes: dict[str, Any] = {}
    refused: list[str] = []
    for name, may_be_none in _fields(type(value)):
        old = getattr(value, name)
        new = _passed(name, old, refused)
        if new is None and old is not None and not may_be_none:
            raise ValueError(f"{name} is {old!r:.40}")
        if new is not old:
            changes[name] = new
    return (msgspec.structs.replace(value, **changes) if changes else value), tuple(refused)


@lru_cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, bool], ...]:
    """(name, whether it may be None) of each field."""
    return tuple((field.name, NoneType in get_args(field.type)) for field in msgspec.structs.fields(kind))


def _passed(name: str, value: Any, refused: list[str]) -> Any:
    """What passes of a field's value, which is the same object if all of it does; None for a number that does not."""
    match value:
        case None | bool():
            return value
        case int() | float():
            if abs(value) < GREATEST:
                return value
            refused.append(name)
            return None
        case str():
            repaired = text(value, _STRUCT_TEXT_MOST)
            return value if repaired == value else repaired
        case msgspec.Struct():
            passed, within = struct(value)
            refused += [f"{name}.{each}" for each in within]
            return passed
        case tuple():
            items = tuple(_passed(name, each, refused) for each in value)
            if any(new is None and old is not None for new, old in zip(items, value, strict=True)):
                raise ValueError(f"{name} has a number that cannot be used")
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        case dict():
            pairs = {text(str(key), NAME_MOST): _passed(f"{name}.{key}", each, refused) for key, each in value.items()}
            kept = {key: each for key, each in pairs.items() if each is not None}
            return kept if kept != value else value
    return value
