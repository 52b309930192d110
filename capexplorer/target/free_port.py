"""A port for the target that no client's ephemeral port can take from it. Uses the C-level socket, which gevent does not
patch."""

from __future__ import annotations

import _socket
import random
from pathlib import Path

from ..errors import TargetError

_LOWEST = 8000
"""Above the ports that are commonly chosen by hand."""

_IANA_EPHEMERAL = (49_152, 65_535)
"""macOS and Windows."""

_TRIES = 200


def free_port() -> int:
    """A port that can be bound on 127.0.0.1 now, outside the ephemeral range unless that leaves none."""
    low, high = ephemeral_range()
    outside = [*range(_LOWEST, min(low, 65_536)), *range(max(high + 1, _LOWEST), 65_536)]
    candidates = outside or range(_LOWEST, 65_536)
    tried: list[int] = random.sample(candidates, min(_TRIES, len(candidates)))
    for port in tried:
        if is_free(port):
            return port
    raise TargetError(f"no free port found outside {low}-{high} in {_TRIES} tries")


def is_free(port: int) -> bool:
    """Whether 127.0.0.1:port can be bound now; without SO_REUSEADDR, so a port with TIME_WAIT sockets is not."""
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    finally:
        probe.close()
    return True


def ephemeral_range() -> tuple[int, int]:
    """First and last ephemeral port of this network namespace; IANA's where the kernel does not report it."""
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    except OSError:
        return _IANA_EPHEMERAL
    return int(low), int(high)
