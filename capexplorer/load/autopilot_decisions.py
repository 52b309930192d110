"""The autopilot's possible decisions, each with its reason and the figures that the reason's sentence contains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Why = Literal[
    "first",
    "double",
    "bend_near",
    "plateau",
    "lower",
    "careful",
    "between",
    "again",
    "retreat",
    "soak",
    "beyond",
    "return_to_first",
    "rest",
    "settling",
    "measuring",
    "knee",
    "at_or_below",
    "failures",
    "generator",
    "ports",
    "max_users",
    "collapse",
    "not_recovered",
    "not_settling",
    "nothing_done",
    "neighbours",
]
"""Reasons of decisions; `wording` has their sentences."""

Figures = dict[str, float | int | str | bool | None]


@dataclass(frozen=True, slots=True)
class GoTo:
    """Go to `users`."""

    users: int
    why: Why
    figures: Figures = field(default_factory=dict)
    anew: bool = False
    """Open a new level even if `users` already run."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Stay on this level for now."""

    why: Why


@dataclass(frozen=True, slots=True)
class Done:
    """The search has finished: the knee is found, verified as far as possible, and users are back at the lowest level."""

    why: Why
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The search ends without a knee, for this reason; `users` keep running."""

    users: int
    why: Why
    figures: Figures = field(default_factory=dict)


Decision = GoTo | Hold | Done | GiveUp
