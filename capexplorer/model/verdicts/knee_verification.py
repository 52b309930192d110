"""The verification of a knee: levels measured after it was found must show the same knee again."""

from __future__ import annotations

from typing import Literal

from ..readings import Reading

VerificationStepName = Literal["soak", "beyond", "return_to_first"]

Disagreement = Literal["less_goodput", "more_goodput", "failures", "slower", "time_unexplained"]
"""How a level of a verification differs from the levels in which the knee was found. `time_unexplained`: neither responses nor
think time account for all of the users' time (Little's law)."""


class VerificationStep(Reading, frozen=True, kw_only=True):
    """One of the levels that verify a knee, measured or still to be measured."""

    name: VerificationStepName
    users: int
    """Users at which the level is to be measured."""
    least_s: float
    most_s: float
    """Settled seconds that the level takes: at least `least_s`, then until it is precise, but at most `most_s`."""
    measured_users: int | None = None
    """Users of the measured level; None: not measured yet, or too short or not precise enough."""
    measured_s: float | None = None
    """Settled seconds of that level."""
    disagreement: Disagreement | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether the level agrees with the knee; None: not measured."""
        return None if self.measured_users is None else self.disagreement is None


class Verification(Reading, frozen=True, kw_only=True):
    """Whether levels that were measured after a knee was found, by hand or not, show the same knee.

    `verified`: each step was measured and agrees. `contradicted`: one of them disagrees. `provisional`: anything else.
    """

    state: Literal["provisional", "verified", "contradicted"]
    steps: tuple[VerificationStep, ...]

    @property
    def open_steps(self) -> tuple[VerificationStep, ...]:
        """Steps that are still to be measured, in order: those that were not measured or disagree, and the return to the first
        level as long as the level beyond the knee is open, since it comes after that.
        """
        still_open = {step.name for step in self.steps if not step.agrees}
        if "beyond" in still_open:
            still_open.add("return_to_first")
        return tuple(step for step in self.steps if step.name in still_open)

    @property
    def disagreeing(self) -> tuple[VerificationStep, ...]:
        """Steps that were measured and disagree."""
        return tuple(step for step in self.steps if step.agrees is False)
