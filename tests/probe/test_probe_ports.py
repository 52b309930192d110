"""Ephemeral ports: what counts as used is what a test opened, no more and no less."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from capexplorer.probe.ports import Range, ephemeral_range, exhausted_in_s, range_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux")

InNamespace = Callable[[str], Any]

_PROBE = """
from capexplorer.probe.ports import PortsProbe
def fields(reading):
    return {name: getattr(reading, name) for name in reading.__struct_fields__}
def read():
    probe = PortsProbe()
    return fields(probe.read(1.0))
"""


def test_capacity_is_the_range_less_reserved_ports_inside_it() -> None:
    assert range_of(100, 199, []).capacity == 100
    assert range_of(100, 199, [(150, 199), (1, 99), (200, 300)]).capacity == 50
    assert range_of(100, 199, [(90, 109), (105, 120), (110, 110)]) == Range(100, 199, 21)
    assert range_of(100, 199, [(1, 65535)]).capacity == 0


def test_capacity_of_this_machine_is_as_the_kernel_says() -> None:
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first, last = map(int, file.read().split())
    ports = ephemeral_range()
    assert ports is not None
    assert (ports.first, ports.last) == (first, last)
    assert 0 < ports.capacity <= last - first + 1


TEN_AND_TWENTY_FIVE = """
other = listener
held = [pair(('127.0.0.1', 9000)) for _ in range(10)]
listener = socket.create_server(('127.0.0.2', 9001), backlog=64)
held += [pair(('127.0.0.2', 9001)) for _ in range(25)]
"""
"""Connections to two destinations."""


def test_client_sockets_are_used_ports_and_their_server_ends_are_not(in_namespace: InNamespace) -> None:
    reported = in_namespace(_PROBE + "held = [pair(('127.0.0.1', 9000)) for _ in range(60)]\ntell(read())")
    assert reported["used"] == 60
    assert reported["established"] == 60
    assert reported["time_wait"] == 0
    assert reported["by_state"] == {}, "which names other states only"
    assert reported["destination"] == "127.0.0.1:9000"


def test_time_wait_counts_where_the_client_closed_first_and_not_where_the_server_did(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        _PROBE
        + """
for first in [0] * 30 + [1] * 50:
    ends = pair(('127.0.0.1', 9000))
    ends[first].close()
    ends[1 - first].close()
await_time_wait(80)
tell(read())
"""
    )
    assert reported["used"] == reported["time_wait"] == 30
    assert reported["established"] == 0


def test_a_neighbours_ports_are_not_those_of_the_session(in_namespace: InNamespace) -> None:
    """A busy neighbour's connections were shown, and counted against a session with five users."""
    reported = in_namespace(
        _PROBE
        + TEN_AND_TWENTY_FIVE
        + """
probe = PortsProbe()
probe.watch(9000)
tell(fields(probe.read(1.0)))
"""
    )
    assert (reported["used"], reported["destination"]) == (10, "127.0.0.1:9000")


def test_used_is_that_of_the_fullest_destination(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        _PROBE
        + TEN_AND_TWENTY_FIVE
        + """
tell(read())
"""
    )
    assert (reported["used"], reported["destination"]) == (25, "127.0.0.2:9001")


def test_sources_have_ports_of_their_own(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        _PROBE
        + """
held = []
for source in range(2, 5):
    for _ in range(7):
        client = socket.socket()
        client.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        client.bind((f'127.0.0.{source}', 0))
        client.connect(('127.0.0.1', 9000))
        held += [client, listener.accept()[0]]
tell(read())
"""
    )
    assert reported["used"] == 7


def test_ipv6_and_mapped_ipv4_count_too(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        _PROBE
        + """
held = [pair(('127.0.0.1', 9000)) for _ in range(4)]
held += [pair(('::ffff:127.0.0.1', 9000), socket.AF_INET6) for _ in range(3)]
mapped = read()
listener = socket.create_server(('::1', 9002), family=socket.AF_INET6, backlog=64)
held += [pair(('::1', 9002), socket.AF_INET6) for _ in range(12)]
for _ in range(5):
    client, server = pair(('::1', 9002), socket.AF_INET6)
    client.close()
    server.close()
await_time_wait(5)
tell([mapped, read()])
"""
    )
    mapped, six = reported
    assert (mapped["used"], mapped["destination"]) == (7, "127.0.0.1:9000")
    assert (six["used"], six["time_wait"], six["destination"]) == (17, 5, "[::1]:9002")


