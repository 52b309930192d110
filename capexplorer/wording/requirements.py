"""Sentences about what is required of a service, and about the answers."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.load import Load, Users
from ..model.requirements import (
    Answer,
    CapacityAnswer,
    CapacityRequired,
    FailuresAnswer,
    FailuresRequired,
    KneeAnswer,
    KneeRequired,
    PercentileAnswer,
    PercentileRequired,
    Requirement,
    State,
)
from . import numbers, quantities

STATES: dict[State, str] = {"met": "met", "not_met": "not met", "undecided": "undecided"}


def text_of(required: Requirement) -> str:
    """The requirement as it may be typed: `p95 <= 300ms @ 50 users`."""
    match required:
        case CapacityRequired(per_s):
            return f"capacity >= {per_s:.10g}/s"
        case KneeRequired(users):
            return f"knee >= {users:.10g}"
        case PercentileRequired(percent, most_ms, load, stage):
            return f"{f'{stage} ' if stage else ''}p{percent:.10g} <= {most_ms:.10g}ms @ {_load(load)}"
        case FailuresRequired(most, load):
            return f"failures <= {100 * most:.10g}% @ {_load(load)}"


def _load(load: Load) -> str:
    return numbers.several(load.users, "user") if isinstance(load, Users) else f"{load.per_s:.10g}/s"


def answer(given: Answer) -> str:
    """`p95 <= 300ms @ 50 users: met, 212 ms [198–231 ms] of 1,204 replies in 24 s`."""
    words = found(given)
    return f"{text_of(given.required)}: {STATES[given.state]}" + (f", {words}" if words else "")


def short_answer(given: Answer) -> str:
    """Without its state: `p95 <= 300ms @ 50 users: 212 ms [198–231 ms] of 1,204 replies in 24 s`."""
    return f"{text_of(given.required)}: {found(given) or 'nothing known yet'}"


def tally(states: Mapping[str, object]) -> str:
    """`2 met, 1 not met`, of numbers by state."""
    return ", ".join(f"{states[state]} {words}" for state, words in STATES.items() if states.get(state)) or "none"


def found(given: Answer) -> str:
    """What was measured: `212 ms [198–231 ms] of 1,204 replies in 24 s`; empty if nothing was."""
    match given:
        case CapacityAnswer(per_s=per_s, low_per_s=low, high_per_s=high):
            return numbers.with_interval(per_s, low, high, quantities.rate)
        case KneeAnswer(users=users, low_users=low, high_users=high):
            return numbers.with_interval(users, low, high, numbers.users)
        case PercentileAnswer(ms=ms, low_ms=low, high_ms=high, replies=replies, seconds=seconds):
            basis = f" of {numbers.count(replies)} replies in {numbers.span(seconds)}" if replies else ""
            return numbers.with_interval(ms, low, high, quantities.latency) + basis
        case FailuresAnswer(share=None):
            return ""
        case FailuresAnswer(share=share, low=low, high=high, requests=requests, seconds=seconds):
            basis = f" of {numbers.count(requests)} requests in {numbers.span(seconds)}" if requests else ""
            return numbers.with_interval(share, low, high, numbers.percent) + basis
