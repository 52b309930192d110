"""All rows. Faults begin in the middle of a level, at the step between two levels, or in the first level."""

from __future__ import annotations

from .row import Row

CLIMB = "4:12s,8:12s,16:20s,20:12s,8:12s"
"""A plan that stays below N* = 24."""
BEYOND = "4:12s,8:12s,16:14s,32:16s,48:16s,8:12s"
UPSTREAM_FAILS = ("bad_gateway",)

STILL = (
    Row(name="still-below", what="nothing changes; never beyond the knee", plan=CLIMB),
    Row(name="still-beyond", what="nothing changes; beyond the knee and back", plan=BEYOND, knees=(24,), needs_knee=True),
)

FAULTS = tuple(
    Row(
        name=f"upstream-dies-{when}",
        what=f"every reply is a 502 from {at_s:g} s on, {where}",
        plan=CLIMB,
        change="upstream_dies",
        at_s=at_s,
        marked=UPSTREAM_FAILS,
        allowed=UPSTREAM_FAILS,
    )
    for when, at_s, where in (
        ("within-a-level", 34.0, "in the middle of the level of 16 users"),
        ("with-a-step", 24.2, "with the step from 8 to 16 users"),
        ("at-first", 5.0, "in the first level"),
    )
) + (
    Row(
        name="upstream-away",
        what="every reply is a 502 from 30 s to 40 s, in the level of 16 users",
        plan=CLIMB,
        change="upstream_dies",
        at_s=30.0,
        for_s=10.0,
        marked=UPSTREAM_FAILS,
        allowed=UPSTREAM_FAILS,
    ),
    Row(
        name="upstream-dies-beyond",
        what="every reply is a 502 from 60 s on, in a level beyond the knee",
        plan=BEYOND,
        change="upstream_dies",
        at_s=60.0,
        knees=(24,),
        marked=UPSTREAM_FAILS,
        allowed=UPSTREAM_FAILS,
    ),
    Row(
        name="upstream-hangs",
        what="work that begins between 30 s and 32 s never ends",
        plan=CLIMB,
        change="upstream_hangs",
        at_s=30.0,
        for_s=2.0,
        allowed=("read_timeout", "task_timeout"),
    ),
)

CAPACITY = (
    Row(
        name="capacity-halves",
        what="4 of 8 workers are gone from 36 s on: 40/s, N* = 12",
        plan="4:12s,8:12s,16:30s,24:14s,32:14s,8:12s",
        change="capacity_halves",
        at_s=36.0,
        knees=(12, 24),
        marked=("shift",),
    ),
    Row(
        name="capacity-doubles",
        what="16 workers in place of 8 from 45 s on: 160/s, N* = 48",
        plan="8:12s,16:14s,32:36s,48:16s,64:16s,80:16s",
        change="capacity_doubles",
        at_s=45.0,
        knees=(24, 48),
        marked=("shift",),
        verdict="160|changed|shift",
    ),
)

RHYTHMS = (
    Row(name="batch-job", what="every 20 s, for 4 s, each request takes 300 ms", plan=BEYOND, change="batch_job", knees=(20, 24)),
    Row(name="pauses", what="every 12 s the whole service stops for 1.5 s", plan=BEYOND, change="pauses", knees=(20, 24)),
    Row(name="warm-up", what="requests take 400 ms at first, 100 ms from 25 s on", plan=BEYOND, change="warm_up", knees=(24,)),
    Row(name="cold-cache", what="the first 400 requests take 400 ms", plan=BEYOND, change="cold_cache", knees=(24,)),
    Row(
        name="retry-storm",
        what="while more than 48 requests wait, each takes 250 ms, so the capacity is 32/s; it recovers when the load goes down",
        plan="8:12s,16:12s,32:16s,64:16s,96:16s,16:20s,8:12s",
        change="retry_storm",
        knees=(24,),
    ),
)

LIMITERS = (
    Row(
        name="limiter-refuses",
        what="beyond 50 a second requests get a 429: N* = 10",
        plan="4:12s,6:12s,8:12s,12:14s,16:14s,24:14s",
        change="refuses_beyond_rate",
        knees=(10,),
        marked=("rate_limited",),
        allowed=("rate_limited",),
    ),
    Row(
        name="limiter-delays",
        what="requests are delayed to 50 a second: N* = 10",
        plan="4:12s,6:12s,8:12s,12:14s,16:14s,24:14s",
        change="delays_beyond_rate",
        knees=(10,),
        needs_knee=True,
    ),
)

