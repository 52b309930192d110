"""The client of the kernel's sock_diag interface (netlink): its encoding of requests and decoding of rows, and real sockets."""

from __future__ import annotations

import itertools
import random
import socket
import struct
import sys
from collections import Counter

import pytest

from capexplorer.read.sockdiag import ESTABLISHED, TIME_WAIT, Key, Listener, SockDiag, count, listeners, ports_between, request

linux = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux")

LISTEN = 10
"""The kernel's number of the state (TCP_LISTEN)."""

Fields = tuple[int, int, str, int, str, int]
"""Of one socket: address family, state, source address, source port, destination address, destination port."""

ROWS: list[Fields] = [
    (socket.AF_INET, TIME_WAIT, "127.0.0.1", 40001, "127.0.0.1", 9000),
    (socket.AF_INET, ESTABLISHED, "10.1.2.3", 40002, "10.9.8.7", 80),
    (socket.AF_INET6, TIME_WAIT, "::1", 40003, "::1", 65535),
    (socket.AF_INET6, ESTABLISHED, "2001:db8::1", 40004, "2001:db8::2", 443),
]


def row(family: int, state: int, source: str, sport: int, address: str, dport: int, *, attributes: int = 0, **more: int) -> bytes:
    """One row as the kernel writes it: struct nlmsghdr, struct inet_diag_msg, and a number of zero bytes as its attributes.

    `more`: queue, backlog and inode of a listener.
    """
    body = struct.pack("=BBBB", family, state, 0, 0) + struct.pack("!HH", sport, dport)
    body += socket.inet_pton(family, source).ljust(16, b"\0") + socket.inet_pton(family, address).ljust(16, b"\0")
    body += struct.pack("=I8s", 0, b"cookie!!")
    body += struct.pack("=IIIII", 0, more.get("queue", 0), more.get("backlog", 0), 0, more.get("inode", 0))
    body += bytes(attributes)
    return struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body


def key(family: int, state: int, source: str, sport: int, address: str, dport: int) -> Key:
    """The key under which a row is counted: without its source port."""
    raw = [socket.inet_pton(family, each).ljust(16, b"\0") for each in (source, address)]
    return family, state, struct.pack("!H", dport), raw[0], raw[1]


@pytest.mark.parametrize(
    "attribute_lengths", [(0,), (36,), (0, 8, 16)], ids=["rows of one length", "attributes", "three lengths"]
)
def test_all_rows_of_a_dump_are_counted(attribute_lengths: tuple[int, ...]) -> None:
    chosen = random.Random(7).choices(ROWS, k=300)
    lengths = itertools.cycle(attribute_lengths)
    dump = b"".join(row(*fields, attributes=next(lengths)) for fields in chosen)
    counts: Counter[Key] = Counter()
    count(memoryview(dump), counts)
    assert counts == Counter(key(*fields) for fields in chosen)


@pytest.mark.parametrize(("attributes_of_first", "attributes_of_rest"), [(8, 0), (0, 8), (88, 0)])
def test_rows_are_counted_if_the_first_one_differs_in_length(attributes_of_first: int, attributes_of_rest: int) -> None:
    counts: Counter[Key] = Counter()
    dump = row(*ROWS[0], attributes=attributes_of_first) + row(*ROWS[1], attributes=attributes_of_rest) * 5
    count(memoryview(dump), counts)
    assert counts == {key(*ROWS[0]): 1, key(*ROWS[1]): 5}


def test_listeners_are_read_with_port_queue_backlog_and_inode() -> None:
    dump = row(socket.AF_INET, LISTEN, "0.0.0.0", 8080, "0.0.0.0", 0, queue=6, backlog=5, inode=77)
    dump += row(socket.AF_INET6, LISTEN, "::", 80, "::", 0, queue=0, backlog=4096, inode=78, attributes=24)
    assert list(listeners(memoryview(dump))) == [Listener(8080, 6, 5, 77), Listener(80, 0, 4096, 78)]


def test_a_request_has_the_port_and_a_mask_of_the_states() -> None:
    body = request([ESTABLISHED, TIME_WAIT], port=8080, local_ports=ports_between(1, 2))
    [port] = struct.unpack_from("!H", body, 4)
    assert port == 8080
    [states] = struct.unpack_from("=I", body, 52)
    assert states == 1 << ESTABLISHED | 1 << TIME_WAIT


def kernel_accepts(program: bytes, local_port: int) -> bool:
    """Whether a port filter accepts a local port: the algorithm of the kernel's inet_diag_bc_run."""
    left = len(program)
    while left > 0:
        code, yes, no, _, _, bound = struct.unpack_from("=BBHBBH", program, len(program) - left)
        left -= yes if (local_port >= bound if code == 2 else local_port <= bound) else no
    return left == 0


@pytest.mark.parametrize(
    "exceptions", [(), (100,), (199,), (198, 199), (150, 151, 153), (1, 99, 200, 65535), tuple(range(110, 190))]
)
def test_a_port_filter_accepts_the_range_without_the_exceptions(exceptions: tuple[int, ...]) -> None:
    program = ports_between(100, 199, exceptions)
    accepted = {port for port in range(0, 65536) if kernel_accepts(program, port)}
    assert accepted == set(range(100, 200)) - set(exceptions)
    highest = ports_between(65530, 65535, (65535, 65532))
    assert [port for port in range(65520, 65536) if kernel_accepts(highest, port)] == [65530, 65531, 65533, 65534]


@linux
def test_real_connections_and_the_queue_of_their_listener_are_counted() -> None:
    server = socket.create_server(("127.0.0.78", 0))  # an address that no other test uses
    clients = [socket.create_connection(server.getsockname()) for _ in range(9)]
    diag = SockDiag()
    try:
        counts = diag.count([ESTABLISHED])
        assert counts is not None
        address, port = server.getsockname()
        to_server = {
            destination_port: connections
            for (_, _, destination_port, _, destination), connections in counts.items()
            if destination.startswith(socket.inet_aton(address))
        }
        assert to_server == {struct.pack("!H", port): 9}
        found = diag.listeners(port)
        assert found is not None
        assert [listener.queue for listener in found] == [9]
        assert diag.count([ESTABLISHED], b"\xff" * 8) is None, "the kernel refuses an invalid filter"
        assert diag.count([ESTABLISHED], ports_between(1, 65535)) is not None, "and answers the next request"
    finally:
        diag.close()
        assert diag.count([ESTABLISHED]) is None and diag.listeners() is None, "closed"
        for each in (*clients, server):
            each.close()
