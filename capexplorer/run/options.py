"""The options of a run, fully resolved: every name is looked up, every value checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..load.plan import Step
from ..model.stream import Param
from ..profile import Profile
from ..target.spec import TargetSpec

RAW = "tcp://"
"""Before `HOST:PORT` of a service whose users open sockets themselves; they get it without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """One run."""

    name: str
    """The profile's name, or the locustfile's."""
    profile: Profile
    spec: TargetSpec | None = None
    """The target to start; None: a service that runs already."""
    params: Mapping[str, Param] = field(default_factory=dict)
    url: str | None = None
    """The service's URL when there is no `spec`."""
    port: int | None = None
    """Where the target listens; None: a free port is chosen."""
    watched_pid: int | None = None
    """The process to watch of a service that runs already; None: the process that listens at `url`."""
    locustfile: Path | None = None
    start_users: int = 1
    spawn_rate: float | None = None
    """Users a second; None: the difference in one second, at most 100 a second."""
    label: str | None = None
    sessions_dir: Path
    steps: tuple[Step, ...] = ()
    """A plan; empty: by hand."""
    autopilot: bool = False
    """Let the autopilot drive from the start; its end is the end of a run without a screen."""
    allow_hosts: tuple[str, ...] = ()
    sandbox: bool = False
    """Load and target in a network namespace that has loopback alone."""
    follow_shape: bool = True
    """Let the locustfile's shape drive from the start (headless plans override it)."""

    def users_url(self, service_url: str) -> str | None:
        """The host that a locustfile's users get; None: their own."""
        return service_url.removeprefix(RAW) if self.spec is not None or self.url is not None else None
