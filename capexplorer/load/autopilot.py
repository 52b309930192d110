"""The autopilot's decisions: levels in, next step out (docs/knee.md). Pure: no clock, no load, no judging.

It climbs by doubling, slower near the bend; goes once more onto the plateau; steps down to 60% of the knee to see whether the
service recovers; and rests where it began. No bisection: low levels give the low-load line, plateau levels the capacity.
What the levels mean is handed in as a verdict; how many users run, and when this is asked, is the driver's business.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ..model.verdicts import KneeVerdict
from .autopilot_input import (
    AutopilotInput,
    baseline_requests,
    collapsed_above,
    fails,
    line,
    line_error,
    ports_last_s,
    precise,
    strain,
)

LEAST_S = 6.0
MOST_S = 18.0
"""Settled seconds of a level (docs/knee.md). Six seconds are six batches."""

RETREAT_S = 3.0
"""Settled seconds without failures after which a level that was backed off to says: it recovers."""

STRAIGHT_S = 7.0
STRAIGHT_REQUESTS = 60
"""A level on the way up that lies on the line ends with so many requests, or then: the levels after it will say more, sooner."""

GROWTH = 2.0
FIRST_GROWTH = 3.0
DAMPED_GROWTH = 1.5
"""Between levels while the curve is straight; from one user; and once the bend was near."""

STRAIGHT = 0.93
"""Efficiency at the top level from which the next one is twice as high; under it the bend is near."""

BEYOND_BEND = 1.7
"""Times the crossing of both lines as known so far: where a bend is followed to its plateau."""

BEND_STEP = 1.3
STEP_LEAST = 1.2
"""A smaller step up teaches nothing that a longer level would not."""

LOW_USERS = 4
"""An exploration that began above goes lower first, before anything is known of a line."""

PLATEAU_SHARE = 1.15
PLATEAU_STEP = 1.35
"""Of N*: levels from the first on lie on the plateau; the one that verifies goes to the second."""

PLATEAU_LEVELS = 2
THIN_REQUESTS = 40
"""Fewer at all levels of the low-load line may be luck: one more level on the plateau must agree."""

RECOVERY_SHARE = 0.6
"""Of N*: where recovery is tested (docs/knee.md)."""

STRAINED_MOST = 1.5
"""Times the crossing: as far as the autopilot goes once failures or the generator's saturation have appeared."""

FAILURES_MOST = 0.9
"""Share of requests in the latest seconds that fail more than at the lowest level: the level is left at once. With 0.5 the knee
came out within 15% on 86.3% of 600 tuning systems, with 0.9 on 87.8%: a collapse that was not measured is no evidence."""

PORTS_LEAST_S = 60.0
"""To exhaustion, at the rate that the next level would burn: no step beyond. Half of it: the level is left at once."""

ROOM = 1.25
"""Ratio of a level that was left at once to the highest clean one, under which nothing between them is worth a level."""

PLATEAU_ROOM = 1.5
"""The same for a plateau that was jumped over."""

PATIENCE_S = 90.0
"""A level that has no settled second by then never will: spawning and settling take 31 s at most."""

Why = Literal[
    "first",
    "double",
    "bend_near",
    "plateau",
    "lower",
    "careful",
    "between",
    "retreat",
    "recovery",
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
]
"""Reasons; `wording/autopilot_and_plan.py` has the words."""

Figures = dict[str, float | int | str | bool | None]


@dataclass(frozen=True, slots=True)
class GoTo:
    """Go to `users`."""

    users: int
    why: Why
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hold:
    """Stay on this level for now."""

    why: Why


