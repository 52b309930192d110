"""A row of the trial: one fault in one part, and which marks are right. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Part = Literal["web", "db", "proxy"]
PARTS: tuple[Part, ...] = ("web", "db", "proxy")

Place = Literal["namespaces", "here"]
"""Each part in a network namespace of its own and read over SSH, or all of them on the generator's host and read there."""
PLACES: tuple[Place, ...] = ("namespaces", "here")

Host = Literal["", "without python", "another user", "clock off", "slow link"]
"""The condition under which the hosts of all parts are read (`hosts.py`); empty: none."""

LADDER = "2:8s,6:8s,16:9s,32:9s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How a fault is injected, and which marks are right."""

    name: str
    fault: str
    """The fault and its part, in one line."""
    part: Part | None
    """The part that has the fault; None: there is no fault."""
    expected: tuple[str, ...]
    """Ids of which at least one must be marked of `part`; empty: no part may be blamed."""
    also_true: Mapping[str, str] = field(default_factory=dict)
    """Ids of the same part that are true of this fault as well, with the reason."""
    elsewhere: Mapping[tuple[str, Part | None], str] = field(default_factory=dict)
    """Marks of other parts (None: of the target) that are true of this fault as well, with the reason."""
    places: tuple[Place, ...] = PLACES
    host: Host = ""
    plan: str = LADDER

    keep_alive: bool = True
    act: str = "query"
    """What the service does for each request (`service.py`)."""
    amount: int = 0
    """Parameter of the act: turns of a loop, bytes, or milliseconds."""
    open_files: Mapping[Part, int] = field(default_factory=dict)
    """Limits of open files by part."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of PostgreSQL."""
    backlog: int = 256
    """Connections that may wait for the service to accept them."""
    worker_connections: int = 1024
    """nginx's worker_connections."""
    compressed: bool = False
    """Whether nginx compresses replies, at its highest level."""
    one_core: Part | None = None
    """The part that is pinned to the first core."""
    paused_database: bool = False
    """PostgreSQL's first process, which accepts connections, is stopped most of the time."""
    slow_log_ms: int = 0
    """Milliseconds for which nginx's only worker waits for the access log at each request; 0: it does not wait."""
    small_disk: Part | None = None
    """The part whose folder is on a full file system of a few megabytes."""
    cut_s: float | None = None
    """Seconds from the start of the load until the link to `db` goes down; None: it does not."""
