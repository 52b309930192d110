"""The ports probe counts the ephemeral ports that connections use, exactly, and predicts when they run out."""

from __future__ import annotations

import errno
import sys

import pytest

from capexplorer.read.ports import Range, ephemeral_range, exhausted_in_s, range_of

from .network_namespace import run_in_namespace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux")

_READ_PORTS = """
from capexplorer.read.ports import PortsProbe
def fields(reading):
    return {name: getattr(reading, name) for name in reading.__struct_fields__}
def read():
    return fields(PortsProbe().read(1.0))
"""
"""For the code of a test in the namespace."""

_CONNECTIONS_TO_TWO_DESTINATIONS = """
first_listener = listener
connections = [connect(('127.0.0.1', 9000)) for _ in range(10)]
listener = socket.create_server(('127.0.0.2', 9001), backlog=64)
connections += [connect(('127.0.0.2', 9001)) for _ in range(25)]
"""
"""10 connections to one destination, and 25 to another."""


def test_capacity_is_the_port_range_minus_its_reserved_ports() -> None:
    assert range_of(100, 199, []).capacity == 100
    assert range_of(100, 199, [(150, 199), (1, 99), (200, 300)]).capacity == 50
    assert range_of(100, 199, [(90, 109), (105, 120), (110, 110)]) == Range(100, 199, 21)
    assert range_of(100, 199, [(1, 65535)]).capacity == 0


def test_the_range_of_this_machine_is_that_of_ip_local_port_range() -> None:
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first, last = map(int, file.read().split())
    ports = ephemeral_range()
    assert ports is not None
    assert (ports.first, ports.last) == (first, last)
    assert 0 < ports.capacity <= last - first + 1


def test_client_sockets_count_as_used_ports_and_server_sockets_do_not() -> None:
    reported = run_in_namespace(_READ_PORTS + "connections = [connect(('127.0.0.1', 9000)) for _ in range(60)]\nreport(read())")
    assert reported["used"] == 60
    assert reported["established"] == 60
    assert reported["time_wait"] == 0
    assert reported["by_state"] == {}, "it counts sockets in states other than ESTABLISHED and TIME_WAIT"
    assert reported["destination"] == "127.0.0.1:9000"


def test_time_wait_sockets_count_if_the_client_closed_first() -> None:
    reported = run_in_namespace(
        _READ_PORTS
        + """
for client_closes_first in [True] * 30 + [False] * 50:
    client, server = connect(('127.0.0.1', 9000))
    for end in (client, server) if client_closes_first else (server, client):
        end.close()
wait_for_time_wait_sockets(80)
report(read())
"""
    )
    assert reported["used"] == reported["time_wait"] == 30
    assert reported["established"] == 0


def test_only_connections_to_the_watched_port_are_counted() -> None:
    """Without this rule, connections of another program were counted in a session of five users."""
    reported = run_in_namespace(
        _READ_PORTS
        + _CONNECTIONS_TO_TWO_DESTINATIONS
        + """
probe = PortsProbe()
probe.watch(9000)
report(fields(probe.read(1.0)))
"""
    )
    assert (reported["used"], reported["destination"]) == (10, "127.0.0.1:9000")


def test_used_ports_are_those_of_the_destination_with_the_most_connections() -> None:
    reported = run_in_namespace(_READ_PORTS + _CONNECTIONS_TO_TWO_DESTINATIONS + "report(read())")
    assert (reported["used"], reported["destination"]) == (25, "127.0.0.2:9001")


def test_used_ports_are_counted_for_each_source_address_alone() -> None:
    reported = run_in_namespace(
        _READ_PORTS
        + """
connections = []
for source in range(2, 5):
    for _ in range(7):
        client = socket.socket()
        client.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        client.bind((f'127.0.0.{source}', 0))
        client.connect(('127.0.0.1', 9000))
        connections += [client, listener.accept()[0]]
report(read())
"""
    )
    assert reported["used"] == 7, "the port range applies to each of the three source addresses"


def test_connections_over_ipv6_and_ipv4_mapped_addresses_are_counted() -> None:
    reported = run_in_namespace(
        _READ_PORTS
        + """
connections = [connect(('127.0.0.1', 9000)) for _ in range(4)]
connections += [connect(('::ffff:127.0.0.1', 9000), socket.AF_INET6) for _ in range(3)]
with_mapped = read()
listener = socket.create_server(('::1', 9002), family=socket.AF_INET6, backlog=64)
connections += [connect(('::1', 9002), socket.AF_INET6) for _ in range(12)]
for _ in range(5):
    client, server = connect(('::1', 9002), socket.AF_INET6)
    client.close()
    server.close()
wait_for_time_wait_sockets(5)
report([with_mapped, read()])
"""
    )
    with_mapped, with_ipv6 = reported
    assert (with_mapped["used"], with_mapped["destination"]) == (7, "127.0.0.1:9000")
    assert (with_ipv6["used"], with_ipv6["time_wait"], with_ipv6["destination"]) == (17, 5, "[::1]:9002")


