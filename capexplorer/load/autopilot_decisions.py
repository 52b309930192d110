"""What the autopilot can decide, each with its reason and the figures that the reason's sentence names."""

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
"""Reasons of decisions; the wording room has their sentences."""

Figures = dict[str, float | int | str | bool | None]


@dataclass(frozen=True, slots=True)
class GoTo:
    """Go to `users`."""

    users: int
    why: Why
    figures: Figures = field(default_factory=dict)
    anew: bool = False
    """In a level of its own, even if `users` run already."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Stay on this level for now."""

    why: Why


@dataclass(frozen=True, slots=True)
class Done:
    """The knee is found and verified as far as it could be, the users at rest."""

    why: Why
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No knee, and why; `users` are to stay."""

    users: int
    why: Why
    figures: Figures = field(default_factory=dict)


Decision = GoTo | Hold | Done | GiveUp
