"""The autopilot's decisions: from the levels so far to the next step (docs/knee.md). Pure: no clock, no load.

It climbs by doubling, in smaller steps near the bend; measures one more level on the plateau; verifies the knee
(`KneeVerification`); and ends at the lowest level. It does not bisect: low levels give the low-load line, plateau levels the
capacity. The caller judges the levels and passes the verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Literal

import msgspec

from ..model.proposals import Decision, Done, Figures, GiveUp, GoTo, Hold, Why
from ..model.stages import LIMIT_NAMES
from ..model.verdicts import KneeVerdict, VerificationStep, VerificationStepName
from .open_level import (
    FAILURES_MOST,
    LEAST_S,
    PORTS_LEAST_S,
    UNSETTLED_MOST_S,
    SearchInput,
    baseline_requests,
    collapsed_above,
    fails,
    is_straight,
    leave_at_once_why,
    low_load_line,
    may_end,
    ports_last_s,
    small_steps_why,
)

# -- verification --------------------------------------------------------------------------------------------------------------
# How the autopilot verifies a knee: it runs the levels that the verdict still needs (docs/knee.md, section 10). Pure.
#
# Which levels those are, and what each showed, is decided by analysis; levels that a person or a plan made count as well.


VISITS_MOST = 2
"""Maximum number of levels for one step: a level that disagrees is repeated once, since a backlog or a neighbour may be the
reason.
"""

BEYOND_FROM = 1.1
"""Multiple of N* that still counts as beyond the knee if `max_users` allows no more (docs/knee.md, section 10)."""

Outcome = Literal["verified", "contradicted", "no_knee", "max_users", "ports", "failures", "not_settling", "uncounted"]
"""`no_knee`: with these levels there is no knee any more. `uncounted`: the levels run for a step do not count, since the knee
moves with each of them or a backlog is not finished. The others name what prevented a level."""


class VerificationEnd(msgspec.Struct, frozen=True):
    """The verification has ended."""

    outcome: Outcome


class KneeVerification:
    """One verification. `due` returns the decision at a moment; the caller carries it out."""

    def __init__(self) -> None:
        self._step: VerificationStep | None = None
        """The step that the open level was opened for."""
        self._visits: Counter[VerificationStepName] = Counter()

    def due(self, known: SearchInput) -> GoTo | Hold | VerificationEnd:
        """The decision; Hold while the open level must continue."""
        if self._step is not None and self._step.name == "beyond":
            if ports_last_s(known) < PORTS_LEAST_S / 2:
                return VerificationEnd("ports")
            if fails(known, FAILURES_MOST):
                return VerificationEnd("failures")
        figures = known.open.figures
        if self._step is not None and not figures.settled:
            return VerificationEnd("not_settling") if known.open_s >= UNSETTLED_MOST_S else Hold("settling")
        if self._step is not None and not self._is_over(known, self._step):
            return Hold("measuring")
        knee = known.verdict.knee
        if knee is None or knee.kind != "knee" or knee.verification is None:
            is_disputed = knee is not None and knee.evidence.return_agrees is False
            return VerificationEnd("contradicted" if is_disputed else "no_knee")
        if knee.verification.state == "verified":
            return VerificationEnd("verified")
        return self._next(known, knee, knee.verification.open_steps[0])

    def _is_over(self, known: SearchInput, step: VerificationStep) -> bool:
        """Whether the open level has given a result for its step, or has reached its maximum duration."""
        seconds = known.open.figures.settled_seconds / known.stretch
        if seconds < step.least_s:
            return False
        knee = known.verdict.knee
        steps = knee.verification.steps if knee is not None and knee.verification is not None else ()
        shown = next((each for each in steps if each.name == step.name), None)
        return seconds >= step.most_s or shown is None or shown.agrees is True

    def _next(self, known: SearchInput, knee: KneeVerdict, step: VerificationStep) -> GoTo | VerificationEnd:
        assert knee.users is not None
        if self._visits[step.name] >= VISITS_MOST:
            return VerificationEnd("contradicted" if step.disagreement is not None else "uncounted")
        users = min(step.users, known.max_users)
        if step.name == "beyond":
            if users < known.open.users and knee.verification is not None:  # a backlog of the open level would disturb it
                if self._step is None or self._step.name != "beyond":
                    return self._go(knee, knee.verification.steps[0], knee.verification.steps[0].users)
                users = known.open.users
            if users < BEYOND_FROM * knee.users:
                return VerificationEnd("max_users")
            if ports_last_s(known) * known.open.users / users < PORTS_LEAST_S:
                return VerificationEnd("ports")
        return self._go(knee, step, users)

    def _go(self, knee: KneeVerdict, step: VerificationStep, users: int) -> GoTo:
        self._step = step
        self._visits[step.name] += 1
        figures = {"least_s": step.least_s, "most_s": step.most_s, **knee_figures(knee)}
        return GoTo(users, step.name, figures, opens_new_level=self._visits[step.name] > 1)


def knee_figures(knee: KneeVerdict | None) -> Figures:
    """Figures of the knee that a reason's sentence names."""
    if knee is None:
        return {}
    figures = {
        "kind": knee.kind,
        "knee_users": knee.users,
        "users_low": knee.users_low,
        "users_high": knee.users_high,
        "capacity_rps": knee.capacity_rps,
    }
    return {key: value for key, value in figures.items() if value is not None}