def test_server_sockets_inside_the_ephemeral_range_do_not_count_as_used_ports() -> None:
    reported = run_in_namespace(
        _READ_PORTS
        + """
sysctl('ipv4/ip_local_port_range', '40000 40999')
listeners = []
for port in (40000, 40500, 40501, 40999):  # opened first, since a connection could take one of these ports
    listeners.append(socket.create_server(('127.0.0.1', port), backlog=64))
connections = []
for listener in listeners:
    port = listener.getsockname()[1]
    connections += [connect(('127.0.0.1', port)) for _ in range(port % 7 + 1)]
report(read())
"""
    )
    assert reported["used"] == max(port % 7 + 1 for port in (40000, 40500, 40501, 40999))


def test_connections_fail_when_used_ports_reach_the_capacity() -> None:
    reported = run_in_namespace(
        _READ_PORTS
        + """
sysctl('ipv4/ip_local_port_range', '40000 40099')
sysctl('ipv4/ip_local_reserved_ports', '40050-40099,50000')
probe = PortsProbe()
readings = [fields(probe.read(1.0))]
connections = []
error = None
while error is None and len(connections) < 200:
    try:
        connections.append(connect(('127.0.0.1', 9000)))
    except OSError as failed:
        error = failed.errno
readings.append(fields(probe.read(1.0, dump_now=True)))
report([readings, len(connections), error])
"""
    )
    (before, after), connections, error = reported
    assert (connections, error) == (50, errno.EADDRNOTAVAIL)
    assert (before["capacity"], before["used"], before["burn_rate_per_s"]) == (50, 0, None)
    assert (after["capacity"], after["used"], after["burn_rate_per_s"], after["exhausted_in_s"]) == (50, 50, 50.0, 0.0)


def test_time_wait_is_counted_again_only_when_due_and_follows_the_kernels_total_between_counts() -> None:
    reported = run_in_namespace(
        _READ_PORTS
        + """
total = 0
def open_and_close(count):
    global total
    for _ in range(count):
        client, server = connect(('127.0.0.1', 9000))
        client.close()
        server.close()
    total += count
    wait_for_time_wait_sockets(total)
from capexplorer.read.sockdiag import TIME_WAIT, SockDiag
time_wait_counts, original_count = [], SockDiag.count
def recording_count(diag, states, *ports):
    found = original_count(diag, states, *ports)
    if TIME_WAIT in states:
        time_wait_counts.append(found.total())
    return found
SockDiag.count = recording_count
sysctl('ipv4/ip_local_port_range', '1024 65535')
open_and_close(9000)
probe = PortsProbe()
readings = [fields(probe.read(1.0))]
open_and_close(1000)
readings.append(fields(probe.read(1.0)))
readings.append(fields(probe.read(1.0)))
open_and_close(4000)
readings.append(fields(probe.read(0.1)))
report([readings, time_wait_counts])
"""
    )
    readings, time_wait_counts = reported
    assert [reading["used"] for reading in readings] == [9000, 10000, 10000, 14000]
    assert time_wait_counts == [9000, 10000, 14000], "counted at 8,000 rows a second on average, and at once after a large growth"


def test_the_burn_rate_is_smoothed_over_ten_seconds_and_zero_without_growth() -> None:
    reported = run_in_namespace(
        _READ_PORTS
        + """
probe = PortsProbe()
connections = []
rates = []
for tick in range(24):
    if tick < 12:
        connections += [connect(('127.0.0.1', 9000)) for _ in range(3)]
    reading = probe.read(1.0)
    rates.append([reading.burn_rate_per_s, reading.exhausted_in_s is None])
report(rates)
"""
    )
    assert reported[0] == [None, True], "the first read has no rate"
    assert reported[11] == [3.0, False], "three connections a second for twelve seconds"
    assert reported[23] == [0.0, True], "no new connections for twelve seconds"


@pytest.mark.parametrize(
    ("used", "time_wait", "burn", "expected"),
    [
        (1000, 0, 100.0, 270.0),  # open connections keep their ports: the other 27,000 last 270 s
        (1000, 1000, 600.0, 45.0),  # 600 a second fill 28,000 within the 60 s that TIME_WAIT lasts
        (1000, 1000, 100.0, None),  # 100 a second level off at 6,000
        (20000, 20000, 50.0, 160.0),  # 50 a second make only 3,000 TIME_WAIT sockets: the real rate is higher, so they run out
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
