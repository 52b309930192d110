"""A row of the matrix: the fault, how it is injected, and which marks are right. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Client = Literal["fast", "requests", "lean"]
CLIENTS: tuple[Client, ...] = ("fast", "requests", "lean")

Family = Literal["generator", "host", "network", "target", "http", "bottleneck", "limits", "moving", "healthy"]
FAMILIES: tuple[Family, ...] = ("generator", "host", "network", "target", "http", "bottleneck", "limits", "moving", "healthy")

Param = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One fault."""

    name: str
    family: Family
    fault: str
    """The fault in one line."""
    expected: tuple[str, ...]
    """Ids that must be marked, each of them."""
    one_of: tuple[str, ...] = ()
    """At least one of these must be marked, too."""
    also_true: Mapping[str, str] = field(default_factory=dict)
    """Other ids that are true of this fault, with the reason; no further mark of severity error or above may be made."""
    clients: tuple[Client, ...] = CLIENTS
    plan: str = "8:9s"
    short: str = ""
    """A shorter plan that shows the fault, for `make test`; empty: not run there."""

    users_of_each_process: bool = False
    """The plan's users exceed a limit of one process: with workers, each gets as many."""

    one_process: str = ""
    """Why its fault shows only with all users in one process; empty: it shows with workers too."""

    target: str = "faulty"
    act: str = "ok"
    params: Mapping[str, Param] = field(default_factory=dict)
    wait_s: str = ""
    """As in a profile; 0.05-0.15 s unless given."""
    keep_alive: bool = True
    timeout_s: float = 30.0
    task: Mapping[str, Param] = field(default_factory=lambda: {"name": "/work"})
    locustfile: str = ""
    """Of locustfiles/, in place of tasks."""
    needs: str = ""
    """A program that the service needs."""
    profile: str = ""
    """A shipped profile in place of all fields above except `wait_s`; its users get the row's client."""

    served_by: Literal["capexplorer", "trial", "nobody"] = "capexplorer"
    """Who starts the service: capexplorer; the trial itself, so that capexplorer finds it by its port; nobody."""
    tls: bool = False
    """The separate service speaks TLS, with a self-signed certificate."""
    host: str = ""
    """Where load goes when not to the service: `{port}` is the service's."""
    arguments: tuple[str, ...] = ()
    """More of `capexplorer run`."""
    exit_codes: tuple[int, ...] = (0, 4)
    """4 where the fault lets no request succeed."""
    reported: Mapping[str, str] = field(default_factory=dict)
    """Marks that cannot be in the log, and the words of stderr that stand for them."""

    namespace: tuple[str, ...] = ()
    """Shell lines that prepare its network namespace for the fault."""
    before: tuple[str, ...] = ()
    """Words that the app, and what it starts, runs under."""
    busy_cores: tuple[int, ...] = ()
    """Each has four busy processes. A service apart gets the other core."""
    neighbours: tuple[Literal["cpu", "memory", "idle"], ...] = ()
    """Processes on each core, by what they do (`neighbour.py`)."""
    neighbours_at: tuple[int, int] = (0, 0)
    """The first and the last level at which they do it, by index."""
    no_knee: bool = False
    """No point of the capacity curve may be marked."""
    cgroups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Controller to its files' contents, for the service."""
    small_disk: str = ""
    """Size of the file system that the session is saved on."""
    small_folder: str = ""
    """Size of the file system that the service works on."""

    @property
    def needs_root(self) -> str:
        """Why it needs to be root; empty when it does not."""
        reasons = {
            "a network namespace": self.namespace,
            "cgroups": self.cgroups,
            "a mount": self.small_disk or self.small_folder,
        }
        return ", ".join(what for what, wanted in reasons.items() if wanted)

    @property
    def programs(self) -> tuple[str, ...]:
        """Programs that it runs, beside capexplorer and the service."""
        runs = {
            self.needs: self.needs,
            "openssl": self.tls,
            "taskset": self.busy_cores or "taskset" in self.before,
            "sysctl": any("sysctl" in line for line in self.namespace),
            "unshare": self.small_disk or self.small_folder,
        }
        return tuple(program for program, is_run in runs.items() if is_run)
