"""A plan's moves of the load: steps, and ramps between them. In the pump's thread."""

from __future__ import annotations

from typing import Protocol

from ...model.events import By
from .load_target import POOL_SPAWN_RATE, LoadTarget
from .plan import Move, SetRate, SetUsers


class OpenLevel(Protocol):
    """Opens a level of users, or of an offered rate."""

    def __call__(self, users: int, by: By, spawn_rate: float, *, ramp: bool = False, offered_per_s: float | None = None) -> None:
        """At zero users where a rate is offered."""


class PlanMoves:
    """`carry_out` a move that is due, `ramp` between two of them.

    `generation`: of the plan; moves of a former driver are refused.
    """

    def __init__(self, load_target: LoadTarget, open_level: OpenLevel) -> None:
        self._load_target, self._open_level = load_target, open_level

    def carry_out(self, move: Move, generation: int) -> None:
        """A step or the begin of a ramp: a new level."""
        target = self._load_target
        match move:
            case SetUsers(users, None, at_once):
                rate = target.move(users, generation, at_once=at_once)
                if rate is not None:
                    self._open_level(users, "plan", rate)
            case SetUsers(users, over_s):
                if target.offered_per_s is not None:
                    target.move(target.wanted, generation)
                change = abs(users - target.wanted)
                self._open_level(users, "plan", max(change, 1) / (over_s or 1.0), ramp=True)
            case SetRate(per_s, None):
                rate = target.move_rate(per_s, generation)
                if rate is not None:
                    self._open_level(0, "plan", rate, offered_per_s=per_s)
            case SetRate(per_s):
                if target.offered_per_s is None:
                    target.move_rate(0.0, generation)
                self._open_level(0, "plan", POOL_SPAWN_RATE, ramp=True, offered_per_s=per_s)

    def ramp(self, move: Move | None, generation: int) -> bool:
        """Apply the ramp's `move`, if there is one. Returns whether the plan ramps the load now."""
        match move:
            case SetUsers(users) if users != self._load_target.wanted:
                self._load_target.move(users, generation)
            case SetRate(per_s) if per_s != self._load_target.offered_per_s:
                self._load_target.move_rate(per_s, generation, at_once=True)
        return move is not None
