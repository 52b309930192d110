"""A watched part was found, changed, or can no longer be read."""

from __future__ import annotations

from typing import Literal

from .event import Event
from .session_header import HostFacts


class PartState(Event, frozen=True, kw_only=True, tag="part"):
    """What is known of a part beside its readings; the latest one of a name holds."""

    name: str
    state: Literal["read", "unread"]
    """`unread`: no reading comes; `reason` says why."""
    place: str = ""
    """Where it is, as a person wrote it: `ssh web1: port 8080`."""
    reason: str | None = None
    host: HostFacts = HostFacts()
    """Its machine. `cgroup_cpus`: the tightest quota of its own control groups."""
    machine: str | None = None
    """Which machine that is: `generator`, or the name of the first part that runs on it. None: not known."""
    pid: int | None = None
    """By the numbers of its machine."""
    program: str | None = None
    """File name of its executable."""
    reader: Literal["python", "shell"] | None = None
    """What reads there: without Python 3 a shell reads less."""
    clock_offset_s: float | None = None
    """Its clock less this machine's, within `clock_error_s`."""
    clock_error_s: float | None = None
    denied: tuple[str, ...] = ()
    """Readings that the user who reads there may not take."""
