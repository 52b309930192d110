"""Why a run ends, with which exit code, and whether it measured anything."""

from __future__ import annotations

import errno

import pytest
from kit.scenario import HEADER
from marked import marked

from capexplorer.model.events import EndpointTick, FailureSignature, FailureTick, LevelClosed, LevelOpened, Mark, Sample
from capexplorer.model.figures import LevelBin, LevelFigures
from capexplorer.model.timeline import Timeline
from capexplorer.run.run_outcome import RunOutcome, shortfall


def test_the_first_of_several_signals_is_the_reason_and_the_exit_code() -> None:
    outcome = RunOutcome(lambda: None)
    outcome.interrupt("SIGHUP")
    outcome.interrupt("SIGINT")
    assert (outcome.reason, outcome.exit_code) == ("ended by SIGHUP", 129)


def test_a_failure_has_precedence_over_the_exit_code_of_the_locustfile_until_it_recovers() -> None:
    outcome = RunOutcome(lambda: None)
    outcome.want_exit_code(7)
    outcome.fail("log", "no space left", 4)
    assert (outcome.reason, outcome.exit_code) == ("no space left", 4)
    outcome.recover("log")
    assert (outcome.reason, outcome.exit_code) == (None, 7)


REFUSED = FailureSignature(types=("ConnectionRefusedError",), errno=errno.ECONNREFUSED, text="Connection refused")
BINS = (LevelBin(users=3.0, figures=LevelFigures(settled=True, settled_seconds=2.0, requests=4)),)


def level(
    *, users: int = 5, settled: bool = False, requests: int = 0, failures: int = 0, bins: tuple[LevelBin, ...] = ()
) -> Timeline:
    """A level with one second, in which `failures` connections were refused. `settled`: the level has figures."""
    reported = (FailureTick(name="/a", method="GET", signature=REFUSED, count=failures),) if failures else ()
    tick = EndpointTick(name="/a", requests=requests, failures=failures)
    figures = LevelFigures(
        settled=settled, settled_seconds=9.0 * settled, requests=requests * settled, failures=failures * settled
    )
    second = Sample(
        t_s=1.0, duration_s=1.0, level=0, users=users, wanted=users, phase="settling", endpoints=(tick,), failures=reported
    )
    opened = LevelOpened(t_s=0.0, index=0, users=users, spawn_rate=1.0, by="plan", ramp=bool(bins))
    closed = LevelClosed(t_s=9.0, index=0, users=users, started_s=0.0, figures=figures, bins=bins)
    return Timeline([HEADER, opened, second, closed])


def raised(key: str, count: int, example: str) -> Timeline:
    """A level without requests, whose users raised exceptions."""
    found = level()
    evidence = {"count": count, "example": example}
    mark: Mark = marked(t_s=2.0, key=key, state="open", kind="cause", id=key.split(":")[1], evidence=evidence)
    found.apply(mark)
    return found


NONE = "users made no request"
ALL_FAILED = "no request succeeded: 9 failed, all with ConnectionRefusedError"
NO_SEAT, NO_NAME = "RuntimeError: no seat (users.py:5 in on_start)", "gaierror: [Errno -2] Name or service not known"


@pytest.mark.parametrize(
    ("timeline", "requests", "failures", "finished", "line"),
    [
        (level(settled=True, requests=9, failures=8), 9, 8, True, None),
        (level(bins=BINS), 4, 0, True, None),
        (Timeline([HEADER]), 0, 0, False, None),
        (level(users=0, settled=True), 0, 0, False, None),
        (level(settled=True, requests=9, failures=9), 9, 9, True, ALL_FAILED),
        (level(requests=9, failures=9), 9, 9, False, ALL_FAILED),
        (raised("cause:user_code_error", 14, NO_SEAT), 0, 0, True, f"{NONE}: 14 exceptions in user code, such as {NO_SEAT}"),
        (raised("cause:user_code_error", 14, NO_SEAT), 0, 0, False, f"{NONE}: 14 exceptions in user code, such as {NO_SEAT}"),
        (raised("cause:dns_failure:raised", 9, NO_NAME), 0, 0, True, f"{NONE}: 9 system errors, such as {NO_NAME}"),
        (level(requests=9), 9, 0, True, "no level settled with a success"),
        (level(), 0, 0, True, "users made no request that came to an end"),
        (level(requests=9), 9, 0, False, None),
        (level(), 0, 0, False, None),
        (level(settled=True, requests=4, failures=4), 9, 4, False, "no level settled with a success"),
    ],
    ids=[
        "a success in a settled level", "a success in a ramp", "no load", "zero users", "all failed", "all failed, quit",
        "an exception of the users", "the same, quit", "users that cannot connect", "no settled level", "no request",
        "a person quits before a level settles", "a person quits before a request", "a settled level without a success",
    ],
)  # fmt: skip
def test_what_a_run_has_not_measured(timeline: Timeline, requests: int, failures: int, finished: bool, line: str | None) -> None:
    found = shortfall(timeline, requests, failures, finished=finished)
    assert found == line or (line is not None and found is not None and found.startswith(line))
