"""The next step of an exploration, as a proposal: the screen shows it, a key or the autopilot carries it out.

A proposal has its reason, the figures that the reason's sentence contains, and its cost in seconds; `wording` has the sentences.
"""

from __future__ import annotations

from typing import Literal

import msgspec

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
    "starting",
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
    "worker",
    "plan",
    "rate",
    "rate_search",
]
"""Reasons of proposals."""

Figures = dict[str, float | int | str | bool | None]


class _Proposal(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="do"):
    """Base of all proposals."""


class GoTo(_Proposal, frozen=True, tag="go_to"):
    """Go to `users`."""

    users: int
    why: Why
    figures: Figures = {}
    anew: bool = False
    """Open a new level even if `users` already run."""
    least_s: float = 0.0
    most_s: float = 0.0
    """Seconds that the level takes; 0: it is not measured."""


class Hold(_Proposal, frozen=True, tag="hold"):
    """Stay on this level for now."""

    why: Why
    least_s: float = 0.0
    most_s: float = 0.0
    """Seconds until the next proposal; both 0: not known."""
    level: Why | None = None
    """The reason for the open level, if it was proposed."""


class AddWorker(_Proposal, frozen=True, tag="add_worker"):
    """The generator is saturated, and the machine has CPU for one more worker process."""


class Done(_Proposal, frozen=True, tag="done"):
    """The search has finished: the knee is found, verified as far as possible, and users are back at the lowest level."""

    why: Why
    figures: Figures = {}


class GiveUp(_Proposal, frozen=True, tag="give_up"):
    """The search ends without a knee, for this reason; `users` keep running."""

    users: int
    why: Why
    figures: Figures = {}


Decision = GoTo | Hold | Done | GiveUp
"""What the policy decides from the levels measured so far."""

Proposal = Decision | AddWorker
