"""The TCP probe: the growth of the kernel's TCP counters between two reads, and the accept queue of a listener."""

from __future__ import annotations

import socket
import sys

import pytest

from capexplorer.read.tcp import TcpProbe

from .network_namespace import run_in_namespace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc/net is Linux")


def test_the_first_read_has_socket_totals_and_no_counter_growth() -> None:
    probe = TcpProbe()
    reading = probe.read()
    probe.close()
    assert reading.grown("active_opens") is None
    assert reading.grown("listen_overflows") is None
    assert reading.sockets_in_use is not None


def test_opened_connections_and_sockets_are_counted_exactly() -> None:
    reported = run_in_namespace(
        """
from capexplorer.read.tcp import TcpProbe
probe = TcpProbe()
probe.read()
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
report({name: getattr(reading, name) for name in reading.__struct_fields__})
"""
    )
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
from capexplorer.read.tcp import TcpProbe
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
from capexplorer.read.tcp import TcpProbe
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
from capexplorer.read.tcp import TcpProbe
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
from capexplorer.read.tcp import TcpProbe
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
from capexplorer.read.tcp import TcpProbe
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


def test_the_accept_queue_of_a_port_is_read_with_its_backlog() -> None:
    probe = TcpProbe()
    with socket.create_server(("127.0.0.1", 0), backlog=7) as server:
        with socket.create_connection(server.getsockname()), socket.create_connection(server.getsockname()):
            assert probe.listen_queue(server.getsockname()[1]) == (2, 7)
    probe.close()
