"""Limits of the operating system that a session sets for itself, by a profile's `[limits]` or `--limit`.

They answer questions such as "what happens with only 2,000 ports?". Here are the values and their bounds on any machine;
`commands/limiting.py` checks them against this machine. Nothing is applied here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from .events import HostFacts
from .readings import NeighboursReading, Reading

LEAST_GENERATOR_OPEN_FILES = 64
"""The app itself needs about 50: the log, files of /proc, pipes, event loops (measured)."""

LEAST_TARGET_OPEN_FILES = 8
"""Standard streams, a listener, and files that a runtime opens to find its modules."""

LOWEST_PORT = 1024
"""Lower ports are privileged, and the kernel refuses a range with them."""

LOWEST_TARGET_PORT = 8000
"""The search for a free port for a target begins here (`target/place.py`)."""

HIGHEST_PORT = 65_535

COUNT_MOST = 2**31 - 1
"""The kernel's counts are signed 32-bit integers."""

EphemeralPort = Annotated[int, Meta(ge=LOWEST_PORT, le=HIGHEST_PORT)]


class LimitTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables. None: the limit is not changed."""


class ProcessLimits(LimitTable, frozen=True, kw_only=True):
    """Limits of the target's or the generator's process."""

    open_files: Annotated[int, Meta(ge=LEAST_TARGET_OPEN_FILES, le=COUNT_MOST)] | None = None
    """RLIMIT_NOFILE, soft and hard alike, since some runtimes (Go) raise the soft one."""
    cpus: tuple[Annotated[int, Meta(ge=0)], ...] | None = None
    """Cores it may run on, by number (affinity). Linux."""


AS_IT_IS = ProcessLimits()
"""No limit is changed."""


class NetworkLimits(LimitTable, frozen=True, kw_only=True):
    """Limits of the session's own network namespace, which is created if any of these is set. Linux."""

    ip_local_port_range: tuple[EphemeralPort, EphemeralPort] | None = None
    """First and last ephemeral port."""
    tcp_tw_reuse: int | None = None
    """0: never, 1: always, 2: on loopback."""
    somaxconn: Annotated[int, Meta(ge=1, le=COUNT_MOST)] | None = None
    """Most that any listener's accept queue may hold."""


class Limits(LimitTable, frozen=True, kw_only=True):
    """Limits of the operating system under which a session explores."""

    target: ProcessLimits = ProcessLimits()
    """Limits of the service's processes, where capexplorer starts it."""
    generator: ProcessLimits = ProcessLimits()
    """Limits of the load generator's process."""
    network: NetworkLimits = NetworkLimits()
    """Limits of the network between them."""


def limits_by_key(limits: Limits) -> dict[str, int | str]:
    """The limits that are set, by dotted key such as `target.open_files`; lists are written as in TOML."""
    return limits_in_profile({"limits": msgspec.to_builtins(limits)})


def limits_in_profile(profile: Mapping[str, Any]) -> dict[str, int | str]:
    """The limits that the profile in a session's header sets, by dotted key; empty for older logs."""
    return {
        f"{side}.{key}": str(list(value)) if isinstance(value, (list, tuple)) else value
        for side, limits in (profile.get("limits") or {}).items()
        for key, value in limits.items()
        if value is not None
    }


def mistakes(limits: Limits) -> Iterator[tuple[str, str]]:
    """(key, what was expected) for values that contradict each other, or that are too low for generator or target."""
    yield from _cpus_mistakes("target", limits.target)
    files, least = limits.generator.open_files, LEAST_GENERATOR_OPEN_FILES
    if files is not None and files < least:
        yield "generator.open_files", f"expected at least {least}, got {files}"
    yield from _cpus_mistakes("generator", limits.generator)
    network = limits.network
    if network.ip_local_port_range is not None:
        yield from _range_mistakes(*network.ip_local_port_range)
    if network.tcp_tw_reuse not in (None, 0, 1, 2):
        yield "network.tcp_tw_reuse", f"expected 0 (never), 1 (always) or 2 (on loopback), got {network.tcp_tw_reuse}"


def _cpus_mistakes(side: str, limits: ProcessLimits) -> Iterator[tuple[str, str]]:
    cpus = limits.cpus
    if cpus is not None and len(set(cpus)) < max(len(cpus), 1):
        yield f"{side}.cpus", f"expected a list of different cores such as [0, 1], got {list(cpus)}"


def _range_mistakes(first: int, last: int) -> Iterator[tuple[str, str]]:
    key = "network.ip_local_port_range"
    if first >= last:
        yield key, f"expected [first, last] with {LOWEST_PORT} <= first < last <= {HIGHEST_PORT}, got [{first}, {last}]"
    elif first <= LOWEST_TARGET_PORT and last == HIGHEST_PORT:
        yield key, f"expected to leave the target a port from {LOWEST_TARGET_PORT} up outside of it, got [{first}, {last}]"


class Machine(Reading, frozen=True, kw_only=True):
    """Facts that hold for this process, as `doctor` reads them; a session's header has `HostFacts`. None: could not be read."""

    host: HostFacts
    neighbours: NeighboursReading = NeighboursReading()
    """All other processes, measured for about a second without load."""
    fds_hard_limit: int | None = None
    """Hard RLIMIT_NOFILE of this process, to which the app raises its own soft one."""
    has_poll: bool | None = None
    """Whether poll() exists: without it clients keep no connection whose descriptor is above 1,023."""
    fds_of_system: int | None = None
    """Open files of all processes now."""
    cpus_usable: int | None = None
    """Cores that this process may run on (affinity)."""
    tcp_tw_reuse_delay_ms: int | None = None
    """Minimum age of a TIME_WAIT port before it is reused; None before Linux 6.14, where it is always 1000."""
    conntrack: int | None = None
    """Connections tracked now; None if connections are not tracked."""
    pressure_readable: bool | None = None
    """Whether pressure stall information (/proc/pressure) can be read."""
    reads_other_users: bool | None = None
    """Whether /proc/PID/fd and io of other users' processes can be read."""
    namespace_refused: str | None = None
    """Why a session cannot have its own network namespace; None: it can."""
    programs: dict[str, str | None] = {}
    """Programs that targets need, with their paths; None: not found."""
