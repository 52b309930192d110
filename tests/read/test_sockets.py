"""Ports, TCP counters and accept queues are those of the kernel's tables, counted exactly in a network namespace of the test."""

from __future__ import annotations

import errno
import sys

import pytest
from programs import needs

from capexplorer.read.ports import Range, ephemeral_range, exhausted_in_s, range_of

from .network_namespace import run_in_namespace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux")


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


USED: dict[str, tuple[str, dict[str, object]]] = {  # what is done in the namespace, to fields of the reading
    "client sockets, and those in TIME_WAIT if the client closed first": (
        """
kept = [connect(('127.0.0.1', 9000)) for _ in range(60)]
for client_closes_first in [True] * 30 + [False] * 50:
    client, server = connect(('127.0.0.1', 9000))
    for end in (client, server) if client_closes_first else (server, client):
        end.close()
wait_for_time_wait_sockets(80)
""",
        {"used": 90, "established": 60, "time_wait": 30, "by_state": {}, "destination": "127.0.0.1:9000"},
    ),
    "those of each source address alone": (
        """
kept = []
for source in range(2, 5):
    for _ in range(7):
        client = socket.socket()
        client.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        client.bind((f'127.0.0.{source}', 0))
        client.connect(('127.0.0.1', 9000))
        kept += [client, listener.accept()[0]]
""",
        {"used": 7},
    ),
    "IPv4-mapped addresses": (
        """
kept = [connect(('127.0.0.1', 9000)) for _ in range(4)]
kept += [connect(('::ffff:127.0.0.1', 9000), socket.AF_INET6) for _ in range(3)]
""",
        {"used": 7, "destination": "127.0.0.1:9000"},
    ),
    "IPv6, at the destination with the most": (
        """
kept = [connect(('127.0.0.1', 9000)) for _ in range(4)]
listener = socket.create_server(('::1', 9002), family=socket.AF_INET6, backlog=64)
kept += [connect(('::1', 9002), socket.AF_INET6) for _ in range(12)]
for _ in range(5):
    client, server = connect(('::1', 9002), socket.AF_INET6)
    client.close()
    server.close()
wait_for_time_wait_sockets(5)
""",
        {"used": 17, "time_wait": 5, "destination": "[::1]:9002"},
    ),
    "no listeners, although their ports are in the range": (
        """
sysctl('ipv4/ip_local_port_range', '40000 40999')
listeners = []
for port in (40000, 40500, 40501, 40999):  # opened first, since a connection could take one of these ports
    listeners.append(socket.create_server(('127.0.0.1', port), backlog=64))
kept = []
for listener in listeners:
    port = listener.getsockname()[1]
    kept += [connect(('127.0.0.1', port)) for _ in range(port % 7 + 1)]
""",
        {"used": max(port % 7 + 1 for port in (40000, 40500, 40501, 40999))},
    ),
}


@pytest.mark.parametrize("case", USED)
def test_used_ports_are(case: str) -> None:
    code, expected = USED[case]
    assert run_in_namespace(code + "report(used_ports())").items() >= expected.items()


def test_of_several_destinations_the_watched_port_counts_or_the_one_with_the_most_connections() -> None:
    """Without the first rule, connections of another program were counted in a session of five users."""
    reported = run_in_namespace(
        """
kept = [listener, *(connect(('127.0.0.1', 9000)) for _ in range(10))]
listener = socket.create_server(('127.0.0.2', 9001), backlog=64)
kept += [connect(('127.0.0.2', 9001)) for _ in range(25)]
probe = PortsProbe()
probe.watch(9000)
report([used_ports(), fields(probe.read(1.0))])
"""
    )
    assert [(each["used"], each["destination"]) for each in reported] == [(25, "127.0.0.2:9001"), (10, "127.0.0.1:9000")]


