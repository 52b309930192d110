"""Events as they will be read from the log: secrets removed, floats rounded to the measured precision, only what JSON and UTF-8
can express. Values from outside have passed `model.outside` before; what still is not finite is left out: no line is lost.

A live run passes `canonical(event)` to its screen and to the writer, so that the screen shows what a replay will show. Rounding
makes a sample a tenth smaller; a day at one sample a second must stay under 200 MB. Must not know JSON or files.
"""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from ..model import outside
from ..model.events import Sample
from . import redact

_TIMES = {"t_s": 3, "started_s": 3, "settled_s": 3, "since_s": 3, "ended_s": 3}
"""Decimals of times, the same in every event, so that times of different events can be compared."""
_DECIMALS = (("offered_per_s", 6), ("_per_s", 1), ("_ms", 3), ("_ratio", 4), ("_s", 6))
"""Decimals by the end of a field's name, in samples only; the first match counts. A level's figures are not rounded."""
_HISTOGRAMS = frozenset(("latency", "from_plan"))
"""Fields with encoded histograms, which are not searched for secrets."""
_UNCHANGED = frozenset((int, bool, NoneType))
"""Types of fields that are neither text nor measured numbers."""
_PLAIN = frozenset(("profile", "params", "args", "settings"))
"""Fields with nested values, in which keys determine what is secret."""


S = TypeVar("S", bound=msgspec.Struct)


def canonical(event: S) -> S:
    """The event, or the part of one, that will be read from its line; the same object if nothing changes."""
    return _struct(event, in_sample=isinstance(event, Sample))


def _struct(struct: S, in_sample: bool) -> S:
    changes: dict[str, Any] = {}
    for name, default, decimals, instead in _fields(type(struct), in_sample):
        old = getattr(struct, name)
        if old is None:
            continue
        if type(old) is float:
            new = _number(old, decimals) if math.isfinite(old) else instead
        else:
            new = _value(name, old, in_sample)
        if new == default:
            new = default
        if new is not old:
            changes[name] = new
    return msgspec.structs.replace(struct, **changes) if changes else struct


@lru_cache
def _fields(kind: type[msgspec.Struct], in_sample: bool) -> tuple[tuple[str, float | str | None, int | None, float | None], ...]:
    """(name, default if that is a number or a text, decimals, what to write in place of a number that is not finite) of each
    field that may change.

    The default is needed because msgspec omits a field only if its value is the same object as the default: a measured 0.0 or a
    client's `GET` is an equal, but another object.
    """
    hints = get_type_hints(kind)  # without the bounds of `Annotated`
    return tuple(
        (
            field.name,
            field.default if isinstance(field.default, float | str) else None,
            _decimals(field.name, in_sample),
            None if NoneType in get_args(hints[field.name]) else field.default if isinstance(field.default, float) else 0.0,
        )
        for field in msgspec.structs.fields(kind)
        if not set(get_args(hints[field.name]) or (hints[field.name],)) <= _UNCHANGED
    )


def _number(value: float, decimals: int | None) -> float:
    """The rounded value; the same object if rounding changes nothing."""
    rounded = value if decimals is None else round(value, decimals)
    return value if rounded == value else rounded


def _value(name: str, value: Any, in_sample: bool) -> Any:
    match value:
        case None | int():
            return value
        case float():
            return _number(value, _decimals(name, in_sample))
        case str():
            cleaned = value if name in _HISTOGRAMS else _text(value)
            return value if cleaned == value else cleaned
        case msgspec.Struct():
            return _struct(value, in_sample)
        case tuple():
            return _tuple(name, value, in_sample)
        case dict():
            walked = _dict(name, value, in_sample)
            return value if walked == value else walked
        case list():
            return [_value(name, each, in_sample) for each in value]
    return value


def _tuple(name: str, values: tuple[Any, ...], in_sample: bool) -> tuple[Any, ...]:
    if name == "command":
        return redact.command([outside.utf8(each) for each in values])
    new = tuple([_value(name, each, in_sample) for each in values])
    return values if all(map(operator.is_, values, new)) else new


def _dict(name: str, values: dict[str, Any], in_sample: bool) -> dict[str, Any]:
    """JSON has no NaN, and a null would make the whole line unreadable."""
    finite = {key: each for key, each in values.items() if not isinstance(each, float) or math.isfinite(each)}
    if name == "app":
        return finite
    walked = {_text(key): _value("", each, in_sample) for key, each in finite.items()}
    return redact.nested(walked) if name in _PLAIN else walked


def _text(text: str) -> str:
    """The text without secrets, valid UTF-8."""
    return redact.text(outside.utf8(text))


@lru_cache(maxsize=1024)
def _decimals(name: str, in_sample: bool) -> int | None:
    if name in _TIMES:
        return _TIMES[name]
    return next((decimals for unit, decimals in _DECIMALS if name.endswith(unit)), None) if in_sample else None