GROWTH = 2.0
FIRST_GROWTH = 3.0
DAMPED_GROWTH = 1.5
"""Growth factors between levels: while the curve is linear; from one user; and after scaling began to flatten."""

BEYOND_BEND = 1.7
"""Multiple of the crossing of both lines, as known so far, at which the plateau is expected once scaling flattens."""

BEND_STEP = 1.3
"""Least growth factor of a step near the bend."""

STEP_LEAST = 1.2
"""Least growth factor on the plateau: a smaller step gives no more information than a longer level."""

LOW_USERS = 4
"""A search that began above this count first measures lower levels, while no low-load line is known."""

SURE_PLATEAU_TIMES = 1.15
PLATEAU_STEP = 1.35
"""Multiples of N*: levels from the first on lie on the plateau, of which a knee needs one; if there is none, it is made at the
second."""

THIN_REQUESTS = 40
"""With fewer requests in all levels of the low-load line, the knee must be confirmed by one more level on the plateau."""

RETREAT_SHARE = 0.6
"""Share of the highest level without failures to which users are reduced, to check whether the service recovers."""

SEARCHES_MOST = 2
"""The search is repeated once if the knee is no longer found after its verification levels."""

RETURN_FAILURES = 0.2
"""Increase of the failure ratio from which a level is left out of the curve until a return to fewer users has shown that load was
the cause (`analysis.epoch.regimes`)."""

RETURNS_MOST = 3
"""Maximum number of returns from failing levels; each halves the interval between the highest level without failures and the
lowest with failures."""

STRAINED_MOST = 1.5
"""Multiple of the crossing up to which the autopilot goes after failures or saturation of the generator."""

BETWEEN_RATIO_LEAST = 1.25
"""Ratio of the users of a level that was left at once to those of the highest level without failures, from which a level between
them is measured."""

PLATEAU_RATIO_LEAST = 1.5
"""The same ratio where the higher level was left because its goodput collapsed."""


NARROW, NARROWED_MOST = 0.1, 3
"""Half-width of the interval of a knee at which a limit on a single request breaks, relative to it, from which a level inside it
is measured, and the most such levels: each halves it."""


