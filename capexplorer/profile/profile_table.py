"""The whole file of a profile as one typed value: the service, and the tables of its users, limits, parts and plans."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ..addresses import without_userinfo
from ..model.limits import Limits
from ..model.watched import PartSpec
from .run_limits import Guards, Objectives, StopRules
from .users_table import Users
from .values import Param, Table, Title

READY_TIMEOUT_S = 120.0
"""Commands such as `go run` compile first, which takes 30 s or more with a cold cache."""


class Work(Table, frozen=True, kw_only=True):
    """What counts as finished work; by default every successful request."""

    endpoints: tuple[str, ...] = ()
    """`METHOD name` of the requests that count."""
    metric: str | None = None
    """Name of a growing counter among the target's own metrics."""


class ComposeTarget(Table, frozen=True, kw_only=True):
    """The services of a Compose file, which docker starts for the session. Each container is watched as a part; at the end
    containers, networks and volumes are removed ([watch.md](watch.md#services-of-a-compose-file))."""

    compose: Annotated[str, Meta(min_length=1)]
    """Path of the file, relative to the profile. `${CAPEXPLORER_PORT}` in it is a free port, to which the load goes."""


class Profile(Table, frozen=True, kw_only=True):
    """A profile: one TOML file."""

    title: Title = ""
    """One line for lists and reports."""
    target: str | ComposeTarget | None = None
    """Name of a folder in targets/, or a Compose file; capexplorer starts and stops this target."""
    url: str | None = None
    """URL of an already running service; no target is started."""
    command: Annotated[str, Meta(min_length=1)] | None = None
    """Command that starts the service, run in the profile's folder and without a shell. `{port}` is replaced by a free port,
    `{python}` by the Python interpreter of capexplorer, `{pool}` by the parameter `pool` of `params`."""
    ready: str | None = None
    """The service is ready when a GET of this /PATH is answered with 2xx or 3xx; without this key any status counts. A URL,
    http://127.0.0.1:PORT/PATH, if the command has no `{port}`, or the Compose file no `${CAPEXPLORER_PORT}`."""
    ready_timeout_s: Annotated[float, Meta(gt=0, le=3_600)] = READY_TIMEOUT_S
    """Seconds until the service that `command` or a Compose file starts must be ready."""
    params: dict[str, Param] = {}
    """Parameters of the command, each with its default and for a `{name}` in it, or values that replace the target's defaults.
    `--set NAME=VALUE` and the key `t` change them."""
    version: Title | None = None
    """The version of the service, for reports and comparisons. Without this key `git describe` in the folder of the command, else
    what the service answers when it is ready: the header `X-Version`, or `version` in a JSON object."""
    users: Users
    """The users that make load; the only table that every profile has."""
    work: Work = Work()
    """What counts as finished work."""
    guards: Guards = Guards()
    """Limits that no run exceeds."""
    limits: Limits = Limits()
    """Limits of the operating system under which the run explores."""
    watch: tuple[PartSpec, ...] = ()
    """Watched parts: the target's database or proxy, on this machine or others ([watch.md](watch.md))."""
    plans: dict[str, str] = {}
    """Plans by name, for `--plan NAME` and the key `p`."""
    slo: Objectives = Objectives()
    """Service level objectives."""
    stop: StopRules = StopRules()
    """Limits that end a plan or the autopilot."""

    @property
    def starts_service(self) -> bool:
        """Whether capexplorer starts it."""
        return self.target is not None or self.command is not None

    @property
    def service(self) -> str:
        """What is explored, in a few words without a password; empty where the command line must name it."""
        target = self.target.compose if isinstance(self.target, ComposeTarget) else self.target
        return target or self.command or without_userinfo(self.url or "")

    @property
    def compose(self) -> str | None:
        """The Compose file, if that is what is explored."""
        return self.target.compose if isinstance(self.target, ComposeTarget) else None
