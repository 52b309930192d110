"""Users of tasks with several requests: polls last as long as their job, and error pages are successes."""

from __future__ import annotations

import numpy as np
import pytest

from lab.simulation.queues import System
from lab.simulation.tasks import ErrorPages, PollingRun

JOBS = System(0.17, 0.5, 4, "constant", "constant")


@pytest.mark.parametrize(("users", "jobs_per_s", "requests_a_job"), [(4, 4 / 0.703, 3.0), (40, 4 / 0.17, None)])
def test_users_ask_until_their_job_is_done(users: int, jobs_per_s: float, requests_a_job: float | None) -> None:
    run = PollingRun(JOBS, np.random.default_rng(0), poll_s=0.1)
    run.to(users)
    run.until(20.0)
    run.take_ended()
    run.until(60.0)
    ended = run.take_ended()
    jobs = sum(each.ends_task for each in ended)
    assert jobs / 40.0 == pytest.approx(jobs_per_s, rel=0.03)
    if requests_a_job is not None:  # one to submit it, and asked after 0.1 and 0.2 s
        assert len(ended) / jobs == pytest.approx(requests_a_job, rel=0.03)


def test_refusals_with_an_error_page_are_short_successes() -> None:
    run = ErrorPages(System(0.1, 0.1, 1, "constant", "constant", queue_limit=1), np.random.default_rng(0))
    run.to(20)
    run.until(10.0)
    ended = run.take_ended()
    assert all(each.ok for each in ended)
    assert {each.received_bytes for each in ended if each.response_s < 0.05} == {ErrorPages.PAGE_BYTES}
    assert {each.received_bytes for each in ended if each.response_s > 0.05} == {ErrorPages.REPLY_BYTES}
