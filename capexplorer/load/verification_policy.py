"""How the autopilot verifies a knee: it runs the levels that the verdict still needs (docs/knee.md, section 10). Pure.

Which levels those are, and what each showed, is decided by analysis; levels that a person or a plan made count as well.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from ..model.proposals import Figures, GoTo, Hold
from ..model.verdicts import KneeVerdict, VerificationStep, VerificationStepName
from .autopilot_input import AutopilotInput, fails, ports_last_s
from .level_end import FAILURES_MOST, PORTS_LEAST_S, UNSETTLED_MOST_S

VISITS_MOST = 2
"""Maximum number of levels for one step: a level that disagrees is repeated once, since a backlog or a neighbour may be the
reason.
"""

BEYOND_FROM = 1.1
"""Multiple of N* that still counts as beyond the knee if `max_users` allows no more (docs/knee.md, section 10)."""

Outcome = Literal["verified", "contradicted", "no_knee", "max_users", "ports", "failures", "not_settling", "uncounted"]
"""`no_knee`: with these levels there is no knee any more. `uncounted`: the levels run for a step do not count, since the knee
moves with each of them or a backlog is not finished. The others name what prevented a level."""


@dataclass(frozen=True, slots=True)
class VerificationEnd:
    """The verification has ended."""

    outcome: Outcome


class VerificationPolicy:
    """One verification. `due` returns the decision at a moment; the caller carries it out."""

    def __init__(self) -> None:
        self._step: VerificationStep | None = None
        """The step that the open level was opened for."""
        self._visits: Counter[VerificationStepName] = Counter()

    def due(self, known: AutopilotInput) -> GoTo | Hold | VerificationEnd:
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

    def _is_over(self, known: AutopilotInput, step: VerificationStep) -> bool:
        """Whether the open level has given a result for its step, or has reached its maximum duration."""
        seconds = known.open.figures.settled_seconds
        if seconds < step.least_s:
            return False
        knee = known.verdict.knee
        steps = knee.verification.steps if knee is not None and knee.verification is not None else ()
        shown = next((each for each in steps if each.name == step.name), None)
        return seconds >= step.most_s or shown is None or shown.agrees is True

    def _next(self, known: AutopilotInput, knee: KneeVerdict, step: VerificationStep) -> GoTo | VerificationEnd:
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
