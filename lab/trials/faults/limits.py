"""Rate limiters of both kinds: requests beyond the rate are delayed, or refused. The service itself could do more."""

from __future__ import annotations

from .row import Row

_WAIT = "{ constant = 0.2 }"
_LADDER = "3:9s,6:9s,16:12s,26:12s"
"""Users that wait 0.2 s for replies of a few milliseconds: 50/s is the rate of 10 users."""

_SLOW_LADDER = "2:14s,3:14s,8:13s,13:13s"
"""25/s is the rate of 5 users, one request every 40 ms: replies at low load take much less, on a busy machine too."""

ROWS = (
    Row(
        name="nginx-delays",
        family="limits",
        fault="nginx's limit_req delays requests beyond 25/s",
        expected=("rate_limit",),
        target="limited",
        needs="nginx",
        params={"rate": 25, "burst": 500},
        wait_s=_WAIT,
        plan=_SLOW_LADDER,
    ),
    Row(
        name="nginx-refuses-429",
        family="limits",
        fault="nginx's limit_req refuses requests beyond 50/s with 429",
        expected=("rate_limit", "rate_limited"),
        target="limited",
        needs="nginx",
        params={"rate": 50, "burst": 5, "beyond": "429"},
        wait_s=_WAIT,
        plan=_LADDER,
        short="3:7s,6:7s,16:8s,24:8s",
    ),
    Row(
        name="nginx-refuses-503",
        family="limits",
        fault="nginx's limit_req refuses requests beyond 50/s with its default, 503",
        expected=("load_shedding",),
        also_true={"rate_limit": "requests are accepted at a constant rate"},
        target="limited",
        needs="nginx",
        params={"rate": 50, "burst": 20, "beyond": "503"},
        wait_s=_WAIT,
        plan=_LADDER,
    ),
    Row(
        name="bucket-delays",
        family="limits",
        fault="a Python service lets 25 requests a second begin; the others sleep until it is their turn",
        expected=("rate_limit",),
        act="paced",
        params={"amount": 25},
        wait_s=_WAIT,
        plan=_SLOW_LADDER,
    ),
    Row(
        name="bucket-refuses",
        family="limits",
        fault="a token bucket of 40/s in a Python service, then 429",
        expected=("rate_limit", "rate_limited"),
        act="bucket",
        params={"amount": 40},
        wait_s=_WAIT,
        plan=_LADDER,
    ),
    Row(
        name="pool-inside",
        family="limits",
        fault="a pool of three connections, each held for 60 ms: no rate limiter",
        expected=("lock_or_pool_limit",),
        act="semaphore",
        params={"amount": 3, "after": 60},
        wait_s=_WAIT,
        plan="3:9s,6:9s,24:12s,36:12s",
    ),
)
