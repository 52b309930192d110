"""Limits of the machine for an exploration: readings and needs in, checks out. A reading that is missing is "unavailable"."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.analysis.host_checks import Check, Needs, checks
from capexplorer.model.events import HostFacts
from capexplorer.model.limits import Limits, Machine, NetworkLimits, ProcessLimits
from capexplorer.model.readings import NeighboursReading

HOST: dict[str, Any] = {
    "cpus": 8, "memory_bytes": 16 << 30, "fds_limit": 20_000, "fds_limit_of_system": 1_000_000, "port_range": (32_768, 60_999),
    "ports_reserved": 0, "ports_capacity": 28_232, "tcp_tw_reuse": 2, "somaxconn": 4096, "tcp_max_syn_backlog": 2048,
}  # fmt: skip
MACHINE: dict[str, Any] = {
    "fds_hard_limit": 20_000, "has_poll": True, "fds_of_system": 2_000, "cpus_usable": 8, "tcp_tw_reuse_delay_ms": 1000,
    "pressure_readable": True, "reads_other_users": True, "neighbours": NeighboursReading(cpu_ratio=0.05),
}  # fmt: skip
FEW_PORTS = Limits(network=NetworkLimits(ip_local_port_range=(32_768, 34_767), tcp_tw_reuse=0))


def found(host: dict[str, Any], machine: dict[str, Any], needs: dict[str, Any]) -> dict[str, Check]:
    seen = Machine(host=HostFacts(**HOST | host), **MACHINE | machine)
    return {check.id: check for check in checks(seen, Needs(**needs))}


def separate_cores(generator: tuple[int, ...], target: tuple[int, ...]) -> Limits:
    return Limits(generator=ProcessLimits(cpus=generator), target=ProcessLimits(cpus=target))


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "a roomy machine": ({}, {}, {}, {}),
    "a machine that others use": (
        {}, {"neighbours": NeighboursReading(cpu_ratio=1.6, processes={"cc1plus": 1.31})}, {}, {"neighbours": "bounds"},
    ),
    "a machine whose other processes were not read": ({}, {"neighbours": NeighboursReading()}, {}, {"neighbours": "unavailable"}),
    "the usual soft limit, which the target has": ({"fds_limit": 1024}, {}, {}, {"fds_target": "bounds"}),
    "a low hard limit": ({"fds_limit": 1024}, {"fds_hard_limit": 1024}, {}, {"fds_generator": "bounds", "fds_target": "bounds"}),
    "a low limit and few users": ({"fds_limit": 1024}, {"fds_hard_limit": 1024}, {"users": 800}, {}),
    "files that the profile limits": (
        {}, {}, {"users": 100, "limits": Limits(target=ProcessLimits(open_files=64))}, {"fds_target": "bounds"},
    ),
    "a service that capexplorer does not start": (
        {}, {"reads_other_users": False}, {"starts_target": False}, {"fds_target": "unavailable", "other_users": "missing"},
    ),
    "rights that are not needed for a target that capexplorer starts": ({}, {"reads_other_users": False}, {}, {}),
    "no poll and many users": ({}, {"has_poll": False}, {}, {"kept_connections": "bounds"}),
    "no poll and few users": ({}, {"has_poll": False}, {"users": 900}, {}),
    "nearly all descriptors of the system are used": ({}, {"fds_of_system": 999_000}, {}, {"fds_system": "bounds"}),
    "more users than ports": ({"ports_capacity": 1_000}, {}, {}, {"ports": "bounds"}),
    "no keep-alive, reuse: 28,232/s": ({}, {}, {"keep_alive": False, "wait_s": 1.0}, {}),
    "no keep-alive, no reuse: 470/s": (
        {"tcp_tw_reuse": 0}, {}, {"keep_alive": False, "wait_s": 1.0}, {"new_connections": "bounds"},
    ),
    "no reuse, but connections are kept": ({"tcp_tw_reuse": 0}, {}, {}, {}),
    "no keep-alive and no bound on its rate": ({}, {}, {"keep_alive": False}, {"new_connections": "bounds"}),
    "few ports by the profile": (
        {}, {}, {"users": 500, "keep_alive": False, "wait_s": 0.3, "limits": FEW_PORTS}, {"new_connections": "bounds"},
    ),
    "a short accept queue": ({"somaxconn": 50}, {}, {}, {"accept_queue": "bounds"}),
    "a short queue for half-open ones": ({"tcp_max_syn_backlog": 64}, {}, {}, {"syn_backlog": "bounds"}),
    "conntrack nearly full": ({"conntrack_max": 10_000}, {"conntrack": 9_000}, {}, {"conntrack": "bounds"}),
    "two cores for both": ({"cpus": 2}, {"cpus_usable": 2}, {}, {"cores": "bounds"}),
    "two cores, each its own": ({"cpus": 2}, {"cpus_usable": 2}, {"limits": separate_cores((0,), (1,))}, {}),
    "two cores, but the same": ({"cpus": 2}, {"cpus_usable": 2}, {"limits": separate_cores((0,), (0,))}, {"cores": "bounds"}),
    "two cores for the generator alone": (
        {"cpus": 2}, {"cpus_usable": 2}, {"starts_target": False}, {"fds_target": "unavailable"},
    ),
    "affinity below what the machine has": ({}, {"cpus_usable": 1}, {}, {"cores": "bounds"}),
    "a quota": ({"cgroup_cpus": 1.5}, {}, {}, {"cgroup_cpus": "bounds"}),
    "a quota of all cores": ({"cgroup_cpus": 8.0}, {}, {}, {}),
    "little memory by the cgroup": ({"cgroup_memory_bytes": 256 << 20}, {}, {}, {"memory": "bounds"}),
    "no pressure readings": ({}, {"pressure_readable": False}, {}, {"pressure": "missing"}),
    "no namespaces": ({}, {"namespace_refused": "not here"}, {}, {"namespaces": "missing"}),
    "a program that is not there": ({}, {"programs": {"go": None, "nginx": "/usr/sbin/nginx"}}, {}, {"programs": "missing"}),
}  # fmt: skip


@pytest.mark.parametrize(("host", "machine", "needs", "expected"), CASES.values(), ids=CASES)
def test_only_limits_below_the_request_are_reported_as_limits(
    host: dict[str, Any], machine: dict[str, Any], needs: dict[str, Any], expected: dict[str, str]
) -> None:
    states = {name: check.state for name, check in found(host, machine, needs).items() if check.state != "ok"}
    assert states == expected


def test_every_limit_says_where_and_how_to_raise_it() -> None:
    for host, machine, needs, _ in CASES.values():
        for check in found(host, machine, needs).values():
            if check.state in ("bounds", "missing"):
                assert check.bounds_at and check.lift, check


@pytest.mark.parametrize(
    ("reuse", "delay_ms", "ceiling_per_s"), [(0, 1000, 470.5), (1, 1000, 28_232.0), (2, None, 28_232.0), (1, 100, 282_320.0)]
)
def test_the_ceiling_of_new_connections_is_ports_over_the_time_that_they_are_held(
    reuse: int, delay_ms: int | None, ceiling_per_s: float
) -> None:
    check = found({"tcp_tw_reuse": reuse}, {"tcp_tw_reuse_delay_ms": delay_ms}, {})["new_connections"]
    assert check.readings["ceiling_per_s"] == ceiling_per_s


def test_limits_of_the_profile_replace_the_hosts() -> None:
    rows = found({"ports_reserved": 500}, {}, {"limits": FEW_PORTS})
    assert rows["ports"].readings["ports_capacity"] == 2_000
    assert rows["ports"].lift.startswith("--limit network.ip_local_port_range=")
    assert rows["new_connections"].readings["ceiling_per_s"] == 33.3


def test_a_reading_that_was_not_taken_is_unavailable_and_never_zero() -> None:
    rows = {check.id: check for check in checks(Machine(host=HostFacts()), Needs())}
    unread = {name for name, check in rows.items() if check.state == "unavailable"}
    assert unread == {
        "fds_generator", "fds_target", "fds_system", "ports", "new_connections", "accept_queue", "syn_backlog", "cores", "memory",
        "pressure", "other_users", "neighbours", "kept_connections",
    }  # fmt: skip
    for name in unread:
        assert rows[name].here == "unavailable"
        assert 0 not in rows[name].readings.values(), rows[name]


def test_other_processes_are_reported_with_their_share_and_their_names() -> None:
    others = NeighboursReading(cpu_ratio=1.6, processes={"cc1plus": 1.31, "chrome": 0.24})
    reported = found({}, {"neighbours": others, "cpus_usable": 2}, {})["neighbours"]
    assert reported.here == "1.60 of 2 cores in use now: cc1plus 1.31, chrome 0.24"
    assert reported.bounds_at == "0.4 cores left for generator and target"
    assert reported.readings == {"others_cpu_ratio": 1.6, "others": "cc1plus 1.31, chrome 0.24"}
