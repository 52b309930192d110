"""The kernel's socket tables by netlink sock_diag: requests are packed, and replies unpacked, here.

One request covers IPv4 and IPv6 (the TCPDIAG form, which `ss` uses too). Filters on states and local ports run in the kernel, so
that only the rows of interest are copied. Rows are counted a buffer at a time in C; no object is built per socket. A dump comes
in pieces of at most 32 KB and each `recv` releases the GIL, so 25,000 sockets never hold it for more than about 0.1 ms.

Must not use the `socket` module: gevent replaces it.
"""

from __future__ import annotations

import _socket
import struct
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

STATES = {
    1: "ESTABLISHED",
    2: "SYN_SENT",
    3: "SYN_RECV",
    4: "FIN_WAIT1",
    5: "FIN_WAIT2",
    6: "TIME_WAIT",
    7: "CLOSE",
    8: "CLOSE_WAIT",
    9: "LAST_ACK",
    10: "LISTEN",
    11: "CLOSING",
}
"""Names of the kernel's tcp_states.h."""

ESTABLISHED, SYN_RECV, TIME_WAIT, LISTEN = 1, 3, 6, 10
HOLDING = frozenset({ESTABLISHED, 2, 4, 5, 8, 9, 11})
"""States other than TIME_WAIT in which the end that connected holds its port."""

Key = tuple[int, int, bytes, bytes, bytes]
"""Family, state, remote port (network order), local address, remote address (16 bytes each; IPv4 in the first four)."""

_HEADER = struct.Struct("=IHHII")
TCPDIAG_GETSOCK = 18
_NETLINK_SOCK_DIAG = 4
_DUMP = 0x301
_ERROR, _DONE = 2, 3
_DONE_BYTES = _HEADER.size + 4
_BYTECODE = 1
_PORT_AT_LEAST, _PORT_AT_MOST = 2, 3
_LISTENER = struct.Struct("=20x2s50xIIII")
_KEY_BYTES = 56
_LENGTH = struct.Struct("=I")
_ROW_BYTES = 88
"""Netlink header and inet_diag_msg; attributes follow."""
_RECEIVE_BYTES = 65536


class Listener(NamedTuple):
    """A LISTEN row: connections that wait to be accepted, and how many may."""

    port: int
    queue: int
    backlog: int
    inode: int


def request(
    states: Collection[int],
    *,
    port: int = 0,
    remote_port: int = 0,
    local_ports: bytes = b"",
    attribute: int = 0,
) -> bytes:
    """The body of a request for a dump of TCP sockets in `states`; `port` and `local_ports` (see `ports_between`) narrow it to
    local ports.

    `attribute`: requested of each row, to be found by `value_at`.
    """
    bytecode = struct.pack("=HH", 4 + len(local_ports), _BYTECODE) + local_ports if local_ports else b""
    mask = sum(1 << state for state in states)
    identity = struct.pack("!HH", port, remote_port) + bytes(36) + b"\xff" * 8
    more = struct.pack("=3xB", 1 << (attribute - 1) if attribute else 0)
    body = more + identity + struct.pack("=II", mask, 0)
    return body + bytecode


def message(kind: int, body: bytes, sequence: int = 1) -> bytes:
    """A netlink message that asks for a dump."""
    return _HEADER.pack(_HEADER.size + len(body), kind, _DUMP, sequence, 0) + body


def ports_between(first: int, last: int, excluded: Collection[int] = ()) -> bytes:
    """A kernel filter (inet_diag bytecode) for local ports `first..last` without those `excluded`.

    Each operation has two jumps: if its comparison is true, by 8 bytes to the next operation; if it is false, beyond the end of
    the program, which rejects the row. There is no "not equal": a port p is excluded by "at least p", which skips the next
    operation if it is false, and "at least p + 1".
    """
    while last in excluded:
        last -= 1
    inside = sorted(port for port in excluded if first <= port <= last)
    operations = [(_PORT_AT_LEAST, first, False), (_PORT_AT_MOST, last, False)]
    for port in inside:
        operations += [(_PORT_AT_LEAST, port, True), (_PORT_AT_LEAST, port + 1, False)]
    program = b""
    for index, (code, port, skips_next) in enumerate(operations):
        reject = 8 * (len(operations) - index) + 4
        program += struct.pack("=BBHBBH", code, 8, 16 if skips_next else reject, 0, 0, port)
    return program


