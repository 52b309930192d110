"""The first line of a log: which service was explored, from which machine, with which versions."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..readings import Reading
from .event import Event

SCHEMA = 2
"""Version of the log's format."""


class HostFacts(Reading, frozen=True, kw_only=True):
    """Facts about a machine, read once. None: not known."""

    name: str | None = None
    system: str | None = None
    kernel: str | None = None
    python: str | None = None
    cpu_model: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    fds_limit: int | None = None
    """Soft RLIMIT_NOFILE of this process."""
    fds_limit_of_system: int | None = None
    """Open files of all processes together (`file-nr`)."""
    port_range: tuple[int, int] | None = None
    ports_reserved: int | None = None
    ports_capacity: int | None = None
    tcp_tw_reuse: int | None = None
    somaxconn: int | None = None
    tcp_max_syn_backlog: int | None = None
    conntrack_max: int | None = None
    link_bytes_per_s: float | None = None
    """Speed of its fastest network link in one direction; None if no link reports it."""
    cgroup_cpus: float | None = None
    """CPU cores that the cgroup's quota allows; None without a quota."""
    cgroup_memory_bytes: int | None = None
    """Memory that the cgroup allows; None without a limit."""


class ClientOverhead(Reading, frozen=True, kw_only=True):
    """The overhead of a client class: latency of 200 requests to a null responder on loopback."""

    p50_ms: float
    p99_ms: float


class TargetFacts(Reading, frozen=True, kw_only=True):
    """The explored service: a process that the app started, or a service that was already running."""

    name: str
    url: str
    command: tuple[str, ...] = ()
    """Command that started it; empty if the app did not start it."""
    params: dict[str, str | int | float | bool] = {}
    version: str | None = None
    """The version that the profile names, else that of its source: `git describe` in the folder of its command; None: not known.
    Its own answer is in the event that it is ready."""


class Engine(Reading, frozen=True, kw_only=True):
    """How load was generated. None: an imported file does not contain it."""

    mode: Literal["in-process", "workers"] | None = "in-process"
    workers: int | None = 0


class Header(Event, frozen=True, kw_only=True, tag="header"):
    """First line of a log."""

    schema: int
    id: str
    started_at: str
    """Wall time, ISO 8601 with offset; empty if an imported file does not contain it."""
    label: str | None = None
    source: str | None = None
    """For an imported session: its files, and what they do not contain. None: recorded by this app."""
    versions: dict[str, str] = {}
    """Versions of capexplorer, locust, python and others, by name."""
    clients: tuple[str, ...] = ()
    """Client classes of the users, by Locust's names: FastHttpUser, HttpUser, User. Empty in older logs (see `clients_of`)."""
    client_overhead_ms: dict[str, ClientOverhead] = msgspec.field(name="client_floor_ms", default_factory=dict)
    """Overhead by name of the client class; only HTTP clients have one."""
    pacing_s: float | None = None
    """Seconds from the start of one task of a user to that of the next, if users are paced (Locust's `constant_pacing`,
    `constant_throughput`): as long as tasks are shorter, the number of users sets the throughput. None: users are not paced, or
    an older log."""
    profile: dict[str, Any] = {}
    """The whole resolved profile, as plain values (secrets removed)."""
    target: TargetFacts
    host: HostFacts
    engine: Engine = Engine()
    interval_s: float = 1.0
