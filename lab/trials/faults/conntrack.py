"""`python -m lab.trials.faults.conntrack`, in a network namespace: turns connection tracking on and fills its table.

The kernel tracks connections only if a rule needs it, so a rule is made over netlink (no `nft` needed). The limit of the table is
that of the whole machine and is not changed: as many entries are made as the table takes.
"""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

_NETLINK_NETFILTER, _REQUEST, _CREATE, _ACK = 12, 1, 0x400, 4
_BATCH_BEGIN, _BATCH_END = 16, 17
_NEW_TABLE, _NEW_CHAIN, _NEW_RULE = 0, 3, 6
_NF_TABLES, _INET, _IPV4 = 10, 1, 2
_HOOK_OUT, _PRIORITY = 3, -150
_CT_STATE, _REGISTER_1 = 0, 1
_CONNTRACK, _SEEN_REPLY, _ASSURED, _CONFIRMED = 1, 2, 4, 8

_NETFILTER = Path("/proc/sys/net/netfilter")


def main() -> int:
    track()
    limit = int((_NETFILTER / "nf_conntrack_max").read_text())
    fill(limit)
    count = int((_NETFILTER / "nf_conntrack_count").read_text())
    print(f"{count} of {limit} entries", file=sys.stderr)
    return 0 if count >= 0.95 * limit else 1


def fill(limit: int) -> None:
    """Adds `limit` entries of UDP flows that do not exist, marked as assured: the kernel drops other entries to make room."""
    reply, original = 2, 1
    status = _number(3, _SEEN_REPLY | _ASSURED | _CONFIRMED) + _number(7, 600)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as netlink:
        netlink.bind((0, 0))
        for start in range(0, limit, 500):
            batch = b""
            for number in range(start, min(start + 500, limit)):
                here, there = (b"\x0a\x01\x01\x01", number // 50_000 + 1), (b"\x0a\x01\x01\x02", number % 50_000 + 1)
                batch += _message(_CONNTRACK << 8, _CREATE, _tuple(original, here, there) + _tuple(reply, there, here) + status)
            netlink.send(batch)


def _tuple(kind: int, source: tuple[bytes, int], to: tuple[bytes, int]) -> bytes:
    address = _nested(1, _attribute(1, source[0]) + _attribute(2, to[0]))
    ports = _attribute(2, struct.pack(">H", source[1])) + _attribute(3, struct.pack(">H", to[1]))
    return _nested(kind, address + _nested(2, _attribute(1, bytes([socket.IPPROTO_UDP])) + ports))


def track() -> None:
    """`nft add rule ip t c ct state` in the output hook: a rule that reads the state turns tracking on."""
    load_state = _nested(1, _text(1, "ct") + _nested(2, _number(1, _REGISTER_1) + _number(2, _CT_STATE)))
    hook = _nested(4, _number(1, _HOOK_OUT) + _attribute(2, struct.pack(">i", _PRIORITY)))
    messages = [
        _message(_BATCH_BEGIN, 0, family=0, resource=_NF_TABLES),
        _message(_NF_TABLES << 8 | _NEW_TABLE, _CREATE | _ACK, _text(1, "t")),
        _message(_NF_TABLES << 8 | _NEW_CHAIN, _CREATE | _ACK, _text(1, "t") + _text(3, "c") + hook + _text(7, "filter")),
        _message(_NF_TABLES << 8 | _NEW_RULE, _CREATE | _ACK, _text(1, "t") + _text(2, "c") + _nested(4, load_state)),
        _message(_BATCH_END, 0, family=0, resource=_NF_TABLES),
    ]
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as netlink:
        netlink.bind((0, 0))
        netlink.send(b"".join(messages))
        netlink.settimeout(2)
        for _ in range(3):
            (error,) = struct.unpack_from("i", netlink.recv(65536), 16)
            if error:
                raise OSError(-error, "netlink")


def _message(kind: int, flags: int, attributes: bytes = b"", family: int = _IPV4, resource: int = 0) -> bytes:
    body = struct.pack(">BBH", family, 0, resource) + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | flags, 0, 0) + body


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack(">I", value))


def _text(kind: int, value: str) -> bytes:
    return _attribute(kind, value.encode() + b"\0")


def _nested(kind: int, inner: bytes) -> bytes:
    return _attribute(kind | 0x8000, inner)


if __name__ == "__main__":
    sys.exit(main())
