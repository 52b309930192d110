"""TCP counters as growth, and the accept queue."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest

from capexplorer.probe.tcp import TcpProbe

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc/net is Linux")

InNamespace = Callable[[str], Any]


def test_the_first_read_has_totals_and_no_growth() -> None:
    probe = TcpProbe()
    reading = probe.read()
    probe.close()
    assert reading.grown("active_opens") is None
    assert reading.grown("listen_overflows") is None
    assert reading.sockets_in_use is not None


def test_opened_connections_and_sockets_are_counted_exactly(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        """
from capexplorer.probe.tcp import TcpProbe
probe = TcpProbe()
probe.read()
held = [pair(('127.0.0.1', 9000)) for _ in range(11)]
refused = socket.socket()
try:
    refused.connect(('127.0.0.1', 9001))
except ConnectionRefusedError:
    pass
for ends in held[:4]:
    ends[0].close()
    ends[1].close()
await_time_wait(4)
reading = probe.read()
tell({name: getattr(reading, name) for name in reading.__struct_fields__})
"""
    )
    assert reported["active_opens"] == 12
    assert reported["passive_opens"] == 11
    assert reported["attempt_fails"] == 1
    assert reported["segments_sent"] >= 11 * 3
    assert reported["resets_of_established"] == 0
    assert reported["sockets_time_wait"] == 4
    assert reported["sockets_in_use"] == 1 + 2 * 7
    assert reported["listen_overflows"] == 0


def test_an_unaccepting_listener_fills_its_queue_and_overflows(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        """
from capexplorer.probe.tcp import TcpProbe
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
tell([*queues, reading.listen_overflows, reading.listen_drops])
"""
    )
    queue, idle, nobody, overflows, drops = reported
    assert queue == [6, 5]
    assert idle == [0, 64]
    assert nobody is None
    assert overflows == drops > 0


def test_drops_and_retransmissions_of_the_target_exclude_those_of_neighbours(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        """
from capexplorer.probe.tcp import TcpProbe
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
client, server = pair(('127.0.0.1', 9000))
client.send(b'.')
time.sleep(1.2)
own, other = target.read().target, neighbour.read().target
tell([first, own.segments_sent, own.segments_retransmitted, own.listen_drops, other.segments_retransmitted, other.listen_drops])
"""
    )
    first, sent, retransmitted, drops, of_neighbour, dropped_by_neighbour = reported
    assert first == [None, None]
    assert sent == 4, "SYN, ACK, one byte and its ACK: a SYN-ACK is of no socket yet"
    assert (retransmitted, drops) == (0, 0)
    assert of_neighbour >= 6 and dropped_by_neighbour >= 12, "six do not fit, and each asks again after a second"


def test_duplicate_deliveries_do_not_count_as_loss(in_namespace: InNamespace) -> None:
    """Late acknowledgements make tail loss probes: two small segments, and a reader that answers after 30 ms."""
    reported = in_namespace(
        """
from capexplorer.probe.tcp import TcpProbe
probe = TcpProbe()
probe.watch(None, 9000)
client, server = pair(('127.0.0.1', 9000))
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
time.sleep(0.1)
again = struct.unpack_from('=I', client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 100)[0]
tell([again, probe.read().target.segments_retransmitted])
"""
    )
    again, lost = reported
    assert again > 0
    assert lost == 0


def test_half_open_connections_are_those_to_the_target(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        """
from capexplorer.probe.tcp import TcpProbe
target, neighbour = TcpProbe(), TcpProbe()
target.watch(None, 9000)
neighbour.watch(None, 9001)
waits_for_data = socket.create_server(('127.0.0.1', 9001))
waits_for_data.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 30)
for probe in (target, neighbour):
    probe.read()
clients = [socket.create_connection(('127.0.0.1', 9001)) for _ in range(3)]
tell([probe.read().target.half_open for probe in (target, neighbour)])
"""
    )
    assert reported == [0, 3]


def test_a_target_in_another_namespace_is_read_there(in_namespace: InNamespace) -> None:
    reported = in_namespace(
        """
from capexplorer.probe.tcp import TcpProbe
ready, to_child = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    assert ctypes.CDLL(None).unshare(NEW_NET) == 0
    os.write(ready[1], b'.')
    os.read(to_child[0], 1)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x41))
    there = socket.create_server(('127.0.0.1', 9000))
    clients = [socket.create_connection(('127.0.0.1', 9000)) for _ in range(3)]
    os.write(ready[1], b'.')
    os.read(to_child[0], 1)
    os._exit(0)
os.read(ready[0], 1)
probe = TcpProbe()
probe.watch(child)
probe.read()
held = [pair(('127.0.0.1', 9000)) for _ in range(5)]
os.write(to_child[1], b'.')
os.read(ready[0], 1)
reading = probe.read()
tell([reading.active_opens, reading.passive_opens, probe.listen_queue(9000)])
os.write(to_child[1], b'.')
os.waitpid(child, 0)
"""
    )
    assert reported == [5, 3, [3, None]], "how many may wait is not reported there"


def test_connections_that_wait_on_a_real_port_are_counted_with_its_backlog() -> None:
    probe = TcpProbe()
    with socket.create_server(("127.0.0.1", 0), backlog=7) as server:
        with socket.create_connection(server.getsockname()), socket.create_connection(server.getsockname()):
            assert probe.listen_queue(server.getsockname()[1]) == (2, 7)
    probe.close()
