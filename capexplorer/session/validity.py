"""Checks of events that their types do not express, made while a line is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..model.events import Event, Header, Log, Mark, Sample
from ..model.findings import Blame, Readings

_DEEPEST = 32
"""Greatest depth of lists and objects in a field without declared types of values; the app writes less than 8."""
_GREATEST = 2.0**63
"""Greatest number; larger ones would become infinite in sums and products."""

_UNITS = ("_ms", "_s", "_rps", "_ratio", "_bytes")
"""Ends of names of readings that must be numbers, since they are compared and rounded."""


class _Users(msgspec.Struct):
    wait_s: dict[str, Any] | float | None = None


class _Guards(msgspec.Struct):
    allow_hosts: list[str] | None = None


class _Profile(msgspec.Struct):
    """The parts of a header's profile that are used, with their types; the profile may be of any version."""

    users: _Users | None = None
    guards: _Guards | None = None
    limits: dict[str, dict[str, Any]] | None = None
    slo: dict[str, float | None] | None = None
    work: dict[str, Any] | None = None


class LineError(ValueError):
    """A line is no event: it is not JSON, or does not have the form of its type."""


def check_values(event: Event) -> None:
    """Check that values are not nested too deeply and fit 64 bits, and that evidence and profile have the expected types. Raises
    LineError.

    Samples and lines of output are not checked: a day has 86,400 of them, and all of their fields have types.
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
