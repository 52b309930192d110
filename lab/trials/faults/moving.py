"""Neighbours, other processes on the machine, start and end while the service stays the same. No point of the curve may be
marked, unless they use the disk, which no reading shows."""

from __future__ import annotations

from .row import Row

_LEVELS = "2:8s,4:9s,6:9s,8:9s,4:9s"
"""Without neighbours the service, with 6 ms of CPU per request, can serve all levels: 8 users that wait 100 ms send 75/s of
166/s."""

ROWS = (
    Row(
        name="neighbour-cpu",
        family="moving",
        fault="two busy processes on each core while the two highest levels run; without them the service can serve these levels",
        expected=("noisy_neighbours",),
        no_knee=True,
        act="burn",
        params={"amount": 100_000},
        wait_s="{ constant = 0.1 }",
        neighbours=("cpu", "cpu"),
        neighbours_at=(2, 3),
        plan=_LEVELS,
    ),
    Row(
        name="neighbour-cpu-one-thread",
        family="moving",
        fault="the same with a service of one thread",
        expected=("noisy_neighbours",),
        no_knee=True,
        act="one_thread",
        params={"amount": 100_000},
        wait_s="{ constant = 0.1 }",
        neighbours=("cpu", "cpu"),
        neighbours_at=(2, 3),
        plan=_LEVELS,
    ),
    Row(
        name="neighbour-memory",
        family="moving",
        fault="two processes on each core that copy 64 MB again and again while the two highest levels run",
        expected=("noisy_neighbours",),
        no_knee=True,
        act="burn",
        params={"amount": 100_000},
        wait_s="{ constant = 0.1 }",
        neighbours=("memory", "memory"),
        neighbours_at=(2, 3),
        plan=_LEVELS,
    ),
    Row(
        name="neighbour-disk",
        family="moving",
        fault="a service that stores six files on the disk per request, one after the other, and two processes that store 64 MB"
        " again and again while the two highest levels run: a file takes 15 ms in place of 3; a knee may be marked, but no cause"
        " and no bottleneck of the service",
        expected=(),
        also_true={"disk_saturated": "it is busy, mostly for others", "noisy_neighbours": "they use CPU, too"},
        act="store",
        params={"amount": 4096, "after": 6},
        wait_s="{ constant = 0.1 }",
        neighbours=("disk",),
        neighbours_at=(2, 3),
        plan=_LEVELS,
    ),
    Row(
        name="neighbour-quiet",
        family="moving",
        fault="a process on each core that uses 0.05 of it: no level is disturbed",
        expected=(),
        one_of=("not_saturated", "think_time_limited"),
        no_knee=True,
        act="burn",
        params={"amount": 100_000},
        wait_s="{ constant = 0.1 }",
        neighbours=("idle",),
        neighbours_at=(0, 4),
        plan=_LEVELS,
    ),
)
