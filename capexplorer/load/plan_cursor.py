"""The progress of a running plan. Pure: time is passed in."""

from __future__ import annotations

from .plan import Step

AFTER_SUSPENSION_S = 6.0
"""Seconds that a hold, unless it is shorter, still lasts after a suspension, so that a new level settles and is measured."""


class PlanCursor:
    """The state of a running plan. `due` returns the step for a moment; the caller carries it out and reports the end of
    spawning."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self.index = -1
        self._ends_s: float | None = None
        """End of the step's hold; None while its users are spawning, or the autopilot carries it out."""

    @property
    def finished(self) -> bool:
        """Whether all steps have ended."""
        return self.index >= len(self.steps)

    @property
    def current(self) -> Step | None:
        """The current step."""
        return self.steps[self.index] if 0 <= self.index < len(self.steps) else None

    def spawned(self, at_s: float) -> None:
        """All users of the current step have been running since `at_s`; a ramp begins then."""
        step = self.current
        if step is not None and not step.is_autopilots and self._ends_s is None:
            self._ends_s = at_s + step.hold_s

    def suspended(self, now_s: float, seconds: float) -> None:
        """Extend the current hold by a suspension of the process that ended at `now_s`, and at least by AFTER_SUSPENSION_S."""
        step = self.current
        if step is not None and self._ends_s is not None and not step.is_autopilots:
            self._ends_s = max(self._ends_s + seconds, now_s + min(step.hold_s, AFTER_SUSPENSION_S))

    def found(self, at_s: float) -> None:
        """The autopilot has ended: continue at `at_s`."""
        if self.is_finding:
            self._ends_s = at_s

    @property
    def is_finding(self) -> bool:
        """Whether the current step is the autopilot's."""
        return self.current is not None and self.current.is_autopilots and self._ends_s is None

    def extend(self, until_s: float) -> None:
        """Extend the current step until `until_s`."""
        self._ends_s = until_s

    def coming(self, now_s: float) -> Step | None:
        """The step that `due` would return; None if it is not due yet."""
        if self.index + 1 >= len(self.steps) or (self.index >= 0 and (self._ends_s is None or now_s < self._ends_s)):
            return None
        return self.steps[self.index + 1]

    def due(self, now_s: float) -> Step | None:
        """The next step if it is due, else None (also after the last one: see `finished`)."""
        if self.finished or (self.index >= 0 and (self._ends_s is None or now_s < self._ends_s)):
            return None
        self.index += 1
        self._ends_s = None
        return None if self.finished else self.steps[self.index]

    @property
    def next_s(self) -> float | None:
        """Time at which `due` will return the next step; None while spawning or after the end."""
        return None if self.finished else self._ends_s