class Search:
    """One search for the knee, or only the verification of a known one. `due` returns the decision; the caller carries it out."""

    def __init__(self, first_users: int = 1, *, only_verifies: bool = False) -> None:
        self._first_users, self._only_verifies = first_users, only_verifies
        self._stage: Why = "first"
        """The reason of the step to the open level."""
        self._damped = False
        """Whether scaling has begun to flatten."""
        self._careful = False
        """Whether users were reduced once because of failures or a saturated generator."""
        self._ceiling: int | None = None
        """Lowest user count that had to be left at once."""
        self._ceiling_why: Why = "failures"
        self._returns = 0
        """Number of returns from failing levels so far."""
        self._verification = KneeVerification() if only_verifies else None
        self._outcome: Outcome | None = None
        """How the verification ended."""
        self._searches = 1
        self._narrowed = 0
        """Levels inside the interval of a knee at which a limit on a single request breaks."""

    def due(self, known: SearchInput) -> Decision:
        """The decision; Hold while the open level must continue."""
        if not known.levels or (known.levels[-1].users == 0 and self._verification is None):
            return self._step(self._first_users, "first")
        if self._stage == "rest":
            return self._done(known)
        if self._verification is not None:
            return self._verify(known, self._verification)
        why = leave_at_once_why(known)
        if why is not None and not (why == "failures" and (self._stage == "retreat" or self._careful)):
            return self._leave(known, why)  # on the way down a backlog may still fail; with `_careful` it is known to recover
        if not may_end(known, self._stage, self._top(known)):
            return Hold("measuring" if known.open.figures.settled else "settling")
        return self._climb(known)

    # -- stepping up

    def _climb(self, known: SearchInput) -> Decision:
        knee, strained = known.verdict.knee, small_steps_why(known)
        if not known.open.figures.settled:
            return self._give_up(known, "not_settling")
        if not any(level.figures.served_rps or level.figures.goodput_rps for level in known.measured):
            return self._give_up(known, "nothing_done")
        if self._stage == "retreat" and fails(known):
            return self._give_up(known, "not_recovered")
        if knee is not None and knee.kind == "knee":
            return self._widen(known, knee)
        if strained is not None and not self._careful:
            return self._back_off(known, strained)
        is_straight, is_failing = knee is None or knee.kind == "no_knee", fails(known, RETURN_FAILURES)
        if self._stage != "retreat" and (known.undecided or (is_straight and self._careful and is_failing)):
            return self._return(known, "failures" if is_failing else "collapse")
        if known.open.users == self._ceiling and self._stage == "again":
            self._ceiling = None  # the failures there have ended by themselves
        if knee is None and known.lowest > LOW_USERS or knee is not None and knee.kind == "at_or_below":
            return self._lower(known)
        return self._higher(known)

    def _higher(self, known: SearchInput) -> Decision:
        """Double the users while scaling is linear; after that, go to where the plateau should begin."""
        top = self._top(known)
        crossing, efficiency = low_load_line(known)
        why: Why
        if is_straight(known):
            growth = FIRST_GROWTH if top == 1 else DAMPED_GROWTH if self._damped else GROWTH
            wanted, why = growth * top, "double"
        else:
            wanted, why = min(max(BEYOND_BEND * crossing, BEND_STEP * top), GROWTH * top), "bend_near"
            self._damped = True
        if self._careful:
            wanted = min(wanted, max(STRAINED_MOST * crossing, BEND_STEP * top))
            why = "careful" if self._stage == "retreat" else why
        return self._up(known, math.ceil(wanted), why, {"efficiency": efficiency, "crossing": crossing})

    def _top(self, known: SearchInput) -> int:
        """Users of the highest level that was not left at once; 1 before there is any."""
        return max((level.users for level in known.measured if self._ceiling is None or level.users < self._ceiling), default=1)

    def _up(self, known: SearchInput, users: int, why: Why, figures: Figures) -> Decision:
        """A step up, limited by max_users, free ports and levels that were left at once."""
        top, now = self._top(known), known.open.users
        if self._ceiling is not None:
            users, why = round(math.sqrt(top * self._ceiling)), "between"
            if self._ceiling < BETWEEN_RATIO_LEAST * top or users <= top:
                if self._stage == "retreat" and known.open.figures.settled_seconds < LEAST_S * known.stretch:
                    return Hold("measuring")  # the verdict does not know this return yet
                if self._ceiling_why != "failures" or self._is_measured(known, self._ceiling):
                    return self._give_up(known, self._ceiling_why)
                users, why = self._ceiling, "again"
        if ports_last_s(known) * now / users < PORTS_LEAST_S:
            return self._give_up(known, "ports")
        users = min(users, known.max_users)
        if users <= top:
            return self._give_up(known, "max_users")
        return self._step(users, why, figures)

    def _is_measured(self, known: SearchInput, users: int) -> bool:
        """Whether a level of so many users was long enough for figures: one that was left at once shows no collapse."""
        return any(level.users == users and level.figures.settled_seconds >= LEAST_S for level in known.levels)

    def _widen(self, known: SearchInput, knee: KneeVerdict) -> Decision:
        """The knee is known: measure another level on its plateau if needed and possible, else verify it."""
        assert knee.users is not None
        if knee.limit in LIMIT_NAMES:
            return self._narrow(known, knee)
        above = collapsed_above(known)
        if above is not None:
            self._ceiling, self._ceiling_why = min(above, self._ceiling or above), "collapse"
            if self._ceiling < PLATEAU_RATIO_LEAST * self._top(known):
                return self._begin_verification(known)
            if known.open.users >= self._ceiling:
                return self._back_off(known, "collapse")
        elif self._enough_plateau(known, knee.users):
            return self._begin_verification(known)
        top = self._top(known)
        decision = self._up(known, math.ceil(max(STEP_LEAST * top, PLATEAU_STEP * knee.users)), "plateau", knee_figures(knee))
        return self._begin_verification(known) if isinstance(decision, GiveUp) else decision

    def _narrow(self, known: SearchInput, knee: KneeVerdict) -> Decision:
        """Beyond a limit on a single request there is no plateau: measure levels inside the interval of the knee, each after one
        with fewer users, so that no queue of a higher level is worked off in it.
        """
        low, high = knee.users_low or 1.0, knee.users_high or 1.0
        users = round(math.sqrt(low * high))
        is_known = any(level.users == users and level.figures.settled_seconds >= LEAST_S for level in known.levels)
        if is_known or high - low <= NARROW * (low + high) or self._narrowed >= NARROWED_MOST:
            return self._begin_verification(known)
        if known.open.users >= users:
            return self._step(max(1, round(RETREAT_SHARE * users)), "retreat", {"because": "limits"})
        self._narrowed += 1
        return self._step(users, "between", knee_figures(knee))

    def _enough_plateau(self, known: SearchInput, knee_users: float) -> bool:
        """Whether the plateau has enough levels, or no more load is possible."""
        beyond = {level.users for level in known.measured if level.users >= SURE_PLATEAU_TIMES * knee_users}
        thin = baseline_requests(known) < THIN_REQUESTS
        return len(beyond) >= 1 + thin or (small_steps_why(known) is not None and self._stage != "retreat")

    def _begin_verification(self, known: SearchInput) -> Decision:
        self._verification = KneeVerification()
        return self._verify(known, self._verification)

    def _verify(self, known: SearchInput, verification: KneeVerification) -> Decision:
        """Run the levels that verify the knee. If the knee is no longer found, the search continues."""
        decision = verification.due(known)
        if not isinstance(decision, VerificationEnd):
            if isinstance(decision, GoTo):
                self._stage = decision.why
            return decision
        self._verification, self._outcome = None, decision.outcome
        if decision.outcome in ("no_knee", "uncounted") and not self._only_verifies and self._searches < SEARCHES_MOST:
            self._searches += 1
            return self._climb(known)
        return self._rest(known)

    def _lower(self, known: SearchInput) -> Decision:
        """No level is known to lie on the low-load line: measure a lower one."""
        lowest = known.lowest
        return self._step(max(1, lowest // 4), "lower") if lowest > 1 else self._rest(known)

    # -- stepping down

    def _return(self, known: SearchInput, why: Why) -> Decision:
        """The level fails or goodput fell, and no knee is known: return to fewer users, to distinguish load from a fault."""
        self._returns += 1
        if self._returns > RETURNS_MOST:
            return self._give_up(known, why)
        self._ceiling, self._ceiling_why = min(known.open.users, self._ceiling or known.open.users), why
        return self._back_off(known, why)

    def _leave(self, known: SearchInput, why: Why) -> Decision:
        """Leave the open level at once: verify the knee if it is known, else step down and continue in smaller steps."""
        knee, now = known.verdict.knee, known.open.users
        if self._stage == "retreat":
            return self._give_up(known, why)
        if knee is not None and knee.kind == "knee":
            return self._begin_verification(known)
        if why == "ports":
            return self._give_up(known, why)
        if not known.fault:
            self._ceiling, self._ceiling_why = min(now, self._ceiling or now), why
        return self._back_off(known, why)

    def _back_off(self, known: SearchInput, why: Why) -> Decision:
        """Step down below the highest clean level; users go up again only if the service recovers there."""
        clean = [level.users for level in known.measured if level.users < known.open.users]
        if not clean:
            return self._give_up(known, why)
        self._careful = True
        return self._step(max(1, round(RETREAT_SHARE * max(clean))), "retreat", {"because": why})

    def _rest(self, known: SearchInput) -> Decision:
        """End at the lowest level, where the service rests."""
        lowest = known.lowest
        return self._step(lowest, "rest") if lowest < known.open.users else self._done(known)

    def _done(self, known: SearchInput) -> Done:
        knee = known.verdict.knee
        why: Why = "at_or_below" if knee is not None and knee.kind == "at_or_below" else "knee"
        return Done(why, {**knee_figures(knee), "verification": self._outcome})

    def _give_up(self, known: SearchInput, why: Why) -> GiveUp:
        return GiveUp(known.lowest, why, knee_figures(known.verdict.knee))

    def _step(self, users: int, why: Why, figures: Figures | None = None) -> GoTo:
        self._stage = why
        return GoTo(users, why, figures or {})
