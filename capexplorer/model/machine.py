"""Limits and facts of the machine, as the command `doctor` reads them. A session's header has some of them, `HostFacts`."""

from __future__ import annotations

from .events import HostFacts
from .readings import NeighboursReading, Reading


class Machine(Reading, frozen=True, kw_only=True):
    """Facts that hold for this process. None: could not be read."""

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
