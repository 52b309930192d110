"""Rows at offered rates. The service can serve 8 / 0.1 s = 80/s unless a row says otherwise."""

from __future__ import annotations

from .row import Row, Truth
from .user_rows import LOST_BACKEND, UPSTREAM_FAILS

CLIMB = "rate 15/s 12s,rate 30/s 12s,rate 50/s 20s,rate 60/s 12s,rate 30/s 12s"
"""A plan that stays below the capacity of 80/s."""
BEYOND = "rate 20/s 12s,rate 40/s 12s,rate 60/s 12s,rate 110/s 14s,rate 140/s 14s,rate 20/s 20s"

STILL = (
    Row(name="rate-still-below", what="offered rates; nothing changes, never above 80/s", plan=CLIMB),
    Row(
        name="rate-queue-without-bound",
        what="offered rates; nothing changes; requests queue above the capacity of 80/s",
        plan=BEYOND,
        capacities=(Truth(80),),
        needs_capacity=True,
        verdict="queue without bound",
    ),
)

FAULTS = tuple(
    Row(
        name=f"rate-upstream-{name}",
        what=f"offered rates; every reply is a 502 from {at_s:g} s {until}, {where}",
        plan=CLIMB,
        change="upstream_dies",
        at_s=at_s,
        for_s=for_s,
        marked=UPSTREAM_FAILS,
        allowed=UPSTREAM_FAILS,
        verdict="a fault at that time",
    )
    for name, at_s, for_s, until, where in (
        ("dies-within-a-level", 34.0, 0.0, "on", "in the middle of the level of 50/s"),
        ("dies-with-a-step", 24.2, 0.0, "on", "with the step from 30/s to 50/s"),
        ("away", 30.0, 10.0, "to 40 s", "in the level of 50/s"),
    )
) + (
    Row(
        name="rate-upstream-dies-beyond",
        what="offered rates; every reply is a 502 from 58 s on, in a level above the capacity of 80/s",
        plan=BEYOND,
        change="upstream_dies",
        at_s=58.0,
        capacities=(Truth(80, until_s=58),),
        marked=UPSTREAM_FAILS,
        allowed=UPSTREAM_FAILS,
    ),
    Row(
        name="rate-upstream-hangs",
        what="offered rates; work that begins between 30 s and 32 s never ends, so all 8 workers are lost: 80/s, then nothing",
        plan=CLIMB,
        change="upstream_hangs",
        at_s=30.0,
        for_s=2.0,
        allowed=("read_timeout", "task_timeout"),
        verdict="at that time",
    ),
)

CAPACITY = (
    Row(
        name="rate-capacity-halves",
        what="offered rates; 4 of 8 workers are gone from 42 s on: 40/s",
        plan="rate 20/s 12s,rate 40/s 12s,rate 60/s 40s,rate 20/s 24s",
        change="capacity_halves",
        at_s=42.0,
        capacities=(Truth(80, until_s=42), Truth(40, from_s=42)),
        marked=("shift",),
        verdict="independently of load",
    ),
    Row(
        name="rate-capacity-halves-with-a-step",
        what="offered rates; 4 of 8 workers are gone from 36 s on, with the step from 60/s to 70/s: first 80/s, then 40/s; the"
        " return to 60/s is not served",
        plan="rate 20/s 12s,rate 40/s 12s,rate 60/s 12s,rate 70/s 16s,rate 20/s 18s,rate 60/s 18s",
        change="capacity_halves",
        at_s=36.0,
        capacities=(Truth(80, until_s=36), Truth(40, from_s=36)),
    ),
    Row(
        name="rate-capacity-halves-between-two-steps",
        what="offered rates; 4 of 8 workers are gone from 44 s on, while 20/s are offered: 60/s are served before, 40/s after",
        plan="rate 20/s 12s,rate 40/s 12s,rate 60/s 14s,rate 20/s 12s,rate 60/s 18s,rate 20/s 16s",
        change="capacity_halves",
        at_s=44.0,
        capacities=(Truth(80, until_s=44), Truth(40, from_s=44)),
    ),
    Row(
        name="rate-capacity-doubles",
        what="offered rates; 16 workers in place of 8 from 48 s on: 160/s",
        plan="rate 40/s 12s,rate 60/s 12s,rate 120/s 46s,rate 140/s 14s",
        change="capacity_doubles",
        at_s=48.0,
        capacities=(Truth(80, until_s=48), Truth(160, from_s=48)),
        marked=("shift",),
        verdict="independently of load",
    ),
)

