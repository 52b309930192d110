"""Readings of the generator, the target and the host for the seconds of a session that a test makes."""

from __future__ import annotations

from capexplorer.model.readings import GeneratorReading, HostReading, PortsReading, TargetReading, TcpReading

OVERLOADED_RATIO = 0.95
"""Above this share of the target's capacity segments are retransmitted, and requests fail."""

PORTS_PER_USER_S = 0.05
"""Ports that each user leaves in TIME_WAIT per second."""

PORTS_CAPACITY = 28_232


def readings(load: float, users: int, ports_used: int, noise: float) -> dict[str, object]:
    """The readings of one second, by their field of a Sample. `load` is the share of the target's capacity that is used; `noise`
    is a factor near 1 on the CPU and the loop lag.
    """
    retransmitted = 3 if load > OVERLOADED_RATIO else 0
    return {
        "generator": _generator(load, users, noise),
        "targets": (_target(load, users, noise),),
        "host": _host(load, noise),
        "ports": _ports(users, ports_used),
        "tcp": TcpReading(active_opens=4, segments_retransmitted=retransmitted, listen_overflows=0),
    }


def _generator(load: float, users: int, noise: float) -> GeneratorReading:
    return GeneratorReading(
        cpu_ratio=0.31 * load * noise,
        run_delay_ratio=0.02,
        screen_cpu_ratio=0.04,
        recorder_cpu_ratio=0.01,
        rss_bytes=96 << 20,
        fds=users + 31,
        fds_limit=1_048_576,
        loop_lag_p50_ms=0.12,
        loop_lag_p99_ms=1.4 * noise,
        loop_lag_max_ms=4.2,
    )


def _target(load: float, users: int, noise: float) -> TargetReading:
    return TargetReading(
        pid=4711,
        processes=1,
        threads=11,
        cpu_ratio=1.02 * load * noise,
        busiest_thread_ratio=0.41 * load,
        rss_bytes=int((48 + 4 * load) * (1 << 20)),
        fds=users + 12,
        fds_limit=1_024,
        listen_queue=int(3 * load),
        listen_backlog=1_024,
    )


def _host(load: float, noise: float) -> HostReading:
    return HostReading(
        cpu_ratio=1.5 * load * noise,
        load_average_1m=1.93,
        steal_ratio=0.02,
        memory_used_bytes=int(3.1 * (1 << 30)),
        cpu_pressure_ratio=0.11,
        disk_busy_ratio=0.02,
        received_bytes_per_s=182_000.0 * load,
        sent_bytes_per_s=182_000.0 * load,
    )


def _ports(users: int, used: int) -> PortsReading:
    burn_per_s = users * PORTS_PER_USER_S
    return PortsReading(
        capacity=PORTS_CAPACITY,
        used=used,
        time_wait=used - users,
        established=users,
        by_state={"TIME_WAIT": max(0, used - users), "ESTABLISHED": users},
        destination="127.0.0.1:18080",
        burn_rate_per_s=burn_per_s,
        exhausted_in_s=(PORTS_CAPACITY - used) / burn_per_s if burn_per_s else None,
    )
