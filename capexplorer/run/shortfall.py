"""Whether a run measured anything; if not, the reason in one line."""

from __future__ import annotations

from collections import Counter

from .. import wording
from ..analysis.causes.catalogue import RAISED, USER_CODE
from ..model.events import FailureSignature
from ..model.findings import Cause
from ..model.level import Level
from ..model.timeline import Timeline
from .run_outcome import RunOutcome


def judge(outcome: RunOutcome, timeline: Timeline, requests: int, failures: int) -> None:
    """Fail a run that measured nothing, unless it has failed already or its locustfile set an exit code itself."""
    why = shortfall(timeline, requests, failures, finished=outcome.is_finished)
    if why is not None and outcome.failure is None and outcome.wanted_exit_code is None:
        outcome.fail("load", why, 4)


def shortfall(timeline: Timeline, requests: int, failures: int, *, finished: bool) -> str | None:
    """None for a run of which a level settled with a success, and for one without load.

    `requests`, `failures`: of the session, warm-up included. `finished`: a plan, a shape or the autopilot came to its end; a
    person who quits before any level has settled, without a failure, gets no error.
    """
    loaded = [level for level in timeline.levels if level.has_load]
    if not loaded or any(map(_succeeded, loaded)):
        return None
    if requests and failures >= requests:
        return f"no request succeeded: {failures} failed, {_how(timeline, failures)}"
    raised = [mark.finding for key, mark in timeline.marks.items() if key == f"cause:{USER_CODE}" or key.endswith(RAISED)]
    died = max((each for each in raised if isinstance(each, Cause)), key=lambda each: each.count, default=None)
    if died is not None and (finished or not requests):
        done = "no level settled with a success" if requests else "users made no request"
        what = "exceptions in user code" if died.name == USER_CODE else "system errors"
        return f"{done}: {died.count} {what}, such as {died.example}"
    if not finished and not any(level.figures.settled for level in loaded):
        return None
    return "no level settled with a success" if requests else "users made no request that came to an end"


def _succeeded(level: Level) -> bool:
    figures = (level.figures, *(each.figures for each in level.bins))
    return any(each.settled and each.requests > each.failures for each in figures)


def _how(timeline: Timeline, failures: int) -> str:
    """The most frequent failure, with its full text if known."""
    counts: Counter[FailureSignature] = Counter()
    for (_, _, signature), failure in timeline.failures.items():
        counts[signature] += failure.count
    signature, count = counts.most_common(1)[0]
    share = "all with" if count >= failures else "most often with"
    return f"{share} {timeline.examples.get(signature) or wording.failure(signature)}"
