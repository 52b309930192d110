"""TCP at the target's port alone. The kernel's counters are those of a whole network namespace: on a busy machine, losses and
full queues of other processes were marked as the service's (measured). Here the sockets of the target's port are read.

Both ends of a connection count if both are in this namespace. Connections that were opened and closed between two readings are
missed, so growth may be too small, never too large. A reading costs 2 us per socket, so with more sockets readings become rarer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..model.readings import TargetTcpReading
from .sockdiag import HOLDING, LISTEN, SYN_RECV, SockDiag, rows, value_at

_SOCKETS_PER_S = 1500
"""Sockets read per second, on average: 0.3% of a core."""

_INFO, _MEMORY = 2, 7
"""INET_DIAG_INFO: struct tcp_info; INET_DIAG_SKMEMINFO: nine counts of a socket."""

_COUNTS, _INFO_BYTES = struct.Struct("=100xI32xI"), 140
"""tcpi_total_retrans and tcpi_segs_out (since Linux 4.2)."""

_DUPLICATES, _INFO_WITH_DUPLICATES_BYTES = struct.Struct("=216xI"), 220
"""tcpi_dsack_dups (since Linux 4.19): segments retransmitted although the other end already had them (tail loss probes). On
loopback, where nothing can be lost, these were 81% of all retransmissions (measured).
"""

_DROPS_AT = 32
"""SK_MEMINFO_DROPS: of a listener, connections dropped because one of its queues was full."""

_STATE_AT, _INODE_AT = 17, 84
_COOKIE = struct.Struct("=60x8s")
_ATTRIBUTE = struct.Struct("=HH")

_Sent = dict[bytes, tuple[int, int]]
"""By socket, since it was opened: (segments sent, segments retransmitted without those that were duplicates)."""


class TargetTcp:
    """Reads one TargetTcpReading per tick, through the caller's SockDiag."""

    def __init__(self, port: int, diag: SockDiag) -> None:
        self._port, self._diag = port, diag
        self._allowed = 0.0
        self._sent: _Sent | None = None
        self._drops: dict[int, int] | None = None

    def read(self, elapsed_s: float) -> TargetTcpReading | None:
        """Growth since the last call; None at the first call, and if the kernel does not report it."""
        try:
            drops = self._listeners()
            dropped = _growth(drops, self._drops)
            self._drops = drops
            self._allowed += elapsed_s * _SOCKETS_PER_S
            first = self._sent is None
            sent, retransmitted = self._sockets() if first or len(self._sent or ()) <= self._allowed else (0, 0)
            half_open = self._half_open() if drops else 0
        except OSError:
            self._sent = self._drops = None
            return None
        if first:
            return None
        return TargetTcpReading(
            segments_sent=sent, segments_retransmitted=retransmitted, listen_drops=dropped, half_open=half_open
        )

    def _listeners(self) -> dict[int, int]:
        """Connections dropped so far, by listener."""
        return {
            struct.unpack_from("=I", piece, row + _INODE_AT)[0]: struct.unpack_from("=I", piece, found + _DROPS_AT)[0]
            for piece in self._diag.pieces([LISTEN], port=self._port, attribute=_MEMORY)
            for row, length in rows(piece)
            if (found := value_at(piece, row, length, _MEMORY)) is not None
        }

    def _sockets(self) -> tuple[int, int]:
        """(segments sent, segments retransmitted without duplicates) since the last reading. A new socket began with 0."""
        now: _Sent = {}
        for piece in self._diag.pieces(HOLDING, remote_port=self._port, attribute=_INFO):
            now.update(_sent(piece))
        if self._drops:  # the target's end is in this namespace as well
            for piece in self._diag.pieces(HOLDING, port=self._port, attribute=_INFO):
                now.update(_sent(piece))
        before, self._sent, self._allowed = self._sent or {}, now, 0.0
        pairs = [(counts, before.get(cookie, (0, 0))) for cookie, counts in now.items()]
        sent, retransmitted = (sum(new[each] - old[each] for new, old in pairs) for each in (0, 1))
        return sent, max(0, retransmitted)  # a duplicate may be reported one tick later

    def _half_open(self) -> int:
        pieces = self._diag.pieces([SYN_RECV], port=self._port)
        return sum(piece[row + _STATE_AT] == SYN_RECV for piece in pieces for row, _ in rows(piece))


def _sent(piece: memoryview) -> Iterator[tuple[bytes, tuple[int, int]]]:
    """By socket. Rows of a piece mostly carry the same attributes, so the value is looked for where the last row had it."""
    at = 0
    for row, length in rows(piece):
        if not at or at + _INFO_BYTES > length or _ATTRIBUTE.unpack_from(piece, row + at - 4)[1] != _INFO:
            found = value_at(piece, row, length, _INFO)
            at = 0 if found is None or found + _INFO_BYTES > row + length else found - row
        if at:
            retransmitted, sent = _COUNTS.unpack_from(piece, row + at)
            has_duplicates = _ATTRIBUTE.unpack_from(piece, row + at - 4)[0] - 4 >= _INFO_WITH_DUPLICATES_BYTES
            duplicates = _DUPLICATES.unpack_from(piece, row + at)[0] if has_duplicates else 0
            yield _COOKIE.unpack_from(piece, row)[0], (sent, retransmitted - duplicates)


def _growth(now: dict[int, int], before: dict[int, int] | None) -> int:
    """Growth of listeners' drops, of those that were there before. The kernel's counter wraps at 2^32."""
    return sum((drops - before[inode]) % 2**32 for inode, drops in now.items() if inode in before) if before else 0
