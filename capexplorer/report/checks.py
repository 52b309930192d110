"""What a CI system shows of a session: checks of the run, of each requirement, and of each condition against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from .. import wording
from ..errors import ExitCode
from ..model.level_use import level_uses
from ..model.requirements import Answer, FailuresAnswer, PercentileAnswer
from ..model.timeline import Timeline
from ..wording import numbers
from ..wording.requirements import found, text_of
from .compare import Comparison
from .compare.fail_if import Condition, judge

Group = Literal["run", "requirement", "comparison"]
State = Literal["skipped", "passed", "undecided", "failed"]
"""In ascending order: of several checks together the last one counts."""

_CODES: dict[int, str] = {ExitCode.NOT_MET: "not_met", ExitCode.UNDECIDED: "undecided"}
"""Exit codes of a run that came to its end, by the state of one of its answers. Without such an answer a stop rule ended it."""

_OF_ANSWERS: dict[str, State] = {"met": "passed", "not_met": "failed", "undecided": "undecided"}
_REQUIRED: dict[State, str] = {"passed": "met", "failed": "not met"}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One test case."""

    group: Group
    name: str
    state: State
    words: str
    """The figures that decided it, or why it is not decided, in one line; may be empty. May contain untrusted text."""
    seconds: float = 0.0
    """Of measurements that it stands on; 0: not known."""

    @property
    def result(self) -> str:
        """Its state in words: a requirement is `met` or `not met`."""
        return _REQUIRED.get(self.state, self.state) if self.group == "requirement" else self.state

    @property
    def sentence(self) -> str:
        """`p95 <= 300ms @ 50 users: not met, 412 ms [398–431 ms] of 1,204 replies in 24 s`."""
        return f"{self.name}: {self.result}{', ' * bool(self.words)}{self.words}"


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is compared with."""

    conditions: tuple[Condition, ...] = ()
    """Those of `--fail-if`."""
    comparison: Comparison | None = None
    """The baseline comes first in it."""
    why_none: str = ""
    """Why there is no comparison; empty if none was wanted."""

    @property
    def checks(self) -> list[Check]:
        """One of each condition."""
        return [_of_condition(each, self) for each in self.conditions]


NO_BASELINE = Baseline()


def of_session(timeline: Timeline, baseline: Baseline = NO_BASELINE) -> list[Check]:
    """Whether the run came to its end, what is required of the service, and the conditions against the baseline."""
    return [_of_run(timeline), *map(_of_answer, timeline.answers), *baseline.checks]


def _of_run(timeline: Timeline) -> Check:
    ended, settled = timeline.ended, sum(level.figures.settled for level in timeline.levels)
    words = "the session has no end" if ended is None else f"{ended.reason}; {numbers.several(settled, 'level')} settled"
    state: State = "passed"
    if ended is None or ended.signal is not None:
        state = "undecided"
    elif ended.exit_code and _CODES.get(ended.exit_code) not in {each.state for each in timeline.answers}:
        state = "failed"
    return Check(group="run", name="the run comes to its end", state=state, words=words, seconds=timeline.last_s)


def _of_answer(answer: Answer) -> Check:
    seconds = answer.seconds if isinstance(answer, PercentileAnswer | FailuresAnswer) else 0.0
    name, state = text_of(answer.required), _OF_ANSWERS[answer.state]
    return Check(group="requirement", name=name, state=state, words=found(answer), seconds=seconds)


def _of_condition(condition: Condition, baseline: Baseline) -> Check:
    name = f"--fail-if {condition.text}"
    if baseline.comparison is None:
        return Check(group="comparison", name=name, state="skipped", words=baseline.why_none)
    known = judge(condition, baseline.comparison)
    state: State = "failed" if known.failed else "undecided" if known.unjudged else "passed"
    lines = known.failed or known.unjudged or known.excused or known.passed
    words = "; ".join(each.removeprefix(f"{condition.text}: ") for each in lines)
    return Check(group="comparison", name=name, state=state, words=words)


def outcome(checks: Sequence[Check]) -> State:
    """That of all together."""
    return max((each.state for each in checks), key=get_args(State).index, default="skipped")


def unfit(timeline: Timeline) -> str:
    """Why a session is no baseline: what its figures show besides the service; empty if nothing."""
    if any(each.invalid for each in wording.judgements(timeline).values()):
        return "its verdict is not about the service"
    disturbed = sum(use.is_disturbed for use in level_uses(timeline).values())
    return f"other processes disturbed {numbers.several(disturbed, 'level')}" if disturbed else ""