def test_connections_fail_when_used_ports_reach_the_capacity() -> None:
    reported = run_in_namespace(
        """
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
        """
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
        """
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


def test_opened_connections_and_sockets_are_counted_exactly() -> None:
    reported = run_in_namespace(
        """
probe = TcpProbe()
first = probe.read()
connections = [connect(('127.0.0.1', 9000)) for _ in range(11)]
refused = socket.socket()
try:
    refused.connect(('127.0.0.1', 9001))
except ConnectionRefusedError:
    pass
for client, server in connections[:4]:
    client.close()
    server.close()
wait_for_time_wait_sockets(4)
reading = probe.read()
report(fields(reading) | {"first": [first.grown("active_opens"), first.sockets_in_use]})
"""
    )
    assert reported["first"] == [None, 1], "no growth, and the listener"
    assert reported["active_opens"] == 12, "11 connections and the refused one"
    assert reported["passive_opens"] == 11
    assert reported["attempt_fails"] == 1
    assert reported["segments_sent"] >= 11 * 3, "at least SYN, SYN-ACK and ACK of each connection"
    assert reported["resets_of_established"] == 0
    assert reported["sockets_time_wait"] == 4
    assert reported["sockets_in_use"] == 1 + 2 * 7, "the listener, and both ends of the 7 open connections"
    assert reported["listen_overflows"] == 0


def test_an_accept_queue_beyond_its_backlog_is_reported_with_overflows_and_drops() -> None:
    reported = run_in_namespace(
        """
probe = TcpProbe()
probe.read()
full = socket.create_server(('127.0.0.1', 9001), backlog=5)
clients = []
for _ in range(12):
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(('127.0.0.1', 9001))
    clients.append(client)
reading = probe.read()
queues = [probe.listen_queue(port) for port in (9001, 9000, 9002)]
report([*queues, reading.listen_overflows, reading.listen_drops])
"""
    )
    full_queue, empty_queue, without_listener, overflows, drops = reported
    assert full_queue == [6, 5], "Linux queues one connection more than the backlog of 5"
    assert empty_queue == [0, 64]
    assert without_listener is None
    assert overflows == drops > 0


def test_drops_and_retransmissions_of_the_target_exclude_those_of_neighbours() -> None:
    reported = run_in_namespace(
        """
target, neighbour = TcpProbe(), TcpProbe()
target.watch(None, 9000)
neighbour.watch(None, 9001)
full = socket.create_server(('127.0.0.1', 9001), backlog=5)
first = [probe.read().target for probe in (target, neighbour)]
clients = []
for _ in range(12):
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(('127.0.0.1', 9001))
    clients.append(client)
client, server = connect(('127.0.0.1', 9000))
client.send(b'.')
time.sleep(1.2)  # a SYN without an answer is sent again after 1 s
counters = [target.read().target, neighbour.read().target]
report([first, [[each.segments_sent, each.segments_retransmitted, each.listen_drops] for each in counters]])
"""
    )
    first, ((target_sent, target_retransmitted, target_drops), (_, neighbour_retransmitted, neighbour_drops)) = reported
    assert first == [None, None], "the first read has no growth"
    assert target_sent == 4, "SYN, ACK, one byte and its ACK: the SYN-ACK is not sent by an established socket"
    assert target_retransmitted == 0
    assert target_drops == 0
    assert neighbour_retransmitted >= 6, "six connections do not fit, and each sends its SYN again after a second"
    assert neighbour_drops >= 12, "the first and the second SYN of six connections"


def test_segments_that_were_sent_twice_and_arrived_twice_do_not_count_as_lost() -> None:
    """A late acknowledgement causes a tail loss probe, which sends a segment again: here a reader answers after 30 ms."""
    reported = run_in_namespace(
        """
probe = TcpProbe()
probe.watch(None, 9000)
client, server = connect(('127.0.0.1', 9000))
for end in (client, server):
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
probe.read()
for _ in range(40):
    client.send(b'.')
    client.send(b'.')
    time.sleep(0.03)
    server.recv(2)
    server.send(b'.')
    client.recv(1)
time.sleep(0.1)  # the last acknowledgement
total_retrans = struct.unpack_from('=I', client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 100)[0]
report([total_retrans, probe.read().target.segments_retransmitted])
"""
    )
    retransmitted_by_kernel, retransmitted_by_probe = reported
    assert retransmitted_by_kernel > 0
    assert retransmitted_by_probe == 0


def test_half_open_connections_are_counted_for_the_watched_port_only() -> None:
    reported = run_in_namespace(
        """
target, neighbour = TcpProbe(), TcpProbe()
target.watch(None, 9000)
neighbour.watch(None, 9001)
waits_for_data = socket.create_server(('127.0.0.1', 9001))
waits_for_data.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 30)
for probe in (target, neighbour):
    probe.read()
