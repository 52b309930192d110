"""`python -m lab.trials.faults.synflood PORT` in a network namespace: half-open connections to that port, 200/s for 30 s.

They come from port 20000 of addresses in 127.77.0.0/16. Replies to that port must be dropped, else the kernel answers them
with RST.
"""

from __future__ import annotations

import socket
import struct
import sys
import time

RATE_PER_S, DURATION_S = 200, 30


def main() -> None:
    port = int(sys.argv[1])
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        for number in range(RATE_PER_S * DURATION_S):
            raw.sendto(syn(f"127.77.{number // 250 % 250}.{number % 250 + 1}", "127.0.0.1", port), ("127.0.0.1", 0))
            time.sleep(1 / RATE_PER_S)


def syn(source: str, to: str, port: int) -> bytes:
    addresses = socket.inet_aton(source) + socket.inet_aton(to)
    segment = struct.pack(">HHIIBBHHH", 20_000, port, 1, 0, 5 << 4, 2, 64_240, 0, 0)
    check = checksum(addresses + struct.pack(">BBH", 0, socket.IPPROTO_TCP, len(segment)) + segment)
    segment = segment[:16] + struct.pack(">H", check) + segment[18:]
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, socket.IPPROTO_TCP, 0) + addresses + segment


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


if __name__ == "__main__":
    main()
