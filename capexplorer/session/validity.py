"""Checks of events beyond their types, made while a line is read, so that readers can rely on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ..model import histogram
from ..model.events import EndpointTick, Event, Header, LevelClosed, Log, Mark, OfferedTick, Sample
from ..model.figures import LevelEndpoint
from ..model.findings import Blame, Readings
from ..model.offered import OfferedFigures

_DEEPEST = 32
"""Of lists and objects in a field whose values have no declared type; what we write stays below 8."""
_GREATEST = 2.0**63
"""Greatest number; larger ones would become infinite when added and multiplied."""


_UNITS = ("_ms", "_s", "_rps", "_ratio", "_bytes")
"""A reading whose name ends so is a number: it is compared and rounded."""


class _Users(msgspec.Struct):
    wait_s: dict[str, Any] | float | None = None


class _Guards(msgspec.Struct):
    allow_hosts: list[str] | None = None


class _Profile(msgspec.Struct):
    """What is read of a header's profile, which may be of any version: tables where tables are due."""

    users: _Users | None = None
    guards: _Guards | None = None
    limits: dict[str, dict[str, Any]] | None = None
    slo: dict[str, float | None] | None = None
    work: dict[str, Any] | None = None


class LineError(ValueError):
    """A line that is no event: not JSON, or not of its type's form."""


def check_values(event: Event) -> None:
    """Check that values are not nested too deep and fit 64 bits, and that evidence and profile have the expected types. Raises
    LineError.

    Seconds and output are not walked: a day has 86,400 of them, whose fields all have a type.
    """
    if isinstance(event, Sample | Log):
        return
    _check_free(event)
    if isinstance(event, Mark) and isinstance(event.finding, Blame):
        _check_readings(event.finding.readings)
    elif isinstance(event, Header):
        _check_profile(event.profile)


def _check_readings(readings: Readings) -> None:
    for name, value in readings.items():
        if name.endswith(_UNITS) and not isinstance(value, int | float):
            where = f"$.finding.readings.{name[:40]}"
            raise LineError(f"not a `mark` event: expected a number, got {type(value).__name__} - at `{where}`")


def _check_profile(profile: Mapping[str, Any]) -> None:
    try:
        msgspec.convert(profile, _Profile)
    except msgspec.ValidationError as error:
        raise LineError(f"not a `header` event: its profile: {str(error)[:1].lower()}{str(error)[1:]}") from None


def _check_free(value: Any, depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise LineError(f"lists or objects in one another, more than {_DEEPEST} deep")
    match value:
        case int() | float() if abs(value) > _GREATEST:
            raise LineError("a number beyond 64 bits")
        case msgspec.Struct():
            _check_free(msgspec.structs.asdict(value), depth)
        case dict():
            for each in value.values():
                _check_free(each, depth + 1)
        case list() | tuple():
            for each in value:
                _check_free(each, depth + 1)


def check_histograms(event: Event | None) -> None:
    """Check that the histograms of a second or a level can be decoded: in lines without a checksum this detects damage. Raises
    LineError.
    """
    match event:
        case Sample():
            endpoints: Iterable[EndpointTick | LevelEndpoint] = event.endpoints
            offered: Iterable[OfferedTick | OfferedFigures | None] = (event.offered,)
        case LevelClosed():
            endpoints = (*event.endpoints, *(endpoint for each in event.bins for endpoint in each.endpoints))
            offered = (event.figures.offered, *(each.figures.offered for each in event.bins))
        case _:
            return
    from_plan = [each.from_plan for each in offered if each is not None and each.from_plan]
    try:
        histogram.check([*(each.latency for each in endpoints if each.latency), *from_plan])
    except ValueError as error:
        raise LineError(str(error)) from None
