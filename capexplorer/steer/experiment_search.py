"""Which experiment comes next at a knee, and when one has shown enough. Pure.

Levels of 20 s at most: the first as before, then what may still tell causes apart, then once more as before. It ends once one
cause is confirmed, or no experiment is left that could rule one out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from ..analysis.experiments import causes_of, experiments, explain
from ..model.events import Target
from ..model.experiments import AS_BEFORE, Experiment, Explanation, LimitCause
from ..model.level import Level
from ..model.proposals import Try
from ..model.timeline import Timeline, params_of
from .open_level import SETTLING_S

BEYOND = 1.5
BEYOND_LEAST = 1.2
"""Users of the experiments as a multiple of N*: at 1.5 a queue of random times is at 98% of its capacity; with fewer than 1.2
times it may not be at its limit. Of simulated services with a lock or a pool, stacks at 1.5 named 94% and at 1.2 79%, at 1.0 54%,
none wrongly (`python -m lab.population sampled`)."""

FEW = 0.12
"""Users of `few_users` as a share of N*: of random times at one server requests wait for a seventh of its time."""

FEW_USERS = Experiment(name="few_users")

LEAST_S, MOST_S = 6.0, 16.0
PRECISE = 0.015
"""Least and most settled seconds, and the relative standard error of goodput with which an experiment ends before the last."""

LASTS_MOST_S = 20.0
"""Most seconds of an experiment, settled or not."""

PAUSE_LEAST = 0.2
"""Share of a cycle that pauses must have: with less, half of them changes hardly anything."""


class Slots(msgspec.Struct, frozen=True):
    """A parameter of the target that is a number of slots, with its bounds."""

    param: str
    least: int = 1
    most: int | None = None

    def other(self, before: int) -> int | None:
        """A value that differs by half at least, if possible a greater one; None: there is none."""
        step = max(1, math.ceil(before / 2))
        if self.most is None or before + step <= self.most:
            return before + step
        return before - step if before - step >= self.least else None


class Able(msgspec.Struct, frozen=True):
    """What this run can change."""

    endpoints: tuple[str, ...] = ()
    """`METHOD name` of the profile's tasks; empty: the users' requests are not known before they are made."""
    path: str | None = None
    """`METHOD name` of the path that says that the service is ready; None: not known, or users request it."""
    max_users: int = 0
    slots: tuple[Slots, ...] = ()
    """Of a target that can be restarted."""


def next_experiment(timeline: Timeline, epoch: int, able: Able) -> Try | None:
    """The experiment that comes next at the knee of an epoch; None: there is no knee to explain, or no experiment is left."""
    causes, users = causes_of(timeline, epoch), users_of(timeline, epoch, able)
    if len(causes) < 2 or users is None:
        return None
    made = ((each.opened.experiment, each.users) for each in experiments(timeline, epoch))
    done = [each for each, at in made if each is not None and (at == users or each == FEW_USERS)]
    if AS_BEFORE not in done:
        return _try(AS_BEFORE, users)
    known = explain(timeline, epoch)
    if known is None or known.unsteady:
        return None
    is_open = known.confirmed is None and len(known.left) > 1
    slots = [each for each in other_slots(timeline, epoch, able) if each not in done] if is_open and "pool" in known.left else []
    if done.count(AS_BEFORE) > 1:  # slots come last: the target that restarts is another process, with cold caches
        return _try(slots[0], users) if slots else None
    wanted = _useful(known, timeline, able) if is_open else ()
    following = next((each for each in wanted if each not in done), AS_BEFORE)
    if following == FEW_USERS:
        return _try(following, max(1, math.floor(FEW / BEYOND * users)))
    return _try(following, users) if len(done) > 1 or following != AS_BEFORE or slots else None


def other_slots(timeline: Timeline, epoch: int, able: Able) -> Iterator[Experiment]:
    """An experiment for each parameter that is a number of slots, with a number with which the target has not failed."""
    params = params_of(timeline, epoch)
    ended = [each.params for each in timeline.journal if isinstance(each, Target) and each.state in ("died", "failed")]
    for slots in able.slots:
        before = params.get(slots.param)
        after = slots.other(before) if isinstance(before, int) and not isinstance(before, bool) else None
        if after is not None and isinstance(before, int) and {**params, slots.param: after} not in ended:
            yield Experiment(name="slots", param=slots.param, before=before, after=after)


def users_of(timeline: Timeline, epoch: int, able: Able) -> int | None:
    """Users of all experiments; None: not as many are allowed, or there is no knee."""
    verdict = timeline.verdicts.get(epoch)
    knee = verdict.capacity.knee if verdict is not None else None
    known = timeline.explained.get(epoch)
    if known is not None:
        return known.explanation.users
    if knee is None or knee.users is None:
        return None
    users = min(math.ceil(BEYOND * knee.users), able.max_users)
    return users if users >= BEYOND_LEAST * knee.users else None


def _try(experiment: Experiment, users: int) -> Try:
    return Try(users, experiment, round(LEAST_S + SETTLING_S), LASTS_MOST_S)


def _useful(known: Explanation, timeline: Timeline, able: Able) -> Iterator[Experiment]:
    """The experiments that may rule out a cause that is left, in order."""
    left = set[LimitCause](known.left)
    before = next(each for each in timeline.levels if each.opened.experiment == AS_BEFORE)
    if _pauses(before) >= PAUSE_LEAST and left & {"rate_limit"} and len(left) > 1:
        yield Experiment(name="half_pauses")
    suspect = _suspect(before, able.endpoints)
    if suspect is not None and left & {"rate_limit", "pool", "generator", "link"}:
        yield Experiment(name="alone", endpoint=suspect)
        yield Experiment(name="without", endpoint=suspect)
    if left & {"lock", "rate_limit"} and len(left) > 1:
        yield FEW_USERS
    if able.path is not None and (left & {"generator", "link"} or (suspect is None and "rate_limit" in left)):
        yield Experiment(name="path", endpoint=able.path)
    if "queue" in left:
        yield Experiment(name="reconnect")


def _pauses(level: Level) -> float:
    """Share of the users' time that is pauses."""
    pause_s, response_ms = level.figures.pause_s or 0.0, level.figures.response_ms or 0.0
    cycle_s = pause_s + response_ms / 1000
    return pause_s / cycle_s if cycle_s else 0.0


def _suspect(level: Level, endpoints: Sequence[str]) -> str | None:
    """The endpoint for which users wait longest in all; None: they request only one, or it is not known."""
    waits = {
        f"{each.method} {each.name}": each.requests * (each.latency_ms.mean or 0.0)
        for each in level.endpoints
        if f"{each.method} {each.name}" in endpoints
    }
    return max(waits, key=lambda each: waits[each]) if len(waits) > 1 else None


def is_over(level: Level, now_s: float) -> bool:
    """Whether the open level of an experiment has shown enough, or has lasted too long."""
    figures = level.figures
    if now_s - level.opened.t_s >= LASTS_MOST_S or figures.settled_seconds >= MOST_S:
        return True
    goodput, error = figures.goodput_rps, figures.goodput_se_rps
    return figures.settled_seconds >= LEAST_S and bool(goodput) and error is not None and error <= PRECISE * (goodput or 0.0)
