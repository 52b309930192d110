"""The settings of a sweep: `threads=1,2,4,8`, all combinations of several, and the order in which they are explored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import TypeVar

from ..errors import InputError
from ..model.events import Sweep
from ..model.sweep import Params
from ..toml import shown

SETTINGS_MOST = 64
"""Most settings of a sweep, which takes a minute or two for each."""

_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})", re.ASCII)

T = TypeVar("T")


def parse(given: Sequence[str], where: str) -> list[dict[str, str]]:
    """All settings of `NAME=VALUE,VALUE,...` and `NAME=1..8`, of which the last parameter changes fastest. Raises InputError."""
    values: dict[str, list[str]] = {}
    for text in given:
        name, equals, listed = text.partition("=")
        found = [each.strip() for part in listed.split(",") for each in _expanded(part.strip(), where)]
        if not equals or not name.strip() or not all(found):
            raise InputError(f"{where}: expected NAME=VALUE,VALUE,... or NAME=1..8, got {shown(text)}")
        if name in values or len(set(found)) < len(found):
            raise InputError(f"{where}: expected each parameter and each of its values once, got {shown(text)}")
        values[name.strip()] = found
    count = 1
    for each in values.values():
        count *= len(each)
    if count > SETTINGS_MOST:
        raise InputError(f"{where}: expected at most {SETTINGS_MOST} settings in all, got {count:,}")
    return [dict(zip(values, each, strict=True)) for each in product(*values.values())]


def _expanded(value: str, where: str) -> list[str]:
    """`1..4` as its numbers."""
    found = _RANGE.fullmatch(value)
    if found is None:
        return [value]
    first, last = int(found[1]), int(found[2])
    if not first <= last < first + SETTINGS_MOST:
        raise InputError(f"{where}: expected a range of at most {SETTINGS_MOST} ascending numbers, got {shown(value)}")
    return [str(each) for each in range(first, last + 1)]


def most_telling_first(settings: Sequence[T]) -> list[T]:
    """The first and the last one, then always the middle of the widest gap: a sweep that is ended early shows the whole range."""
    order = [index for index in (0, len(settings) - 1) if index >= 0]
    while len(set(order)) < len(settings):
        taken = sorted(set(order))
        low, high = max(zip(taken, taken[1:], strict=False), key=lambda gap: gap[1] - gap[0])
        order.append((low + high) // 2)
    return [settings[index] for index in dict.fromkeys(order)]


def to_explore(sweep: Sweep) -> list[Params]:
    """The settings in the order in which they are explored, without those of an earlier session."""
    earlier = [each.params for each in sweep.earlier]
    return [params for params in most_telling_first(sweep.settings) if params not in earlier]
