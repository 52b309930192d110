"""The load of a service: users, or an offered rate. The log has it as two fields, of which one is empty."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypedDict

import msgspec
from msgspec import Meta

from .offered import Arrivals


class NamedLoad(TypedDict):
    """The fields of a mark that name its load; one of them is None."""

    users: float | None
    offered_per_s: float | None


class Users(msgspec.Struct, frozen=True, tag="users"):
    """Users who send their next request after the reply to the last one."""

    users: Annotated[int, Meta(ge=0, le=1_000_000_000)]
    per_s: ClassVar[None] = None
    column: ClassVar[Literal["users"]] = "users"
    """Of the seconds, with the load at each."""

    @property
    def zero(self) -> Users:
        """No load, in users."""
        return NO_LOAD

    @property
    def is_zero(self) -> bool:
        """Whether nothing is requested."""
        return self.users == 0

    @property
    def amount(self) -> float:
        """Their number."""
        return float(self.users)

    @property
    def named(self) -> NamedLoad:
        """The load as the fields of a mark."""
        return NamedLoad(users=float(self.users), offered_per_s=None)

    def is_less_than(self, other: Load) -> bool:
        """Whether these are fewer users. False for a rate, which users cannot be compared with."""
        return isinstance(other, Users) and self.users < other.users


class Rate(msgspec.Struct, frozen=True, tag="rate"):
    """Iterations offered a second, on a schedule that does not wait for replies. The pool has as many users as they need."""

    per_s: Annotated[float, Meta(ge=0, le=1e9)]
    users: ClassVar[int] = 0
    column: ClassVar[Literal["offered_per_s"]] = "offered_per_s"
    """Of the seconds, with the load at each."""

    @property
    def zero(self) -> Rate:
        """No load, as a rate."""
        return Rate(0.0)

    @property
    def is_zero(self) -> bool:
        """Whether nothing is offered."""
        return self.per_s == 0

    @property
    def amount(self) -> float:
        """Iterations a second."""
        return self.per_s

    @property
    def named(self) -> NamedLoad:
        """The load as the fields of a mark."""
        return NamedLoad(users=None, offered_per_s=self.per_s)

    def is_less_than(self, other: Load) -> bool:
        """Whether this is a lower rate. False for users, which a rate cannot be compared with."""
        return isinstance(other, Rate) and self.per_s < other.per_s


Load = Users | Rate
"""Bounds hold for what arrives from another process.

`users` and `per_s` of each are the two fields of the log: 0 users at a rate, and the rate None for users."""

NO_LOAD = Users(0)


def logged_load(users: int, offered_per_s: float | None) -> Load:
    """The load of two fields of the log."""
    return Users(users) if offered_per_s is None else Rate(offered_per_s)


class OfferedRate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate with all that the schedule and its pool need."""

    per_s: float
    arrivals: Arrivals = "poisson"
    max_users: int
    """The most users of the pool."""
    at_once: bool = False
    """Whether it begins without waiting for the users that it needs."""
