"""The options of a run, fully resolved: every name is looked up, every value checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..load.variables import DrawnTogether
from ..model.controls import Param
from ..model.events import Sweep
from ..model.requirements import Requirement
from ..profile import Profile
from ..steer.plan import Step
from ..target.spec import TargetSpec

TOKEN, SECRET = "CAPEXPLORER_WORKER_TOKEN", "CAPEXPLORER_SECRET"
"""Variables of a worker's environment: by the first a run recognises the workers that it started itself, the second has the
shared secret. Command lines are visible to all users of a machine."""

Task = Literal["knee", "verify", "explain", "rate", "require"]
"""What the autopilot looks for: the knee; only the levels that verify the known one; its cause, by experiments; the capacity as
an offered rate; the loads that decide the requirements."""

NO_RATES = "plain Locust workers cannot be offered a rate: leave out --plain-workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersWanted:
    """The worker processes in which users run, instead of in this process."""

    own: int = 0
    """Number of workers that this run starts itself."""
    expected: int = 0
    """Number of workers started elsewhere that must have joined before load begins."""
    bind: tuple[str, int] | None = None
    """Address at which workers started elsewhere connect; None: only workers of this machine join, at a free port."""
    plain: bool = False
    """Whether plain Locust workers may join, which have no secret."""
    secret: str = field(default="", repr=False)
    """The secret that workers need to join; empty: none."""

    @property
    def count(self) -> int:
        """Workers at the beginning."""
        return self.own + self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of one run."""

    name: str
    """The profile's name, or the locustfile's."""
    profile: Profile
    spec: TargetSpec | None = None
    """The target to start; None: an already running service."""
    params: Mapping[str, Param] = field(default_factory=dict)
    url: str | None = None
    """The service's URL when there is no `spec`."""
    users_host: str | None = None
    """What users of a locustfile get as their host, if that is not `url`: HOST:PORT, without a scheme."""
    port: int | None = None
    """The port at which the target listens; None: a free one is chosen."""
    watched_pid: int | None = None
    """The process to watch of an already running service; None: the process that listens at `url`."""
    values: tuple[DrawnTogether, ...] = ()
    """The values that the requests of the profile draw."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The variables that the profile's tasks name, with their values, which may be secrets."""
    locustfile: Path | None = None
    locust_arguments: tuple[str, ...] = ()
    """Options and user classes for the locustfile, which itself says which options it takes."""
    start_users: int = 1
    spawn_rate: float | None = None
    """Users a second; None: the difference in one second, at most 100 a second."""
    label: str | None = None
    version: str | None = None
    """Version of the service: the profile's, else that of its source; None: not known."""
    sessions_dir: Path
    steps: tuple[Step, ...] = ()
    """The plan's steps; empty: a person steers."""
    autopilot: Task | None = None
    """Start with the autopilot; a run without a screen ends with it."""
    profile_at_knee: bool = False
    """Whether the target's stacks are sampled, at low load and beyond the knee, once the autopilot has found it."""
    explains: bool = False
    """Whether the autopilot, once it has found a knee, makes the experiments that tell its causes apart."""
    requirements: tuple[Requirement, ...] = ()
    """What the service must do. A plan or a shape, like the autopilot, ends once all of it is decided."""
    within_s: float | None = None
    """Seconds of load in which it is to be decided; None: as long as a plan or a shape takes, else WITHIN_S of the search."""
    sweep: Sweep | None = None
    """The settings that a sweep explores one after the other; `params` has the first of them."""
    allow_hosts: tuple[str, ...] = ()
    sandbox: bool = False
    """Run load and target in a network namespace that has only loopback."""
    workers: WorkersWanted | None = None
    """None: users run in this process."""
    keep_bodies: bool = False
    """Whether the sample of whole requests is written at the end, into a file in the log's folder."""
    traceparent: bool = False
    """Whether each request has a trace."""
    trace_url: str | None = None
    """Where a trace is shown, with `{trace_id}` in place of its id; None: not known."""
    metrics: tuple[str, int] | None = None
    """Address and port at which a process of its own answers Prometheus; None: there is none."""
    follow_shape: bool = True
    """Whether the run starts with the locustfile's shape (a headless plan overrides it)."""

    @property
    def can_offer_rates(self) -> bool:
        """Whether workers, if there are any, can be offered a rate."""
        return self.workers is None or not self.workers.plain

    def users_url(self, service_url: str) -> str | None:
        """The host for a locustfile's users; None: they use their own."""
        return (self.users_host or service_url) if self.spec is not None or self.url is not None else None