REAL = (
    Row(
        name="balancer-loses-a-backend",
        what="haproxy in front of three services of 4 workers; one is killed at 40 s: first 120/s and N* = 36, then 80/s and 24",
        plan="8:12s,16:12s,32:30s,40:16s,48:16s,8:12s",
        target="balancer",
        at_s=40.0,
        knees=(36, 24),
        allowed=("load_shedding", "server_error", "bad_gateway", "connection_refused", "incomplete_response", "connection_reset"),
        needs=("haproxy",),
    ),
    Row(
        name="postgresql-connections",
        what="each request opens a connection to PostgreSQL for 100 ms, at most 12 at a time: beyond 36 users some fail",
        plan="8:12s,16:12s,24:12s,32:14s,48:16s,64:16s,8:12s",
        target="connections",
        knees=(36, 24),
        marked=("server_error",),
        allowed=("server_error", "load_shedding"),
        needs=("psql",),
    ),
)

LONG_TASKS = (
    Row(
        name="long-tasks-moving",
        what="tasks of 60 requests with sleeps between them, which do not end before their levels; 8 workers of 100 ms, N* = 24",
        plan="4:12s,8:12s,16:14s,32:16s,48:16s,8:12s",
        knees=(24,),
        needs_knee=True,
        steps=60,
    ),
    Row(
        name="long-tasks-sleepers",
        what="the same with a pool of 3 x 100 ms: 30/s, N* = 9",
        plan="2:12s,4:12s,8:12s,12:14s,20:14s,30:14s,4:12s",
        target="sleepers",
        params={"workers": 3},
        knees=(9,),
        needs_knee=True,
        steps=60,
    ),
    Row(
        name="long-tasks-mixed",
        what="the same with Flask on 4 threads that block for 100 ms per request: 40/s, N* = 12",
        plan="2:12s,4:12s,8:12s,16:14s,24:14s,36:14s,4:12s",
        target="mixed",
        params={"threads": 4, "io_ms": 100},
        path="/io",
        knees=(12,),
        needs_knee=True,
        steps=60,
    ),
    Row(
        name="long-tasks-below",
        what="one task of thousands of requests with sleeps of 1 s: scaling is linear, and there is no limit",
        plan="5:14s,10:14s,20:14s",
        target="sleepers",
        params={"workers": 50},
        think_s=(0.9, 0.9),
        steps=10_000,
        verdict="No knee|no knee|wait",
    ),
)

CLIMB_OF_RATES = "rate 15/s 12s,rate 30/s 12s,rate 50/s 20s,rate 60/s 12s,rate 30/s 12s"
"""A plan that stays below the capacity of 80/s."""

RATES = (
    Row(name="rate-still-below", what="offered rates; nothing changes, never above 80/s", plan=CLIMB_OF_RATES),
    Row(
        name="rate-queue-without-bound",
        what="offered rates; nothing changes; requests queue above the capacity of 80/s",
        plan="rate 20/s 12s,rate 40/s 12s,rate 60/s 12s,rate 110/s 14s,rate 140/s 14s,rate 20/s 20s",
        capacities=(80,),
        needs_capacity=True,
        verdict="queue without bound",
    ),
    *(
        Row(
            name=f"rate-upstream-dies-{when}",
            what=f"offered rates; every reply is a 502 from {at_s:g} s on, {where}",
            plan=CLIMB_OF_RATES,
            change="upstream_dies",
            at_s=at_s,
            marked=UPSTREAM_FAILS,
            allowed=UPSTREAM_FAILS,
            verdict="a fault at that time",
        )
        for when, at_s, where in (
            ("within-a-level", 34.0, "in the middle of the level of 50/s"),
            ("with-a-step", 24.2, "with the step from 30/s to 50/s"),
        )
    ),
    Row(
        name="rate-capacity-halves",
        what="offered rates; 4 of 8 workers are gone from 42 s on: 40/s",
        plan="rate 20/s 12s,rate 40/s 12s,rate 60/s 40s,rate 20/s 24s",
        change="capacity_halves",
        at_s=42.0,
        capacities=(40, 80),
        marked=("shift",),
        verdict="independently of load",
    ),
    Row(
        name="rate-capacity-doubles",
        what="offered rates; 16 workers in place of 8 from 48 s on: 160/s",
        plan="rate 40/s 12s,rate 60/s 12s,rate 120/s 46s,rate 140/s 14s",
        change="capacity_doubles",
        at_s=48.0,
        capacities=(80, 160),
        marked=("shift",),
        verdict="independently of load",
    ),
    Row(
        name="rate-limiter-refuses",
        what="offered rates; beyond 50 a second requests get a 429",
        plan="rate 20/s 12s,rate 30/s 12s,rate 40/s 12s,rate 65/s 14s,rate 80/s 14s",
        change="refuses_beyond_rate",
        capacities=(50,),
        needs_capacity=True,
        marked=("rate_limited",),
        allowed=("rate_limited",),
        verdict="refuses what exceeds it",
    ),
)

ALL = {row.name: row for row in (*STILL, *FAULTS, *CAPACITY, *RHYTHMS, *LIMITERS, *REAL, *LONG_TASKS, *RATES)}
