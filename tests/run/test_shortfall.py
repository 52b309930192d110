"""Whether a run has measured anything: None, or a line that says why not."""

from __future__ import annotations

import errno

from kit.scenario import HEADER
from marked import marked

from capexplorer.model.events import EndpointTick, FailureSignature, FailureTick, LevelClosed, LevelOpened, Sample
from capexplorer.model.figures import LevelBin, LevelFigures
from capexplorer.model.timeline import Timeline
from capexplorer.run.run_outcome import shortfall

REFUSED = FailureSignature(types=("ConnectionRefusedError",), errno=errno.ECONNREFUSED, text="Connection refused")


def timeline(
    *, users: int = 5, settled: bool = False, requests: int = 0, failures: int = 0, bins: tuple[LevelBin, ...] = ()
) -> Timeline:
    """A level with one second, in which `failures` connections were refused. `settled`: the level has figures."""
    reported = (FailureTick(name="/a", method="GET", signature=REFUSED, count=failures),) if failures else ()
    tick = EndpointTick(name="/a", requests=requests, failures=failures)
    figures = LevelFigures(
        settled=settled, settled_seconds=9.0 * settled, requests=requests * settled, failures=failures * settled
    )
    return Timeline(
        [
            HEADER,
            LevelOpened(t_s=0.0, index=0, users=users, spawn_rate=1.0, by="plan", ramp=bool(bins)),
            Sample(
                t_s=1.0,
                duration_s=1.0,
                level=0,
                users=users,
                wanted=users,
                phase="settling",
                endpoints=(tick,),
                failures=reported,
            ),
            LevelClosed(t_s=9.0, index=0, users=users, started_s=0.0, figures=figures, bins=bins),
        ]
    )


def test_a_run_with_a_success_in_a_settled_level_has_no_shortfall() -> None:
    assert shortfall(timeline(settled=True, requests=9, failures=8), 9, 8, finished=True) is None


def test_a_run_with_a_success_in_a_ramp_has_no_shortfall() -> None:
    bins = (LevelBin(users=3.0, figures=LevelFigures(settled=True, settled_seconds=2.0, requests=4)),)
    assert shortfall(timeline(bins=bins), 4, 0, finished=True) is None


def test_a_run_without_requested_users_has_no_shortfall() -> None:
    assert shortfall(Timeline([HEADER]), 0, 0, finished=False) is None
    assert shortfall(timeline(users=0, settled=True), 0, 0, finished=False) is None


def test_a_run_in_which_all_requests_failed_names_the_failure() -> None:
    for finished in (True, False):
        line = shortfall(timeline(settled=finished, requests=9, failures=9), 9, 9, finished=finished)
        assert line == "no request succeeded: 9 failed, all with ConnectionRefusedError, errno 111: Connection refused"


def test_a_run_without_requests_names_the_users_exception() -> None:
    without_requests = timeline()
    evidence = {"count": 14, "example": "RuntimeError: no seat (users.py:5 in on_start)"}
    without_requests.apply(
        marked(t_s=2.0, key="cause:user_code_error", state="open", kind="cause", id="user_code_error", evidence=evidence)
    )
    for finished in (True, False):
        line = shortfall(without_requests, 0, 0, finished=finished)
        assert line == "users made no request: 14 exceptions in user code, such as RuntimeError: no seat (users.py:5 in on_start)"


def test_a_run_whose_users_cannot_connect_names_the_error_of_the_system() -> None:
    without_requests = timeline()
    evidence = {"count": 9, "example": "gaierror: [Errno -2] Name or service not known"}
    without_requests.apply(
        marked(t_s=2.0, key="cause:dns_failure:raised", state="open", kind="cause", id="dns_failure", evidence=evidence)
    )
    line = shortfall(without_requests, 0, 0, finished=True)
    assert line == "users made no request: 9 system errors, such as gaierror: [Errno -2] Name or service not known"


def test_a_finished_plan_without_a_settled_level_has_a_shortfall() -> None:
    assert shortfall(timeline(requests=9), 9, 0, finished=True) == "no level settled with a success"
    assert shortfall(timeline(), 0, 0, finished=True) == "users made no request that came to an end"


def test_a_run_that_a_person_quits_before_a_level_settles_has_no_shortfall() -> None:
    assert shortfall(timeline(requests=9), 9, 0, finished=False) is None
    assert shortfall(timeline(), 0, 0, finished=False) is None


def test_a_settled_level_without_a_success_is_a_shortfall_also_if_a_person_quits() -> None:
    found = shortfall(timeline(settled=True, requests=4, failures=4), 9, 4, finished=False)
    assert found == "no level settled with a success"
