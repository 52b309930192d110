"""Sessions, each as its levels, its marks and the verdict about its knee, and the verdict line that is expected of each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from capexplorer.model.events import Event, PartState, Verdict
from capexplorer.model.verdicts import EndpointDegradation, KneeEvidence, Peak, RateCapacity, RateVerdict

from .judged_sessions import (
    UP_TO_82,
    failing_levels,
    knee_verdict,
    levels,
    levels_beside_others,
    mark,
    samples,
    unsettled_levels,
    with_readings,
)

Case = tuple[Sequence[Event], str]
"""(events of a session, its verdict line)."""

INVALID = "the results do not describe the service"
INVALID_ABOVE = "results above {} users do not describe the service"

FEW_FINDINGS: dict[str, Case] = {
    "no level settled": ([], "No level settled: the capacity is unknown."),
    "no detector has run": (
        UP_TO_82[:4],
        "2 levels settled; the highest goodput was 39.8/s at 40 users. No detector has looked for a knee or a bottleneck.",
    ),
    "a curve without marks": ([*UP_TO_82, knee_verdict("no_knee", 82)], "No knee up to 82 users (high confidence)."),
    "a curve whose top level is below the line": (
        [*UP_TO_82, knee_verdict("no_knee", 60, evidence=KneeEvidence(top_users=82.0, top_efficiency=0.88))],
        "No knee up to 60 users (high confidence); at 82 users goodput is 88% of linear scaling.",
    ),
    "no limit reached up to 40 users, and a knee whose mark is the next event": (
        [*UP_TO_82, mark("not_saturated", 40, severity="info"), knee_verdict("knee", 47)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; stay at 34 users or fewer; high confidence.",
    ),
    "the verdict is that of the latest epoch": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("server_error", 74, epoch=1)],
        "Epoch 1: Server errors (HTTP 5xx) from 03:00 at 74 users.",
    ),
}  # fmt: skip
"""Little evidence, or more than one epoch."""

FAULTS_OUTSIDE_THE_SERVICE: dict[str, Case] = {
    "no free ports": (
        [*UP_TO_82, mark("ephemeral_port_exhaustion_time_wait", 82, 185.0)],
        f"Limited by the generator's ephemeral ports (TIME_WAIT) from 03:05 at 82 users: {INVALID_ABOVE.format(74)}.",
    ),
    "no free ports have precedence over a bottleneck": (
        [*UP_TO_82, mark("ephemeral_port_exhaustion_established", 82, 185.0), mark("target_cpu_saturated")],
        f"Limited by the generator's ephemeral ports (ESTABLISHED) from 03:05 at 82 users: {INVALID_ABOVE.format(74)}.",
    ),
    "no free ports, and a knee below the load at which they ran out": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("ephemeral_port_exhaustion_time_wait", 82, 185.0)],
        f"Limited by the generator's ephemeral ports (TIME_WAIT) from 03:05 at 82 users: {INVALID_ABOVE.format(74)}; "
        "up to there knee at 47 users [43–52] and 122/s.",
    ),
    "no free ports, and a knee that they caused": (
        [*UP_TO_82, knee_verdict("knee", 78), mark("ephemeral_port_exhaustion_time_wait", 82, 185.0)],
        f"Limited by the generator's ephemeral ports (TIME_WAIT) from 03:05 at 82 users: {INVALID_ABOVE.format(74)}.",
    ),
    "a fault outside the service from the first level on": (
        [*UP_TO_82, mark("dns_failure", 10, 1.0)],
        f"Limited by a name that does not resolve from 00:01 at 10 users: {INVALID}.",
    ),
    "a fault outside the service before the first level": (
        [mark("dns_failure", 1, 1.0)],
        f"Limited by a name that does not resolve from 00:01 at 1 user: {INVALID}.",
    ),
    "a fault outside the service only in seconds that are not settled": (
        [*UP_TO_82, mark("generator_cpu_saturated", 74, 121.0, state="closed", last_s=128.0)],
        "4 levels settled; the highest goodput was 81.7/s at 82 users. No detector has looked for a knee or a bottleneck.",
    ),
    "a fault outside the service that ended, after which more users were served": (
        [*UP_TO_82, knee_verdict("no_knee", 82), mark("dns_failure", 40, 80.0, state="closed", last_s=90.0)],
        "No knee up to 82 users (high confidence).",
    ),
    "a fault outside the service that ended, after which only fewer users were served": (
        [*levels(10, 82, 40), mark("fd_exhaustion_generator", 82, 75.0, state="closed", last_s=119.0)],
        f"Limited by the generator's file descriptors from 01:15 at 82 users: {INVALID_ABOVE.format(40)}.",
    ),
    "a fault outside the service that returned": (
        [
            *levels(10, 40, 20, 82),
            mark("dns_failure", 40, 75.0, state="closed", last_s=119.0),
            mark("dns_failure", 82, 195.0, revision=3),
        ],
        f"Limited by a name that does not resolve from 03:15 at 82 users: {INVALID_ABOVE.format(20)}.",
    ),
    "of two faults outside the service the earlier": (
        [*UP_TO_82, mark("generator_cpu_saturated", 82, 195.0), mark("fd_exhaustion_system", 74, 130.0)],
        f"Limited by the system's file descriptors from 02:10 at 74 users: {INVALID_ABOVE.format(40)}.",
    ),
    "a retracted fault of the generator": (
        [*UP_TO_82, knee_verdict("no_knee", 82), mark("dns_failure"), mark("dns_failure", state="retracted", revision=2)],
        "No knee up to 82 users (high confidence).",
    ),
    "a warning of the generator is not in the verdict": (
        [*UP_TO_82, knee_verdict("no_knee", 82), mark("connection_churn"), mark("packet_loss")],
        "No knee up to 82 users (high confidence).",
    ),
    "users that stop themselves are in the verdict": (
        [*UP_TO_82, knee_verdict("no_knee", 82), mark("users_stopped", example="StopUser (shop.py:12 in buy)")],
        "No knee up to 82 users (high confidence); users end by themselves: StopUser (shop.py:12 in buy).",
    ),
}  # fmt: skip
"""Results do not describe the service, since the generator, its machine or the network sets the limit."""

KNEES: dict[str, Case] = {
    "a knee": (
        [*UP_TO_82, knee_verdict("knee", 47)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; stay at 34 users or fewer; high confidence.",
    ),
    "a knee with its bottleneck": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("gil_bound", 74, confidence="high")],
        "Knee at 47 users [43–52] and 122/s: the service's CPU is saturated (GIL); stay at 34 users or fewer; high confidence.",
    ),
    "a knee with two bottlenecks": (
        [
            *UP_TO_82,
            knee_verdict("knee", 47),
            mark("cpu_throttled", 74, confidence="low"),
            mark("target_cpu_saturated", confidence="high"),
        ],
        "Knee at 47 users [43–52] and 122/s: the service's CPU is saturated and the CPU quota throttles the service"
        "; stay at 34 users or fewer; high confidence.",
    ),
    "a knee with a bottleneck that ended after steps down": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("worker_pool_exhausted", 74, state="closed")],
        "Knee at 47 users [43–52] and 122/s: the service's workers are exhausted; stay at 34 users or fewer; high confidence.",
    ),
    "a bottleneck below the knee is not its limit": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("swapping", 10)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; stay at 34 users or fewer; high confidence.",
    ),
    "a knee whose limit is the generator": (
        [*UP_TO_82, knee_verdict("knee", 47, "generator"), mark("target_cpu_saturated")],
        "Knee at 47 users [43–52] and 122/s, limited by the generator, not the service (high confidence).",
    ),
    "a knee that refused requests cause": (
        [*UP_TO_82, knee_verdict("knee", 47, "errors"), mark("load_shedding", 74, 130.0)],
        "Knee at 47 users [43–52] and 122/s: the service refuses requests (HTTP 503); "
        "stay at 34 users or fewer; high confidence.",
    ),
    "a knee, a collapse beyond it, and a crash": (
        [
            *UP_TO_82,
            knee_verdict("knee", 47, peak=Peak(users=60, goodput_rps=122, shape="collapse", fall_ratio=0.6)),
            mark("target_crashed", 82, 200.0),
        ],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; "
        "stay at 34 users or fewer; high confidence; beyond 60 users goodput collapses "
        "by 60%; the target crashed at 03:20 and 82 users.",
    ),
    "a knee and a leak": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("fd_leak", 40, growth_per_hour=7200.0, limit_in_s=240.0)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; stay at 34 users or fewer; high confidence; "
        "the target leaks file descriptors: 7,200 per hour, 4 min 0 s to its limit.",
    ),
}  # fmt: skip
"""A knee, its limit, and what occurred beyond it."""

FAILURES: dict[str, Case] = {
    "the target was killed": (
        [*UP_TO_82, knee_verdict("no_knee", 74), mark("connection_refused", 82, 199.0), mark("target_oom_killed", 82, 200.0)],
        "The target was killed for lack of memory at 03:20 and 82 users; no knee up to 74 users.",
    ),
    "the service refuses requests": (
        [*UP_TO_82, knee_verdict("no_knee", 74), mark("load_shedding")],
        "The service refuses requests (HTTP 503) from 03:00 at 82 users; no knee up to 74 users.",
    ),
    "the service refuses requests beyond a knee that queueing causes": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("load_shedding")],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; stay at 34 users or fewer; high confidence; "
        "the service refuses requests (HTTP 503) from 03:00 at 82 users.",
    ),
    "the service refuses requests beyond a knee that failures cause, beside a bottleneck": (
        [*UP_TO_82, knee_verdict("knee", 47, "errors"), mark("load_shedding"), mark("worker_pool_exhausted", 74)],
        "Knee at 47 users [43–52] and 122/s: the service's workers are exhausted; stay at 34 users or fewer; high confidence; "
        "the service refuses requests (HTTP 503) from 03:00 at 82 users: this is its capacity.",
    ),
    "the service refuses the same share at all loads but one, by chance none of a few requests": (
        [
            *failing_levels((1, 0.0), (10, 0.017), (40, 0.02), requests=100),
            knee_verdict("knee", 27),
            mark("load_shedding", 1, 3.0),
        ],
        "Knee at 27 users [23–32] and 122/s, limited by queueing; stay at 18 users or fewer; high confidence; "
        "the service refuses requests (HTTP 503) from 00:03 at 1 user.",
    ),
    "the service refuses the same share at every load, and think time limits": (
        [*failing_levels((10, 0.017), (20, 0.02)), mark("load_shedding", 10, 3.0), mark("think_time_limited", 20)],
        "The service refuses requests (HTTP 503) at every load; the users' think time sets the throughput up to 20 users.",
    ),
    "server errors have precedence over refused requests": (
        [*UP_TO_82, mark("load_shedding", 74, 130.0), mark("server_error", 82, 190.0)],
        "Server errors (HTTP 5xx) from 03:10 at 82 users.",
    ),
    "a failed check is named": (
        [*UP_TO_82, mark("failed_check", 40, 70.0, check="lost_updates")],
        "Failed check: lost_updates from 01:10 at 40 users.",
    ),
    "an error of user code": ([*UP_TO_82, mark("user_code_error", 10, 3.0)], "User code error from 00:03 at 10 users."),
    "failures with their share of the requests since the start of the level": (
        [*levels(10)[:1], *samples(50), mark("server_error", 10, 31.0, count=20, last_s=50.0)],
        "Server errors (HTTP 5xx), 2% of requests, from 00:31 at 10 users.",
    ),
    "one failure in the level's first second": (
        [*levels(10)[:1], *samples(50), mark("connection_reset", 10, 2.0, state="closed", count=1, last_s=2.0)],
        "Connections are reset, 0.1% of requests, in the second 00:02 at 10 users.",
    ),
    "a reset that may be a race with the keep-alive timeout, and races that explain the other failures": (
        [*levels(10)[:1], *samples(50), mark("connection_reset", 10, 2.0, count=1, last_s=2.0, competing=["keepalive_race"]),
         mark("keepalive_race", 10, 15.0, count=4, last_s=21.0)],
        "Idle connections are closed as a request is sent, 0.4% of requests, from 00:15 at 10 users.",
    ),
    "a severe cause of one failure, and a warning that explains most of them": (
        [*levels(10)[:1], *samples(50), mark("server_error", 10, 2.0, count=1, last_s=2.0),
         mark("keepalive_race", 10, 15.0, count=4, last_s=21.0)],
        "Server errors (HTTP 5xx), 0.1% of requests, from 00:02 at 10 users; "
        "idle connections are closed as a request is sent, 0.4% of requests, from 00:15 at 10 users.",
    ),
    "failures with the same share at every load": (
        [*failing_levels((5, 0.046), (10, 0.051)), mark("client_error", 5, 3.0, count=40, last_s=119.0),
         mark("think_time_limited", 10)],
        "Client errors (HTTP 4xx) at every load; the users' think time sets the throughput up to 10 users.",
    ),
    "failures whose share increases with the load": (
        [*failing_levels((5, 0.01), (10, 0.3)), mark("client_error", 5, 3.0, count=40, last_s=119.0)],
        "Client errors (HTTP 4xx) from 00:03 at 5 users.",
    ),
    "many failures without a known cause": (
        [*levels(10)[:1], *samples(50), mark("unknown", 10, 1.0, count=90, last_s=50.0, symptoms={"read_timeout": 90})],
        "Replies time out, cause unknown, 9% of requests, from 00:01 at 10 users.",
    ),
    "a single failure without a known cause is not in the verdict": (
        [*levels(10)[:1], *samples(50), mark("unknown", 10, 1.0, count=1, last_s=50.0, symptoms={"read_timeout": 1})],
        "No level settled: the capacity is unknown.",
    ),
    "an attempt that the client repeated is not a failed request": (
        [*levels(10)[:1], *samples(50), mark("keepalive_race", 10, 1.0, count=90, retried=90, last_s=50.0)],
        "No level settled: the capacity is unknown.",
    ),
    "a knee, and failures that did not cause it": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("failed_check", 10, 70.0, check="lost_updates")],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; stay at 34 users or fewer; high confidence; "
        "failed check: lost_updates from 01:10 at 10 users.",
    ),
}  # fmt: skip
"""A target that dies, refused requests, failed requests."""

OTHER_LIMITS: dict[str, Case] = {
    "a database watched by its process alone, while a pool is the limit": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("lock_or_pool_limit"),
         PartState(t_s=1.0, name="db", state="read", program="postgres")],
        "Knee at 47 users [43–52] and 122/s: a lock or a pool inside the service is the limit; "
        "stay at 34 users or fewer; high confidence; of db only the "
        "processes are read: postgres shows its connections and lock waits with `postgres = URL` (docs/watch.md).",
    ),
    "a watched part that cannot be read": (
        [*UP_TO_82, knee_verdict("no_knee", 82), PartState(t_s=1.0, name="db", state="unread", reason="Connection refused")],
        "No knee up to 82 users (high confidence); db cannot be read (Connection refused): nothing is known of it.",
    ),
    "a bottleneck without a knee": (
        [*UP_TO_82, mark("disk_saturated", 82, confidence="medium")],
        "The disk is saturated at 82 users: no knee yet.",
    ),
    "a bend that the late generator may have caused": (
        [*UP_TO_82, knee_verdict("bend", 60, limit="generator")],
        "Goodput falls below linear scaling from 60 users on (high confidence), possibly because the generator is "
        "late: results from there on do not describe the service.",
    ),
    "a knee on a machine that the generator shares": (
        [*UP_TO_82, knee_verdict("knee", 47), mark("generator_shares_host", 82, generator_share_ratio=0.36)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; "
        "stay at 34 users or fewer; high confidence; from 82 users on, the generator used 36% "
        "of the machine's busy CPU.",
    ),
    "other processes disturbed the levels that would show a knee": (
        [
            *levels_beside_others(20, 1.64, {"cc1plus": 1.2, "chrome": 0.3}),
            knee_verdict("no_knee", 14, disturbed_levels=(0, 2), left_out_levels=(2,)),
        ],
        "Other processes (cc1plus, chrome) use 1.6 of 2 cores: results at 20 users do not describe the service; no knee "
        "up to 14 users (high confidence).",
    ),
    "other processes disturbed levels that scale linearly": (
        [*levels_beside_others(20, 1.64, {}), knee_verdict("no_knee", 20, disturbed_levels=(2,))],
        "Other processes use 1.6 of 2 cores: no knee up to 20 users (high confidence).",
    ),
    "a knee that was found without the levels that other processes disturbed": (
        [*levels_beside_others(20, 0.4, {"make": 0.4}), knee_verdict("knee", 12, disturbed_levels=(2,), left_out_levels=(2,))],
        "Knee at 12 users [8–17] and 122/s, limited by queueing; "
        "stay at 6 users or fewer; high confidence; other processes (make) use 0.4 of 2 "
        "cores: results at 20 users do not describe the service.",
    ),
    "CPU steal where requests fail is not the limit": (
        [*UP_TO_82, knee_verdict("knee", 47, "errors"), mark("cpu_steal", 82), mark("rate_limited", 82, 70.0)],
        "Knee at 47 users [43–52] and 122/s: the service limits the rate (HTTP 429); stay at 34 users or fewer; high confidence.",
    ),
    "a bend with its bottleneck": (
        [*UP_TO_82, knee_verdict("bend", 60), mark("disk_saturated", 82, confidence="medium")],
        "The disk is saturated at 82 users; scaling flattens from 60 users.",
    ),
    "think time limits": (
        [*levels(10, 50), mark("think_time_limited", 50)],
        "Not saturated at 50 users (49.8/s): the users' think time (1.0 s) sets the throughput; no knee yet.",
    ),
    "think time limits, with figures of its own mark": (
        [*levels(10, 50), knee_verdict("no_knee", 50), mark("think_time_limited", 50, wait_s=0.5, throughput_rps=97.2)],
        "Not saturated at 50 users (97.2/s): the users' think time (0.50 s) sets the throughput; no knee up to 50 users.",
    ),
    "think time limits also after steps down": (
        [*levels(10, 50, 1), mark("think_time_limited", 50, state="closed")],
        "Not saturated at 50 users (49.8/s): the users' think time (1.0 s) sets the throughput; no knee yet.",
    ),
    "think time that no longer limits": (
        [*UP_TO_82, knee_verdict("no_knee", 82), mark("think_time_limited", 40, state="closed")],
        "No knee up to 82 users (high confidence).",
    ),
    "think time limits, and a leak": (
        [*levels(10, 50), mark("think_time_limited", 50), mark("fd_leak", 50, growth_per_hour=7200.0)],
        "Not saturated at 50 users (49.8/s): the users' think time (1.0 s) sets the throughput; no knee yet; "
        "the target leaks file descriptors: 7,200 per hour.",
    ),
    "a bottleneck and a leak": (
        [*UP_TO_82, mark("disk_saturated", 82, confidence="medium"), mark("fd_leak", 50, growth_per_hour=7200.0)],
        "The disk is saturated at 82 users: no knee yet; the target leaks file descriptors: 7,200 per hour.",
    ),
    "a leak alone": (
        [*UP_TO_82, knee_verdict("no_knee", 82), mark("memory_leak", 82, growth_per_hour=float(720 << 20), limit_in_s=2400.0)],
        "The target's memory leaks: 720 MiB per hour, 40 min to its limit; no knee up to 82 users.",
    ),
    "no limit reached": (
        [*UP_TO_82, knee_verdict("no_knee", 82), mark("not_saturated")],
        "No knee up to 82 users (high confidence).",
    ),
}  # fmt: skip
"""No failures and no knee of the service alone: bottlenecks, think time, other processes, leaks."""

KNEE_OF_ERRORS = (*levels(20, 40, 60, 80), knee_verdict("knee", 47, "errors"))
SLOWER = EndpointDegradation(method="GET", name="/pay", users=60, column="latency", before=12.0, after=480.0)
AT_RATES = replace(SLOWER, users=120.0, at_rates=True)
CAPACITY = RateCapacity(kind="capacity", per_s=100.0, low_per_s=95.0, high_per_s=105.0)
UNSENT = ["tcp.sending_sockets"]

NAMED_LIMITS: dict[str, Case] = {
    "a rate limiter that refuses is the only limit that is named": (
        [*KNEE_OF_ERRORS, mark("rate_limit", how="refuses", status=429, failure_ratio=0.5), mark("rate_limited", count=9)],
        "Knee at 47 users [43–52] and 122/s: a rate limiter refuses requests (HTTP 429); "
        "stay at 34 users or fewer; high confidence.",
    ),
    "a rate limiter that delays": (
        [*KNEE_OF_ERRORS, mark("rate_limit", how="delays", output_rps=100.02)],
        "Knee at 47 users [43–52] and 122/s: a rate limiter delays requests to 100/s; "
        "stay at 34 users or fewer; high confidence.",
    ),
    "a rate limiter or a link": (
        [*KNEE_OF_ERRORS, mark("rate_limit", how="delays", output_rps=46.2, unavailable=UNSENT)],
        "Knee at 47 users [43–52] and 122/s: a rate limiter or a network link delays requests to 46.2/s; "
        "stay at 34 users or fewer; high confidence.",
    ),
    "a link": (
        [*KNEE_OF_ERRORS, mark("network_bandwidth_saturated", bytes_per_s=2_505_000.0)],
        "Knee at 47 users [43–52] and 122/s: the network link is the limit (20 Mbit/s); "
        "stay at 34 users or fewer; high confidence.",
    ),
    "a lock or a link": (
        [*KNEE_OF_ERRORS, mark("lock_or_pool_limit", unavailable=UNSENT)],
        "Knee at 47 users [43–52] and 122/s: a lock or a pool inside or in front of the service is the limit; "
        "stay at 34 users or fewer; high confidence.",
    ),
    "a lock or a rate limiter": (
        [*KNEE_OF_ERRORS, mark("lock_or_pool_limit", competing=["rate_limit"])],
        "Knee at 47 users [43–52] and 122/s: a lock, a pool or a rate limiter is the limit; "
        "stay at 34 users or fewer; high confidence.",
    ),
    "a lock, a rate limiter or a link": (
        [*KNEE_OF_ERRORS, mark("lock_or_pool_limit", competing=["rate_limit"], unavailable=UNSENT)],
        "Knee at 47 users [43–52] and 122/s: a lock, a pool or a rate limiter inside or in front of the service is the limit"
        "; stay at 34 users or fewer; high confidence.",
    ),
    "an endpoint that is slower first": (
        [*UP_TO_82, replace(knee_verdict("knee", 47), first_endpoint=SLOWER)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; "
        "stay at 34 users or fewer; high confidence; GET /pay degrades first, from 60 users on: "
        "p95 12 → 480 ms, the other endpoints do not change.",
    ),
    "an endpoint that fails first": (
        [*UP_TO_82, replace(knee_verdict("knee", 47), first_endpoint=replace(SLOWER, column="failures", before=0.0, after=0.31))],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; "
        "stay at 34 users or fewer; high confidence; GET /pay degrades first, from 60 users on: "
        "failures 0% → 31%, the other endpoints do not change.",
    ),
    "an endpoint that degrades first at offered rates": (
        [*levels(20), Verdict(t_s=200.0, rates=RateVerdict(capacity=CAPACITY, first_endpoint=AT_RATES))],
        "Capacity 100/s [95–105]; stay at 76/s or less; GET /pay degrades first, from 120/s offered on: p95 12 → 480 ms, "
        "the other endpoints do not change.",
    ),
    "an endpoint after a bottleneck at offered rates": (
        [*levels(20), replace(mark("lock_or_pool_limit"), offered_per_s=140.0),
         Verdict(t_s=200.0, rates=RateVerdict(capacity=RateCapacity(kind="departs", per_s=138.0), first_endpoint=AT_RATES))],
        "A lock or a pool inside the service is the limit at 140/s offered; goodput is less than the offered rate from 138/s on, "
        "but its maximum was not reached; GET /pay degrades first, from 120/s offered on: p95 12 → 480 ms, the other endpoints "
        "do not change.",
    ),
    "a level that the hypervisor robbed": (
        [*with_readings(UP_TO_82, {"host.cpu_ratio": 1.5, "host.steal_ratio": 0.45}), knee_verdict("knee", 47)],
        "Knee at 47 users [43–52] and 122/s, limited by queueing; "
        "stay at 34 users or fewer; high confidence; the hypervisor took up to 23% of the CPU "
        "(steal) at 82 users: results there may be too low.",
    ),
}  # fmt: skip
"""What a limit, an endpoint or a doubt is called."""

UNSETTLED: dict[str, Case] = {
    "levels whose users are not warm": (
        unsettled_levels((5, 0.4), (10, 0.0)),
        "The capacity is unknown: 2 levels (5 to 10 users) did not settle: only 0–40% of the users had completed a task cycle; "
        "hold each level until its users have completed one.",
    ),
    "levels that did not settle with warm users": (
        unsettled_levels((5, 1.0), (10, None)),
        "No level settled: the capacity is unknown.",
    ),
    "a level that ended in the second after settling": (
        unsettled_levels((2, 1.0), lasts_s=3.0, settling_s=2.003),
        "The capacity is unknown: 1 level (2 users) ended after 3 s, before a whole second had followed the 2 s in which users "
        "settle, so hold each level for longer.",
    ),
    "a level that was too short": (
        unsettled_levels((5, 1.0), lasts_s=8.0, settling_s=9.2),
        "The capacity is unknown: 1 level (5 users) ended after 8 s, before they could settle: two cycles of the users take 9 s, "
        "so hold each level for longer.",
    ),
}
"""No level settled, and why."""

CASES = {**NAMED_LIMITS, **UNSETTLED, **FEW_FINDINGS, **FAULTS_OUTSIDE_THE_SERVICE, **KNEES, **FAILURES, **OTHER_LIMITS}
