"""Sentences about experiments at a knee: what one changes, what it would show, what it showed, and what the limit then is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..model.experiments import Experiment, Explanation, Inference, LimitCause, Outcome
from ..model.proposals import Try
from . import numbers
from .quantities import rate

CAUSES: dict[LimitCause, str] = {
    "lock": "a lock",
    "pool": "a pool",
    "rate_limit": "a rate limiter",
    "queue": "workers that open connections hold",
    "cpu": "CPU time",
    "link": "the network link",
    "generator": "the generator",
}

_TELLS = {
    "as_before": "experiments on the cause compare with it",
    "half_pauses": "does the limit hold?",
    "alone": "how much of it is served?",
    "without": "how much of the rest?",
    "path": "does it wait as well?",
    "few_users": "how long do requests take that do not wait?",
    "reconnect": "do open ones block it?",
    "slots": "is it the limit?",
}
"""What an experiment would show, by its name."""

_SHORT_MOST = 20
"""Characters of a change beside the countdown to the next step."""

_NEXT_MOST = 64
"""Characters of the line NEXT after its key."""


def changed(experiment: Experiment) -> str:
    """What an experiment changes: `half the pauses`, `only GET /a`."""
    match experiment.name:
        case "half_pauses":
            return "half the pauses"
        case "alone" | "path":
            return f"only {experiment.endpoint}"
        case "without":
            return f"without {experiment.endpoint}"
        case "reconnect":
            return "new connections"
        case "few_users":
            return "few users"
        case "slots":
            return f"{experiment.param}={experiment.after}"
    return "as before"


def proposed(step: Try) -> str:
    """`39 users, only GET /a, for 9–20 s; how much of it is served?`; a long name of an endpoint is cut."""
    users, lasts = numbers.counted(step.users), f"for {step.least_s:.0f}–{step.most_s:.0f} s; {_TELLS[step.experiment.name]}"
    if step.experiment.name in ("as_before", "few_users"):
        return f"{users} {lasts}"
    change = changed(step.experiment)
    room = _NEXT_MOST - len(f"{users}, , {lasts}")
    return f"{users}, {change if len(change) <= room else f'{change[: room - 1]}…'}, {lasts}"


def shortly(experiment: Experiment) -> str:
    """As `changed`; a long name of an endpoint is cut."""
    change = changed(experiment)
    return change if len(change) <= _SHORT_MOST else f"{change[: _SHORT_MOST - 1]}…"


def outcome(found: Outcome) -> str:
    """`only GET /a: 48.3/s, 67% [61–73%] of as before`."""
    ratio = f"{found.ratio:.0%} [{found.ratio_low:.0%}–{found.ratio_high:.0%}]".replace("%–", "–")
    return f"{changed(found.experiment)}: {rate(found.goodput_rps)}, {ratio} of as before"


def explanation(found: Explanation) -> str:
    """`experiments at 39 users confirm a lock: at most 1.1 GET /a are served at a time`."""
    where = f"experiments at {numbers.counted(found.users)}"
    if found.unsteady:
        return f"{where} tell nothing: goodput changed between them, or was not at its limit"
    if found.confirmed is not None:
        shown = next((each for each in found.inferences if each.supports == found.confirmed), None)
        why = f": {_reason(shown)}" if shown is not None else ""
        return f"{where} confirm {CAUSES[found.confirmed]}{why}"
    excluded = [cause for cause in found.causes if cause not in found.left]
    if not found.left:
        return f"{where} explain nothing: they rule out every cause"
    without_effect = [f"{each.param}" for each in found.inferences if each.reason == "slots_do_not_matter"]
    more = f"; without effect: {', '.join(without_effect)}" if without_effect else ""
    whys = [_reason(each) for each in found.inferences if each.reason in _TOLD]
    ruled_out = f"; ruled out: {_listed(excluded, 'and')}{f' ({whys[0]})' if whys else ''}" if excluded else ""
    return f"{where} leave {_either(found.left)}{more}{ruled_out}"


def limit(causes: Sequence[LimitCause]) -> str:
    """`a lock or a pool is the limit`."""
    return f"{_either(causes)} {'are' if causes[-1] == 'queue' else 'is'} the limit"


def _either(causes: Sequence[LimitCause]) -> str:
    return _listed(causes, "or")


def _listed(causes: Iterable[LimitCause], word: str) -> str:
    names = [CAUSES[each] for each in causes]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


_TOLD = ("counts_work", "faster_than_its_rate", "one_at_a_time", "slots_matter", "connections_hold")
"""Reasons that stand beside what they rule out."""


def _reason(found: Inference) -> str:
    what, value = found.endpoint or "requests", found.value or 0.0
    match found.reason:
        case "counts_work":
            return f"all requests wait, yet {value - 1:.0%} more of some are served than of all"
        case "faster_than_its_rate":
            return f"at low load a response takes {value:.0%} of the time between two replies at the limit"
        case "one_at_a_time":
            return f"at most {value:.1f} {what} are served at a time"
        case "slots_matter":
            return f"goodput follows {found.param}"
        case "connections_hold":
            return f"with a connection for each task goodput is {value:.0%}"
    return found.reason
