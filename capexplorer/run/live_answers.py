"""What is required of the service in a live run, and the answers so far as events. Used in the pump's thread only."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.requirements import Requirements
from ..model.events import Answered
from ..model.requirements import Answer, Requirement, State
from .context import RunContext

FIGURES_EVERY_S = 5.0
"""Seconds between two events whose answers differ only in figures, which change every second."""


class LiveAnswers:
    """`begin` when load may run, `ticked` after each sample, `end` after the last marks."""

    def __init__(self, context: RunContext) -> None:
        self._context, self._timeline = context, context.timeline
        self._requirements = Requirements()
        self._to_ask = context.options.requirements
        """Those of the run's options, until load may run."""

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """All that is required, in the order in which it was asked."""
        return self._requirements.all

    @property
    def has_open(self) -> bool:
        """Whether something that is required is not decided. From any thread."""
        return any(each.state == "undecided" for each in self._timeline.answers)

    def begin(self) -> None:
        """Ask what the options require."""
        for required in self._to_ask:
            self._requirements.require(required, self._timeline)
        self._to_ask = ()
        if self.asked:
            self._emit_news()

    def ask(self, required: Requirement) -> None:
        """Require this as well from now on; what is required already, no longer."""
        if required in self.asked:
            self._requirements.forget(required)
        else:
            self._requirements.require(required, self._timeline)
        self._emit_news()

    def ticked(self) -> None:
        """Look at the latest second."""
        if self.asked and self._timeline.last is not None:
            self._requirements.add(self._timeline.last, self._timeline)
            self._emit_news()

    def end(self) -> None:
        """Emit the final answers, and let them decide the exit code."""
        if self.asked:
            self._emit_news(at_once=True)
            self._context.outcome.answer(each.state for each in self._timeline.answers)

    def _emit_news(self, *, at_once: bool = False) -> None:
        """Emit the answers if one has another state, or another figure after a while or `at_once`."""
        before, epoch, now_s = self._timeline.answered, self._context.epoch, self._context.now_s()
        kept = before.answers if before is not None and before.epoch == epoch else ()
        found = tuple(_decided(each, kept) for each in self._requirements.answers(self._timeline))
        news = Answered(t_s=now_s, epoch=epoch, answers=found)
        if before is not None and (before.epoch, before.answers) == (epoch, found):
            return
        if at_once or before is None or now_s - before.t_s >= FIGURES_EVERY_S or _states(before) != _states(news):
            self._context.emit(news)


def _decided(now: Answer, before: Iterable[Answer]) -> Answer:
    """An answer that was decided in this epoch stays as it was then until the same or the opposite is decided: a sequential test
    ends at its first decision, and its error is that of this rule.
    """
    if now.state != "undecided":
        return now
    return next((each for each in before if each.required == now.required and each.state != "undecided"), now)


def _states(answered: Answered | None) -> list[tuple[Requirement, State]]:
    return [(each.required, each.state) for each in answered.answers] if answered is not None else []
