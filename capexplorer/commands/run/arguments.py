"""The options of `capexplorer run` as typed values, not yet checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...model.load import Arrivals

# -- run arguments -------------------------------------------------------------------------------------------------------------
# The options of `capexplorer run` as typed values, not yet checked.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """The options of `capexplorer run` as given on the command line."""

    profile: str | None = None
    """A name or a path; a URL or a curl command as it was typed."""
    requests: tuple[str, ...] = ()
    """Paths, curl commands, or files of them."""
    values: tuple[str, ...] = ()
    """What `{{NAME}}` in `requests` stands for."""
    locustfile: Path | None = None
    locust_arguments: tuple[str, ...] = ()
    """What followed `--`."""
    host: str | None = None
    users: int | None = None
    spawn_rate: float | None = None
    settings: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    label: str | None = None
    sessions_dir: Path | None = None
    allow_hosts: tuple[str, ...] = ()
    sandbox: bool = False
    plan: str | None = None
    arrivals: Arrivals | None = None
    """None: the profile's."""
    autopilot: str | None = None
    """`users` or `rate`."""
    target_cmd: str | None = None
    compose: Path | None = None
    ready: str | None = None
    ready_timeout_s: float | None = None
    pid: int | None = None
    port_of: int | None = None
    watches: tuple[str, ...] = ()
    workers: str | None = None
    bind: str | None = None
    expect_workers: int | None = None
    plain_workers: bool = False
    keep_bodies: bool = False

    @property
    def names_service(self) -> str | None:
        """The option that names the service; None: the profile does."""
        given = (("--host", self.host), ("--target-cmd", self.target_cmd), ("--compose", self.compose))
        return next((option for option, value in given if value is not None), None)


# -- screen options ------------------------------------------------------------------------------------------------------------
# Options of `run` that only its screen needs.


@dataclass(frozen=True, slots=True)
class ScreenOptions:
    """As given on the command line."""

    baseline: str | None = None
    """A saved session whose curve is drawn behind the live one."""
    mouse: bool = False
