"""The load at one moment: users, or an offered rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from .events import Sample
from .level import Level


class NamedLoad(TypedDict):
    """The fields of a mark that name its load; one of them is None."""

    users: float | None
    offered_per_s: float | None


@dataclass(frozen=True, slots=True)
class Load:
    """Running users, or an offered rate."""

    users: int
    """At an offered rate: the busy and idle users of its pool, whose number follows from the rate."""
    offered_per_s: float | None = None
    """Iterations a second; None: no rate is offered."""

    @property
    def named(self) -> NamedLoad:
        """The load as the fields of a mark."""
        users = float(self.users) if self.offered_per_s is None else None
        return NamedLoad(users=users, offered_per_s=self.offered_per_s)

    def is_less_than(self, other: Load) -> bool:
        """Whether it is less load: fewer users, or a lower rate. False for a rate and users, which cannot be compared."""
        if self.offered_per_s is None and other.offered_per_s is None:
            return self.users < other.users
        return self.offered_per_s is not None and other.offered_per_s is not None and self.offered_per_s < other.offered_per_s


def load_of(sample: Sample) -> Load:
    """The load of a tick. While the last iterations of a rate run on after it has ended, it is the users."""
    offered = sample.offered
    return Load(sample.users, offered.offered_per_s if offered is not None and offered.offered_per_s else None)


def named_load(level: Level) -> NamedLoad:
    """The load that was requested for a level."""
    return Load(level.users, level.offered_per_s).named
