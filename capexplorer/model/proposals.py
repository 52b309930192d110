"""Proposals of the next step of an exploration: the screen shows one, and a key or the autopilot carries it out.

A proposal has a reason, the figures in the sentence about that reason, and its duration in seconds; `wording` has the sentences.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .experiments import Experiment
from .load import Load
from .requirements import Requirement

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
    "stacks",
    "unsampled",
    "rate",
    "rate_search",
    "experiment",
]
"""Reasons of proposals."""

Figures = dict[str, float | int | str | bool | None]
"""Figures of the sentence about the reason, by name."""


class _Proposal(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="do"):
    """Base of all proposals."""


class GoTo(_Proposal, frozen=True, tag="go_to"):
    """Step to `users`."""

    users: int
    why: Why
    figures: Figures = {}
    opens_new_level: bool = msgspec.field(default=False, name="anew")
    """Whether a new level is opened even if `users` already run."""
    least_s: float = 0.0
    most_s: float = 0.0
    """Least and greatest duration of the level in seconds; 0: the level is not measured."""


class Hold(_Proposal, frozen=True, tag="hold"):
    """Stay on the present level."""

    why: Why
    least_s: float = 0.0
    most_s: float = 0.0
    """Least and greatest time in seconds until the next proposal; both 0: not known."""
    level: Why | None = None
    """The reason for which the present level was proposed; None: it was not proposed."""


class AddWorker(_Proposal, frozen=True, tag="add_worker"):
    """Start one more worker process: the generator is saturated, and the machine has CPU for one."""


class Decide(_Proposal, frozen=True, tag="decide"):
    """Go to this load and stay, until it is decided whether the service does what is required."""

    required: Requirement
    load: Load


class Try(_Proposal, frozen=True, tag="try"):
    """Go to `users` with this experiment, in a level of its own."""

    users: int
    experiment: Experiment
    least_s: float = 0.0
    most_s: float = 0.0
    """Least and greatest duration of the level in seconds."""


class Done(_Proposal, frozen=True, tag="done"):
    """The search has finished: the knee is found, verified as far as possible, and users are back at the lowest level."""

    why: Why
    figures: Figures = {}


class GiveUp(_Proposal, frozen=True, tag="give_up"):
    """The search ends without a knee for the reason `why`; `users` keep running."""

    users: int
    why: Why
    figures: Figures = {}


Decision = GoTo | Hold | Done | GiveUp
"""The decision of a search from the levels measured so far."""

Proposal = Decision | AddWorker | Decide | Try