RHYTHMS = (
    Row(
        name="rate-pauses",
        what="offered rates; every 12 s the whole service stops for 1.5 s, of which each worker loses 1.45 s:"
        " 80/s x 10.55 / 12 = 70/s; levels settle within 2 to 5 s, so each has one pause in about 12 s",
        plan="rate 20/s 14s,rate 40/s 14s,rate 60/s 14s,rate 100/s 16s,rate 120/s 16s,rate 20/s 14s",
        change="pauses",
        capacities=(Truth(70),),
    ),
    Row(
        name="rate-batch-job",
        what="offered rates; every 20 s, for 4 s, each request takes 300 ms: 27/s, else 80/s, in the mean 69/s; levels of about"
        " one such period",
        plan="rate 20/s 22s,rate 40/s 22s,rate 60/s 22s,rate 110/s 24s,rate 20/s 14s",
        change="batch_job",
        capacities=(Truth(69),),
    ),
    Row(
        name="rate-warm-up",
        what="offered rates; requests take 400 ms at first (20/s), 100 ms from 25 s on (80/s)",
        plan="rate 15/s 12s,rate 30/s 12s,rate 50/s 12s,rate 60/s 12s,rate 110/s 14s,rate 140/s 14s,rate 20/s 14s",
        change="warm_up",
        capacities=(Truth(80, from_s=25),),
        needs_capacity=True,
    ),
    Row(
        name="rate-cold-cache",
        what="offered rates; the first 400 requests take 400 ms (20/s), which are over at about 23 s; then 80/s",
        plan="rate 15/s 12s,rate 30/s 12s,rate 50/s 12s,rate 60/s 12s,rate 110/s 14s,rate 140/s 14s,rate 20/s 14s",
        change="cold_cache",
        capacities=(Truth(20, until_s=23), Truth(80, from_s=23)),
        needs_capacity=True,
    ),
    Row(
        name="rate-retry-storm",
        what="offered rates; while more than 48 requests wait, each takes 250 ms: 80/s, but 32/s from 3 s after a rate of 100/s;"
        " it recovers at 10/s, and serves 70/s again",
        plan="rate 30/s 12s,rate 50/s 12s,rate 70/s 14s,rate 100/s 14s,rate 10/s 24s,rate 70/s 14s",
        change="retry_storm",
        capacities=(Truth(80),),
    ),
)

LIMITERS = (
    Row(
        name="rate-limiter-refuses",
        what="offered rates; beyond 50 a second requests get a 429, a few already at 40/s, since more than 5 at once do",
        plan="rate 20/s 12s,rate 30/s 12s,rate 40/s 12s,rate 65/s 14s,rate 80/s 14s",
        change="refuses_beyond_rate",
        capacities=(Truth(50),),
        departs_from_per_s=40,
        needs_capacity=True,
        marked=("rate_limited",),
        allowed=("rate_limited",),
        verdict="refuses what exceeds it",
    ),
    Row(
        name="rate-limiter-delays",
        what="offered rates; requests are delayed to 50 a second",
        plan="rate 20/s 12s,rate 30/s 12s,rate 40/s 12s,rate 65/s 14s,rate 80/s 14s,rate 20/s 20s",
        change="delays_beyond_rate",
        capacities=(Truth(50),),
        needs_capacity=True,
        verdict="queue without bound",
    ),
)

REAL = (
    Row(
        name="rate-balancer-loses-a-backend",
        what="offered rates; haproxy in front of three services of 4 workers; one is killed at 40 s: first 120/s, then 80/s",
        plan="rate 30/s 12s,rate 60/s 12s,rate 110/s 40s,rate 20/s 20s,rate 60/s 12s",
        target="balancer",
        at_s=40.0,
        capacities=(Truth(120, until_s=40), Truth(80, from_s=40)),
        marked=("shift",),
        allowed=LOST_BACKEND,
        needs=("haproxy",),
    ),
    Row(
        name="rate-postgresql-connections",
        what="offered rates; each request opens a connection to PostgreSQL for 500 ms, at most 6 at a time: 12/s; by Erlang's"
        " loss formula 1% fail at 4/s, 5% at 6/s, and 11.3/s of 24/s, 11.5/s of 32/s succeed",
        plan="rate 2/s 14s,rate 4/s 16s,rate 6/s 14s,rate 24/s 14s,rate 32/s 14s,rate 4/s 14s",
        target="connections",
        params={"connections": 6, "sleep_ms": 500},
        capacities=(Truth(12),),
        departs_from_per_s=4,
        marked=("server_error",),
        allowed=("server_error", "load_shedding"),
        needs=("psql",),
    ),
)

LONG_TASKS = (
    Row(
        name="rate-long-tasks",
        what="offered rates; an iteration is 5 requests with 5 sleeps of 0.2 s, so it takes 1.5 s: 80/s / 5 = 16/s",
        plan="rate 4/s 12s,rate 8/s 14s,rate 12/s 14s,rate 22/s 16s,rate 28/s 16s,rate 4/s 18s",
        capacities=(Truth(16),),
        needs_capacity=True,
        steps=5,
        verdict="queue without bound",
    ),
)

ROWS = (*STILL, *FAULTS, *CAPACITY, *RHYTHMS, *LIMITERS, *REAL, *LONG_TASKS)
