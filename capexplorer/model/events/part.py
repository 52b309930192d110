"""A watched part was found, changed, or can no longer be read."""

from __future__ import annotations

from typing import Literal

from .event import Event
from .session_header import HostFacts


class PartState(Event, frozen=True, kw_only=True, tag="part"):
    """The state of a watched part, and facts about it; the latest event with a name is valid."""

    name: str
    state: Literal["read", "unread"]
    """`unread`: it cannot be read, for the reason in `reason`."""
    place: str = ""
    """Where it is, as in the profile or option: `ssh web1: port 8080`."""
    reason: str | None = None
    host: HostFacts = HostFacts()
    """Facts about its machine. `cgroup_cpus`: the lowest CPU quota of the part's own control groups."""
    machine: str | None = None
    """Name of its machine: `generator`, or the name of the first part that runs on it. None: not known."""
    pid: int | None = None
    """Process id on its machine."""
    program: str | None = None
    """File name of its executable."""
    reader: Literal["python", "shell"] | None = None
    """The program that reads there: a shell, which reads less, where there is no Python 3."""
    clock_offset_s: float | None = None
    """The clock there minus this machine's clock, with an error of at most `clock_error_s`."""
    clock_error_s: float | None = None
    denied: tuple[str, ...] = ()
    """Readings that the user there has no permission to take."""
