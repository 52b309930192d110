"""The two kinds of load on which an epoch is judged: users and offered rates. Their levels are never compared with each other.

Rules read the load of a level as `users`. For levels of offered rates that is iterations a second, and the knee is the capacity
as a rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...model.load import NamedLoad, Rate
from ...model.rate_verdicts import RateCapacity, RateVerdict
from ...model.verdicts import KneeVerdict
from ..epoch.epoch import Epoch
from ..epoch.measured_epoch import MeasuredEpoch


@dataclass(frozen=True, slots=True)
class JudgedLoadKind:
    """The levels of one kind of load in an epoch, and their knee."""

    ladder: MeasuredEpoch
    knee: KneeVerdict | None
    """Of this kind of load; None: not known."""
    is_rate: bool = False
    """Whether the loads are offered rates, not users."""
    limited_by_generator: frozenset[int] = frozenset()
    """Indices of levels that the generator limited by its pool of users: their readings say nothing about the service."""
    has_verdict: bool = True
    """False if no level describes the service, for example because all requests failed from the start."""

    def named(self, load: float) -> NamedLoad:
        """A load of this kind as the fields of a mark."""
        return Rate(load).named if self.is_rate else NamedLoad(users=load, offered_per_s=None)


def load_kinds(epoch: Epoch) -> Iterator[JudgedLoadKind]:
    """Users, and offered rates if there were any."""
    if epoch.verdict is None:
        yield JudgedLoadKind(epoch, None, has_verdict=False)
        return
    yield JudgedLoadKind(epoch, epoch.verdict.capacity.knee)
    if epoch.rates is not None:
        yield JudgedLoadKind(
            epoch.rate_ladder, _knee(epoch.rates.capacity), is_rate=True, limited_by_generator=_limited_by_generator(epoch.rates)
        )


def _limited_by_generator(rates: RateVerdict) -> frozenset[int]:
    return frozenset(each.level for each in rates.levels if each.state == "generator")


def _knee(found: RateCapacity | None) -> KneeVerdict | None:
    """The capacity as a rate in the form of a knee, whose `users` are iterations a second."""
    if found is None:
        return None
    match found.kind:
        case "capacity":
            return KneeVerdict(kind="knee", users=found.per_s, users_low=found.low_per_s, users_high=found.high_per_s)
        case "at_or_below":
            return KneeVerdict(kind="at_or_below", users=found.high_per_s, users_high=found.high_per_s)
        case "departs":
            return KneeVerdict(kind="bend", users=found.per_s)
        case "keeps_up":
            return KneeVerdict(kind="no_knee", users=found.per_s)
