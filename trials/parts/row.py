"""One fault in one part. Data only; carries nothing out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Part = Literal["web", "db", "proxy"]
PARTS: tuple[Part, ...] = ("web", "db", "proxy")

Place = Literal["namespaces", "here"]
"""Each part in a network namespace of its own and read over SSH, or all of them beside the generator and read there."""
PLACES: tuple[Place, ...] = ("namespaces", "here")

Host = Literal["", "without python", "another user", "clock off", "slow link"]
"""Under which condition the hosts of all parts are read."""

LADDER = "2:8s,6:8s,16:9s,32:9s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How a fault is injected, and which marks are right."""

    name: str
    fault: str
    """What is done to which part, in a line."""
    part: Part | None
    """Where the fault is. None: nowhere, or in the link."""
    expected: tuple[str, ...]
    """Ids of which at least one must be marked, of `part`; none: no part may be blamed."""
    true_too: Mapping[str, str] = field(default_factory=dict)
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
    """Its size: turns of a loop, milliseconds, or workers."""
    open_files: Mapping[Part, int] = field(default_factory=dict)
    """Descriptor limits."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of PostgreSQL."""
    worker_connections: int = 1024
    """Of nginx."""
    compressed: bool = False
    """nginx compresses replies at its highest level."""
    one_core: Part | None = None
    """Held to the first core."""
    paused_database: bool = False
    """PostgreSQL's first process, which accepts, is stopped most of the time."""
    slow_log_ms: int = 0
    """So long nginx's only worker waits at each request until its line is in the access log."""
    small_disk: Part | None = None
    """Its folder is a file system of few megabytes that is full."""
    cut_s: float | None = None
    """So long after the load began the link to `db` goes down."""
