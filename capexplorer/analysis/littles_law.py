"""Little's law: users are those inside the service, X R, and those that pause, X Z. What is left of them is lost time."""

from __future__ import annotations

from dataclasses import dataclass

CYCLES_LEAST = 3.0
"""Cycles of its users from which the law is applied to a level: in a shorter window only the fast requests have ended, and those
in flight make a stalled service look like time lost in the generator."""


def requests_inside(throughput_rps: float, response_ms: float) -> float:
    """Mean number of requests inside the service, N = X R."""
    return throughput_rps * response_ms / 1000


@dataclass(frozen=True, slots=True)
class Little:
    """Users, and how many of them responses and pauses account for; over several levels or seconds, both times seconds."""

    users: float
    accounted: float

    @classmethod
    def of(cls, users: float, throughput_rps: float, response_s: float, pause_s: float) -> Little:
        """By X (R + Z)."""
        return cls(users, throughput_rps * (response_s + pause_s))

    def __add__(self, other: Little) -> Little:
        return Little(self.users + other.users, self.accounted + other.accounted)

    def __mul__(self, seconds: float) -> Little:
        return Little(self.users * seconds, self.accounted * seconds)

    @property
    def ratio(self) -> float:
        """Users divided by those accounted for: significantly above 1, time is lost outside responses and pauses."""
        return self.users / self.accounted

    @property
    def share(self) -> float:
        """The share of the users' time that is accounted for."""
        return self.accounted / self.users
