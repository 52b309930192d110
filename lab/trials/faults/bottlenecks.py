"""Limits of a service without failures: goodput no longer grows with users."""

from __future__ import annotations

from .row import Row

_LADDER = "2:8s,4:9s,8:9s,16:9s"

ROWS = (
    Row(
        name="gil",
        family="bottleneck",
        fault="a service with one thread per connection and 6 ms of pure Python per request",
        expected=("gil_bound",),
        act="burn",
        params={"amount": 100_000},
        wait_s="{ constant = 0.02 }",
        plan=_LADDER,
    ),
    Row(
        name="one-thread",
        family="bottleneck",
        fault="an event loop that computes for 6 ms per request",
        expected=("single_thread_cpu_saturated",),
        act="one_thread",
        params={"amount": 100_000},
        wait_s="{ constant = 0.02 }",
        plan=_LADDER,
    ),
    Row(
        name="cpu",
        family="bottleneck",
        fault="three processes that compute, limited to one core",
        expected=("target_cpu_saturated",),
        act="processes",
        params={"amount": 100_000},
        wait_s="{ constant = 0.02 }",
        plan=_LADDER,
    ),
    Row(
        name="throttled",
        family="bottleneck",
        fault="a quota of 0.3 cores",
        expected=("cpu_throttled",),
        also_true={"target_cpu_saturated": "of the cores that it is allowed"},
        act="burn",
        params={"amount": 100_000},
        wait_s="{ constant = 0.02 }",
        cgroups={"cpu": {"cpu.cfs_quota_us": "30000", "cpu.max": "30000 100000"}},
        plan=_LADDER,
        short="8:8s",
    ),
    Row(
        name="pool",
        family="bottleneck",
        fault="four workers, each of which serves one connection at a time for 50 ms",
        expected=("worker_pool_exhausted",),
        act="pool",
        params={"amount": 4},
        wait_s="{ constant = 0.02 }",
        plan="2:8s,6:9s,12:9s,24:9s",
    ),
    Row(
        name="lock",
        family="bottleneck",
        fault="one lock, held for 10 ms per request",
        expected=("lock_or_pool_limit",),
        act="lock",
        params={"amount": 10},
        wait_s="{ constant = 0.05 }",
        plan="2:8s,6:9s,12:9s,24:9s",
    ),
    Row(
        name="queue",
        family="bottleneck",
        fault="tasks are accepted faster than they are finished",
        expected=("queue_growth",),
        act="tasks",
        params={"amount": 50},
        plan="8:20s",
    ),
)
