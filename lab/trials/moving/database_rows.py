"""Services in front of a real PostgreSQL: a row lock that another session keeps, and a pool that loses connections."""

from __future__ import annotations

from collections.abc import Mapping

from .row import Param, Row, Truth

ROW_LOCK: Mapping[str, Param] = {"service": "row_lock", "connections": 60, "hold_ms": 50}
"""1 / 0.05 s = 20/s."""
POOL: Mapping[str, Param] = {"service": "leaking_pool", "connections": 8, "hold_ms": 200}
"""8 / 0.2 s = 40/s."""

ROWS = (
    Row(
        name="row-lock-held",
        what="each request locks one row of PostgreSQL for 50 ms: 20/s, N* = 20 x (0.05 + 0.5) = 11; another session has the lock"
        " from 34 s to 40 s, in the level of 8 users",
        plan="2:12s,4:12s,8:26s,16:14s,24:14s,4:12s",
        target="database",
        params=ROW_LOCK,
        at_s=34.0,
        for_s=6.0,
        think_s=(0.3, 0.7),
        knees=(Truth(11),),
        needs=("psql",),
    ),
    Row(
        name="pool-loses-half",
        what="a pool of 8 connections to PostgreSQL, which requests hold for 200 ms: 40/s, N* = 40 x (0.2 + 0.3) = 20; 4 are"
        " taken and not returned from 36 s on: 20/s, N* = 10",
        plan="4:12s,8:12s,14:30s,20:14s,30:14s,6:12s",
        target="database",
        params=POOL,
        at_s=36.0,
        think_s=(0.2, 0.4),
        knees=(Truth(20, until_s=36), Truth(10, from_s=36)),
        marked=("shift",),
        needs=("psql",),
    ),
    Row(
        name="rate-row-lock-held",
        what="offered rates; each request locks one row of PostgreSQL for 50 ms: 20/s; another session has the lock from 32 s to"
        " 38 s, in the level of 12/s",
        plan="rate 5/s 12s,rate 10/s 12s,rate 12/s 26s,rate 30/s 14s,rate 40/s 12s,rate 5/s 20s",
        target="database",
        params=ROW_LOCK,
        at_s=32.0,
        for_s=6.0,
        capacities=(Truth(20),),
        needs=("psql",),
    ),
    Row(
        name="rate-pool-loses-half",
        what="offered rates; the pool of 8 connections, 40/s, loses 4 from 42 s on: 20/s",
        plan="rate 10/s 12s,rate 20/s 12s,rate 30/s 40s,rate 10/s 24s",
        target="database",
        params=POOL,
        at_s=42.0,
        capacities=(Truth(40, until_s=42), Truth(20, from_s=42)),
        marked=("shift",),
        verdict="independently of load",
        needs=("psql",),
    ),
)
