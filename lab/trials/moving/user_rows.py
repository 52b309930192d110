"""Rows at levels of users. Faults begin in the middle of a level, at the step between two levels, or in the first level."""

from __future__ import annotations

from .row import Row, Truth

CLIMB = "4:12s,8:12s,16:20s,20:12s,8:12s"
"""A plan that stays below N* = 24."""
BEYOND = "4:12s,8:12s,16:14s,32:16s,48:16s,8:12s"
UPSTREAM_FAILS = ("bad_gateway",)
LOST_BACKEND = ("load_shedding", "server_error", "bad_gateway", "connection_refused", "incomplete_response", "connection_reset")
"""How requests to a killed backend fail, until the balancer has noticed."""

STILL = (
    Row(name="still-below", what="nothing changes; never beyond the knee", plan=CLIMB),
    Row(name="still-beyond", what="nothing changes; beyond the knee and back", plan=BEYOND, knees=(Truth(24),), needs_knee=True),
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
        knees=(Truth(24),),
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
        knees=(Truth(24, until_s=36), Truth(12, from_s=36)),
        marked=("shift",),
    ),
    Row(
        name="capacity-doubles",
        what="16 workers in place of 8 from 45 s on: 160/s, N* = 48",
        plan="8:12s,16:14s,32:36s,48:16s,64:16s,80:16s",
        change="capacity_doubles",
        at_s=45.0,
        knees=(Truth(24, until_s=45), Truth(48, from_s=45)),
        marked=("shift",),
        verdict="160|changed|shift",
    ),
)

RHYTHMS = (
    Row(
        name="batch-job",
        what="every 20 s, for 4 s, each request takes 300 ms: 27/s and 2.0/s per user, else 80/s and 3.3/s: N* = 24; in the mean"
        " 69/s / 3.07/s = 22.6 users; levels settle within 2 s, so each has one such period",
        plan="4:22s,8:22s,16:22s,32:22s,48:22s,8:12s",
        change="batch_job",
        knees=(Truth(24), Truth(22.6)),
    ),
    Row(
        name="pauses",
        what="every 12 s the whole service stops for 1.5 s, of which workers lose 1.45 s and users 1.35 s: 70/s / 2.96/s = 23.8"
        " users; levels settle within 2 s, so each has one pause",
        plan="4:14s,8:14s,16:14s,32:14s,48:14s,8:14s",
        change="pauses",
        knees=(Truth(23.8),),
    ),
    Row(
        name="warm-up",
        what="requests take 400 ms at first, 100 ms from 25 s on",
        plan=BEYOND,
        change="warm_up",
        knees=(Truth(24),),
    ),
    Row(name="cold-cache", what="the first 400 requests take 400 ms", plan=BEYOND, change="cold_cache", knees=(Truth(24),)),
    Row(
        name="retry-storm",
        what="while more than 48 requests wait, each takes 250 ms, so the capacity is 32/s; it recovers when the load goes down",
        plan="8:12s,16:12s,32:16s,64:16s,96:16s,16:20s,8:12s",
        change="retry_storm",
        knees=(Truth(24),),
    ),
)

LIMITERS = (
    Row(
        name="limiter-refuses",
        what="beyond 50 a second requests get a 429: N* = 10",
        plan="4:12s,6:12s,8:12s,12:14s,16:14s,24:14s",
        change="refuses_beyond_rate",
        knees=(Truth(10),),
        marked=("rate_limited",),
        allowed=("rate_limited",),
    ),
    Row(
        name="limiter-delays",
        what="requests are delayed to 50 a second: N* = 10",
        plan="4:12s,6:12s,8:12s,12:14s,16:14s,24:14s",
        change="delays_beyond_rate",
        knees=(Truth(10),),
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
        knees=(Truth(36, until_s=40), Truth(24, from_s=40)),
        allowed=LOST_BACKEND,
        needs=("haproxy",),
    ),
    Row(
        name="postgresql-connections",
        what="each request opens a connection to PostgreSQL for 100 ms, at most 12 at a time: 120/s, N* = 36; since refused"
        " users come back after 0.2 s, 6% fail at 24 users, 12% at 32, and 111/s succeed at 48",
        plan="8:12s,16:12s,24:12s,32:14s,48:16s,64:16s,8:12s",
        target="connections",
        knees=(Truth(36),),
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
        knees=(Truth(24),),
        needs_knee=True,
        steps=60,
    ),
    Row(
        name="long-tasks-sleepers",
        what="the same with a pool of 3 x 100 ms: 30/s, N* = 9",
        plan="2:12s,4:12s,8:12s,12:14s,20:14s,30:14s,4:12s",
        target="sleepers",
        params={"workers": 3},
        knees=(Truth(9),),
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
        knees=(Truth(12),),
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

ROWS = (*STILL, *FAULTS, *CAPACITY, *RHYTHMS, *LIMITERS, *REAL, *LONG_TASKS)