@dataclass(frozen=True, slots=True)
class Done:
    """The knee is found, recovery tested, the users at rest."""

    why: Why
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No knee, and why; `users` are to stay."""

    users: int
    why: Why
    figures: Figures = field(default_factory=dict)


Decision = GoTo | Hold | Done | GiveUp


class AutopilotPolicy:
    """Where the autopilot stands. `due` says what to do at a moment; the caller does it."""

    def __init__(self, first_users: int = 1) -> None:
        self._first_users = first_users
        self._stage: Why = "first"
        self._damped = False
        """The bend was near once."""
        self._careful = False
        """Failures or the generator's saturation have appeared, and were backed off from once."""
        self._ceiling: int | None = None
        """The fewest users that had to be left at once."""
        self._ceiling_why: Why = "failures"

    def due(self, known: AutopilotInput) -> Decision:
        """The next step; Hold while the level must go on."""
        if not known.levels or known.levels[-1].users == 0:
            return self._step(self._first_users, "first")
        if self._stage == "rest":
            return self._done(known)
        trouble = _trouble(known)
        if trouble is not None and not (trouble == "failures" and (self._descending or self._careful)):
            return self._leave(known, trouble)  # on the way down a backlog may fail for a while yet; later it is known to recover
        if not self._enough(known):
            return Hold("measuring" if known.open.figures.settled else "settling")
        if self._stage == "recovery":
            return self._rest(known)
        return self._climb(known)

    @property
    def _descending(self) -> bool:
        return self._stage in ("retreat", "recovery")

    def _enough(self, known: AutopilotInput) -> bool:
        """Whether the open level may end."""
        figures = known.open.figures
        if not figures.settled:
            return known.open_s >= PATIENCE_S
        if self._descending and fails(known):
            return figures.settled_seconds >= MOST_S
        if self._stage == "retreat":
            return figures.settled_seconds >= RETREAT_S
        if figures.settled_seconds < LEAST_S:
            return False
        if figures.settled_seconds >= MOST_S or precise(figures):
            return True
        return not self._descending and (strain(known) is not None or self._straight(known))

    def _straight(self, known: AutopilotInput) -> bool:
        """A level on the way up that lies on the line, and has seen enough for that."""
        figures = known.open.figures
        if figures.goodput_rps is None or line(known)[1] < STRAIGHT or known.open.users < self._top(known):
            return False
        return figures.requests >= STRAIGHT_REQUESTS or figures.settled_seconds >= STRAIGHT_S

    # -- the way up

    def _climb(self, known: AutopilotInput) -> Decision:
        knee, strained = known.verdict.knee, strain(known)
        if not known.open.figures.settled:
            return self._give_up(known, "not_settling")
        if not any(level.figures.goodput_rps for level in known.measured):
            return self._give_up(known, "nothing_done")
        if self._stage == "retreat" and fails(known):
            return self._give_up(known, "not_recovered")
        if knee is not None and knee.kind == "knee":
            return self._verify(known, knee)
        if strained is not None and not self._careful:
            return self._back_off(known, strained)
        if knee is None and known.lowest > LOW_USERS or knee is not None and knee.kind == "at_or_below":
            return self._lower(known)
        return self._higher(known)

    def _higher(self, known: AutopilotInput) -> Decision:
        """Twice as many while the curve is straight, else as far as the bend leads."""
        top = self._top(known)
        crossing, efficiency = line(known)
        why: Why
        if efficiency + line_error(known) >= STRAIGHT:
            growth = FIRST_GROWTH if top == 1 else DAMPED_GROWTH if self._damped else GROWTH
            wanted, why = growth * top, "double"
        else:
            wanted, why = min(max(BEYOND_BEND * crossing, BEND_STEP * top), GROWTH * top), "bend_near"
            self._damped = True
        if self._careful:
            wanted, why = min(wanted, max(STRAINED_MOST * crossing, BEND_STEP * top)), "careful"
        return self._up(known, math.ceil(wanted), why, {"efficiency": efficiency, "crossing": crossing})

    def _top(self, known: AutopilotInput) -> int:
        """Users of the highest level that did not have to be left."""
        return max((level.users for level in known.measured if self._ceiling is None or level.users < self._ceiling), default=1)

    def _up(self, known: AutopilotInput, users: int, why: Why, figures: Figures) -> Decision:
        """A step up, as far as guard, ports and what had to be left allow."""
        top, now = self._top(known), known.open.users
        if self._ceiling is not None:
            users, why = round(math.sqrt(top * self._ceiling)), "between"
            if self._ceiling < ROOM * top or users <= top:
                return self._give_up(known, self._ceiling_why)
        if ports_last_s(known) * now / users < PORTS_LEAST_S:
            return self._give_up(known, "ports")
        users = min(users, known.max_users)
        if users <= top:
            return self._give_up(known, "max_users")
        return self._step(users, why, figures)

    def _verify(self, known: AutopilotInput, knee: KneeVerdict) -> Decision:
        """A second level on the plateau, or one on a plateau that was jumped over; unless trouble forbids it."""
        assert knee.users is not None
        recover = self._step_to_recovery(knee)
        above = collapsed_above(known)
        if above is not None:
            self._ceiling, self._ceiling_why = min(above, self._ceiling or above), "collapse"
            if self._ceiling < PLATEAU_ROOM * self._top(known):
                return recover()
            if known.open.users >= self._ceiling:
                return self._back_off(known, "collapse")
        elif self._enough_plateau(known, knee.users):
            return recover()
        top = self._top(known)
        decision = self._up(known, math.ceil(max(STEP_LEAST * top, PLATEAU_STEP * knee.users)), "plateau", _told(knee))
        return recover() if isinstance(decision, GiveUp) else decision

    def _enough_plateau(self, known: AutopilotInput, knee_users: float) -> bool:
        beyond = {level.users for level in known.measured if level.users >= PLATEAU_SHARE * knee_users}
        thin = baseline_requests(known) < THIN_REQUESTS
        return len(beyond) >= PLATEAU_LEVELS + thin or (strain(known) is not None and not self._descending)

    def _step_to_recovery(self, knee: KneeVerdict) -> Callable[[], Decision]:
        assert knee.users is not None
        users = max(1, round(RECOVERY_SHARE * knee.users))
        return lambda: self._step(users, "recovery", _told(knee))

    def _lower(self, known: AutopilotInput) -> Decision:
        """No level is known to lie on the line: begin again from below."""
        lowest = known.lowest
        return self._step(max(1, lowest // 4), "lower") if lowest > 1 else self._rest(known)

    # -- the way down

    def _leave(self, known: AutopilotInput, why: Why) -> Decision:
        """At once: to recovery where the knee is known, else far enough down to go on carefully."""
        knee, now = known.verdict.knee, known.open.users
        if self._descending:
            return self._give_up(known, why)
        if knee is not None and knee.kind == "knee" and knee.users is not None:
            return self._step_to_recovery(knee)()
        if why == "ports":
            return self._give_up(known, why)
        self._ceiling, self._ceiling_why = min(now, self._ceiling or now), why
        return self._back_off(known, why)

    def _back_off(self, known: AutopilotInput, why: Why) -> Decision:
        """Down to where all was well: further up only if the service recovers there."""
        clean = [level.users for level in known.measured if level.users < known.open.users]
        if not clean:
            return self._give_up(known, why)
        self._careful = True
        return self._step(max(1, round(RECOVERY_SHARE * max(clean))), "retreat", {"because": why})

    def _rest(self, known: AutopilotInput) -> Decision:
        lowest = known.lowest
        return self._step(lowest, "rest") if lowest < known.open.users else self._done(known)

    def _done(self, known: AutopilotInput) -> Done:
        knee = known.verdict.knee
        return Done("at_or_below" if knee is not None and knee.kind == "at_or_below" else "knee", _told(knee))

    def _give_up(self, known: AutopilotInput, why: Why) -> GiveUp:
        return GiveUp(known.lowest, why, _told(known.verdict.knee))

    def _step(self, users: int, why: Why, figures: Figures | None = None) -> GoTo:
        self._stage = why
        return GoTo(users, why, figures or {})


def _trouble(known: AutopilotInput) -> Why | None:
    """What calls for leaving the open level at once."""
    if ports_last_s(known) < PORTS_LEAST_S / 2:
        return "ports"
    return "failures" if fails(known, FAILURES_MOST) else None


def _told(knee: KneeVerdict | None) -> Figures:
    """The knee's figures for a reason's wording."""
    if knee is None:
        return {}
    told = {
        "kind": knee.kind,
        "knee_users": knee.users,
        "users_low": knee.users_low,
        "users_high": knee.users_high,
        "capacity_rps": knee.capacity_rps,
    }
    return {key: value for key, value in told.items() if value is not None}
