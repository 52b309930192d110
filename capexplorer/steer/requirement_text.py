"""Requirements as text: `capacity >= 100/s`, `knee >= 40`, `p95 <= 300ms @ 50 users`, `ttft p95 <= 0.5s @ 20 users`,
`failures <= 0.1% @ 80/s`. Pure.
"""

from __future__ import annotations

import re

from ..errors import InputError
from ..model.load import RATE_LEAST_PER_S, RATE_MOST_PER_S, Load, Rate, Users
from ..model.requirements import (
    EXAMPLES,
    CapacityRequired,
    FailuresRequired,
    KneeRequired,
    LoadRequirement,
    PercentileRequired,
    Requirement,
)
from ..model.stages import STAGES
from ..toml import shown

_NUMBER = r"(?P<{}>\d+(?:\.\d+)?)"
_LOAD = rf"@\s*{_NUMBER.format('load')}\s*(?P<load_unit>/\s*s|users?|)"
_FORMS = {
    kind: re.compile(rf"\s*{pattern}\s*", re.ASCII | re.IGNORECASE)
    for kind, pattern in (
        ("capacity", rf"capacity\s*>=\s*{_NUMBER.format('bound')}\s*/\s*s"),
        ("knee", rf"knee\s*>=\s*{_NUMBER.format('bound')}(?:\s*users?)?"),
        (
            "percentile",
            rf"(?:(?P<stage>{'|'.join(STAGES)})\s+)?p{_NUMBER.format('percent')}\s*<=\s*{_NUMBER.format('bound')}\s*(?P<unit>ms|s)\s*{_LOAD}",
        ),
        ("failures", rf"failures\s*<=\s*{_NUMBER.format('bound')}\s*%\s*{_LOAD}"),
    )
}
PERCENT_LEAST, PERCENT_MOST = 50.0, 99.9
"""Percentiles that a run can decide: one outside needs more requests than a run makes, or says nothing of slow replies."""


def parse(text: str, where: str, max_users: int | None = None) -> Requirement:
    """The requirement. `where` names the option or key in messages. Raises InputError with one line that says what was
    expected, also if it is about more than `max_users`.
    """
    for kind, form in _FORMS.items():
        found = form.fullmatch(text)
        if found is not None:
            required = _required(kind, found, where)
            if max_users is not None and isinstance(required, LoadRequirement) and required.load.users > max_users:
                raise InputError(f"{where}: {required.load.users} users exceed guards.max_users ({max_users})")
            return required
    raise InputError(f"{where}: expected one like {', '.join(f'`{each}`' for each in EXAMPLES)}, got {shown(text)}")


def _required(kind: str, found: re.Match[str], where: str) -> Requirement:
    bound = float(found["bound"])
    match kind:
        case "capacity":
            return CapacityRequired(_above_zero(bound, found, where))
        case "knee":
            return KneeRequired(_above_zero(bound, found, where))
        case "failures":
            if not 0 < bound < 100:  # no number of requests shows that none will fail
                raise InputError(f"{where}: expected a percentage above 0 and below 100, got {shown(found[0])}")
            return FailuresRequired(bound / 100, _load(found, where))
    percent = float(found["percent"])
    if not PERCENT_LEAST <= percent <= PERCENT_MOST:
        raise InputError(f"{where}: expected a percentile from p{PERCENT_LEAST:g} to p{PERCENT_MOST:g}, got {shown(found[0])}")
    most_ms = _above_zero(bound, found, where) * (1000.0 if found["unit"].lower() == "s" else 1.0)
    stage = next((stage for stage in STAGES if found["stage"] and stage == found["stage"].lower()), None)
    return PercentileRequired(percent, most_ms, _load(found, where), stage)


def _above_zero(bound: float, found: re.Match[str], where: str) -> float:
    if bound <= 0:
        raise InputError(f"{where}: expected a bound above 0, got {shown(found[0])}")
    return bound


def _load(found: re.Match[str], where: str) -> Load:
    amount = float(found["load"])
    if "/" in found["load_unit"]:
        if not RATE_LEAST_PER_S <= amount <= RATE_MOST_PER_S:
            expected = f"expected a rate of {RATE_LEAST_PER_S:g} to {RATE_MOST_PER_S:,.0f} a second"
            raise InputError(f"{where}: {expected}, got {shown(found[0])}")
        return Rate(amount)
    if amount < 1 or not amount.is_integer():
        raise InputError(f"{where}: expected a whole number of users, 1 or more, or a rate like `@ 80/s`, got {shown(found[0])}")
    return Users(int(amount))
