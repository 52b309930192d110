"""Checks of limits on connections: ephemeral ports and when they are free again, a listener's queues, connection tracking."""

from __future__ import annotations

from ...model.limits import Machine
from .check import Check, Needs, limit_option, unavailable

_TIME_WAIT_S = 60.0
"""TCP_TIMEWAIT_LEN, fixed in Linux."""

_CONNTRACK_TIME_WAIT_S = 120.0
"""How long connection tracking keeps a closed connection, by default."""

_REUSE_DELAY_MS = 1000
"""How long the kernel waits before it reuses a port in TIME_WAIT, if it does not report it (before Linux 6.14)."""

_WIDEST = '"1024 65535"'
"""The widest port range, as sysctl takes it."""


def ports(machine: Machine, needs: Needs) -> Check:
    """Ephemeral ports: from one source address to one destination there are at most as many connections as ports."""
    host, limited = machine.host, needs.limits.network.ip_local_port_range
    capacity, span = _ports(machine, needs), limited or host.port_range
    readings = {
        "port_first": span[0] if span else None,
        "port_last": span[1] if span else None,
        "ports_reserved": 0 if limited else host.ports_reserved,
        "ports_capacity": capacity,
    }
    if capacity is None or span is None:
        return unavailable("ports", "ephemeral ports", readings)
    reserved = f", {readings['ports_reserved']:,} of them reserved" if readings["ports_reserved"] else ""
    return Check(
        id="ports",
        title="ephemeral ports",
        state="bounds" if needs.users > capacity else "ok",
        readings=readings,
        here=f"{span[0]}-{span[1]}{reserved}" + (" by [limits]" if limited else ""),
        bounds_at=f"{capacity:,} connections to one address and port",
        lift=_port_lift(*span, limited=limited is not None),
    )


def _port_lift(first: int, last: int, *, limited: bool) -> str:
    if limited:
        return limit_option("network.ip_local_port_range", "[10000,65534]")
    if last - first > 60_000:
        return "more source or destination addresses"
    return f"sysctl -w net.ipv4.ip_local_port_range={_WIDEST}"


def new_connections(machine: Machine, needs: Needs) -> Check:
    """New connections a second: P ports allow P/60 without reuse of ports in TIME_WAIT, P with it. On loopback tcp_tw_reuse 2
    is as good as 1 (measured).
    """
    limited, capacity = needs.limits.network.tcp_tw_reuse, _ports(machine, needs)
    reuse = machine.host.tcp_tw_reuse if limited is None else limited
    readings = {"tcp_tw_reuse": reuse, "ports_capacity": capacity, "tcp_tw_reuse_delay_ms": machine.tcp_tw_reuse_delay_ms}
    if reuse is None or capacity is None:
        return unavailable("new_connections", "new connections", readings)
    free_after_s = (machine.tcp_tw_reuse_delay_ms or _REUSE_DELAY_MS) / 1000 if reuse else _TIME_WAIT_S
    ceiling_rps = capacity / free_after_s
    asked_rps = 0.0 if needs.keep_alive else needs.connections_per_s
    loopback = " on loopback; elsewhere a sixtieth" if reuse == 2 else ""
    return Check(
        id="new_connections",
        title="new connections",
        state="bounds" if asked_rps is None or asked_rps > ceiling_rps else "ok",
        readings=readings | {"ceiling_per_s": round(ceiling_rps, 1), "asked_at_most_per_s": asked_rps},
        here=f"tcp_tw_reuse {reuse}"
        + (" by [limits]" if limited is not None else "")
        + f": a port is free again after {free_after_s:g} s",
        bounds_at=f"{ceiling_rps:,.0f} a second, when the client closes first{loopback}",
        lift="users.keep_alive = true" + _reuse_lift(reuse, limited is not None),
    )


def _reuse_lift(reuse: int, limited: bool) -> str:
    if reuse == 1:
        return ""
    return f"; {limit_option('network.tcp_tw_reuse', 1)}" if limited else "; sysctl -w net.ipv4.tcp_tw_reuse=1"


def _ports(machine: Machine, needs: Needs) -> int | None:
    """Number of ephemeral ports that can be used; in the session's own network namespace none are reserved."""
    limited = needs.limits.network.ip_local_port_range
    return limited[1] - limited[0] + 1 if limited else machine.host.ports_capacity


def accept_queue(machine: Machine, needs: Needs) -> Check:
    """The kernel queues at most somaxconn established connections for a listener, even if its backlog is larger."""
    limited = needs.limits.network.somaxconn
    most = machine.host.somaxconn if limited is None else limited
    if most is None:
        return unavailable("accept_queue", "accept queue (somaxconn)", {"somaxconn": None})
    enough = max(4096, 2 * most)
    return Check(
        id="accept_queue",
        title="accept queue (somaxconn)",
        state="bounds" if needs.spawn > most else "ok",
        readings={"somaxconn": most, "spawned_per_s": needs.spawn},
        here=f"{most:,}" + (" by [limits]" if limited is not None else ""),
        bounds_at=f"{most:,} connections that wait for accept(), or the target's own backlog if that is less",
        lift=(limit_option("network.somaxconn", enough) if limited is not None else f"sysctl -w net.core.somaxconn={enough}")
        + " and the target's backlog",
    )


def syn_backlog(machine: Machine, needs: Needs) -> Check:
    """Half-open connections: those whose handshake is not complete."""
    most = machine.host.tcp_max_syn_backlog
    if most is None:
        return unavailable("syn_backlog", "half-open connections", {"tcp_max_syn_backlog": None})
    return Check(
        id="syn_backlog",
        title="half-open connections",
        state="bounds" if needs.spawn > most else "ok",
        readings={"tcp_max_syn_backlog": most},
        here=f"tcp_max_syn_backlog {most:,}",
        bounds_at=f"{most:,} handshakes at once, over a network",
        lift=f"sysctl -w net.ipv4.tcp_max_syn_backlog={max(8192, 2 * most)}",
    )


def conntrack(machine: Machine, needs: Needs) -> Check:
    """Connection tracking, if the kernel does it: connections in TIME_WAIT stay in its table for 120 s."""
    most, count = machine.host.conntrack_max, machine.conntrack
    readings = {"conntrack": count, "conntrack_max": most}
    if most is None:
        return Check(id="conntrack", title="conntrack", state="ok", readings=readings, here="not present: nothing is tracked")
    if count is None:
        return unavailable("conntrack", "conntrack", readings)
    left = max(most - count, 0)
    churn_per_s = left / _CONNTRACK_TIME_WAIT_S
    asked_rps = 0.0 if needs.keep_alive else needs.connections_per_s
    return Check(
        id="conntrack",
        title="conntrack",
        state="bounds" if needs.users > left or (asked_rps or 0.0) > churn_per_s else "ok",
        readings=readings,
        here=f"{count:,} of {most:,}",
        bounds_at=f"{left:,} connections, or {churn_per_s:,.0f} new ones a second, if loopback is tracked",
        lift=f"sysctl -w net.netfilter.nf_conntrack_max={4 * most}",
    )