clients = [socket.create_connection(('127.0.0.1', 9001)) for _ in range(3)]
report([probe.read().target.half_open for probe in (target, neighbour)])
"""
    )
    assert reported == [0, 3]


def test_counters_of_a_target_in_another_network_namespace_are_read_there() -> None:
    reported = run_in_namespace(
        """
ready, to_child = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    assert ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0
    os.write(ready[1], b'.')
    os.read(to_child[0], 1)
    set_loopback_up()
    listener_of_child = socket.create_server(('127.0.0.1', 9000))
    clients = [socket.create_connection(('127.0.0.1', 9000)) for _ in range(3)]
    os.write(ready[1], b'.')
    os.read(to_child[0], 1)
    os._exit(0)
os.read(ready[0], 1)
probe = TcpProbe()
probe.watch(child)
probe.read()
connections = [connect(('127.0.0.1', 9000)) for _ in range(5)]
os.write(to_child[1], b'.')
os.read(ready[0], 1)
reading = probe.read()
report([reading.active_opens, reading.passive_opens, *probe.listen_queue(9000)])
os.write(to_child[1], b'.')
os.waitpid(child, 0)
"""
    )
    active_opens, passive_opens, listen_queue, listen_backlog = reported
    assert active_opens == 5, "connections that the generator opened, in its own namespace"
    assert passive_opens == 3, "connections that the target received, in its namespace"
    assert listen_queue == 3
    assert listen_backlog is None, "the files of another namespace do not have it"


_SENDS_TO_A_READER = """
import subprocess, threading
for command in ("ip link set lo mtu 1500", QUEUE):
    if command and subprocess.run(command.split()).returncode:
        report(None)
        sys.exit()
probe = TcpProbe()
probe.watch(None, 9000)
client, server = connect(("127.0.0.1", 9000))
probe.read()
threading.Thread(target=server.sendall, args=(bytes(20_000_000),), daemon=True).start()
if READS:
    threading.Thread(target=lambda: [client.recv(1 << 16) for _ in iter(int, 1)], daemon=True).start()
time.sleep(0.5)
probe.read(0.5)
time.sleep(1)
reading = probe.read(1.0)
report([reading.sending_sockets, reading.unread_sockets, reading.unsent_bytes, reading.queued_bytes, reading.queue_bytes_per_s])
"""
"""A service sends 20 MB to a client that READS, or does not, by a QUEUE on loopback."""


@needs("tc", "ip")
def test_bytes_that_wait_for_a_slow_link_are_read_with_its_rate() -> None:
    queue = "tc qdisc add dev lo root tbf rate 20mbit burst 32kb limit 1mb"
    found = run_in_namespace(f"QUEUE, READS = {queue!r}, True" + _SENDS_TO_A_READER)
    if found is None:
        pytest.skip("this kernel has no tbf")
    sending, unread, unsent_bytes, queued_bytes, bytes_per_s = found
    assert sending > 0.5 > unread
    assert unsent_bytes > 100_000
    assert queued_bytes > 1_000
    assert bytes_per_s < 3_000_000, "20 Mbit/s are 2.5 MB/s; without the queue 20 MB take less than 0.1 s"


@needs("ip")
def test_bytes_for_a_program_that_does_not_read_do_not_wait_for_the_network() -> None:
    sending, unread, unsent_bytes, queued_bytes, _ = run_in_namespace("QUEUE, READS = '', False" + _SENDS_TO_A_READER)
    assert unread > 0.5 > sending
    assert unsent_bytes == queued_bytes == 0


def test_what_waits_for_the_network_is_unknown_without_the_targets_end() -> None:
    reading = run_in_namespace(
        """
probe = TcpProbe()
probe.watch(None, 9001)
probe.read()
report(fields(probe.read(1.0)) | {"target": None})
"""
    )
    assert reading["sending_sockets"] is reading["unsent_bytes"] is None
    assert reading["queued_bytes"] == 0