def count(piece: memoryview, counts: Counter[Key]) -> None:
    """Add the rows of one piece of a dump to `counts`. Pieces whose rows have equal lengths, as in TIME_WAIT, are counted in
    C."""
    (stride,) = struct.unpack_from("=I", piece)
    lengths = piece.cast("I")[:: stride // 4].tolist() if stride % 4 == 0 else []
    if lengths.count(stride) == len(lengths) and len(lengths) * stride == len(piece):
        counts.update(_row(stride).iter_unpack(piece))
        return
    key_at, offset = _row(_KEY_BYTES).unpack_from, 0
    while offset < len(piece):
        counts[key_at(piece, offset)] += 1
        offset += (struct.unpack_from("=I", piece, offset)[0] + 3) & ~3


def listeners(piece: memoryview) -> Iterator[Listener]:
    """The LISTEN rows of one piece of a dump."""
    offset = 0
    while offset < len(piece):
        port, queue, backlog, _uid, inode = _LISTENER.unpack_from(piece, offset)
        yield Listener(int.from_bytes(port, "big"), queue, backlog, inode)
        offset += (struct.unpack_from("=I", piece, offset)[0] + 3) & ~3


def rows(piece: memoryview) -> Iterator[tuple[int, int]]:
    """Offset and length of each row of a piece."""
    offset, size, length_at = 0, len(piece), _LENGTH.unpack_from
    while offset < size:
        length: int = length_at(piece, offset)[0]
        yield offset, length
        offset += (length + 3) & ~3


def value_at(piece: memoryview, row: int, length: int, attribute: int, row_bytes: int = _ROW_BYTES) -> int | None:
    """Offset of an attribute's value in that row; None if the row does not contain it. `row_bytes`: what precedes attributes."""
    offset = row + row_bytes
    while offset + 4 <= row + length:
        size, kind = struct.unpack_from("=HH", piece, offset)
        if kind == attribute:
            return offset + 4
        offset += max(4, (size + 3) & ~3)
    return None


_row_structs: dict[int, struct.Struct] = {}


def _row(length: int) -> struct.Struct:
    """The struct that extracts the key from rows of `length` bytes."""
    if length not in _row_structs:
        _row_structs[length] = struct.Struct(f"=16xBB4x2s16s16s{length - _KEY_BYTES}x")
    return _row_structs[length]


class Netlink:
    """Dumps of the kernel's tables of this network namespace. Opened once; never blocks."""

    def __init__(self, protocol: int) -> None:
        self._sequence = 0
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self._socket: _socket.socket | None = None
        try:
            self._socket = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_DGRAM, protocol)
            self._socket.setblocking(False)
        except OSError:
            pass

    def pieces(self, kind: int, body: bytes) -> Iterator[memoryview]:
        """The rows of a dump, piece by piece. Raises OSError: it was refused, or the kernel dropped rows."""
        if self._socket is None:
            raise OSError("no netlink socket")
        self._sequence += 1
        self._socket.send(message(kind, body, self._sequence))
        while True:
            piece = self._buffer[: self._socket.recv_into(self._buffer)]
            _, kind, _, sequence, _ = _HEADER.unpack_from(piece)
            if sequence != self._sequence:
                continue  # left over from an earlier dump that was not read to its end
            if kind == _ERROR:
                raise OSError(-struct.unpack_from("=i", piece, _HEADER.size)[0], "the kernel refused")
            if kind == _DONE:
                return
            piece, done = _without_done(piece)
            yield piece
            if done:
                return

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class SockDiag:
    """The kernel's socket tables of this network namespace."""

    def __init__(self) -> None:
        self._netlink = Netlink(_NETLINK_SOCK_DIAG)

    def count(self, states: Collection[int], local_ports: bytes = b"") -> Counter[Key] | None:
        """Number of sockets by key; None if the kernel did not answer."""
        counts: Counter[Key] = Counter()
        try:
            for piece in self.pieces(states, local_ports=local_ports):
                count(piece, counts)
        except OSError:
            return None
        return counts

    def listeners(self, port: int = 0) -> list[Listener] | None:
        """All listeners, or those on `port`; None if the kernel did not answer."""
        try:
            return [row for piece in self.pieces([LISTEN], port=port) for row in listeners(piece)]
        except OSError:
            return None

    def pieces(
        self, states: Collection[int], *, port: int = 0, remote_port: int = 0, local_ports: bytes = b"", attribute: int = 0
    ) -> Iterator[memoryview]:
        """The rows of a dump (see `request`), piece by piece. Raises OSError: it was refused, or the kernel dropped rows."""
        body = request(states, port=port, remote_port=remote_port, local_ports=local_ports, attribute=attribute)
        return self._netlink.pieces(TCPDIAG_GETSOCK, body)

    def close(self) -> None:
        """Close the socket."""
        self._netlink.close()


def rows_of(message: memoryview) -> memoryview:
    """The rows of one message of a dump; empty if it is the end of the dump, or an error."""
    if len(message) < _HEADER.size or _HEADER.unpack_from(message)[1] in (_ERROR, _DONE):
        return message[:0]
    return _without_done(message)[0]


def _without_done(piece: memoryview) -> tuple[memoryview, bool]:
    """(rows, whether the dump ends here): newer kernels append the end marker to the last rows if there is room."""
    if len(piece) > _DONE_BYTES:
        length, kind, _, sequence, _ = _HEADER.unpack_from(piece, len(piece) - _DONE_BYTES)
        if (length, kind, sequence) == (_DONE_BYTES, _DONE, _HEADER.unpack_from(piece)[3]):
            return piece[:-_DONE_BYTES], True
    return piece, False