def test_connections_to_a_listener_inside_the_ephemeral_range_are_not_client_ends(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        _PROBE
        + """
sysctl('ipv4/ip_local_port_range', '40000 40999')
listeners = []
for port in (40000, 40500, 40501, 40999):  # before a connection takes one of these ports
    listeners.append(socket.create_server(('127.0.0.1', port), backlog=64))
connections = []
for listener in listeners:
    port = listener.getsockname()[1]
    connections += [pair(('127.0.0.1', port)) for _ in range(port % 7 + 1)]
tell(read())
"""
    )
    assert reported["used"] == max(port % 7 + 1 for port in (40000, 40500, 40501, 40999))


def test_a_small_range_runs_out_exactly_at_its_capacity(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        _PROBE
        + """
sysctl('ipv4/ip_local_port_range', '40000 40099')
sysctl('ipv4/ip_local_reserved_ports', '40050-40099,50000')
probe = PortsProbe()
readings = [fields(probe.read(1.0))]
held = []
error = None
while error is None and len(held) < 200:
    try:
        held.append(pair(('127.0.0.1', 9000)))
    except OSError as failed:
        error = failed.errno
readings.append(fields(probe.read(1.0, dump_now=True)))
tell([readings, len(held), error])
"""
    )
    (before, after), held, error = reported
    assert (held, error) == (50, 99)
    assert (before["capacity"], before["used"], before["burn_rate_per_s"]) == (50, 0, None)
    assert (after["capacity"], after["used"], after["burn_rate_per_s"], after["exhausted_in_s"]) == (50, 50, 50.0, 0.0)


def test_between_two_counts_time_wait_follows_the_kernels_total(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        _PROBE
        + """
total = 0
def churn(count):
    global total
    for _ in range(count):
        ends = pair(('127.0.0.1', 9000))
        ends[0].close()
        ends[1].close()
    total += count
    await_time_wait(total)
from capexplorer.probe.sockdiag import TIME_WAIT, SockDiag
counted, count = [], SockDiag.count
def noted(diag, states, *ports):
    found = count(diag, states, *ports)
    if TIME_WAIT in states:
        counted.append(found.total())
    return found
SockDiag.count = noted
sysctl('ipv4/ip_local_port_range', '1024 65535')
churn(9000)
probe = PortsProbe()
readings = [fields(probe.read(1.0))]
churn(1000)
readings.append(fields(probe.read(1.0)))
readings.append(fields(probe.read(1.0)))
churn(4000)
readings.append(fields(probe.read(0.1)))
tell([readings, counted])
"""
    )
    readings, counted = reported
    assert [reading["used"] for reading in readings] == [9000, 10000, 10000, 14000]
    assert counted == [9000, 10000, 14000], "at 8,000 rows a second, and at once when the total leaps"


def test_the_burn_rate_is_smoothed_over_ten_seconds_and_zero_without_growth(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        _PROBE
        + """
probe = PortsProbe()
held = []
rates = []
for tick in range(24):
    if tick < 12:
        held += [pair(('127.0.0.1', 9000)) for _ in range(3)]
    reading = probe.read(1.0)
    rates.append([reading.burn_rate_per_s, reading.exhausted_in_s is None])
tell(rates)
"""
    )
    assert reported[0] == [None, True]
    assert reported[11] == [3.0, False]
    assert reported[23] == [0.0, True]


@pytest.mark.parametrize(
    ("used", "time_wait", "burn", "expected"),
    [
        (1000, 0, 100.0, 270.0),  # held connections go on to the end
        (1000, 1000, 600.0, 45.0),  # 600 a second fill 28,000 within the 60 s that TIME_WAIT lasts
        (1000, 1000, 100.0, None),  # 100 a second level off at 6,000
        (20000, 20000, 50.0, 160.0),  # more TIME_WAIT than 50 a second make: the real rate is higher, so no promise
        (28000, 28000, 10.0, 0.0),
        (1000, 1000, 0.0, None),
        (1000, 1000, -5.0, None),
        (1000, 1000, None, None),
    ],
)
def test_exhaustion_is_predicted_only_if_ports_grow_faster_than_time_wait_frees_them(
    used: int, time_wait: int, burn: float | None, expected: float | None
) -> None:
    assert exhausted_in_s(28000, used, time_wait, burn) == expected
