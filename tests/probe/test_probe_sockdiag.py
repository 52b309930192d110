"""The netlink codec, as tables; and against the kernel with real sockets."""

from __future__ import annotations

import random
import socket
import struct
import sys
from collections import Counter

import pytest

from capexplorer.probe.sockdiag import (
    ESTABLISHED,
    TIME_WAIT,
    Key,
    Listener,
    SockDiag,
    count,
    listeners,
    ports_between,
    request,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux")

ROWS: list[tuple[int, int, str, int, str, int]] = [
    (socket.AF_INET, TIME_WAIT, "127.0.0.1", 40001, "127.0.0.1", 9000),
    (socket.AF_INET, ESTABLISHED, "10.1.2.3", 40002, "10.9.8.7", 80),
    (socket.AF_INET6, TIME_WAIT, "::1", 40003, "::1", 65535),
    (socket.AF_INET6, ESTABLISHED, "2001:db8::1", 40004, "2001:db8::2", 443),
]


def row(family: int, state: int, source: str, sport: int, address: str, dport: int, *, attributes: int = 0, **more: int) -> bytes:
    """One row as the kernel writes it (struct inet_diag_msg after struct nlmsghdr), with some bytes of attributes."""
    body = struct.pack("=BBBB", family, state, 0, 0) + struct.pack("!HH", sport, dport)
    body += socket.inet_pton(family, source).ljust(16, b"\0") + socket.inet_pton(family, address).ljust(16, b"\0")
    body += struct.pack("=I8s", 0, b"cookie!!")
    body += struct.pack("=IIIII", 0, more.get("queue", 0), more.get("backlog", 0), 0, more.get("inode", 0))
    body += bytes(attributes)
    return struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body


def key(family: int, state: int, source: str, sport: int, address: str, dport: int) -> Key:
    raw = [socket.inet_pton(family, each).ljust(16, b"\0") for each in (source, address)]
    return family, state, struct.pack("!H", dport), raw[0], raw[1]


@pytest.mark.parametrize("fields", ROWS)
@pytest.mark.parametrize("attributes", [0, 8, 36])
def test_a_row_of_a_dump_is_counted_under_its_key(fields: tuple[int, int, str, int, str, int], attributes: int) -> None:
    counts: Counter[Key] = Counter()
    count(memoryview(row(*fields, attributes=attributes)), counts)
    assert counts == {key(*fields): 1}


def test_rows_of_one_state_and_of_mixed_states_are_counted_correctly() -> None:
    chosen = random.Random(7).choices(ROWS, k=300)
    equal = b"".join(row(*fields) for fields in chosen)
    mixed = b"".join(row(*fields, attributes=8 * (index % 3)) for index, fields in enumerate(chosen))
    expected = Counter(key(*fields) for fields in chosen)
    for piece in (equal, mixed):
        counts: Counter[Key] = Counter()
        count(memoryview(piece), counts)
        assert counts == expected


def test_a_piece_whose_first_row_is_longer_or_shorter_than_the_rest_is_not_miscounted() -> None:
    for first, rest in ((8, 0), (0, 8), (88, 0)):
        counts: Counter[Key] = Counter()
        count(memoryview(row(*ROWS[0], attributes=first) + row(*ROWS[1], attributes=rest) * 5), counts)
        assert counts == {key(*ROWS[0]): 1, key(*ROWS[1]): 5}


def test_listeners_report_their_queue() -> None:
    piece = row(socket.AF_INET, 10, "0.0.0.0", 8080, "0.0.0.0", 0, queue=6, backlog=5, inode=77)
    piece += row(socket.AF_INET6, 10, "::", 80, "::", 0, queue=0, backlog=4096, inode=78, attributes=24)
    assert list(listeners(memoryview(piece))) == [Listener(8080, 6, 5, 77), Listener(80, 0, 4096, 78)]


def test_a_request_has_its_length_in_its_header_and_a_mask_of_the_states() -> None:
    packed = request([ESTABLISHED, TIME_WAIT], port=8080, local_ports=ports_between(1, 2), sequence=9)
    length, kind, flags, sequence, _ = struct.unpack_from("=IHHII", packed)
    assert (length, kind, flags, sequence) == (len(packed), 18, 0x301, 9)
    assert struct.unpack_from("!H", packed, 20) == (8080,)
    assert struct.unpack_from("=I", packed, 68) == (1 << ESTABLISHED | 1 << TIME_WAIT,)


def accepts(program: bytes, port: int) -> bool:
    """What the kernel's inet_diag_bc_run makes of a local port."""
    left = len(program)
    while left > 0:
        code, yes, no, _, _, bound = struct.unpack_from("=BBHBBH", program, len(program) - left)
        left -= yes if (port >= bound if code == 2 else port <= bound) else no
    return left == 0


@pytest.mark.parametrize("but", [(), (100,), (199,), (198, 199), (150, 151, 153), (1, 99, 200, 65535), tuple(range(110, 190))])
def test_a_port_filter_accepts_the_range_without_the_exceptions(but: tuple[int, ...]) -> None:
    program = ports_between(100, 199, but)
    accepted = {port for port in range(0, 65536) if accepts(program, port)}
    assert accepted == set(range(100, 200)) - set(but)


def test_the_highest_port_can_be_an_exception() -> None:
    program = ports_between(65530, 65535, (65535, 65532))
    assert [port for port in range(65520, 65536) if accepts(program, port)] == [65530, 65531, 65533, 65534]


@linux
def test_the_kernel_counts_the_sockets_that_were_opened() -> None:
    server = socket.create_server(("127.0.0.78", 0))
    clients = [socket.create_connection(server.getsockname()) for _ in range(9)]
    diag = SockDiag()
    try:
        counts = diag.count([ESTABLISHED])
        assert counts is not None
        address, port = server.getsockname()
        to_server = {each[2]: n for each, n in counts.items() if each[4].startswith(socket.inet_aton(address))}
        assert to_server == {struct.pack("!H", port): 9}
        found = diag.listeners(port)
        assert found is not None
        assert [listener.queue for listener in found] == [9]
    finally:
        diag.close()
        for end in (*clients, server):
            end.close()


@linux
def test_a_filter_that_the_kernel_refuses_gives_no_count_and_does_not_break_later_ones() -> None:
    diag = SockDiag()
    try:
        assert diag.count([ESTABLISHED], b"\xff" * 8) is None
        assert diag.count([ESTABLISHED], ports_between(1, 65535)) is not None
    finally:
        diag.close()


@linux
def test_a_closed_socket_gives_none() -> None:
    diag = SockDiag()
    diag.close()
    assert diag.count([ESTABLISHED]) is None
    assert diag.listeners() is None
