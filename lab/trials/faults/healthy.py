"""Healthy services: idle, lightly loaded, at half their capacity, stepped up and down. Nothing may be blamed."""

from __future__ import annotations

from capexplorer.wording.numbers import counted

from .row import CLIENTS, Client, Row


def _healthy(
    profile: str,
    half_users: int,
    wait_s: str = "",
    clients: tuple[Client, ...] = CLIENTS,
    settings: tuple[str, ...] = (),
    needs: str = "",
) -> Row:
    """A row of a profile of the product, with `half_users` at half of its capacity. `clients`: those that its locustfile has."""
    light_users = max(1, half_users // 5)
    levels = f"idle, {counted(light_users)}, {half_users} users (half of its capacity), up and down again"
    return Row(
        name="-".join(("healthy", profile, *(setting.partition("=")[2] for setting in settings))),
        family="healthy",
        fault=f"{' '.join((profile, *settings))}: {levels}",
        expected=(),
        one_of=("not_saturated", "think_time_limited"),
        profile=profile,
        wait_s=wait_s,
        clients=clients,
        needs=needs,
        arguments=tuple(part for setting in settings for part in ("--set", setting)),
        plan=f"0:8s,{light_users}:12s,{half_users}:15s,{half_users + light_users}:10s,{light_users}:10s,0:8s",
    )


ROWS = (
    Row(
        name="cache-fills",
        family="healthy",
        fault="a cache of 60 MB fills in the first 20 s, and stays",
        expected=(),
        act="cache",
        params={"amount": 40_000, "after": 1500},
        plan="8:70s",
    ),
    Row(
        name="workers-retire",
        family="healthy",
        fault="forked workers that end regularly after 200 requests, as with gunicorn's max_requests",
        expected=(),
        act="workers_that_retire",
        params={"amount": 200},
        plan="8:15s",
    ),
    Row(
        name="slow-and-steady",
        family="healthy",
        fault="each reply takes 300 ms, whatever the load",
        expected=(),
        act="slow",
        params={"amount": 300},
        wait_s="{ between = [0.1, 0.3] }",
        plan="5:10s,20:10s,60:12s",
    ),
    _healthy("mixed", half_users=15),
    _healthy("mixed", half_users=15, settings=("server=gunicorn",)),
    _healthy("sleepers", half_users=20),
    _healthy("static", half_users=20, wait_s="{ between = [0.02, 0.08] }", needs="nginx"),
    _healthy("webdav", half_users=5, clients=("requests",)),
    _healthy("taskqueue", half_users=45, clients=("fast",)),
    _healthy("kv", half_users=80),
    _healthy("kv-go", half_users=40, settings=("burst=1000",), needs="go"),
    Row(
        name="think-time",
        family="healthy",
        fault="50 users that wait 0.5-1.5 s on a fast service, as in experiment 3: think time is the limit",
        expected=("think_time_limited",),
        wait_s="{ between = [0.5, 1.5] }",
        plan="10:12s,25:15s,50:20s",
    ),
)
