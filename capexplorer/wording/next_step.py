"""The next step in one line: what to do, why, how long it takes, and the key that does it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from ..analysis.epoch_view import reported
from ..analysis.sweep import begun
from ..model.events import Proposed
from ..model.load import Load, Users
from ..model.proposals import AddWorker, Decide, Done, Figures, GiveUp, GoTo, Hold, Try
from ..model.requirements import unanswered
from ..model.sweep import setting_name
from ..model.timeline import Timeline
from ..model.verdicts import KneeVerdict, RateCapacity
from . import experiments, numbers, quantities, requirements
from .knee_sentences import short_knee, verified
from .rate_sentences import rate_capacity, short_rate_capacity

# -- Sentences about the autopilot and about plans: the reasons of the autopilot's steps, and why the autopilot or a plan ended.

TROUBLES = {
    "failures": "requests fail",
    "generator": "the generator is saturated",
    "collapse": "goodput collapsed",
    "limits": "requests exceed a limit",
    "ports": "ephemeral ports run out",
    "max_users": "the limit max_users is reached",
    "not_recovered": "the service does not recover",
    "not_settling": "the level does not settle",
    "nothing_done": "no request completes",
    "neighbours": "other processes use the machine's CPU",
}

VERIFICATION_ENDS = {
    "verified": "verified",
    "contradicted": "contradicted by later levels",
    "no_knee": "an earlier knee was not confirmed",
    "uncounted": "not verified: later levels do not count while the knee moves or a backlog drains",
    "max_users": "not verified: max_users does not allow a level 20% beyond the knee",
    "ports": "not verified: ephemeral ports run out",
    "failures": "not verified: 20% beyond the knee nearly all requests fail",
    "not_settling": "not verified: a level does not settle",
}

VERIFYING = {"soak": "soak at {}", "beyond": "{}, 20% beyond the knee", "return_to_first": "back at {}"}
"""The name of each level that verifies a knee; {} is its number of users."""

PLAN_ENDS = {
    "decided": "all that is required is decided",
    "within": "the time for the requirements is spent",
    "stop_rule": "a limit of [stop] was exceeded",
    "no_knee": "its next step needs a knee, and none was found",
    "restart": "the target restarts",
}
"""Reasons why a plan ended, besides `finished` and `taken_over`."""

REASONS = {
    "first": ("measure the baseline", "measures the baseline"),
    "double": ("{line}: larger step", "{line}"),
    "bend_near": ("{line}: smaller step, close to where scaling flattens", "{line}"),
    "plateau": ("{knee}: measure one more level beyond it", "measures beyond the {knee}"),
    "lower": ("no level at low load yet: measure a lower one", "a lower level gives the baseline"),
    "careful": ("the service recovered: stepping up in smaller steps", "recovered; stepping up in smaller steps"),
    "between": ("between the last good level and the first bad one", "between the last good level and the first bad one"),
    "again": (
        "the lowest failing level once more, to check whether load causes it",
        "the failing level once more: is load the cause?",
    ),
    "retreat": ("{trouble}: fewer users, to check whether the service recovers", "{trouble}; does the service recover?"),
    "soak": ("{knee}: soak at 70% of it, to verify it", "confirms the {knee}"),
    "beyond": ("20% beyond the knee, to verify it", "20% beyond the knee, to confirm it"),
    "return_to_first": (
        "back to the first level, to check whether the service has changed",
        "shows whether the service has changed",
    ),
    "rest": ("done: back to fewer users", "back to low load; the search is complete"),
}
"""By the reason for a number of users: why the autopilot stepped, and why the line NEXT proposes it."""

_NEXT_LEVEL = ("next level", "next level")
_TASKS = {"verify": "verification", "explain": "experiments", "rate": "autopilot at rates", "require": "requirements"}

REQUIREMENT_ENDS = {
    "decided": "requirements decided",
    "within": "the time for the requirements is spent",
    "searched": "no search decides more requirements",
}
"""Why the autopilot ended that had requirements to decide."""

RATE_STEPS = {
    "first": "measure the first rate",
    "double": "all was served: twice the rate",
    "between": "between the highest rate that was served and the lowest that was not",
    "beyond": "not clear after a long level: a higher rate",
    "higher": "a higher rate, to see whether goodput still rises",
    "lower": "not all was served: a lower rate",
    "rest": "a low rate, until the backlog is worked off",
    "return": "a rate once more, to check whether load or a change of the service explains what was found",
}
"""The reasons of steps at offered rates."""

RATE_ENDS = {
    "generator": "the generator is the limit, not the service",
    "max_rate": "the highest rate that can be offered was served",
    "not_recovered": "the service did not recover from overload",
}


def autopilot_step(args: Mapping[str, Any]) -> str:
    """Why the autopilot stepped, in one line: `goodput at 97% of linear scaling: larger step`."""
    if args.get("why") == "require":
        return f"decides {args.get('required', 'a requirement')}"
    if "per_s" in args:
        return RATE_STEPS.get(str(args.get("why")), "next rate")
    share = args.get("efficiency")
    line = f"goodput at {share:.0%} of linear scaling" if isinstance(share, float) else "capacity curve so far"
    trouble = TROUBLES.get(str(args.get("because")), "a failure")
    words, _ = REASONS.get(str(args.get("why")), _NEXT_LEVEL)
    return words.format(line=line, knee=found(args), trouble=trouble)


def autopilot(args: Mapping[str, Any]) -> str:
    """`autopilot on`, `autopilot finished: knee 47 [43–52] at 122/s, verified`, `autopilot gave up: ports run out`.

    An autopilot with the task `verify` only verifies a knee: `verification on`.
    """
    name = _TASKS.get(str(args.get("task")), "autopilot")
    if args.get("on"):
        return f"{name} on"
    match args.get("end"):
        case str() if args.get("task") == "require":
            return f"{REQUIREMENT_ENDS.get(str(args.get('why')), 'requirements')}: {requirements.tally(args)}"
        case "done" if args.get("task") == "rate":
            return f"{name} finished: {_found_rate(args)}"
        case "gave_up" if args.get("task") == "rate":
            return f"{name} ended: {RATE_ENDS.get(str(args.get('why')), str(args.get('why')))}; {_found_rate(args)}"
        case "done":
            ending = VERIFICATION_ENDS.get(str(args.get("verification")))
            return f"{name} finished: {found(args)}{f', {ending}' if ending else ''}{_left_out(args)}"
        case "gave_up":
            known = f"; {found(args)}" if args.get("kind") else ""
            return f"autopilot gave up: {TROUBLES.get(str(args.get('why')), str(args.get('why')))}{known}{_left_out(args)}"
    if args.get("why") != "taken_over":
        return f"{name} off"
    return f"{name} off: users were changed by hand" if args.get("who") == "user" else f"{name} off: ended by {args.get('who')}"


def verifying(args: Mapping[str, Any], settled_s: float) -> str | None:
    """Progress of a level that verifies the knee: `verifying: soak at 14 users, 12 s of 20 s`; None for other steps."""
    least_s, most_s = args.get("least_s"), args.get("most_s")
    name = VERIFYING.get(str(args.get("why")))
    if name is None or not isinstance(least_s, int | float) or not isinstance(most_s, int | float):
        return None
    users = numbers.counted(args.get("users"))
    of = f"{settled_s:.0f} s of {least_s:g} s" if settled_s <= least_s else f"{settled_s:.0f} s, at most {most_s:g} s"
    return f"verifying: {name.format(users)}, {of}"


def why_not_verify(knee: KneeVerdict | None) -> str | None:
    """Why there is no knee to verify; None if there is one."""
    if knee is None or knee.kind != "knee":
        return "no knee to verify yet; press a to search for one"
    return "the knee is already verified" if verified(knee) == "verified" else None


def _left_out(args: Mapping[str, Any]) -> str:
    count = args.get("left_out")
    return (
        f"; {numbers.several(count, 'level')} left out because other processes used the CPU"
        if isinstance(count, int) and count
        else ""
    )


def plan(args: Mapping[str, Any]) -> str:
    """`plan: 10:30s, 50:30s` for a start, `plan ended: 50 users keep running` for an end."""
    if args.get("on", True):
        return f"plan: {args.get('plan', '?')}"
    return f"{args.get('what', 'plan')} ended: {PLAN_ENDS.get(str(args.get('why'))) or _afterwards(args)}"


def _afterwards(args: Mapping[str, Any]) -> str:
    if args.get("why") != "finished":
        return "users were changed by hand"
    users, offered_per_s = args.get("users"), args.get("offered_per_s")
    if offered_per_s is not None and args.get("what") != "shape":
        return f"{quantities.offered_rate(offered_per_s)} are still offered"
    return (
        "all users stop" if args.get("what") == "shape" else f"{numbers.several(users, 'user')} keep{'s' * (users == 1)} running"
    )


def _found_rate(args: Mapping[str, Any]) -> str:
    """The capacity as a rate, with the figures of a command of the autopilot."""
    known = {key: args.get(key) for key in ("kind", "per_s", "low_per_s", "high_per_s", "kept_per_s", "limit")}
    try:
        return rate_capacity(msgspec.convert(known, RateCapacity))
    except msgspec.ValidationError:  # nothing was measured
        return "no capacity was found"


def found(args: Mapping[str, Any]) -> str:
    """The knee that a reason of the autopilot refers to: `knee 47 [43–52] at 122/s`."""
    figures = {key: args.get(key) for key in ("users_low", "users_high", "capacity_rps")}
    try:
        return short_knee(msgspec.convert({"kind": args.get("kind"), "users": args.get("knee_users"), **figures}, KneeVerdict))
    except msgspec.ValidationError:  # a log that this app did not write
        return "knee"


LINEAR = 0.93
"""Efficiency from which scaling is called linear (`steer.open_level.STRAIGHT`)."""

BUSY_CORES = 0.5
"""CPU of other processes above which another measurement would be disturbed as well (set by judgement)."""

ENDS = {
    "failures": ("f", "see why requests fail; no knee can be measured"),
    "not_recovered": ("f", "see why requests fail; the service does not recover at fewer users"),
    "nothing_done": ("f", "see why no request succeeds"),
    "collapse": ("e", "export; goodput collapsed without a plateau, so there is no knee"),
    "generator": ("e", "export; the generator is the limit: add cores, or other machines"),
    "ports": ("e", "export; ephemeral ports run out: keep connections alive"),
    "max_users": ("e", "export; no knee up to the limit: raise guards.max_users to go on"),
    "not_settling": ("e", "export; the level does not settle, so nothing can be measured"),
}
"""(key, text) by the reason for which a search ends without a knee."""

WAITS = {
    "starting": "the target is starting",
    "settling": "settling at {users}",
    "measuring": "measuring {users}",
    "worker": "a worker process is starting",
    "plan": "the plan sets the load",
    "stacks": "stacks are sampled at {load}",
    "unsampled": "{load}, to compare with sampled stacks",
    "rate_search": "the autopilot searches for the capacity as an offered rate",
    "experiment": "experiment at {users}",
}

_REASON_LONGEST = 40
"""Characters of what a target that starts is waited for: the line has 78."""

SOAK = "soak at {users}"


class NextStep(msgspec.Struct, frozen=True):
    """The next step."""

    key: str
    """The key that performs it: `Enter`, `W`, `e`, `f`, `t`, `q`; empty: there is nothing to do but wait."""
    words: str
    """What it does, for how long, and why."""


def next_step(timeline: Timeline, *, can_restart: bool = False, exported: bool = False, by_rate: bool = False) -> NextStep | None:
    """The next step at this moment; None in a log without proposals. `exported`: whether a report of the result was written.
    `can_restart`: whether the app started the target. `by_rate`: whether a person chose an offered rate as the unit of steps.
    """
    if timeline.ended is not None:
        return NextStep("q", "quit; the session is saved") if exported else NextStep("e", "export a report of this session")
    state = timeline.target.state if timeline.target is not None else None
    if state in ("died", "failed"):
        return NextStep("t", "restart the target") if can_restart else NextStep("", "the target is not running")
    if timeline.proposed is None:
        reason = timeline.target.reason if timeline.target is not None else None
        waits = f"{WAITS['starting']}: {reason[:_REASON_LONGEST]}" if reason else WAITS["starting"]
        return NextStep("", waits) if state in ("building", "starting") else None
    proposal = timeline.proposed.proposal
    if by_rate and isinstance(timeline.load, Users) and proposal != Hold("plan") and not isinstance(proposal, Decide):
        return _at_a_rate(timeline, "+ offers a rate")
    return _step_for(timeline.proposed, timeline, exported=exported)


def _step_for(proposed: Proposed, timeline: Timeline, *, exported: bool) -> NextStep:
    """The step of a proposal. If the load was changed after it, it says so."""
    level, taken = timeline.level, isinstance(proposed.proposal, GoTo | Hold)
    if proposed.proposal == Hold("rate"):
        return _at_a_rate(timeline)
    if taken and level is not None and _changed_s(timeline) > proposed.t_s:
        load = quantities.requested(level.load)
        return NextStep("", f"changing to {load}")
    match proposed.proposal:
        case GoTo() | Try() as step:
            return NextStep("Enter", _go_to(step, timeline) if isinstance(step, GoTo) else experiments.proposed(step))
        case Hold() as hold:
            return NextStep("", "; ".join(filter(None, (_waits(hold, timeline), until_next(timeline)))))
        case Decide() as decide:
            return _decide(decide, timeline.load)
        case AddWorker():
            return NextStep("W", "add a worker process; the generator is saturated")
        case Done() | GiveUp() if exported:
            return NextStep("q", "quit; the report is written and the session is saved")
        case Done(_, figures):
            how = VERIFICATION_ENDS.get(str(figures.get("verification")))
            return NextStep("e", f"export; {_found(figures, timeline)}{f', {how}' if how else ''}")
        case GiveUp(why="neighbours", figures=figures):
            return _after_disturbance(timeline, figures)
        case GiveUp(_, why, figures):
            return NextStep(*ENDS.get(why, ("e", f"export; {TROUBLES.get(why, why)}")))


def _waits(hold: Hold, timeline: Timeline) -> str:
    """`settling at 12 users`, `soak at 12 users`, `experiment at 12 users, only GET /a`."""
    soaks = hold.level == "soak" and hold.why == "measuring"
    users, load = numbers.counted(timeline.wanted), quantities.requested(timeline.load)
    words = (SOAK if soaks else WAITS.get(hold.why, WAITS["measuring"])).format(users=users, load=load)
    experiment = timeline.level.opened.experiment if timeline.level is not None else None
    return f"{words}, {experiments.shortly(experiment)}" if experiment is not None and hold.why == "experiment" else words


def _decide(decide: Decide, load: Load) -> NextStep:
    text = requirements.text_of(decide.required)
    if decide.load == load:
        return NextStep("", f"until {text} is decided")
    return NextStep("Enter", f"{quantities.requested(decide.load)}; decides {text}")


def _changed_s(timeline: Timeline) -> float:
    """Time of the last change of the load. A level that was split begins another one with the same load."""
    return next((level.opened.t_s for level in reversed(timeline.levels) if level.opened.by != "shift"), 0.0)


def _at_a_rate(timeline: Timeline, by_hand: str = "+ and - change the rate") -> NextStep:
    """The step while a person controls an offered rate, or is about to offer one: no level of users is proposed."""
    capacity = timeline.verdict.rate_capacity if timeline.verdict is not None else None
    if capacity is not None and capacity.kind == "capacity":
        return NextStep("e", f"export; {short_rate_capacity(capacity)}")
    return NextStep("a", f"the autopilot finds the capacity as a rate; {by_hand}")


def until_next(timeline: Timeline) -> str:
    """Countdown to the next proposal: `next step in 4–12 s`; to the end of a plan's step, which may be the last one: `this step
    ends in 7 s`; empty if it is not known.
    """
    proposed = timeline.proposed
    if proposed is None or not isinstance(proposed.proposal, Hold) or not proposed.proposal.most_s:
        return ""
    passed_s = timeline.last_s - proposed.t_s
    least_s, most_s = (max(math.ceil(each - passed_s), 0) for each in (proposed.proposal.least_s, proposed.proposal.most_s))
    if proposed.proposal.why in ("plan", "stacks", "unsampled"):
        return f"this step ends in {_seconds(least_s, most_s)}" if most_s > 1 else "this step ends now"
    if most_s <= 1:
        return "next step now"
    return f"next step in {_seconds(least_s, most_s)}" if least_s else f"next step within {most_s} s"


def sweep_step(timeline: Timeline) -> str:
    """`sweep 2 of 4: threads=2`; empty if the session is no sweep, or has begun none of its settings."""
    epochs = begun(timeline)
    if timeline.sweep is None or not epochs:
        return ""
    now, settings = max(epochs, key=lambda index: epochs[index]), timeline.sweep.settings
    done = len(timeline.sweep.earlier) + len(epochs)
    return f"sweep {done} of {len(settings)}: {setting_name(settings[now])}"


def under_way(timeline: Timeline) -> str:
    """What a run without a person does now: `finding the knee: measuring 20 users; next step in 4–12 s`, `verifying the knee:
    soak at 14 users`, `20 users; this step ends in 7 s`, of a shape `6 users`; empty before its first level.
    """
    if timeline.level is None:
        return ""
    load = quantities.requested(timeline.load)
    proposal = timeline.proposed.proposal if timeline.proposed is not None else None
    if isinstance(proposal, Decide):
        given = next((each for each in timeline.answers if each.required == proposal.required), unanswered(proposal.required))
        return f"deciding {requirements.short_answer(given)}"
    if proposal == Hold("rate_search"):
        return f"finding the capacity as an offered rate: {load}"
    if isinstance(proposal, Hold) and proposal.why in ("stacks", "unsampled"):
        return _step_for(timeline.proposed, timeline, exported=False).words if timeline.proposed is not None else ""
    if not is_autopilots(timeline) or not isinstance(proposal, GoTo | Hold):
        return "; ".join(filter(None, (load, until_next(timeline))))
    reason, step = proposal.why if isinstance(proposal, GoTo) else proposal.level, next_step(timeline)
    return f"{'verifying' if reason in VERIFYING else 'finding'} the knee: {step.words if step is not None else load}"


def is_autopilots(timeline: Timeline) -> bool:
    """Whether the autopilot has the load, not a plan or a shape."""
    return timeline.proposed is not None and getattr(timeline.proposed.proposal, "why", None) not in ("plan", "rate")


def _go_to(step: GoTo, timeline: Timeline) -> str:
    users = numbers.counted(step.users)
    if step.why == "soak":
        users = SOAK.format(users=users)
    if step.users == timeline.wanted:
        users += " again"
    cost = f" for {_seconds(round(step.least_s), round(step.most_s))}" if step.most_s else ""
    share, is_first_step = step.figures.get("efficiency"), len({each.users for each in timeline.levels}) < 2
    line = "no limit reached yet"
    if isinstance(share, float) and not is_first_step:
        line = f"still scaling linearly ({share:.0%})" if share >= LINEAR else f"scaling starts to flatten ({share:.0%})"
    knee = _found(step.figures, timeline).partition(" at ")[0]  # without its capacity: the line has 80 columns
    trouble = TROUBLES.get(str(step.figures.get("because")), "a failure")
    _, words = REASONS.get(step.why, _NEXT_LEVEL)
    return f"{users}{cost}; {words.format(line=line, knee=knee, trouble=trouble)}"


def _found(figures: Figures, timeline: Timeline) -> str:
    """The knee of a proposal, with the figures of the published verdict, as everywhere on the screen: the search judges the open
    level each second, the verdict is published at some of them.
    """
    verdict = reported(timeline).get(timeline.level.opened.epoch) if timeline.level is not None else None
    knee = verdict.capacity.knee if verdict is not None else None
    return short_knee(knee) if knee is not None and knee.kind == figures.get("kind") else found(figures)


def _seconds(least: float, most: float) -> str:
    """`20 s`, `8–20 s`."""
    return numbers.span(most) if least == most or most >= 100 else f"{least:.0f}–{most:.0f} s"


def _after_disturbance(timeline: Timeline, figures: Figures) -> NextStep:
    """The step after other processes disturbed a level: to wait while they are busy, then the same level again. Who cannot end
    them goes on by hand: nothing else on the screen says that keys still change the load.
    """
    now = timeline.last.neighbours if timeline.last is not None else None
    busy = now.cpu_ratio if now is not None and now.cpu_ratio is not None else figures.get("others_cpu_ratio")
    if isinstance(busy, float | int) and busy < BUSY_CORES:
        return NextStep("Enter", f"{numbers.counted(timeline.wanted)} again; other processes used the CPU until now")
    cpus = figures.get("cpus")
    used = f"{busy:.1f} of {cpus} cores" if isinstance(busy, float | int) and cpus else "the machine's CPU"
    return NextStep("", f"other processes use {used}; end them, or go on with +")
