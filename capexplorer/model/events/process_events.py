"""Events of processes: states of the target, lines that were logged or printed, the end of the app."""

from __future__ import annotations

from typing import Literal

from .event import Event

TargetState = Literal["building", "starting", "ready", "stopping", "stopped", "died", "failed"]
"""`building`: its build runs, before the start. `died`: it ended by itself. `failed`: it could not be built or started, or did
not become ready. `stopped`: the app ended it."""


class Target(Event, frozen=True, kw_only=True, tag="target"):
    """A new state of the target."""

    state: TargetState
    epoch: int = 0
    pid: int | None = None
    program: str | None = None
    """File name of the executable that runs as `pid`, e.g. python3.11."""
    exit_code: int | None = None
    signal: str | None = None
    """Name of the signal that ended it, e.g. SIGKILL."""
    reason: str | None = None
    params: dict[str, str | int | float | bool] = {}
    version: str | None = None
    """Of a ready target that the app started: the version that its readiness answer names; None: it names none."""
    output: tuple[str, ...] = ()
    """Its last lines of output, if it died or failed."""


class Log(Event, frozen=True, kw_only=True, tag="log"):
    """A line that was logged or printed by Locust, user code, capexplorer or the target."""

    source: Literal["stdout", "stderr", "locust", "target", "capexplorer"]
    level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    text: str
    repeated: int = 1
    """Number of equal lines that this one represents."""


class Ended(Event, frozen=True, kw_only=True, tag="ended"):
    """The end of the session: the last line of a complete log."""

    reason: str
    exit_code: int = 0
    signal: str | None = None
    requests: int = 0
    failures: int = 0
    levels: int = 0
    requests_kept: int = 0
    """Number of requests that are kept whole in `requests_file`."""
    requests_file: str | None = None
    """Name of a file in the folder of the log; None: there is none."""
