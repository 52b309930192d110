"""The load at one moment: users, or an offered rate with the users that it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from .events import Sample
from .level import Level


class NamedLoad(TypedDict):
    """The fields of a mark that say at which load it was made."""

    users: float | None
    offered_per_s: float | None


@dataclass(frozen=True, slots=True)
class Load:
    """`users` run; at an offered rate these are the busy and idle users of its pool, whose number follows from the rate."""

    users: int
    offered_per_s: float | None = None

    @property
    def named(self) -> NamedLoad:
        """Either the users or the offered rate, as marks have it."""
        users = float(self.users) if self.offered_per_s is None else None
        return NamedLoad(users=users, offered_per_s=self.offered_per_s)

    def is_less_than(self, other: Load) -> bool:
        """Whether it surely is less load: fewer users, or a lower rate. A rate and users cannot be compared."""
        if self.offered_per_s is None and other.offered_per_s is None:
            return self.users < other.users
        return self.offered_per_s is not None and other.offered_per_s is not None and self.offered_per_s < other.offered_per_s


def load_of(sample: Sample) -> Load:
    """The load of a tick. After a rate has ended, while its last iterations run on, it is users."""
    offered = sample.offered
    return Load(sample.users, offered.offered_per_s if offered is not None and offered.offered_per_s else None)


def named_load(level: Level) -> NamedLoad:
    """The load that was requested for a level."""
    return Load(level.users, level.offered_per_s).named
