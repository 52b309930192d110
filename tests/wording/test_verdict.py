"""The verdict line, as data: levels, the curve's verdict and marks in, one sentence out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from capexplorer import wording
from capexplorer.model.events import (
    Event,
    Mark,
    Note,
)
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import EndpointDegradation, Peak

from .judged_sessions import STARTED_AT, UP, curve, failing_levels, held, levels, mark, reported, seconds

INVALID = "the results do not describe the service"
INVALID_ABOVE = "results above {} users do not describe the service"

CASES: dict[str, tuple[Sequence[Event], str]] = {
    "nothing settled": ([], "No level settled: the capacity is unknown."),
    "no detector looked": (
        UP[:4],
        "2 levels settled; the highest goodput was 39.8/s at 40 users. No detector has looked for a knee or a bottleneck.",
    ),
    "the curve alone": ([*UP, curve("no_knee", 82)], "No knee up to 82 users (high confidence)."),
    "no limit reached up to 40 users, and a knee whose mark is the next event": (
        [*UP, mark("not_saturated", 40, severity="info"), curve("knee", 47)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence).",
    ),
    # the generator first
    "ports": (
        [*UP, mark("ephemeral_port_exhaustion_time_wait", 82, 185.0)],
        f"Limited by the generator's ephemeral ports (TIME_WAIT) from 03:05 at 82 users: {INVALID_ABOVE.format(74)}.",
    ),
    "ports, although there is a bottleneck": (
        [*UP, mark("ephemeral_port_exhaustion_established", 82, 185.0), mark("target_cpu_saturated")],
        f"Limited by the generator's ephemeral ports (ESTABLISHED) from 03:05 at 82 users: {INVALID_ABOVE.format(74)}.",
    ),
    "ports, and a knee that lies below": (
        [*UP, curve("knee", 47), mark("ephemeral_port_exhaustion_time_wait", 82, 185.0)],
        f"Limited by the generator's ephemeral ports (TIME_WAIT) from 03:05 at 82 users: {INVALID_ABOVE.format(74)}; "
        "up to there knee at 47 users [43–52] and 122/s.",
    ),
    "ports, and a knee that they made": (
        [*UP, curve("knee", 78), mark("ephemeral_port_exhaustion_time_wait", 82, 185.0)],
        f"Limited by the generator's ephemeral ports (TIME_WAIT) from 03:05 at 82 users: {INVALID_ABOVE.format(74)}.",
    ),
    "from the first level on": (
        [*UP, mark("dns_failure", 10, 1.0)],
        f"Limited by a name that does not resolve from 00:01 at 10 users: {INVALID}.",
    ),
    "still no level": (
        [mark("dns_failure", 1, 1.0)],
        f"Limited by a name that does not resolve from 00:01 at 1 user: {INVALID}.",
    ),
    "in the seconds that do not count": (
        [*UP, mark("generator_cpu_saturated", 74, 121.0, state="closed", last_s=128.0)],
        "4 levels settled; the highest goodput was 81.7/s at 82 users. No detector has looked for a knee or a bottleneck.",
    ),
    "over, and more users went well afterwards": (
        [*UP, curve("no_knee", 82), mark("dns_failure", 40, 80.0, state="closed", last_s=90.0)],
        "No knee up to 82 users (high confidence).",
    ),
    "over, but no more users went well afterwards": (
        [*levels(10, 82, 40), mark("fd_exhaustion_generator", 82, 75.0, state="closed", last_s=119.0)],
        f"Limited by the generator's file descriptors from 01:15 at 82 users: {INVALID_ABOVE.format(40)}.",
    ),
    "gone and come again": (
        [
            *levels(10, 40, 20, 82),
            mark("dns_failure", 40, 75.0, state="closed", last_s=119.0),
            mark("dns_failure", 82, 195.0, revision=3),
        ],
        f"Limited by a name that does not resolve from 03:15 at 82 users: {INVALID_ABOVE.format(20)}.",
    ),
    "two of them: the earlier": (
        [*UP, mark("generator_cpu_saturated", 82, 195.0), mark("fd_exhaustion_system", 74, 130.0)],
        f"Limited by the system's file descriptors from 02:10 at 74 users: {INVALID_ABOVE.format(40)}.",
    ),
    "retracted": (
        [*UP, curve("no_knee", 82), mark("dns_failure"), mark("dns_failure", state="retracted", revision=2)],
        "No knee up to 82 users (high confidence).",
    ),
    "a warning of the generator is no verdict": (
        [*UP, curve("no_knee", 82), mark("connection_churn"), mark("packet_loss")],
        "No knee up to 82 users (high confidence).",
    ),
    # knees
    "a knee": ([*UP, curve("knee", 47)], "Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence)."),
    "a knee with its bottleneck": (
        [*UP, curve("knee", 47), mark("gil_bound", 74, confidence="high")],
        "Knee at 47 users [43–52] and 122/s: the service's CPU is saturated (GIL) (high confidence).",
    ),
    "a knee with two": (
        [*UP, curve("knee", 47), mark("cpu_throttled", 74, confidence="low"), mark("target_cpu_saturated", confidence="high")],
        "Knee at 47 users [43–52] and 122/s: the service's CPU is saturated and the CPU quota throttles the service "
        "(high confidence).",
    ),
    "a bottleneck over again, after the steps down": (
        [*UP, curve("knee", 47), mark("worker_pool_exhausted", 74, state="closed")],
        "Knee at 47 users [43–52] and 122/s: the service's workers are exhausted (high confidence).",
    ),
    "a bottleneck below the knee is another story": (
        [*UP, curve("knee", 47), mark("swapping", 10)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence).",
    ),
    "a knee that is the generator's": (
        [*UP, curve("knee", 47, "generator"), mark("target_cpu_saturated")],
        "Knee at 47 users [43–52] and 122/s, limited by the generator, not the service (high confidence).",
    ),
    "a knee by refusals": (
        [*UP, curve("knee", 47, "errors"), mark("load_shedding", 74, 130.0)],
        "Knee at 47 users [43–52] and 122/s: the service refuses requests (HTTP 503) (high confidence).",
    ),
    "a knee, a fall, then death": (
        [
            *UP,
            curve("knee", 47, peak=Peak(users=60, goodput_rps=122, shape="collapse", fall_ratio=0.6)),
            mark("target_crashed", 82, 200.0),
        ],
        "Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence); beyond 60 users goodput collapses "
        "by 60%; the target crashed at 03:20 and 82 users.",
    ),
    "a knee and a leak": (
        [*UP, curve("knee", 47), mark("fd_leak", 40, growth_per_hour=7200.0, limit_in_s=240.0)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence); "
        "the target leaks file descriptors: 7,200 per hour, 4 min 0 s to its limit.",
    ),
    # what dies, refuses, fails
    "killed": (
        [*UP, curve("no_knee", 74), mark("connection_refused", 82, 199.0), mark("target_oom_killed", 82, 200.0)],
        "The target was killed for lack of memory at 03:20 and 82 users; no knee up to 74 users.",
    ),
    "sheds": (
        [*UP, curve("no_knee", 74), mark("load_shedding")],
        "The service refuses requests (HTTP 503) from 03:00 at 82 users; no knee up to 74 users.",
    ),
    "refuses beyond a knee that queueing makes": (
        [*UP, curve("knee", 47), mark("load_shedding")],
        "Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence); "
        "the service refuses requests (HTTP 503) from 03:00 at 82 users.",
    ),
    "refuses beyond a knee that failures make, beside a bottleneck": (
        [*UP, curve("knee", 47, "errors"), mark("load_shedding"), mark("worker_pool_exhausted", 74)],
        "Knee at 47 users [43–52] and 122/s: the service's workers are exhausted (high confidence); "
        "the service refuses requests (HTTP 503) from 03:00 at 82 users: this is its capacity.",
    ),
    "refuses as many at every load, though by chance none of a few": (
        [*failing_levels((1, 0.0), (10, 0.017), (40, 0.02), requests=100), curve("knee", 27), mark("load_shedding", 1, 3.0)],
        "Knee at 27 users [23–32] and 122/s, limited by queueing (high confidence); "
        "the service refuses requests (HTTP 503) at every load.",
    ),
    "sheds as much at every load": (
        [*failing_levels((10, 0.017), (20, 0.02)), mark("load_shedding", 10, 3.0), mark("think_time_limited", 20)],
        "The service refuses requests (HTTP 503) at every load; the users' think time sets the throughput up to 20 users.",
    ),
    "fails, and sheds": (
        [*UP, mark("load_shedding", 74, 130.0), mark("server_error", 82, 190.0)],
        "Server errors (HTTP 5xx) from 03:10 at 82 users.",
    ),
    "a failed check has a name": (
        [*UP, mark("failed_check", 40, 70.0, check="lost_updates")],
        "Failed check: lost_updates from 01:10 at 40 users.",
    ),
    "users' own code": ([*UP, mark("user_code_error", 10, 3.0)], "User code error from 00:03 at 10 users."),
    "how much of it": (
        [*levels(10)[:1], *seconds(50), mark("server_error", 10, 31.0, count=20, last_s=50.0)],
        "Server errors (HTTP 5xx), 5% of requests, from 00:31 at 10 users.",
    ),
    "as much at every load": (
        [*failing_levels((5, 0.046), (10, 0.051)), mark("client_error", 5, 3.0, count=40, last_s=119.0),
         mark("think_time_limited", 10)],
        "Client errors (HTTP 4xx) at every load; the users' think time sets the throughput up to 10 users.",
    ),
    "more with the load": (
        [*failing_levels((5, 0.01), (10, 0.3)), mark("client_error", 5, 3.0, count=40, last_s=119.0)],
        "Client errors (HTTP 4xx) from 00:03 at 5 users.",
    ),
    "without a cause, but not to be passed over": (
        [*levels(10)[:1], *seconds(50), mark("unknown", 10, 1.0, count=90, last_s=50.0, symptoms={"read_timeout": 90})],
        "Replies time out, cause unknown, 9% of requests, from 00:01 at 10 users.",
    ),
    "without a cause, and few": (
        [*levels(10)[:1], *seconds(50), mark("unknown", 10, 1.0, count=1, last_s=50.0, symptoms={"read_timeout": 1})],
        "No level settled: the capacity is unknown.",
    ),
    "a repeated attempt is no failed request": (
        [*levels(10)[:1], *seconds(50), mark("keepalive_race", 10, 1.0, count=90, retried=90, last_s=50.0)],
        "No level settled: the capacity is unknown.",
    ),
    "a knee, and failures that did not make it": (
        [*UP, curve("knee", 47), mark("failed_check", 10, 70.0, check="lost_updates")],
        "Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence); "
        "failed check: lost_updates from 01:10 at 10 users.",
    ),
    # no failures, no knee
    "a bottleneck without a knee": (
        [*UP, mark("disk_saturated", 82, confidence="medium")],
        "The disk is saturated at 82 users: no knee yet.",
    ),
    "a bend that the generator's lateness may have made": (
        [*UP, curve("bend", 60, limit="generator")],
        "Goodput falls below linear scaling from 60 users on (high confidence), possibly because the generator is "
        "late: results from there on do not describe the service.",
    ),
    "a knee on a machine that the generator shares": (
        [*UP, curve("knee", 47), mark("generator_shares_host", 82, generator_share_ratio=0.36)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence); from 82 users on, the generator used 36% "
        "of the machine's busy CPU.",
    ),
    "other processes held the levels that would show a knee": (
        [*held(20, 1.64, {"cc1plus": 1.2, "chrome": 0.3}), curve("no_knee", 14, disturbed_levels=(0, 2), left_out_levels=(2,))],
        "Other processes (cc1plus, chrome) use 1.6 of 2 cores: results at 20 users do not describe the service; no knee "
        "up to 14 users (high confidence).",
    ),
    "other processes held levels on the line": (
        [*held(20, 1.64, {}), curve("no_knee", 20, disturbed_levels=(2,))],
        "Other processes use 1.6 of 2 cores: no knee up to 20 users (high confidence).",
    ),
    "a knee that was found without the levels that other processes held": (
        [*held(20, 0.4, {"make": 0.4}), curve("knee", 12, disturbed_levels=(2,), left_out_levels=(2,))],
        "Knee at 12 users [8–17] and 122/s, limited by queueing (high confidence); other processes (make) use 0.4 of 2 "
        "cores: results at 20 users do not describe the service.",
    ),
    "stolen time, where requests failed": (
        [*UP, curve("knee", 47, "errors"), mark("cpu_steal", 82), mark("rate_limited", 82, 70.0)],
        "Knee at 47 users [43–52] and 122/s: the service limits the rate (HTTP 429) (high confidence).",
    ),
    "a bend with its bottleneck": (
        [*UP, curve("bend", 60), mark("disk_saturated", 82, confidence="medium")],
        "The disk is saturated at 82 users; scaling flattens from 60 users.",
    ),
    "waits": (
        [*levels(10, 50), mark("think_time_limited", 50)],
        "Not saturated at 50 users (49.8/s): the users' think time (1.0 s) sets the throughput; no knee yet.",
    ),
    "waits with evidence of their own": (
        [*levels(10, 50), curve("no_knee", 50), mark("think_time_limited", 50, wait_s=0.5, throughput_rps=97.2)],
        "Not saturated at 50 users (97.2/s): the users' think time (0.50 s) sets the throughput; no knee up to 50 users.",
    ),
    "steps down take nothing from the waits": (
        [*levels(10, 50, 1), mark("think_time_limited", 50, state="closed")],
        "Not saturated at 50 users (49.8/s): the users' think time (1.0 s) sets the throughput; no knee yet.",
    ),
    "waits that no longer limit": (
        [*UP, curve("no_knee", 82), mark("think_time_limited", 40, state="closed")],
        "No knee up to 82 users (high confidence).",
    ),
    "waits do not hide a leak": (
        [*levels(10, 50), mark("think_time_limited", 50), mark("fd_leak", 50, growth_per_hour=7200.0)],
        "Not saturated at 50 users (49.8/s): the users' think time (1.0 s) sets the throughput; no knee yet; "
        "the target leaks file descriptors: 7,200 per hour.",
    ),
    "nor does a bottleneck": (
        [*UP, mark("disk_saturated", 82, confidence="medium"), mark("fd_leak", 50, growth_per_hour=7200.0)],
        "The disk is saturated at 82 users: no knee yet; the target leaks file descriptors: 7,200 per hour.",
    ),
    "a leak alone": (
        [*UP, curve("no_knee", 82), mark("memory_leak", 82, growth_per_hour=float(720 << 20), limit_in_s=2400.0)],
        "The target's memory leaks: 720 MiB per hour, 40 min to its limit; no knee up to 82 users.",
    ),
    "no limit reached": ([*UP, curve("no_knee", 82), mark("not_saturated")], "No knee up to 82 users (high confidence)."),
    # epochs
    "of the latest epoch": (
        [*UP, curve("knee", 47), mark("server_error", 74, epoch=1)],
        "Epoch 1: Server errors (HTTP 5xx) from 03:00 at 74 users.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_verdict(name: str) -> None:
    events, expected = CASES[name]
    assert reported(*events) == expected


@pytest.mark.parametrize("started_at", [STARTED_AT, "2026-01-01T03:59:00.000+00:00", ""])
def test_moments_are_in_the_sessions_time_and_not_of_the_wall_clock(started_at: str) -> None:
    sentence = reported(*UP, mark("dns_failure", 82, 185.0), started_at=started_at)
    assert sentence.startswith("Limited by a name that does not resolve from 03:05 at 82 users")
    later = reported(*levels(10, since_s=7_200.0), mark("dns_failure", 10, 7_384.9), started_at=started_at)
    assert later.startswith("Limited by a name that does not resolve from 2:03:04 at 10 users")


def test_the_verdict_of_one_epoch_can_be_requested() -> None:
    timeline = Timeline([*UP, curve("knee", 47), mark("server_error", 74, epoch=1)])
    assert wording.verdict(timeline, 0).startswith("Epoch 0: Knee at 47 users")


def test_each_verdict_has_a_severity() -> None:
    def weight(*events: Event) -> tuple[str, bool]:
        judged = wording.judgement(Timeline(events))
        return judged.severity, judged.marked

    assert weight(*UP, curve("no_knee", 82), Note(t_s=1.0, text="x")) == ("info", False)
    assert weight(*UP, mark("dns_failure")) == ("critical", True)
    assert weight(*UP, mark("load_shedding")) == ("warning", True)
    assert weight(*UP, curve("knee", 47)) == ("info", False)
    assert weight(*UP, mark("think_time_limited")) == ("info", True)
    assert weight(*UP, mark("think_time_limited"), mark("fd_leak")) == ("warning", True)


def test_the_endpoint_that_leaves_the_line_first_is_in_the_verdict() -> None:
    knee = curve("knee", 47)
    slower = EndpointDegradation(method="GET", name="/search", users=60, column="latency", before=12.0, after=480.0)
    failing = EndpointDegradation(method="POST", name="/pay", users=60, column="failures", before=0.0, after=0.31)
    sentence = wording.verdict(Timeline([*levels(20, 40, 60, 80), msgspec.structs.replace(knee, first_endpoint=slower)]))
    assert "; GET /search degrades first, from 60 users on: p95 12 → 480 ms, the other endpoints do not change" in sentence
    sentence = wording.verdict(Timeline([*levels(20, 40, 60, 80), msgspec.structs.replace(knee, first_endpoint=failing)]))
    assert "; POST /pay degrades first, from 60 users on: failures 0% → 31%, the other endpoints do not change" in sentence


def test_a_rate_limiter_is_described_by_its_effect() -> None:
    def sentence(*found: Mark) -> str:
        return wording.verdict(Timeline([*levels(20, 40, 60, 80), curve("knee", 47, "errors"), *found]))

    refuses = mark("rate_limit", how="refuses", status=429, failure_ratio=0.5)
    assert ": a rate limiter refuses requests (HTTP 429) (high confidence)" in sentence(refuses, mark("rate_limited", count=9))
    assert "the service limits the rate" not in sentence(refuses, mark("rate_limited", count=9))
    assert ": a rate limiter delays requests to 100/s" in sentence(mark("rate_limit", how="delays", output_rps=100.02))
    assert ": a lock, a pool or a rate limiter is the limit" in sentence(mark("lock_or_pool_limit", competing=["rate_limit"]))
